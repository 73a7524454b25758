package approvals

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// alter changes the row of a question directly.
func alter(t *testing.T, db *store.Store, id string, change func(*questionRow)) {
	t.Helper()
	err := db.Update(t.Context(), func(tx *store.Tx) error {
		q, _, err := getRow(tx, id)
		if err != nil {
			return err
		}
		change(&q)
		_, err = tx.Exec("UPDATE approval SET principal = $1, call = $2, decision = $3 WHERE id = $4",
			q.Principal, q.Call, q.Decision, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrokenQuestionsAllowNothing(t *testing.T) {
	p := placeIn(t, t.TempDir())
	for name, change := range map[string]func(*questionRow){
		"cut off":      func(q *questionRow) { q.Call = q.Call[:len(q.Call)/2] },
		"empty":        func(q *questionRow) { q.Call = "" },
		"unknown word": func(q *questionRow) { q.Call = strings.Replace(q.Call, `"tool"`, `"onse":true,"tool"`, 1) },
		"for another":  func(q *questionRow) { q.Principal = "a/v" },
		"an odd decision": func(q *questionRow) {
			q.Decision = `{"allow":true,"channel":"cli","at":"2026-01-31T09:00:00Z","onse":true}`
		},
		"a decision cut off": func(q *questionRow) { q.Decision = `{"allow":tr` },
	} {
		server := New(Options{DB: p.db})
		id := mustAsk(t, server, someCall())
		if _, err := p.person().Answer(t.Context(), id, yes, ann); err != nil {
			t.Fatal(err)
		}
		alter(t, p.db, id, change)
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
	alter(t, p.db, broken, func(q *questionRow) { q.Call = "{" })
	if list, err := server.List(t.Context(), ann); err != nil || len(list) != 1 || list[0].ID != whole {
		t.Errorf("listed %+v, %v", list, err)
	}
}

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
	for range maxClosed + 3 {
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
	if left := closed(); left != maxClosed {
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
			c.Principal, c.Shown = fmt.Sprint("a/", who), strings.Repeat("x", maxOpenTextEach/2)
		}
	}
	for who := range maxOpenText / maxOpenTextEach {
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
