//go:build unix

package box_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// ends returns a command of which the agent may leave out the middle.
func ends(text string) wire.StartBody {
	body := sh(text)
	body.Stdout = wire.Ends{Head: 100_000, Tail: 50_000}
	return body
}

// The middle of long output does not arrive; the bytes that do and the number of
// the others are exact.
func TestTheMiddleIsSkipped(t *testing.T) {
	b := open(t)
	var all strings.Builder
	for i := 1; i <= 200_000; i++ {
		all.WriteString(strconv.Itoa(i) + "\n")
	}
	want := all.String()
	s := run(t, b, ends("seq 200000"))
	at, size := 0, []int(nil)
	for i, part := range strings.Split(s.stdout(), "[") {
		if count, rest, skipped := strings.Cut(part, " skipped]"); i > 0 && skipped {
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			at, part = at+n, rest
		}
		if !strings.HasPrefix(want[at:], part) {
			t.Fatalf("at %d are other bytes: %.40q", at, part)
		}
		at, size = at+len(part), append(size, len(part))
	}
	if at != len(want) || len(size) < 2 || size[0] < 100_000 || size[len(size)-1] < 50_000 || s.skipped == 0 {
		t.Errorf("of %d bytes %d are counted, %d skipped, and %d arrive", len(want), at, s.skipped, size)
	}
	if s = run(t, b, ends("seq 20000")); s.stdout() != want[:len(s.stdout())] || len(s.stdout()) != 108_894 {
		t.Errorf("of output that is short enough %d bytes arrive", len(s.stdout()))
	}
}

// A quiet command has nothing in the agent, and neither has one that has ended.
func TestTailsArriveWhenTheStreamIsQuiet(t *testing.T) {
	b := open(t)
	c, s := start(t, b, ends("seq 200000; echo done; exec sleep 1000"))
	s.until(t, "done\n")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
	c, s = start(t, b, ends("head -c 1000000 /dev/zero; yes & exit 3"))
	wait(t, "exit", s.exited)
	if s.exit.Code != 3 || s.exit.Left != 1 {
		t.Errorf("it ended as %+v", s.exit)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
}
