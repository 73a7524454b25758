package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func word(w string) sandbox.Command { return sandbox.Command{Argv: []string{w}, Text: w} }

func TestASandboxIsStartedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("kernel")
		f.slow = make(chan struct{})
		c := withFakes(t, Policy{}, func(*Options) {}, f)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(as(t.Context(), "a", "s"))
				defer cancel()
				if i == 0 { // who came first gives up, and that is nobody else's business
					time.AfterFunc(time.Second, cancel)
				}
				p, err := c.Start(ctx, word("ok"))
				if i == 0 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("who gave up got %v", err)
					}
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if s := p.Wait(ctx, sandbox.WaitCondition{}); s.State != sandbox.Exited || s.Tier != "kernel" {
					t.Errorf("it is %+v", s)
				}
			})
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		close(f.slow)
		all.Wait()
		if f.launched() != 1 {
			t.Errorf("%d sandboxes were started", f.launched())
		}
	})
}

func TestSandboxSharing(t *testing.T) {
	f := newFake("kernel")
	c := withFakes(t, Policy{}, func(*Options) {}, f)
	for _, who := range [][2]string{{"ann", "one"}, {"ann", "two"}, {"ben", "one"}, {"ann", "one"}} {
		run(as(t.Context(), who[0], who[1]), t, c, word("ok"))
	}
	if f.launched() != 3 {
		t.Errorf("there were %d sandboxes, want 3", f.launched())
	}
}

func TestSandboxesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("kernel")
		secret := ".env"
		c := withFakes(t, Policy{}, func(o *Options) {
			o.Directories = func(context.Context) (sandbox.Directories, error) {
				return sandbox.Directories{Dir: filepath.FromSlash("/w"), Hidden: []string{secret}}, nil
			}
		}, f)
		ctx := as(t.Context(), "a", "s")
		run(ctx, t, c, word("ok"))
		time.Sleep(5 * time.Minute)
		run(ctx, t, c, word("ok"))
		time.Sleep(9 * time.Minute)
		if f.launched() != 1 || f.links[0].closed() {
			t.Fatal("a sandbox that is used was ended")
		}
		time.Sleep(2 * time.Minute)
		if !f.links[0].closed() {
			t.Fatal("a sandbox was left that nobody uses")
		}
		p := start(ctx, t, c, word("hang"))
		time.Sleep(time.Hour)
		if f.links[1].closed() {
			t.Fatal("a sandbox was ended that has a command")
		}
		// The directories change: new commands get a new sandbox, the old one stays.
		secret = ".npmrc"
		run(ctx, t, c, word("ok"))
		if f.launched() != 3 || f.links[1].closed() {
			t.Fatalf("there were %d sandboxes", f.launched())
		}
		if got := f.spec[2].Hidden; !slices.Equal(got, []string{secret}) {
			t.Errorf("hidden is %q", got)
		}
		if err := p.Remove(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !f.links[1].closed() || f.links[2].closed() {
			t.Error("the old sandbox was to end with its command, and the new one not")
		}
	})
}

func TestOldSandboxesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("kernel")
		c := withFakes(t, Policy{}, func(o *Options) { o.Age, o.Boxes = time.Hour, 2 }, f)
		ctx := as(t.Context(), "a", "s")
		for range 90 {
			run(ctx, t, c, word("ok"))
			time.Sleep(time.Minute)
		}
		if f.launched() != 2 {
			t.Errorf("in 90 minutes there were %d sandboxes", f.launched())
		}
		start(ctx, t, c, word("hang"))
		run(as(t.Context(), "b", "s"), t, c, word("ok"))
		synctest.Wait()
		start(as(t.Context(), "c", "s"), t, c, word("hang")) // takes the room of b's
		_, err := c.Start(as(t.Context(), "d", "s"), word("ok"))
		refused(t, err, tool.Busy, "in use")
	})
}

// TestOneUserLeavesSandboxes has a user whose sessions take all sandboxes that they get.
func TestOneUserLeavesSandboxes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := withFakes(t, Policy{}, func(o *Options) { o.Boxes = 6 }, newFake("kernel"))
		of := func(user, session string) context.Context {
			return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user, Session: session}})
		}
		for range 6 {
			run(of("ann", rand.Text()), t, c, word("ok"))
		}
		synctest.Wait() // now they are idle
		for i := range 3 {
			start(of("ann", fmt.Sprint(i)), t, c, word("hang"))
		}
		_, err := c.Start(of("ann", "more"), word("ok"))
		refused(t, err, tool.Busy, "your commands use 3 of the 6 sandboxes")
		start(of("ann", "0"), t, c, word("hang")) // it has one
		start(of("bob", "s"), t, c, word("hang"))
	})
}

// TestAgentFails lets the agent fail in several ways: every call returns, and the next one gets a new sandbox.
func TestAgentFails(t *testing.T) {
	for _, how := range []string{"lost", "die", "junk", "deaf"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("kernel")
				c := withFakes(t, Policy{}, func(*Options) {}, f)
				ctx := as(t.Context(), "a", "s")
				other := start(ctx, t, c, word("hang"))
				cmd := word(how)
				cmd.Timeout = time.Minute
				p := start(ctx, t, c, cmd)
				s := finish(ctx, t, p)
				want := sandbox.Lost
				if how == "deaf" {
					want = sandbox.TimedOut
				}
				if s.State != want {
					t.Errorf("it is %+v", s)
				}
				if s := finish(ctx, t, other); s.State != sandbox.Lost {
					t.Errorf("another in the same sandbox is %+v", s)
				}
				if n := len(f.links[0].starts); n != 2 {
					t.Errorf("%d commands were sent", n)
				}
				if out, s := run(ctx, t, c, word("ok")); out != "done\n" || f.launched() != 2 {
					t.Errorf("the next one: %+v in sandbox %d", s, f.launched())
				}
			})
		})
	}
}

func TestKillsAgainstTheDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("kernel")
		c := withFakes(t, Policy{}, func(*Options) {}, f)
		ctx := as(t.Context(), "a", "s")
		p := start(ctx, t, c, word("deaf"))
		begun := time.Now()
		if err := p.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != killLimit {
			t.Errorf("it took %s", took)
		}
		if s := p.Status(); s.State != sandbox.Killed {
			t.Errorf("it is %+v", s)
		}
	})
}

func TestKeptSandboxesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := withFakes(t, Policy{}, nil, newFake("kernel"))
		ctx := as(t.Context(), "a", "s")
		done, running := start(ctx, t, c, word("ok")), start(ctx, t, c, word("hang"))
		if err := errors.Join(done.Keep(ctx, false), running.Keep(ctx, false)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Minute)
		if _, err := c.Process(ctx, done.Status().ID); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		_, err := c.Process(ctx, done.Status().ID)
		refused(t, err, tool.NotFound, "no process")
		if _, err := c.Process(ctx, running.Status().ID); err != nil {
			t.Error(err)
		}
	})
}

func TestStarved(t *testing.T) {
	c := withFakes(t, Policy{}, nil, newFake("kernel"))
	for _, what := range []string{"exceed", "oom"} {
		if _, s := run(caller(t), t, c, word(what)); s.State != sandbox.LimitExceeded || s.Why != "it took more than 512 MiB of memory" {
			t.Errorf("%s is %+v", what, s)
		}
	}
	if _, s := run(caller(t), t, c, word("shot")); s.State != sandbox.Exited || s.Signal != "SIGKILL" {
		t.Errorf("a command that was killed for another reason is %+v", s)
	}
}

func TestWaitingForInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := withFakes(t, Policy{}, nil, newFake("kernel"))
		ctx := as(t.Context(), "a", "s")
		asks, silent, closed := word("ask"), word("hang"), word("ask")
		asks.Open, silent.TTY = true, true
		waits := func(p *process) bool { return p.Status().Waiting }
		one, two, three := start(ctx, t, c, asks), start(ctx, t, c, silent), start(ctx, t, c, closed)
		time.Sleep(time.Second)
		if waits(one) {
			t.Error("it has hardly asked")
		}
		time.Sleep(2 * time.Second)
		if !waits(one) || waits(two) || waits(three) {
			t.Errorf("waiting: %t %t %t", waits(one), waits(two), waits(three))
		}
		if err := one.Write(ctx, []byte("me\n"), false); err != nil {
			t.Fatal(err)
		}
		if waits(one) {
			t.Error("it waits for what it has")
		}
	})
}
