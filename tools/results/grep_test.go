package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/blob"
)

// numbers is a text of n lines: line 1, line 2, ...
func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestGrep(t *testing.T) {
	tests := []struct {
		name          string
		text, pattern string
		around, limit int
		want          string // numbers of lines, matches with a star
		next          int64
	}{
		{"matches", numbers(12), `line 1\d?$`, 0, 10, "1* 10* 11* 12*", 87},
		{"nothing", numbers(3), "x", 2, 10, "", 21},
		{"context", numbers(9), "line 5", 2, 10, "3 4 5* 6 7", 63},
		{"context at the edges", numbers(3), "1|3", 5, 10, "1* 2 3*", 21},
		{"context that overlaps", numbers(9), "[35]", 1, 10, "2 3* 4 5* 6", 63},
		{"matches side by side", numbers(9), "[34]", 1, 10, "2 3* 4* 5", 63},
		{"limit", numbers(9), "line", 0, 2, "1* 2*", 14},
		{"limit with context", numbers(9), "[37]", 1, 1, "2 3* 4", 28},
		{"limit, then a match in the context", numbers(9), "[34]", 3, 1, "1 2 3*", 21},
		{"no limit is one", numbers(9), "line", -1, 0, "1*", 7},
		{"no newline at the end", "a\nb", "b", 1, 1, "1 2*", 3},
		{"empty lines", "\n\n\n", "^$", 0, 9, "1* 2* 3*", 3},
		{"empty text", "", ".*", 0, 9, "", 0},
		{"runes", "漢字\nä\n", `\p{Han}`, 0, 9, "1*", 10},
		{"not UTF-8", "\xff\xfe\nb\xff\n", "b", 0, 9, "2*", 6},
	}
	s := open(t, blob.Limits{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := s.Grep(t.Context(), "me", put(t, s, "me", tt.text), tt.pattern, tt.around, tt.limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			matches := 0
			for _, l := range found.Lines {
				mark := fmt.Sprint(l.Number)
				if l.Match {
					mark += "*"
					matches++
				}
				got = append(got, mark)
				if l.Text != strings.Split(tt.text, "\n")[l.Number-1] {
					t.Errorf("line %+v", l)
				}
			}
			if text := strings.Join(got, " "); text != tt.want || found.Matches != matches {
				t.Errorf("lines %s with %d matches, want %s", text, found.Matches, tt.want)
			}
			if found.Next != tt.next || found.Size != int64(len(tt.text)) {
				t.Errorf("searched %d of %d, want %d", found.Next, found.Size, tt.next)
			}
		})
	}
}

func TestGrepShowsThePartOfALongLine(t *testing.T) {
	for _, before := range []int{0, 100, 5000, longLine - 3, longLine + 1, 3 * longLine} {
		for _, after := range []int{0, 2000, 2 * longLine} {
			text := "first\n" + strings.Repeat("漢", before/3) + "needle" + strings.Repeat("漢", after/3) + "\nlast needle\n"
			s := open(t, blob.Limits{})
			found, err := s.Grep(t.Context(), "me", put(t, s, "me", text), "n(e+)dle", 1, 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Lines) != 3 || found.Matches != 2 || found.Next != int64(len(text)) {
				t.Fatalf("%d before: %d lines, %d matches", before, len(found.Lines), found.Matches)
			}
			l := found.Lines[1]
			if !strings.Contains(l.Text, "needle") || len(l.Text) > maxShown || !strings.Contains(text, l.Text) ||
				l.Number != 2 {
				t.Errorf("%d before, %d after: %.300q", before, after, fmt.Sprint(l))
			}
			want := Line{Number: 3, Text: "last needle", Match: true}
			if diff := cmp.Diff(want, found.Lines[2]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	}
}

func TestLongLinesMatchLikeShortOnes(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", strings.Repeat("a", 3*longLine)+"b\nb\n")
	for pattern, want := range map[string]string{"^b": "2", "^a": "1", "a$": "", "b$": "1 2", "^a+b$": "1", `\bb`: "2", "": "1 2"} {
		found, err := s.Grep(t.Context(), "me", id, pattern, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range found.Lines {
			got = append(got, fmt.Sprint(l.Number))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q is in the lines %q, want %q", pattern, text, want)
		}
	}
}

func TestInvalidPatterns(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", "x")
	for _, pattern := range []string{"(", `\1`, "(?=x)", "a{2000}", strings.Repeat("ä", maxPattern+1), "\xff"} {
		if _, err := s.Grep(t.Context(), "me", id, pattern, 0, 1); !errors.Is(err, ErrPattern) {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
	if _, err := s.Grep(t.Context(), "me", id, strings.Repeat("ä", maxPattern), 0, 1); err != nil {
		t.Errorf("the longest pattern: %v", err)
	}
}

// TestPatternsNeedLinearTime checks patterns that need exponential time in
// other engines.
func TestPatternsNeedLinearTime(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", strings.Repeat("a", 200_000)+"!\n"+numbers(1000))
	for _, pattern := range []string{`(a*)*$`, `(a|a)*$x`, `(a+)+$b`, `(.*)(.*)(.*)(.*)x$`} {
		if _, err := s.Grep(t.Context(), "me", id, pattern, 0, 10); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestGrepStopsWithinALine(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", strings.Repeat("a", 10<<20))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.Grep(ctx, "me", id, "("+strings.Repeat("a?", 400)+"){2}b", 0, 10)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it continued for %s", took)
	}
}

func TestGrepLimitsItsResult(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", strings.Repeat(strings.Repeat("x", 2*maxShown)+"\n", 2000))
	found, err := s.Grep(t.Context(), "me", id, "x", maxAround+1, maxMatches+1)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, l := range found.Lines {
		total += len(l.Text)
	}
	if total < maxFound || total > maxFound+(maxAround+1)*maxShown || found.Next >= found.Size {
		t.Errorf("%d bytes, searched %d of %d", total, found.Next, found.Size)
	}
}
