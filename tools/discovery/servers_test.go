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

// TestRequestsAmongServers counts how often the first three of all tools, ours and those of servers, have one
// that is meant, for requests that the words were chosen for and for others.
func TestRequestsAmongServers(t *testing.T) {
	all := withServers(t)
	for path, least := range map[string]float64{
		"testdata/requests-servers.txt": 0.9, "testdata/requests-holdout.txt": 0.85,
	} {
		missed, total := 0, 0
		for _, line := range linesOf(t, path) {
			want, request, _ := strings.Cut(line, ": ")
			total++
			if got := names(search(t, all, request, "3")); !slices.ContainsFunc(strings.Split(want, "|"),
				func(one string) bool { return slices.Contains(got, one) }) {
				missed++
				if least == 0.9 {
					t.Logf("%q: want %s, got %v", request, want, got)
				}
			}
		}
		share := float64(total-missed) / float64(total)
		t.Logf("%s: %d of %d requests (%.3f) among %d tools", path, total-missed, total, share, all.Len())
		if share < least {
			t.Errorf("%s: %.3f, the least is %.2f", path, share, least)
		}
	}
}

// TestWordsAreOfTools fails for words of tools that do not exist.
func TestWordsAreOfTools(t *testing.T) {
	all := allTools(t)
	for _, line := range linesOf(t, "words.txt") {
		name, _, _ := strings.Cut(line, ":")
		if _, ok := all.Lookup(name); !ok {
			t.Errorf("words.txt has the tool %q, which does not exist", name)
		}
	}
}
