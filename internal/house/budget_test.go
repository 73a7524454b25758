package house

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
)

// budget is the max number of lines of Go, without tests, of each area. An area
// is a list of directories with all below them.
var budget = []struct {
	lines int
	dirs  []string
}{
	{3000, []string{"tools/exec/judge"}},
	{7000, []string{"tools/exec"}},
	{4500, []string{"internal/page"}},
	{13000, []string{"tools/web", "internal/browser", "internal/egress"}},
	{8000, []string{"internal/store", "internal/audit", "internal/approvals", "internal/tokens"}},
	{1500, []string{"internal/clients"}},
	{3500, []string{"scrub"}},
	{105000, []string{"."}},
}

// TestBudget prints the size of each area. It never fails: a number that fails
// a test becomes the target.
func TestBudget(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t) {
		if !s.test() {
			lines[s.dir] += bytes.Count(s.text, []byte{'\n'})
		}
	}
	for _, b := range budget {
		total := 0
		for dir, n := range lines {
			if slices.ContainsFunc(b.dirs, func(d string) bool {
				return d == "." || dir == d || strings.HasPrefix(dir, d+"/")
			}) {
				total += n
			}
		}
		note := ""
		if total > b.lines {
			note = "  over budget"
		}
		t.Logf("%7d of %7d lines: %s%s", total, b.lines, strings.Join(b.dirs, ", "), note)
	}
	t.Log("largest packages:")
	dirs := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return cmp.Compare(lines[b], lines[a]) })
	for _, dir := range dirs[:min(12, len(dirs))] {
		t.Logf("%7d lines: %s", lines[dir], dir)
	}
}
