package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// odder are rows in which somebody else has changed a question.
type odder struct {
	Rows
	question func(*Kept)
}

func (o odder) Get(ctx context.Context, id string) (Kept, bool, bool, error) {
	q, lives, found, err := o.Rows.Get(ctx, id)
	o.question(&q)
	return q, lives, found, err
}

func (o odder) Open(ctx context.Context) ([]Kept, error) {
	open, err := o.Rows.Open(ctx)
	for i := range open {
		o.question(&open[i])
	}
	return open, err
}

func TestBrokenQuestionsAllowNothing(t *testing.T) {
	p := placeIn(t, t.TempDir())
	for name, change := range map[string]func(*Kept){
		"cut off":            func(q *Kept) { q.Call = q.Call[:len(q.Call)/2] },
		"empty":              func(q *Kept) { q.Call = "" },
		"unknown word":       func(q *Kept) { q.Call = strings.Replace(q.Call, `"tool"`, `"onse":true,"tool"`, 1) },
		"for another":        func(q *Kept) { q.Principal = "a/v" },
		"an odd decision":    func(q *Kept) { q.Decision = `{"allow":true,"channel":"cli","at":"2026-01-31T09:00:00Z","onse":true}` },
		"a decision cut off": func(q *Kept) { q.Decision = `{"allow":tr` },
	} {
		server := New(Options{Rows: odder{p.rows, change}})
		id := mustAsk(t, server, someCall())
		if _, err := p.person().Answer(t.Context(), id, yes, ann); err != nil {
			t.Fatal(err)
		}
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

// testWhatIsGivenUpLeavesNothing is about a caller that asks and cancels, on
// and on: everybody else reads what it leaves behind.
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
	for range mostClosed + 3 {
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
	if left := closed(); left != mostClosed {
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
			c.Principal, c.Shown = fmt.Sprint("a/", who), strings.Repeat("x", mostTextOfOne/2)
		}
	}
	for who := range mostText / mostTextOfOne {
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
