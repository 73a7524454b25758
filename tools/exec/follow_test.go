package exec

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// reporter is a client that waits for progress.
type reporter struct {
	mu       sync.Mutex
	messages []string
	done     []float64
	total    float64
}

func (r *reporter) Progress(done, total float64, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages, r.done, r.total = append(r.messages, message), append(r.done, done), total
}

func (r *reporter) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.messages...)
}

func scrubber(t testing.TB) func(context.Context, io.Writer) io.WriteCloser {
	t.Helper()
	s, err := scrub.New(scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, w io.Writer) io.WriteCloser { return s.NewWriter(w) }
}

// news returns the progress messages of a command that writes these pieces, one each second.
func news(t *testing.T, r *runner, pieces ...string) []string {
	var rep reporter
	synctest.Test(t, func(t *testing.T) {
		rep = reporter{}
		ctx, cancel := context.WithCancel(within(t, &rep))
		defer cancel()
		f := r.follow(ctx, time.Minute)
		for _, piece := range pieces {
			f.watch(sandbox.Stdout, []byte(piece))
			time.Sleep(time.Second) // of a clock that is not the machine's
		}
		f.stop()
	})
	return rep.messages
}

func TestProgressIsWholeLines(t *testing.T) {
	for name, test := range map[string]struct{ pieces, want []string }{
		"lines":            {[]string{"a\n", "b\nc\n"}, []string{"a", "b\nc"}},
		"in pieces":        {[]string{"a", "b\nc", "d\n"}, []string{"ab", "cd"}},
		"written over":     {[]string{" 1%\r", " 2%\r 3%\r"}, []string{" 1%", " 3%"}},
		"colours":          {[]string{"\x1b[1mx\x1b[0m\n"}, []string{"x"}},
		"nothing for long": {[]string{"a\n", "", "", "", "", "", "", "", "", "", "", ""}, []string{"a", ""}},
		"a flood, its end": {[]string{strings.Repeat("x\n", 100_000) + "the end\n"},
			[]string{strings.Repeat("x\n", 1020) + "the end"}},
		"a line without end":  {[]string{strings.Repeat("x", 200_000), "y\n", "z\n"}, []string{"z"}},
		"only the end counts": {[]string{"not ended"}, nil},
	} {
		if diff := cmp.Diff(test.want, news(t, &runner{}, test.pieces...)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// pem returns a private key, made up.
func pem() []string {
	lines := []string{"-----BEGIN RSA PRIVATE " + "KEY-----"}
	for i := range 24 {
		lines = append(lines, strings.Repeat(string(rune('A'+i)), 30)+strings.Repeat(string(rune('b'+i)), 30)+"q9Z/")
	}
	return append(lines, "-----END RSA PRIVATE "+"KEY-----")
}

func TestProgressHidesWhatComesInPieces(t *testing.T) {
	r := &runner{Options: Options{Scrub: scrubber(t)}}
	var pieces []string
	for _, line := range pem() {
		pieces = append(pieces, line+"\n")
	}
	got := strings.Join(news(t, r, append(append([]string{"before\n"}, pieces...), "after\n",
		strings.Repeat("more\n", 1000))...), "\n")
	if strings.Contains(got, "q9Z/") || !strings.Contains(got, "before") || !strings.Contains(got, "more") {
		t.Errorf("%s", got)
	}
}

// TestProgressOfShortLines has a scrubber, which holds back the end of what it gets.
func TestProgressOfShortLines(t *testing.T) {
	r := &runner{Options: Options{Scrub: scrubber(t)}}
	key := "AKIA" + "Q3EGRIXT5FGHJKLM"
	got := news(t, r, "one\n", "two\n", "key "+key+"\n", "four\n")
	if diff := cmp.Diff([]string{"one", "two", "key [REDACTED]", "four"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProgressIsThrottled(t *testing.T) {
	var rep reporter
	synctest.Test(t, func(t *testing.T) {
		rep = reporter{}
		f := (&runner{}).follow(within(t, &rep), time.Minute)
		for range 1000 {
			f.watch(sandbox.Stderr, []byte("x\n"))
			time.Sleep(time.Millisecond)
		}
		f.stop()
		f.watch(sandbox.Stdout, []byte("too late\n"))
	})
	if n := len(rep.messages); n < 3 || n > 5 || rep.total != 60 {
		t.Errorf("%d messages in a second, of %v", n, rep.total)
	}
	for i := range rep.done[1:] {
		if rep.done[i+1] <= rep.done[i] {
			t.Errorf("progress went from %v to %v", rep.done[i], rep.done[i+1])
		}
	}
}

func TestProgressOfACommand(t *testing.T) {
	rep := &reporter{}
	synctest.Test(t, func(t *testing.T) {
		next := &actor{status: running(), act: func(_ context.Context, a *actor, _ sandbox.WaitCondition) bool {
			time.Sleep(time.Second)
			a.set(func(s *sandbox.Status) { s.State = sandbox.Exited })
			return true
		}}
		next.out.write("compiling\n")
		all := Tools(Options{Commands: &stage{site: isolated(), next: next}})
		if _, err := bind(t, all, "exec", `{"command":"x"}`).Run(within(t, rep)); err != nil {
			t.Error(err)
		}
	})
	if got := rep.all(); len(got) != 1 || got[0] != "compiling" {
		t.Errorf("%q", got)
	}
}
