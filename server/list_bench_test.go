package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// listArgs are arguments as a tool of ordinary size has them.
type listArgs struct {
	Path    string   `json:"path" jsonschema:"file or directory, relative to the workspace"`
	Pattern string   `json:"pattern,omitempty" jsonschema:"regular expression to look for"`
	Mode    string   `json:"mode,omitempty" jsonschema:"what to return; default matches" enum:"matches,files,count" default:"matches"`
	Limit   int      `json:"limit,omitempty" jsonschema:"most entries to return" min:"1" max:"1000" default:"100"`
	Globs   []string `json:"globs,omitempty" jsonschema:"only files that match one of these"`
	Hidden  bool     `json:"hidden,omitempty" jsonschema:"include hidden files"`
}

const listLine = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// BenchmarkList60Tools answers tools/list as a transport does, from the bytes
// of the request to those of the answer, in turns with mcp-go.
func BenchmarkList60Tools(b *testing.B) {
	ours, bare := listers(b, 60)
	if got, want := toolCount(b, ours()), toolCount(b, bare()); got != 60 || want != 60 {
		b.Fatalf("we list %d tools and mcp-go %d, both have 60", got, want)
	}
	var ratios, us, them []float64
	for b.Loop() {
		mine, theirs := clock(50, ours), clock(50, bare)
		us, them = append(us, mine), append(them, theirs)
		ratios = append(ratios, theirs/mine)
	}
	b.ReportMetric(0, "ns/op") // of a round: says nothing
	b.ReportMetric(middle(us), "ours-ns/list")
	b.ReportMetric(middle(them), "bare-ns/list")
	b.ReportMetric(middle(ratios), "x_vs_bare")
}

// listers returns the two functions that write a list of the same n tools.
func listers(b *testing.B, n int) (ours, bare func() []byte) {
	var all []tool.Tool
	for i := range n {
		all = append(all, newTool(fmt.Sprintf("tool_%02d", i), tool.Reads,
			func(context.Context, listArgs) (tool.Result, error) { return tool.Text("done"), nil }))
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		b.Fatal(err)
	}
	s := newTestServer(b, func(c *Config) {
		c.Tools, c.Settings = set, testSettings(b, set, policy.Rules{})
	})
	one := s.newSession(testAccess())
	ours = func() []byte {
		m, broken := jsonrpc.Parse([]byte(listLine))
		if broken != nil {
			b.Fatal(broken)
		}
		return one.handle(b.Context(), m, one.access, nil).msg
	}
	stock := mcpserver.NewMCPServer("bare", "1", mcpserver.WithToolCapabilities(true))
	for _, t := range all {
		described := mcp.NewToolWithRawSchema(t.Spec.Name, t.Spec.Doc, t.Schema())
		described.Annotations = mcp.ToolAnnotation{
			Title: t.Spec.Title, ReadOnlyHint: mcp.ToBoolPtr(true), DestructiveHint: mcp.ToBoolPtr(false),
			IdempotentHint: mcp.ToBoolPtr(true), OpenWorldHint: mcp.ToBoolPtr(false),
		}
		stock.AddTool(described, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		})
	}
	return ours, func() []byte {
		answer, err := json.Marshal(stock.HandleMessage(b.Context(), json.RawMessage(listLine)))
		if err != nil {
			b.Fatal(err)
		}
		return answer
	}
}

func toolCount(b *testing.B, answer []byte) int {
	return len(read(b, string(answer)).Result.Tools)
}

// clock is how many nanoseconds f takes, measured over n times.
func clock(n int, f func() []byte) float64 {
	start := time.Now()
	for range n {
		f()
	}
	return float64(time.Since(start)) / float64(n)
}

// middle is the median.
func middle(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }
