package edit

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show returns the diff of two texts of which everything may have changed.
func show(before, after string, context, maxBytes int) string {
	o := Outcome{Before: before, After: after, Spans: []Span{{0, len(before), 0, len(after)}}}
	return o.Diff(context, maxBytes)
}

func TestShow(t *testing.T) {
	long := strings.Repeat("word ", 200)
	for name, c := range map[string]struct{ before, after, want string }{
		"one line":   {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"created":    {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":    {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"ending":     {"a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		"appended":   {"a\n", "a\nb\n", "@@ -1,1 +1,2 @@\n a\n+b\n"},
		"joined":     {"a\nb\n", "ab\n", "@@ -1,2 +1,1 @@\n-a\n-b\n+ab\n"},
		"two hunks":  {"1\n2\n3\n4\n5\n6\n7\n", "x\n2\n3\n4\n5\n6\ny\n", "@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -6,2 +6,2 @@\n 6\n-7\n+y\n"},
		"one hunk":   {"1\n2\n3\n4\n", "x\n2\n3\ny\n", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n+y\n"},
		"all CRLF":   {"a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		"some CRLF":  {"a\r\nb\r\n", "a\r\nb\n", "@@ -1,2 +1,2 @@\n a␍\n-b␍\n+b\n"},
		"not UTF-8":  {"a\xff\n", "b\xff\n", "@@ -1,1 +1,1 @@\n-a\uFFFD\n+b\uFFFD\n"},
		"long lines": {long + "x\n", long + "y\n", "@@ -1,1 +1,1 @@\n-…" + long[800:] + "x\n+…" + long[800:] + "y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(c.before, c.after, 1, 1<<20)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDiffIsBounded(t *testing.T) {
	before, after := strings.Repeat("a\n", 100_000), strings.Repeat("b\n", 100_000)
	got := show(before, after, 3, 1000)
	if len(got) > 1100 || !strings.HasSuffix(got, " more lines\n") {
		t.Errorf("%d bytes: %q", len(got), got[max(0, len(got)-100):])
	}
}

// TestDiffLeadsToAfter changes texts at random places and applies the diff.
func TestDiffLeadsToAfter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		before := randomLines(random, 1+random.IntN(300))
		after := mutate(random, before)
		diff := show(strings.Join(before, ""), strings.Join(after, ""), random.IntN(4), 1<<30)
		got, err := applied(strings.Join(before, ""), diff)
		if err != nil || got != strings.Join(after, "") {
			t.Fatalf("round %d: %v\n%s", round, err, diff)
		}
	}
}

func randomLines(random *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d\n", random.IntN(40))
	}
	if random.IntN(3) == 0 {
		lines[n-1] = strings.TrimSuffix(lines[n-1], "\n")
	}
	return lines
}

func mutate(random *rand.Rand, lines []string) []string {
	var out []string
	for _, line := range lines {
		switch random.IntN(20) {
		case 0:
		case 1:
			out = append(out, "new\n", line)
		case 2:
			out = append(out, "changed"+line)
		default:
			out = append(out, line)
		}
	}
	if len(out) > 1 { // only the last may be without an ending
		for i, line := range out[:len(out)-1] {
			out[i] = strings.TrimSuffix(line, "\n") + "\n"
		}
	}
	return out
}

// applied applies a unified diff with nothing forgiven.
func applied(before, diff string) (string, error) {
	lines := SplitLines(before)
	var out []string
	used := 0
	patch := SplitLines(diff)
	for i := 0; i < len(patch); i++ {
		line := patch[i]
		if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
			continue
		}
		var from, old, to, new int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &from, &old, &to, &new); err != nil {
			return "", fmt.Errorf("%q: %w", line, err)
		}
		if old > 0 {
			from--
		}
		for ; used < from; used++ {
			out = append(out, lines[used])
		}
		for old > 0 || new > 0 {
			i++
			mark, content := patch[i][0], patch[i][1:]
			if i+1 < len(patch) && strings.HasPrefix(patch[i+1], "\\") {
				content = strings.TrimSuffix(content, "\n")
			}
			if mark != '+' {
				if used >= len(lines) || lines[used] != content {
					return "", fmt.Errorf("%s is not %q", strconv.Itoa(used), content)
				}
				used++
				old--
			}
			if mark != '-' {
				out = append(out, content)
				new--
			}
			if i+1 < len(patch) && strings.HasPrefix(patch[i+1], "\\") {
				i++
			}
		}
	}
	return strings.Join(append(out, lines[used:]...), ""), nil
}

func BenchmarkShowOneLineOf5MB(b *testing.B) {
	before := strings.Repeat("a line of some forty characters or so..\n", 125_000)
	o := Outcome{
		Before: before, After: before[:2_500_000] + "changed" + before[2_500_000:],
		Spans: []Span{{2_500_000, 2_500_000, 2_500_000, 2_500_007}},
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Diff(3, 2000)
	}
}
