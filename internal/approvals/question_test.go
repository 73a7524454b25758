package approvals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestTheLifeOfAQuestion(t *testing.T) {
	data := t.TempDir()
	server, person := newStore(t, data), New(data)
	id := mustAsk(t, server, someCall())
	open, err := person.List(ann)
	if err != nil || len(open) != 1 || open[0].ID != id || open[0].Shown != someCall().Shown {
		t.Fatalf("a person sees %+v, %v", open, err)
	}
	decided := make(chan error, 1)
	go func() { decided <- server.Await(t.Context(), id) }()
	if _, err := person.Answer(id, yes, ann); err != nil {
		t.Fatal(err)
	}
	if err := <-decided; err != nil {
		t.Fatal(err)
	}
	d, err := server.Take(id, someCall())
	if err != nil || !d.Allow || d.Scope != Once || d.By != "ann" || d.Channel != "cli" {
		t.Fatalf("the server takes %+v, %v", d, err)
	}
	if _, err := server.Take(id, someCall()); err == nil {
		t.Error("it is taken twice")
	}
	if _, err := person.Answer(id, yes, ann); !errors.Is(err, ErrAnswered) || !strings.Contains(err.Error(), "ann (cli)") {
		t.Errorf("a second answer: %v", err)
	}
	if open, _ := person.List(ann); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
}

func TestWhatIsTakenIsWhatWasAskedAbout(t *testing.T) {
	data := t.TempDir()
	server, other := newStore(t, data), newStore(t, data)
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
		if _, err := other.Answer(id, yes, ann); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Take(id, c); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := other.Take(id, someCall()); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: another server takes it: %v", name, err)
		}
	}
}

func TestNoAnswerIsNo(t *testing.T) {
	data := t.TempDir()
	server := newStore(t, data)
	unanswered := mustAsk(t, server, someCall())
	if _, err := server.Take(unanswered, someCall()); !errors.Is(err, ErrExpired) {
		t.Errorf("taken without an answer: %v", err)
	}
	if _, err := server.Answer(unanswered, yes, ann); err == nil {
		t.Error("answered after it was given up")
	}
	late := mustAsk(t, server, someCall())
	age(t, server, late, 2*time.Minute)
	if _, err := server.Answer(late, yes, ann); !errors.Is(err, ErrExpired) {
		t.Errorf("answered too late: %v", err)
	}
	stale := mustAsk(t, server, someCall())
	if _, err := server.Answer(stale, yes, ann); err != nil {
		t.Fatal(err)
	}
	age(t, server, stale, 2*time.Minute)
	if _, err := server.Take(stale, someCall()); !errors.Is(err, ErrExpired) {
		t.Errorf("a yes of long ago is taken: %v", err)
	}
	gone := mustAsk(t, server, someCall())
	if err := server.Withdraw(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Answer(gone, yes, ann); !errors.Is(err, ErrUnknown) {
		t.Errorf("answered after it was withdrawn: %v", err)
	}
	allowed := mustAsk(t, server, someCall())
	if _, err := server.Answer(allowed, yes, ann); err != nil {
		t.Fatal(err)
	}
	if err := server.Withdraw(allowed); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Take(allowed, someCall()); err == nil {
		t.Error("taken after it was withdrawn")
	}
}

func TestANoTakesAYesBack(t *testing.T) {
	data := t.TempDir()
	server := newStore(t, data)
	id := mustAsk(t, server, someCall())
	if _, err := server.Answer(id, Answer{Allow: true, Scope: Always}, ann); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Answer(id, no, ann); err != nil {
		t.Fatal(err)
	}
	if d, err := server.Take(id, someCall()); err != nil || d.Allow || d.Reason != "not today" {
		t.Errorf("the server takes %+v, %v", d, err)
	}
	if rules, err := server.Rules(); err != nil || len(rules) != 0 {
		t.Errorf("the rule stays: %+v, %v", rules, err)
	}
	if _, err := server.Answer(id, yes, ann); !errors.Is(err, ErrAnswered) {
		t.Errorf("a yes after the no: %v", err)
	}
}

func TestApproversSeeTheirOwn(t *testing.T) {
	server := newStore(t, t.TempDir())
	id := mustAsk(t, server, someCall())
	for _, stranger := range []Approver{{User: "v", Channel: "http"}, {Agent: "b", Channel: "http"}, {Agent: "a", User: "v", Channel: "http"}} {
		if open, err := server.List(stranger); err != nil || len(open) != 0 {
			t.Errorf("%+v sees %+v, %v", stranger, open, err)
		}
		if _, err := server.Get(id, stranger); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v gets it: %v", stranger, err)
		}
		if _, err := server.Answer(id, yes, stranger); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v answers: %v", stranger, err)
		}
	}
	if _, err := server.Answer(id, yes, Approver{User: "u", Channel: "http"}); err != nil {
		t.Error(err)
	}
}

// TestOneAnswerCounts lets many answer at once, yes and no, from stores of
// their own.
func TestOneAnswerCounts(t *testing.T) {
	data := t.TempDir()
	server := newStore(t, data)
	for range 20 {
		id := mustAsk(t, server, someCall())
		var yeses, taken atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if _, err := New(data).Answer(id, yes, Approver{Name: fmt.Sprint(i), Channel: "cli"}); err == nil {
					yeses.Add(1)
				}
			})
		}
		all.Wait()
		for range 4 {
			all.Go(func() {
				if d, err := server.Take(id, someCall()); err == nil && d.Allow {
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

func TestQuestionsAreBounded(t *testing.T) {
	server := newStore(t, t.TempDir())
	for range mostOfOne {
		mustAsk(t, server, someCall())
	}
	if _, err := server.Ask(someCall(), in(time.Minute)); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	mustAsk(t, server, someCall(func(c *Call) { c.Principal = "b/v" }))
}

func TestOldQuestionsGo(t *testing.T) {
	data := t.TempDir()
	server := newStore(t, data)
	old, fresh := mustAsk(t, server, someCall()), mustAsk(t, server, someCall())
	age(t, server, old, time.Hour)
	if _, err := server.List(ann); err != nil {
		t.Fatal(err)
	}
	if got := files(t, server, "*.json"); len(got) != 1 || !strings.Contains(got[0], fresh) {
		t.Errorf("there are %v", got)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if got := append(files(t, server, "*.json"), files(t, server, "owner-*")...); len(got) != 0 {
		t.Errorf("the server left %v", got)
	}
	if _, err := New(data).Answer(fresh, yes, ann); !errors.Is(err, ErrUnknown) {
		t.Errorf("a question of a server that has ended is answered: %v", err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	server := newStore(t, t.TempDir())
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

func TestIDsAreNoPaths(t *testing.T) {
	data := t.TempDir()
	server := newStore(t, data)
	mustAsk(t, server, someCall())
	for _, id := range []string{"", "rules", "../tokens", "..", "/etc/passwd", "aaaaaaaaaaa/", "AAAAAAAAAAAA", strings.Repeat("a", 500), "aaaaaaaaaaa\x00"} {
		if _, err := server.Get(id, ann); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := server.Answer(id, yes, ann); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q is answered: %v", id, err)
		}
	}
}

func TestBrokenFilesAllowNothing(t *testing.T) {
	data := t.TempDir()
	server := newStore(t, data)
	for name, text := range map[string]string{
		"cut off":      `{"id":"`,
		"empty":        "",
		"another's id": `{"id":"bbbbbbbbbbbb","state":"allowed","owner":"bbbbbbbbbbbb"}`,
		"unknown word": `{"id":"ID","state":"allowed","owner":"bbbbbbbbbbbb","onse":true}`,
	} {
		id := mustAsk(t, server, someCall())
		if err := os.WriteFile(server.path(id+fileEnding), []byte(strings.ReplaceAll(text, "ID", id)), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := server.Take(id, someCall()); err == nil {
			t.Errorf("%s: taken as %+v", name, d)
		}
		if _, err := server.List(ann); err != nil {
			t.Errorf("%s: the list fails: %v", name, err)
		}
	}
}

func TestTheFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	data := t.TempDir()
	server := newStore(t, data)
	id := mustAsk(t, server, someCall())
	for path, want := range map[string]os.FileMode{server.dir: 0o700, server.path(id + fileEnding): 0o600, server.path(lockName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(server.path(id + fileEnding))
	if err != nil || strings.Contains(string(text), "args") {
		t.Errorf("the file has %s, %v", text, err)
	}
	open := t.TempDir()
	mustMkdir(t, filepath.Join(open, "approvals"), 0o777)
	if _, err := New(open).Ask(someCall(), in(time.Minute)); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a directory for everybody is used: %v", err)
	}
}

func TestWhoLooksIsThere(t *testing.T) {
	s := newStore(t, t.TempDir())
	if s.Attended() {
		t.Error("somebody is there who never looked")
	}
	if err := s.Look(); err != nil || !s.Attended() {
		t.Errorf("nobody is there who just looked: %v", err)
	}
	if err := os.Chtimes(s.path(seenName), time.Time{}, in(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if s.Attended() {
		t.Error("somebody is there who looked an hour ago")
	}
}
