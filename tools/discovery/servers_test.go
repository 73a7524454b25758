package discovery_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// withServers returns our tools with those of testdata/servers.txt.
func withServers(t testing.TB) *tool.Set {
	t.Helper()
	all := slices.Collect(allTools(t).All())
	for _, line := range linesOf(t, "testdata/servers.txt") {
		name, rest, _ := strings.Cut(line, " | ")
		about, arguments, _ := strings.Cut(rest, " |")
		properties := map[string]any{}
		for one := range strings.SplitSeq(arguments, ";") {
			if argument, text, ok := strings.Cut(one, ":"); ok {
				properties[strings.TrimSpace(argument)] = map[string]any{"type": "string",
					"description": strings.TrimSpace(text)}
			}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool.NewForeign(tool.Spec{Name: name, Group: "mcp", Title: name, Doc: about, Risk: tool.Runs},
			schema,
			func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Result{}, nil }))
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// linesOf returns the lines of a file without comments.
func linesOf(t testing.TB, path string) (all []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// TestRequestsAmongServers counts how often the first three of all tools, ours and those of
// servers, have one that is meant. What is in even places was never looked at.
func TestRequestsAmongServers(t *testing.T) {
	all := withServers(t)
	var found, total [2]int
	for i, line := range linesOf(t, "testdata/requests-servers.txt") {
		want, request, _ := strings.Cut(line, ": ")
		got := names(search(t, all, request, "3"))
		total[i%2]++
		if slices.ContainsFunc(strings.Split(want, "|"), func(one string) bool { return slices.Contains(got, one) }) {
			found[i%2]++
		} else if i%2 == 0 {
			t.Logf("%q: want %s, got %v", request, want, got)
		}
	}
	t.Logf("of %d tools: %d of %d requests tuned for, %d of %d others", all.Len(), found[0], total[0], found[1],
		total[1])
	for i, least := range []float64{0.7, 0.6} {
		if share := float64(found[i]) / float64(total[i]); share < least {
			t.Errorf("half %d: %.2f, the least is %.2f", i, share, least)
		}
	}
}
