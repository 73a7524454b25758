package approvals

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func testTheLifeOfAQuestion(t *testing.T, p place) {
	server, person := p.server(t), p.elsewhere(t)
	id := mustAsk(t, server, someCall())
	open, err := person.List(t.Context(), ann)
	if err != nil || len(open) != 1 || open[0].ID != id || open[0].Shown != someCall().Shown {
		t.Fatalf("a person sees %+v, %v", open, err)
	}
	decided := make(chan error, 1)
	go func() { decided <- server.Await(t.Context(), id) }()
	if _, err := person.Answer(t.Context(), id, yes, ann); err != nil {
		t.Fatal(err)
	}
	if err := <-decided; err != nil {
		t.Fatal(err)
	}
	d, err := server.Take(t.Context(), id, someCall())
	if err != nil || !d.Allow || d.Scope != Once || d.By != "ann" || d.Channel != "cli" {
		t.Fatalf("the server takes %+v, %v", d, err)
	}
	if _, err := server.Take(t.Context(), id, someCall()); err == nil {
		t.Error("it is taken twice")
	}
	if _, err := person.Answer(t.Context(), id, yes, ann); !errors.Is(err, ErrAnswered) ||
		!strings.Contains(err.Error(), "ann (cli)") {
		t.Errorf("a second answer: %v", err)
	}
	if open, _ := person.List(t.Context(), ann); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
}

func testWhatIsTakenIsWhatWasAskedAbout(t *testing.T, p place) {
	server, other := p.server(t), p.elsewhere(t)
	for name, c := range map[string]Call{
		"other arguments": someCall(func(c *Call) { c.Digest = "d2" }),
		"other facts":     someCall(func(c *Call) { c.Basis = "b2" }),
		"another tool":    someCall(func(c *Call) { c.Tool = "exec" }),
		"another caller":  someCall(func(c *Call) { c.Principal = "a/v" }),
		"another session": someCall(func(c *Call) { c.Session = "t" }),
		"another profile": someCall(func(c *Call) { c.Profile = "full" }),
		"another place":   someCall(func(c *Call) { c.Workspace = "/v" }),
		"a higher risk":   someCall(func(c *Call) { c.Risk = "runs" }),
		"an unknown risk": someCall(func(c *Call) { c.Risk = "dances" }),
	} {
		id := mustAsk(t, server, someCall())
		if _, err := other.Answer(t.Context(), id, yes, ann); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Take(t.Context(), id, c); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := other.Take(t.Context(), id, someCall()); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: another server takes it: %v", name, err)
		}
	}
}

func testNoAnswerIsNo(t *testing.T, p place) {
	server := p.server(t)
	unanswered := mustAsk(t, server, someCall())
	if _, err := server.Take(t.Context(), unanswered, someCall()); !errors.Is(err, ErrExpired) {
		t.Errorf("taken without an answer: %v", err)
	}
	if _, err := server.Answer(t.Context(), unanswered, yes, ann); err == nil {
		t.Error("answered after it was given up")
	}
	late, err := server.Ask(t.Context(), someCall(), in(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Await(t.Context(), late); err != nil || state(t, p, late) != Expired {
		t.Errorf("it is waited for until it is %q, %v", state(t, p, late), err)
	}
	if _, err := server.Answer(t.Context(), late, yes, ann); !errors.Is(err, ErrExpired) {
		t.Errorf("answered too late: %v", err)
	}
	if _, err := server.Take(t.Context(), late, someCall()); !errors.Is(err, ErrExpired) {
		t.Errorf("taken without an answer in time: %v", err)
	}
	stale, err := server.Ask(t.Context(), someCall(), in(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Answer(t.Context(), stale, yes, ann); err != nil {
		t.Fatal(err)
	}
	p.exec(t, "UPDATE ask SET expires = {{now}} - 3600000 WHERE id = $1", stale) // it has been long
	if _, err := server.Take(t.Context(), stale, someCall()); !errors.Is(err, ErrExpired) {
		t.Errorf("a yes of long ago is taken: %v", err)
	}
	gone := mustAsk(t, server, someCall())
	if err := server.Withdraw(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Answer(t.Context(), gone, yes, ann); !errors.Is(err, ErrUnknown) {
		t.Errorf("answered after it was withdrawn: %v", err)
	}
	allowed := mustAsk(t, server, someCall())
	if _, err := server.Answer(t.Context(), allowed, yes, ann); err != nil {
		t.Fatal(err)
	}
	if err := server.Withdraw(t.Context(), allowed); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Take(t.Context(), allowed, someCall()); err == nil {
		t.Error("taken after it was withdrawn")
	}
}

func testANoTakesAYesBack(t *testing.T, p place) {
	server := p.server(t)
	id := mustAsk(t, server, someCall())
	if _, err := server.Answer(t.Context(), id, Answer{Allow: true, Scope: Always}, ann); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Answer(t.Context(), id, no, ann); err != nil {
		t.Fatal(err)
	}
	if d, err := server.Take(t.Context(), id, someCall()); err != nil || d.Allow || d.Reason != "not today" {
		t.Errorf("the server takes %+v, %v", d, err)
	}
	if rules, err := server.Rules(t.Context()); err != nil || len(rules) != 0 {
		t.Errorf("the rule stays: %+v, %v", rules, err)
	}
	if _, err := server.Answer(t.Context(), id, yes, ann); !errors.Is(err, ErrAnswered) {
		t.Errorf("a yes after the no: %v", err)
	}
}

func testApproversSeeTheirOwn(t *testing.T, p place) {
	server := p.server(t)
	id := mustAsk(t, server, someCall())
	for _, stranger := range []Approver{{User: "v", Channel: "http"}, {Agent: "b", Channel: "http"},
		{Agent: "a", User: "v", Channel: "http"}} {
		if open, err := server.List(t.Context(), stranger); err != nil || len(open) != 0 {
			t.Errorf("%+v sees %+v, %v", stranger, open, err)
		}
		if _, err := server.Get(t.Context(), id, stranger); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v gets it: %v", stranger, err)
		}
		if _, err := server.Answer(t.Context(), id, yes, stranger); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v answers: %v", stranger, err)
		}
	}
	if _, err := server.Answer(t.Context(), id, yes, Approver{User: "u", Channel: "http"}); err != nil {
		t.Error(err)
	}
}

// testOneAnswerCounts lets many answer at once, yes and no, from stores of
// their own.
func testOneAnswerCounts(t *testing.T, p place) {
	server := p.server(t)
	people := []*Store{p.person(), p.elsewhere(t)}
	for range 20 {
		id := mustAsk(t, server, someCall())
		var yeses, taken atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if _, err := people[i%2].Answer(t.Context(), id, yes,
					Approver{Name: fmt.Sprint(i), Channel: "cli"}); err == nil {
					yeses.Add(1)
				}
			})
		}
		all.Wait()
		for range 4 {
			all.Go(func() {
				if d, err := server.Take(t.Context(), id, someCall()); err == nil && d.Allow {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if yeses.Load() != 1 || taken.Load() != 1 {
			t.Fatalf("%d answers counted, and it was taken %d times", yeses.Load(), taken.Load())
		}
	}
}

func testQuestionsAreBounded(t *testing.T, p place) {
	server := p.server(t)
	for range limits().Each {
		mustAsk(t, server, someCall())
	}
	if _, err := server.Ask(t.Context(), someCall(), in(time.Hour)); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	mustAsk(t, server, someCall(func(c *Call) { c.Principal = "b/v" }))
}

func testAwaitEndsWithItsContext(t *testing.T, p place) {
	server := p.server(t)
	id := mustAsk(t, server, someCall())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Await(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ended with %v", err)
	}
	if err := server.Await(t.Context(), "aaaaaaaaaaaa"); err != nil {
		t.Errorf("waiting for nothing: %v", err)
	}
}

func testOddIDs(t *testing.T, p place) {
	server := p.server(t)
	mustAsk(t, server, someCall())
	for _, id := range []string{"", "rules", "../tokens", "..", "/etc/passwd", "aaaaaaaaaaa/", "AAAAAAAAAAAA",
		strings.Repeat("a", 500), "aaaaaaaaaaa\x00"} {
		if _, err := server.Get(t.Context(), id, ann); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := server.Answer(t.Context(), id, yes, ann); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q is answered: %v", id, err)
		}
	}
}

// testTheEndOfAServer closes a server: its question ends at once, and
// nothing of it stays.
func testTheEndOfAServer(t *testing.T, p place) {
	server, person := New(Options{DB: p.db}), p.elsewhere(t)
	open, allowed := mustAsk(t, server, someCall()), mustAsk(t, server, someCall())
	if _, err := person.Answer(t.Context(), allowed, Answer{Allow: true, Scope: Session}, ann); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{open, allowed} {
		if _, err := person.Answer(t.Context(), id, no, ann); !errors.Is(err, ErrUnknown) || state(t, p, id) != "" {
			t.Errorf("a question of a server that has ended is %q, answered with %v", state(t, p, id), err)
		}
	}
	if rules, err := person.Rules(t.Context()); err != nil || len(rules) != 0 {
		t.Errorf("rules %+v, %v", rules, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// TestARestartOfPostgres happens while a question waits.
func TestARestartOfPostgres(t *testing.T) {
	pg := storetest.Postgres(t)
	p := placeIn(t, pg.DSN("postgres"))
	server := p.server(t)
	id := mustAsk(t, server, someCall())
	heard := make(chan error, 1)
	go func() { heard <- server.Await(t.Context(), id) }()
	pg.Stop(t, "fast")
	if _, ok, err := server.Allowed(t.Context(), someCall()); ok || err == nil {
		t.Errorf("while it is away a call is allowed %t, %v", ok, err)
	}
	if _, err := server.Take(t.Context(), id, someCall()); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("while it is away a word is taken: %v", err)
	}
	pg.Start(t)
	until(t, "the answer", func() bool {
		_, err := p.person().Answer(t.Context(), id, yes, ann)
		return err == nil
	})
	if err := <-heard; err != nil {
		t.Error(err)
	}
	if d, err := server.Take(t.Context(), id, someCall()); err != nil || !d.Allow {
		t.Errorf("the server takes %+v, %v", d, err)
	}
}

// TestHeartbeatKeepsQuestions has a question wait for longer than a lease.
func TestHeartbeatKeepsQuestions(t *testing.T) {
	p := placeIn(t, t.TempDir())
	server := p.server(t)
	id := mustAsk(t, server, someCall())
	p.exec(t, "UPDATE ask SET lease = {{now}} - 1000 WHERE id = $1", id) // it was silent
	if _, err := p.person().Answer(t.Context(), id, yes, ann); !errors.Is(err, ErrUnknown) {
		t.Errorf("a question of a silent server is answered: %v", err)
	}
	until(t, "the server to say that it lives", func() bool {
		_, err := p.person().Get(t.Context(), id, ann)
		return err == nil
	})
	if _, err := p.person().Answer(t.Context(), id, yes, ann); err != nil {
		t.Error(err)
	}
}

func TestReadingCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	db, err := store.OpenLazy(store.Options{DSN: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(Options{DB: db})
	if _, ok, err := s.Allowed(t.Context(), someCall()); ok || err != nil {
		t.Error(ok, err)
	}
	if there, err := s.Attended(t.Context()); there || err != nil {
		t.Error(there, err)
	}
	open, listing := s.List(t.Context(), ann)
	rules, ruling := s.Rules(t.Context())
	if len(open)+len(rules) != 0 || listing != nil || ruling != nil {
		t.Error(open, rules, listing, ruling)
	}
	_, getting := s.Get(t.Context(), "aaaaaaaaaaaa", ann)
	_, answering := s.Answer(t.Context(), "aaaaaaaaaaaa", yes, ann)
	_, taking := s.Take(t.Context(), "aaaaaaaaaaaa", someCall())
	_, forgetting := s.Forget(t.Context(), "aaaaaaaaaaaa")
	for _, err := range []error{getting, answering, taking, forgetting} {
		if !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	}
	if err := errors.Join(s.Withdraw(t.Context(), "aaaaaaaaaaaa"), s.Close()); err != nil {
		t.Error(err)
	}
}

func testWhoLooksIsThere(t *testing.T, p place) {
	s := p.server(t)
	if there, err := s.Attended(t.Context()); there || err != nil {
		t.Errorf("attended before a look: %v", err)
	}
	if err := s.MarkAttended(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there, err := p.elsewhere(t).Attended(t.Context()); !there || err != nil {
		t.Errorf("not attended after a look: %v", err)
	}
	until(t, "the look to be over", func() bool {
		there, err := s.attendedWithin(t.Context(), 20*time.Millisecond)
		return err == nil && !there
	})
}
