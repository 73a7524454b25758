package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// shown returns what the model sees of these streams, and what was kept.
func shown(t testing.TB, o Options, out, errs *paper) (text, kept string) {
	t.Helper()
	keeper := &shelf{}
	o.Keeper = keeper
	r := &runner{Options: o, places: newPlaces()}
	printed, _, err := r.output(t.Context(), pair{&actor{}, out, errs})
	if err != nil {
		t.Fatal(err)
	}
	if o, e := printed.stdout, printed.stderr; !strings.Contains(printed.text, strings.TrimRight(o, "\n")) ||
		!strings.HasSuffix(printed.text, strings.TrimRight(e, "\n")) || strings.Contains(o, "stderr:\n"+e) && e != "" {
		t.Errorf("%q is %q and %q", printed.text, o, e)
	}
	return printed.text, keeper.text
}

// pair is a Process of which there are only logs.
type pair struct {
	*actor
	out, errs *paper
}

func (p pair) Log(s sandbox.Stream) sandbox.Log {
	if s == sandbox.Stdout {
		return p.out
	}
	return p.errs
}

// TestOffsetContinuesACutResult reads on where the text of a cut result says.
func TestOffsetContinuesACutResult(t *testing.T) {
	for _, n := range []int{500, 700, 3000, 30_000} {
		out, errs := &paper{}, &paper{}
		for i := range n {
			out.write(fmt.Sprintf("\x1b[1mout %d ü\x1b[0m\n", i))
			errs.write(fmt.Sprintf("err %d ü\n", i))
		}
		text, kept := shown(t, Options{Scrub: scrubber(t)}, out, errs)
		if len(text) > outputMost+500 || !utf8.ValidString(text) {
			t.Errorf("%d: %d bytes", n, len(text))
		}
		if kept == "" {
			if strings.Count(text, "\n") != 2*n {
				t.Errorf("%d: not whole, and not kept", n)
			}
			continue
		}
		for rest := text; ; {
			at := strings.Index(rest, " bytes left out here")
			if at < 0 {
				break
			}
			before, after := rest[:strings.LastIndexByte(rest[:at], '\n')+1], rest[at:]
			var left, offset int
			line := before[strings.LastIndexByte(before[:len(before)-1], '\n')+1:]
			if _, err := fmt.Sscanf(rest[len(before):], "[%d bytes", &left); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscanf(after[strings.Index(after, `"offset":`):], `"offset":%d`, &offset); err != nil {
				t.Fatal(err)
			}
			after = after[strings.IndexByte(after, '\n')+1:]
			next := after[:strings.IndexByte(after, '\n')+1]
			if !strings.HasSuffix(kept[:offset], line) || !strings.HasPrefix(kept[offset+left:], next) {
				t.Errorf("%d: at %d of what was kept ends %q, not %q; %d later begins %.20q", n, offset,
					kept[max(0, offset-20):offset], line, left, kept[offset+left:])
			}
			rest = after
		}
	}
}

func TestDiscardedOutputIsReported(t *testing.T) {
	out := &paper{from: 100, to: 5000}
	out.write(strings.Repeat("0123456789abcde\n", 400))
	text, _ := shown(t, Options{}, out, &paper{})
	if !strings.Contains(text, "[4900 bytes were dropped here") || len(text) > 1700 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

func TestTheAnswerCountsWhatWasNotKept(t *testing.T) {
	out := &paper{from: 20_000, to: 900_000}
	out.write(strings.Repeat("0123456789abcde\n", 1_000_000/16))
	text, _ := shown(t, Options{}, out, &paper{})
	head, rest, _ := strings.Cut(text, "[")
	count, rest, _ := strings.Cut(rest, "]\n")
	if want := fmt.Sprintf("%d bytes left out here: 880000 of them were not kept; ",
		1_000_000-len(head)-len(rest)-1); !strings.HasPrefix(count, want) { // the last line end is not shown
		t.Errorf("%q, want %q", count, want)
	}
}

func TestSecretsAreHiddenBeforeTheCut(t *testing.T) {
	key := strings.Join(pem(), "\n") + "\n"
	for _, before := range []int{0, 5000, 5500, 6000, 90_000} {
		out := &paper{}
		out.write(strings.Repeat("x\n", before/2) + key + strings.Repeat("y\n", 8000))
		text, _ := shown(t, Options{Scrub: scrubber(t)}, out, &paper{})
		out = &paper{}
		out.write(strings.Repeat("x\n", 8000) + key + strings.Repeat("y\n", before/2))
		text2, _ := shown(t, Options{Scrub: scrubber(t)}, out, &paper{})
		if strings.Contains(text+text2, "q9Z/") {
			t.Errorf("after %d bytes a part of the key shows", before)
		}
	}
}

func TestNotText(t *testing.T) {
	for text, want := range map[string]bool{
		"plain": false, "": false, "a\x00b\x00long name\x00": false, "\x1b[1mx\x1b[0m\r\n": false,
		"caf\xe9 au lait\n": false,
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xcd": true, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR": true,
		"a\x00b\x00c\x00d\x00":    true,
		strings.Repeat("漢", 5000): false,
	} {
		log := &paper{}
		log.write(text)
		if got := (section{log, 0, log.Size()}).binary(); got != want {
			t.Errorf("%.20q: %v", text, got)
		}
	}
}

// TestALongLogTakesNoMemory reads 64 MB.
func TestALongLogTakesNoMemory(t *testing.T) {
	r := &runner{Options: Options{Scrub: scrubber(t), Keeper: drop{}}, places: newPlaces()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	shown, _, err := r.output(t.Context(), endless{})
	text := shown.text
	runtime.ReadMemStats(&after)
	if err != nil || len(text) > outputMost+500 {
		t.Fatal(len(text), err)
	}
	if used := int64(after.HeapInuse) - int64(before.HeapInuse); used > 16<<20 {
		t.Errorf("%d bytes of memory", used)
	}
}

func TestCancelledOutputRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := &paper{}
	out.write("x")
	if _, _, err := (&runner{}).output(ctx, pair{&actor{}, out, &paper{}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzOutput expects valid text within its bounds, whatever a command writes.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("a\r\nb"), []byte("\x00\xff"), 3)
	f.Add([]byte("\x1b[2K\x1b]"), []byte("é"), 5000)
	f.Fuzz(func(t *testing.T, a, b []byte, times int) {
		out, errs := &paper{text: bytes.Repeat(a, min(max(times, 0), 3000))}, &paper{text: b}
		for _, keeper := range []Keeper{nil, &shelf{}, &shelf{err: os.ErrPermission}} {
			r := &runner{Options: Options{Keeper: keeper}}
			shown, _, err := r.output(t.Context(), pair{&actor{}, out, errs})
			text := shown.text
			if err != nil || len(text) > outputMost+1000 || !utf8.ValidString(text) ||
				strings.ContainsAny(text, "\x00\x1b\r") {
				t.Fatalf("%d bytes, %v: %q", len(text), err, text)
			}
		}
	})
}

// endless is a Process and a Log of 64 MB that is nowhere.
type endless struct{ sandbox.Process }

func (e endless) Log(s sandbox.Stream) sandbox.Log {
	if s == sandbox.Stdout {
		return e
	}
	return &paper{}
}

func (endless) Size() int64           { return 64 << 20 }
func (endless) Gap() (from, to int64) { return 0, 0 }

func (endless) ReadAt(p []byte, at int64) (int, error) {
	const line = "sixty-four bytes are what this line has, with its end, to the dot.\n"
	for n := 0; n < len(p); {
		n += copy(p[n:], line[(at+int64(n))%int64(len(line)):])
	}
	return len(p), nil
}

// drop is a Keeper that reads and forgets.
type drop struct{}

func (drop) Keep(_ context.Context, r io.Reader) (string, error) {
	_, err := io.Copy(io.Discard, r)
	return "r_1", err
}

// TestOutputIsLimitedInTokens shows less of output with many tokens.
func TestOutputIsLimitedInTokens(t *testing.T) {
	for _, c := range []struct {
		line      string
		n         int
		low, high int // bytes that are shown
	}{
		{"the usual words of a build that went well enough\n", 100, 4890, 5000},
		{"the usual words of a build that went well enough\n", 1000, 5500, 6200},
		{"h1:9fHAtK0uDfpveeqqo1hkEZJcFvYXAiCN3UutL8F9xHw=\n", 100, 2500, 4500},
		{"h1:9fHAtK0uDfpveeqqo1hkEZJcFvYXAiCN3UutL8F9xHw=\n", 1000, 2500, 4500},
	} {
		out := &paper{}
		for range c.n {
			out.write(c.line)
		}
		text, kept := shown(t, Options{}, out, &paper{})
		if len(text) < c.low || len(text) > c.high || (kept != "") != (len(text) < c.n*len(c.line)-100) {
			t.Errorf("%d times %.12q: %d bytes, %d kept", c.n, c.line, len(text), len(kept))
		}
		if kept != "" && len(kept) != c.n*len(c.line) {
			t.Errorf("%d times %.12q: %d bytes were kept", c.n, c.line, len(kept))
		}
	}
}
