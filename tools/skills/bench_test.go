package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

func words(i int) string {
	all := []string{"invoice", "report", "database", "image", "deploy", "translate", "test", "calendar", "chart", "audit", "parse", "mail", "graph", "video"}
	return all[i%len(all)] + " " + all[i/3%len(all)] + " " + all[i/7%len(all)] + fmt.Sprint(" topic", i)
}

// BenchmarkSearch searches among a thousand skills.
func BenchmarkSearch(b *testing.B) {
	const many = 1000
	for _, where := range []string{"published", "home", "workspace"} {
		b.Run(where, func(b *testing.B) {
			bench := sqlite(b)
			for i := range many {
				name := fmt.Sprintf("skill-%d", i)
				main := mainFile(name, "Handles "+words(i)+" for people who need "+words(i*5), "# "+words(i*11)+"\n\ntext")
				switch where {
				case "published":
					publishMain(b, bench.rows, main)
				case "home":
					put(b, filepath.Join(bench.dirs[0], name, skill.Main), main)
				default:
					put(b, filepath.Join(bench.ws, "skills", name, skill.Main), main)
				}
			}
			start := time.Now()
			found, err := bench.Search(bench.ctx, "deploy a database", 8)
			if err != nil || len(found.Hits) != 8 || found.Total != many {
				b.Fatal(found, err)
			}
			first := time.Since(start)
			var took []time.Duration
			n := 0
			for b.Loop() {
				n++
				start := time.Now()
				if _, err := bench.Search(bench.ctx, words(n), 8); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func publishMain(b *testing.B, r rows, main string) {
	b.Helper()
	d, err := skill.Pack(b.Context(), []skill.Content{{File: skill.File{Path: skill.Main}, Data: []byte(main)}},
		skill.NewGuard())
	if err != nil {
		b.Fatal(err)
	}
	d.Owner = tool.Owner{Agent: "tester", User: "u"}
	if _, _, err := r.publish(b.Context(), d); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPublish publishes a skill of some files, each time a new version.
func BenchmarkPublish(b *testing.B) {
	bench := sqlite(b)
	for i := range 20 {
		put(b, fmt.Sprintf("%s/draft/references/%d.md", bench.ws, i), fmt.Sprint("text ", i))
	}
	n := 0
	for b.Loop() {
		n++
		put(b, bench.ws+"/draft/"+skill.Main, mainFile("forms", "x", fmt.Sprint(n)))
		if _, err := bench.Publish(bench.ctx, "draft", false); err != nil {
			b.Fatal(err)
		}
	}
	_ = os.Remove(bench.ws + "/draft/" + skill.Main)
}
