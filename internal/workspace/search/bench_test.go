package search

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// benchPatterns has one pattern of each kind; flags are those of rg.
var benchPatterns = []struct {
	name  string
	query Query
	flags []string
}{
	{"RareLiteral", Query{Pattern: "errServerClosedIdle"}, nil},
	{"CommonLiteral", Query{Pattern: "return"}, nil},
	{"IgnoreCase", Query{Pattern: "unmarshaltypeerror", IgnoreCase: true}, []string{"-i"}},
	{"Alternation", Query{Pattern: "Unmarshal|WithTimeout|ParseFloat"}, nil},
	{"RegexLiteral", Query{Pattern: `func \w+Timeout\(`}, nil},
	{"RegexNoLiteral", Query{Pattern: `[A-Z]{3}-[0-9]+`}, nil},
	{"RegexClasses", Query{Pattern: `\w+\s+\d+`}, nil},
	{"Word", Query{Pattern: "err", Word: true}, []string{"-w"}},
	{"NoMatch", Query{Pattern: "zqzqzqzq_none"}, nil},
}

func goEnv(tb testing.TB, name string) string {
	tb.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		tb.Skip(err)
	}
	return strings.TrimSpace(string(out))
}

func openTree(tb testing.TB, dir string) (*root.Root, []string) {
	tb.Helper()
	r, err := root.Open(dir)
	if err != nil {
		tb.Skip(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	names, _, err := tree.Files(tb.Context(), r, tree.Options{Dir: "."}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return r, names
}

// BenchmarkSearch searches all of GOROOT, including the walk, alternating with ripgrep,
// and reports medians.
func BenchmarkSearch(b *testing.B) { benchTree(b, goEnv(b, "GOROOT")) }

func benchTree(b *testing.B, dir string) {
	r, names := openTree(b, dir)
	b.Logf("%d files", len(names))
	for _, p := range benchPatterns {
		b.Run(p.name, func(b *testing.B) {
			var ours, page, rg, ratios []float64
			for b.Loop() {
				p.query.Limit = 1 << 30
				all := timed(func() { searchTree(b, r, p.query) })
				other := timed(func() {
					args := append(p.flags, "-n", "--no-heading", "-e", p.query.Pattern, dir)
					_ = exec.Command("rg", args...).Run() // exit code 1 means that nothing matched
				})
				p.query.Limit = 100
				page = append(page, timed(func() { searchTree(b, r, p.query) }))
				ours, rg, ratios = append(ours, all), append(rg, other), append(ratios, all/other)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(ours), "all-ms")
			b.ReportMetric(median(page), "page-ms")
			b.ReportMetric(median(rg), "rg-ms")
			b.ReportMetric(median(ratios), "x-rg")
		})
	}
}

func timed(do func()) float64 {
	start := time.Now()
	do()
	return float64(time.Since(start).Microseconds()) / 1000
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

func searchTree(b *testing.B, r *root.Root, q Query) {
	m, err := Compile(q)
	if err != nil {
		b.Fatal(err)
	}
	names, _, err := tree.Files(b.Context(), r, tree.Options{Dir: "."}, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := m.Files(b.Context(), r, names, nil); err != nil {
		b.Fatal(err)
	}
}
