package approvals

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// alter changes the row of a question directly.
func alter(t *testing.T, p place, id string, change func(*ask.Question)) {
	t.Helper()
	var q ask.Question
	if err := p.db.View(t.Context(), func(tx *store.Tx) (err error) {
		q, err = ask.Get(tx, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	change(&q)
	p.exec(t, "UPDATE ask SET usr = $1, body = $2, answer = $3 WHERE id = $4", q.User, q.Body, q.Answer, id)
}

func TestBrokenQuestionsAllowNothing(t *testing.T) {
	p := placeIn(t, t.TempDir())
	for name, change := range map[string]func(*ask.Question){
		"cut off":      func(q *ask.Question) { q.Body = q.Body[:len(q.Body)/2] },
		"empty":        func(q *ask.Question) { q.Body = "" },
		"unknown word": func(q *ask.Question) { q.Body = strings.Replace(q.Body, `"tool"`, `"onse":true,"tool"`, 1) },
		"for another":  func(q *ask.Question) { q.User = "v" },
		"an odd decision": func(q *ask.Question) {
			q.Answer = `{"allow":true,"channel":"cli","at":"2026-01-31T09:00:00Z","onse":true}`
		},
		"no decision":        func(q *ask.Question) { q.Answer = "" },
		"a decision cut off": func(q *ask.Question) { q.Answer = `{"allow":tr` },
	} {
		server := New(Options{DB: p.db})
		id := mustAsk(t, server, someCall())
		if _, err := p.person().Answer(t.Context(), id, yes, ann); err != nil {
			t.Fatal(err)
		}
		alter(t, p, id, change)
		if d, err := server.Take(t.Context(), id, someCall()); err == nil {
			t.Errorf("%s: taken as %+v", name, d)
		}
		if d, err := server.Answer(t.Context(), id, no, ann); err == nil {
			t.Errorf("%s: answered with %+v", name, d)
		}
		if _, err := server.List(t.Context(), ann); err != nil {
			t.Errorf("%s: the list fails: %v", name, err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBrokenQuestionsAreNotListed has an open question that cannot be decoded.
func TestBrokenQuestionsAreNotListed(t *testing.T) {
	p := placeIn(t, t.TempDir())
	server := p.server(t)
	broken, whole := mustAsk(t, server, someCall()), mustAsk(t, server, someCall())
	alter(t, p, broken, func(q *ask.Question) { q.Body = "{" })
	if list, err := server.List(t.Context(), ann); err != nil || len(list) != 1 || list[0].ID != whole {
		t.Errorf("listed %+v, %v", list, err)
	}
}

// maxEnded is how many answered questions stay.
const maxEnded = 100

// testWhatIsGivenUpLeavesNothing is about a caller that asks and cancels, on
// and on: all other processes read what it leaves behind.
func testWhatIsGivenUpLeavesNothing(t *testing.T, p place) {
	s := p.server(t)
	var asked []string
	ask := func() string {
		asked = append(asked, mustAsk(t, s, someCall()))
		return asked[len(asked)-1]
	}
	closed := func() (n int) {
		for _, id := range asked {
			if s := state(t, p, id); s != "" && s != Allowed {
				n++
			}
		}
		return n
	}
	if err := s.Withdraw(t.Context(), ask()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context(), ask(), someCall()); !errors.Is(err, ErrExpired) {
		t.Fatal(err)
	}
	if left := closed(); left != 0 {
		t.Errorf("there are %d", left)
	}
	for range maxEnded + 3 {
		if _, err := s.Answer(t.Context(), ask(), no, ann); err != nil {
			t.Fatal(err)
		}
	}
	waits := ask()
	if _, err := s.Answer(t.Context(), waits, yes, ann); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := closed(); left != maxEnded {
		t.Errorf("there are %d", left)
	}
	if d, err := s.Take(t.Context(), waits, someCall()); err != nil || !d.Allow {
		t.Errorf("the word that was not taken yet is %+v, %v", d, err)
	}
}

// testQuestionsAreBoundedInSize lets callers ask at length.
func testQuestionsAreBoundedInSize(t *testing.T, p place) {
	s := p.server(t)
	long := func(who int) func(*Call) {
		return func(c *Call) {
			c.Principal, c.Shown = fmt.Sprint("a/", who), strings.Repeat("x", limits().BytesEach/2-1000)
		}
	}
	for who := range limits().Bytes / limits().BytesEach {
		for range 2 {
			mustAsk(t, s, someCall(long(who)))
		}
		if _, err := s.Ask(t.Context(), someCall(long(who)), in(time.Hour)); !errors.Is(err, ErrTooMany) {
			t.Errorf("caller %d asks more: %v", who, err)
		}
	}
	if _, err := s.Ask(t.Context(), someCall(long(-1)), in(time.Hour)); !errors.Is(err, ErrTooMany) {
		t.Errorf("all together ask more: %v", err)
	}
}
