package searchindex

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// BenchmarkSearch searches with the index, alternating with ripgrep, and reports medians.
func BenchmarkSearch(b *testing.B) {
	needtest.Program(b, "rg")
	w := benchTree(b)
	w.start()
	for _, p := range []struct {
		name  string
		query search.Query
		flags []string
	}{
		{"RareLiteral", search.Query{Pattern: "errServerClosedIdle"}, nil},
		{"CommonLiteral", search.Query{Pattern: "return"}, nil},
		{"IgnoreCase", search.Query{Pattern: "unmarshaltypeerror", IgnoreCase: true}, []string{"-i"}},
		{"Alternation", search.Query{Pattern: "Unmarshal|WithTimeout|ParseFloat"}, nil},
		{"RegexLiteral", search.Query{Pattern: `func \w+Timeout\(`}, nil},
		{"RegexNoLiteral", search.Query{Pattern: `[A-Z]{3}-[0-9]+`}, nil},
		{"Word", search.Query{Pattern: "err", Word: true}, []string{"-w"}},
		{"NoMatch", search.Query{Pattern: "zqzqzqzq_none"}, nil},
	} {
		b.Run(p.name, func(b *testing.B) {
			var ours, theirs []time.Duration
			p.query.Limit = 1 << 30
			m, err := search.Compile(p.query)
			w.do(err)
			for b.Loop() {
				begun := time.Now()
				_ = exec.Command("rg", append(p.flags, "-n", "--no-heading", "-e", p.query.Pattern, w.dir)...).Run()
				theirs = append(theirs, time.Since(begun))
				begun = time.Now()
				names, ok := w.x.Candidates(b.Context(), ".", m.Regexp(), nil)
				if !ok {
					b.Fatal("no answer")
				}
				if _, err := m.Search(b.Context(), search.Source{Root: w.root}, names); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(begun))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			mine, rg := ours[len(ours)/2], theirs[len(theirs)/2]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(mine.Microseconds())/1e3, "ms")
			b.ReportMetric(float64(rg.Microseconds())/1e3, "rg-ms")
			b.ReportMetric(float64(mine)/float64(rg), "x-rg")
		})
	}
}
