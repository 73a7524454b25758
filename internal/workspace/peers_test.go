package workspace_test

import (
	"context"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// everything is more than any search finds, so that both programs read all files.
const everything = 10_000_000

// BenchmarkSearchAgainstRipgrep searches the Go tree and the module cache, alternating
// with rg. x_of_peer is our time divided by that of an rg process.
func BenchmarkSearchAgainstRipgrep(b *testing.B) {
	rg := needtest.Program(b, "rg")
	for name, dir := range goTrees(b) {
		for _, indexed := range []bool{false, true} {
			w, ctx := searched(b, dir, indexed)
			for _, p := range []struct {
				name, pattern string
				flags         []string
				limit         int
			}{
				{"rare literal", "ErrUnexpectedSpanNest", nil, everything},
				{"no match", "qqzzyyxxwwvv", nil, everything},
				{"common literal", "return", nil, everything},
				{"common literal, first page", "return", nil, 100},
				{"ignoring case", "unmarshaltext", []string{"-i"}, everything},
				{"one of three", "ReadFrom|WriteTo|ReadByte", nil, everything},
				{"regex with a literal", `func \w+Deadline\(`, nil, everything},
				{"regex without a literal", `[A-Z]{4}-[0-9]{2,}`, nil, everything},
				{"word", "Reader", []string{"-w"}, everything},
			} {
				q := search.Query{Pattern: p.pattern, Path: ".", Mode: search.Content, Limit: p.limit,
					IgnoreCase: slices.Contains(p.flags, "-i"), Word: slices.Contains(p.flags, "-w")}
				b.Run(fmt.Sprintf("%s/%s/%s", name, state(indexed), p.name), func(b *testing.B) {
					against(b, func() { run(b, dir, rg, append(p.flags, "-n", "--no-heading", p.pattern)...) }, func() {
						if _, err := w.Search(ctx, q); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		}
	}
}

// BenchmarkGlobAgainstFd finds files by their names.
func BenchmarkGlobAgainstFd(b *testing.B) {
	fd := needtest.Program(b, "fd", "fdfind")
	for name, dir := range goTrees(b) {
		for _, indexed := range []bool{false, true} {
			w, ctx := searched(b, dir, indexed)
			b.Run(name+"/"+state(indexed), func(b *testing.B) {
				against(b, func() { run(b, dir, fd, "-t", "f", "-g", "*_test.go") }, func() {
					if _, err := w.Glob(ctx, workspace.GlobQuery{Pattern: "**/*_test.go", Limit: everything}); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

func state(indexed bool) string {
	if indexed {
		return "warm"
	}
	return "cold"
}

func goTrees(b *testing.B) map[string]string {
	b.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		b.Fatal(err)
	}
	trees := map[string]string{"GOROOT": build.Default.GOROOT, "GOMODCACHE": strings.TrimSpace(string(out))}
	for name, dir := range trees {
		if past, err := filepath.EvalSymlinks(dir); err == nil {
			trees[name] = past
		}
	}
	return trees
}

// searched returns a workspace of a tree, with or without an index that is ready.
func searched(b *testing.B, dir string, indexed bool) (*workspace.Workspace, context.Context) {
	b.Helper()
	w, _, _ := workspacetest.New(b, func(o *workspace.Options) {
		o.Deny, o.Protect = nil, nil
		if indexed {
			o.IndexMemory = 1 << 30
		}
	})
	ctx := workspacetest.For(b.Context(), workspacetest.Caller(dir))
	if indexed {
		q := search.Query{Pattern: "x", Path: ".", Mode: search.Names, Limit: 1}
		if _, err := w.Search(ctx, q); err != nil {
			b.Fatal(err)
		}
		if !w.Settle(ctx) {
			b.Fatal("there is no index")
		}
	}
	return w, ctx
}

func run(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatal(err)
	}
}

// against runs two functions alternately and reports the median of the ratios.
func against(b *testing.B, theirs, ours func()) {
	b.Helper()
	ours()
	theirs()
	var ratios, us, them []float64
	for range max(b.N, 5) {
		begun := time.Now()
		theirs()
		half := time.Now()
		ours()
		t, o := half.Sub(begun).Seconds(), time.Since(half).Seconds()
		ratios, us, them = append(ratios, o/t), append(us, o*1000), append(them, t*1000)
	}
	for unit, all := range map[string][]float64{"x_of_peer": ratios, "ours_ms": us, "peer_ms": them} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], unit)
	}
	b.ReportMetric(0, "ns/op")
}
