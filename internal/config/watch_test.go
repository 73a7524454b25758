package config

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// put replaces a file as careful programs do.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, path string) *Loaded[sample] {
	t.Helper()
	l, err := samples().Load(LoadOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A logbook is a log that can be read while it is written.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.text.String()
	b.text.Reset()
	return text
}

// A bench runs follow with nudges by hand, in a bubble.
type bench struct {
	path    string
	nudges  chan struct{}
	again   chan os.Signal
	applied []sample
	reports []error
	refuse  error
	log     logbook
}

func newBench(t *testing.T, text string) *bench {
	b := &bench{path: WriteSettings(t, text), nudges: make(chan struct{}), again: make(chan os.Signal)}
	w := Watcher[sample]{
		Apply: func(l *Loaded[sample]) error {
			if b.refuse == nil {
				b.applied = append(b.applied, l.Config)
			}
			return b.refuse
		},
		Again:  b.again,
		Report: func(err error) { b.reports = append(b.reports, err) },
		Log:    slog.New(slog.NewTextHandler(&b.log, nil)),
	}
	running := mustLoad(t, b.path)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.follow(ctx, running, b.nudges) }()
	t.Cleanup(func() { stop(); <-ended })
	return b
}

// nudge says that something has happened, and waits until all is quiet.
func (b *bench) nudge() {
	b.nudges <- struct{}{}
	time.Sleep(most) // of the bubble
	synctest.Wait()
}

func TestAChangeIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "limits: {calls_per_minute: 1}")
		put(t, b.path, "limits: {calls_per_minute: 2}")
		b.nudge()
		if len(b.applied) != 1 || b.applied[0].Limits.CallsPerMinute != 2 {
			t.Fatalf("applied %+v", b.applied)
		}
		if log := b.log.take(); !strings.Contains(log, "changed=[limits.calls_per_minute]") {
			t.Errorf("the log says %s", log)
		}
		b.nudge() // a neighbour
		put(t, b.path, "limits: {calls_per_minute: 2}")
		b.nudge() // the same again
		if len(b.reports) != 1 {
			t.Errorf("%d reloads without a change", len(b.reports)-1)
		}
	})
}

func TestManyChangesAreOneReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "limits: {calls_per_minute: 1}")
		put(t, b.path, "limits: {calls_per_minute: 2}")
		for range 50 {
			b.nudges <- struct{}{}
			time.Sleep(quiet / 10)
		}
		time.Sleep(most)
		synctest.Wait()
		if len(b.applied) != 1 {
			t.Errorf("%d reloads", len(b.applied))
		}
	})
}

func TestEndlessChangesAreStillRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "limits: {calls_per_minute: 1}")
		put(t, b.path, "limits: {calls_per_minute: 2}")
		for start := time.Now(); time.Since(start) < most+quiet; time.Sleep(quiet / 2) {
			b.nudges <- struct{}{}
		}
		synctest.Wait()
		if len(b.applied) != 1 {
			t.Errorf("%d reloads", len(b.applied))
		}
	})
}

func TestAskingReadsTheFileAnyhow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "limits: {calls_per_minute: 1}")
		b.again <- os.Interrupt
		b.nudges <- struct{}{}
		b.again <- os.Interrupt // in the middle of waiting for calm
		synctest.Wait()
		if len(b.applied) != 2 {
			t.Errorf("%d reloads", len(b.applied))
		}
	})
}

func TestABadFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "policy: {deny_hard: [exec]}")
		for _, text := range []string{"policy: {deny_hard: exec}", "policy: [", ""} {
			put(t, b.path, text)
			b.nudge()
			if log := b.log.take(); !strings.Contains(log, "the old settings stay") || !strings.Contains(log, b.path) {
				t.Errorf("%q: the log says %s", text, log)
			}
			b.nudge() // said once is enough
			if log := b.log.take(); log != "" {
				t.Errorf("%q: the log says again %s", text, log)
			}
		}
		if err := os.Remove(b.path); err != nil {
			t.Fatal(err)
		}
		b.nudge()
		if len(b.applied) != 0 || len(b.reports) != 4 || !errors.Is(b.reports[3], os.ErrNotExist) {
			t.Fatalf("applied %+v, reported %v", b.applied, b.reports)
		}
		put(t, b.path, "# no rules")
		b.nudge()
		if len(b.applied) != 1 || b.applied[0].Policy.DenyHard != nil {
			t.Errorf("applied %+v", b.applied)
		}
	})
}

func TestRefusedSettingsAreNotInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "limits: {calls_per_minute: 1}")
		b.refuse = errors.New("no such profile")
		put(t, b.path, "limits: {calls_per_minute: 2}")
		b.nudge()
		b.refuse = nil
		put(t, b.path, "limits: {calls_per_minute: 2, repeat_warn: 5}")
		b.nudge()
		if len(b.reports) != 2 || b.reports[0] == nil || b.reports[1] != nil {
			t.Fatalf("reported %v", b.reports)
		}
		if log := b.log.take(); !strings.Contains(log, "no such profile") || !strings.Contains(log, `changed="[limits.calls_per_minute limits.repeat_warn]"`) {
			t.Errorf("the log says %s", log)
		}
	})
}

func TestSettingsThatNeedARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "keep: {max_age: 1d}\nlimits: {calls_per_minute: 1}")
		put(t, b.path, "keep: {max_age: 2d}\nlimits: {calls_per_minute: 2}")
		b.nudge()
		put(t, b.path, "keep: {max_age: 2d}\nlimits: {calls_per_minute: 3}")
		b.nudge()
		if len(b.applied) != 2 {
			t.Fatalf("applied %+v", b.applied)
		}
		for i, c := range b.applied {
			if c.Keep.MaxAge != Duration(24*time.Hour) || c.Limits.CallsPerMinute != i+2 {
				t.Errorf("applied max_age %v, rate %d", c.Keep.MaxAge, c.Limits.CallsPerMinute)
			}
		}
		if log := b.log.take(); strings.Count(log, "settings=[keep.max_age]") != 2 {
			t.Errorf("the log says %s", log)
		}
	})
}

func TestDiff(t *testing.T) {
	r := samples()
	before, after := r.Default(), r.Default()
	after.Policy.Allow = []string{}
	after.Limits.CallsPerMinute++
	after.Connections.Stdio.Profile = "coding"
	want := []string{"connections.stdio.profile", "policy.allow", "limits.calls_per_minute"}
	if diff := cmp.Diff(want, r.Diff(before, after)); diff != "" {
		t.Error(diff)
	}
	if changed := r.Diff(after, after); changed != nil {
		t.Errorf("nothing changed, and yet %q", changed)
	}
}

// watching runs a Watcher on the real file system.
func watching(t *testing.T, running *Loaded[sample]) <-chan int {
	bursts := make(chan int, 100)
	w := Watcher[sample]{
		Apply: func(l *Loaded[sample]) error { bursts <- l.Config.Limits.CallsPerMinute; return nil },
		Log:   slog.New(slog.DiscardHandler),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Watch(ctx, running) }()
	t.Cleanup(func() { stop(); <-ended })
	return bursts
}

func await(t *testing.T, bursts <-chan int, want int) {
	t.Helper()
	limit := time.After(3 * time.Minute)
	for {
		select {
		case got := <-bursts:
			if got == want {
				return
			}
		case <-limit:
			t.Fatalf("burst %d was not applied", want)
		}
	}
}

func TestWatchSeesHowFilesAreWritten(t *testing.T) {
	path := WriteSettings(t, "limits: {calls_per_minute: 1}")
	bursts := watching(t, mustLoad(t, path))
	put(t, path, "limits: {calls_per_minute: 2}") // renamed over
	await(t, bursts, 2)
	if err := os.WriteFile(path, []byte("limits: {calls_per_minute: 3}"), 0o600); err != nil { // in place
		t.Fatal(err)
	}
	await(t, bursts, 3)
	if err := os.Rename(path, path+"~"); err != nil { // moved away and written again
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("limits: {calls_per_minute: 4}"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, bursts, 4)
}

// TestWatchSeesLinksSwapped: Kubernetes swaps a link to a directory.
func TestWatchSeesLinksSwapped(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700), os.WriteFile(
			filepath.Join(dir, name, "config.yaml"), []byte(text), 0o600,
		),
			os.Symlink(name,
				filepath.Join(dir, "..data.new")), os.Rename(filepath.Join(dir, "..data.new"),
				filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", "limits: {calls_per_minute: 1}")
	path := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(filepath.Join("..data", "config.yaml"), path); err != nil {
		t.Fatal(err)
	}
	bursts := watching(t, mustLoad(t, path))
	version("..2", "limits: {calls_per_minute: 2}")
	await(t, bursts, 2)
	version("..3", "limits: {calls_per_minute: 3}")
	await(t, bursts, 3)
}

func TestWatchFollowsALinkElsewhere(t *testing.T) {
	target := WriteSettings(t, "limits: {calls_per_minute: 1}")
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	bursts := watching(t, mustLoad(t, path))
	put(t, target, "limits: {calls_per_minute: 2}")
	await(t, bursts, 2)
}

func TestWatchSeesTheUsualFileAppear(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, program), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := samples().Load(LoadOptions{Getenv: FakeEnvironment("XDG_CONFIG_HOME", dir)})
	if err != nil {
		t.Fatal(err)
	}
	bursts := watching(t, l)
	put(t, filepath.Join(dir, program, fileName), "limits: {calls_per_minute: 5}")
	await(t, bursts, 5)
}

func TestAReloadStorm(t *testing.T) {
	path := WriteSettings(t, "limits: {calls_per_minute: 1}")
	bursts := watching(t, mustLoad(t, path))
	for range 300 {
		put(t, path, "limits: {calls_per_minute: 2}")
		put(t, path, "limits: [")
	}
	put(t, path, "limits: {calls_per_minute: 9}")
	await(t, bursts, 9)
}

func TestWithoutAWatchAskingStillWorks(t *testing.T) {
	l, err := samples().Load(LoadOptions{Getenv: FakeEnvironment()})
	if err != nil {
		t.Fatal(err)
	}
	again, reports := make(chan os.Signal), make(chan error)
	var log logbook
	w := Watcher[sample]{
		Apply: func(*Loaded[sample]) error { return nil }, Again: again, Report: func(err error) { reports <- err },
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Watch(ctx, l) }()
	again <- os.Interrupt
	if err := <-reports; err != nil {
		t.Error(err)
	}
	stop()
	<-ended
	// Having no file is how most people start: no reason to warn them.
	if text := log.take(); !strings.Contains(text, "send SIGHUP") || strings.Contains(text, "WARN") {
		t.Errorf("the log says %s", text)
	}
}
