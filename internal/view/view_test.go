package view_test

import (
	"strings"
	"testing"

	. "github.com/mcp-tools/mcp-tools/internal/view"
)

func TestDiffs(t *testing.T) {
	same := func(s string) string { return s }
	lines := func(n int, of string) string { return strings.Repeat(of+"\n", n) }
	for name, c := range map[string]struct {
		before, after string
		scrub         func(string) string
		want          string // in the difference; "" for none
		cut           bool
	}{
		"changed":  {"a\nb\n", "a\nc\n", same, " a\n-b\n+c\n", false},
		"new":      {"", "a\n", same, "+a\n", false},
		"removed":  {"a\n", "", same, "-a\n", false},
		"same":     {"a\n", "a\n", same, "", false},
		"binary":   {"a\x00", "b", same, "", false},
		"no UTF-8": {"a\xff", "b", same, "", false},
		"huge":     {strings.Repeat("x", 1<<20+1), "b", same, "", false},
		"long":     {"", lines(5000, "line"), same, "+line\n", true},
		"one line": {"", strings.Repeat("x", 500_000) + "\n", same, "@@", true},
		"secret": {"pass=hunter2\n", "pass=hunter3\n",
			func(s string) string { return strings.NewReplacer("hunter2", "[1]", "hunter3", "[2]").Replace(s) },
			"-pass=[1]\n+pass=[2]\n", false},
	} {
		f := File{Name: "f"}.Of(c.before, c.after, c.scrub)
		if !strings.Contains(f.Diff, c.want) || (c.want == "") != (f.Diff == "") || (f.Cut > 0) != c.cut ||
			len(f.Diff) > 40<<10 || strings.Contains(f.Diff, "hunter") {
			t.Errorf("%s: %.300q, %d lines cut", name, f.Diff, f.Cut)
		}
	}
}
