package discovery_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools"
)

// search calls tool_search for a caller who may use all tools.
func search(t testing.TB, all *tool.Set, query, limit string) string {
	t.Helper()
	found, _ := all.Lookup("tool_search")
	args := `{"query":"` + query + `","limit":` + limit + `}`
	call, err := found.Bind([]byte(args), tool.Limits{Params: 20, Text: 1000, Items: 100, Depth: 5})
	if err != nil {
		t.Fatal(err)
	}
	ctx := tool.With(t.Context(), &tool.Running{Usable: func() []tool.Tool { return slices.Collect(all.All()) }})
	plan, err := call.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return res.Text()
}

func allTools(t testing.TB) *tool.Set {
	t.Helper()
	all, err := tools.All(tools.World{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// names lists the tools that a result declares.
func names(text string) (out []string) {
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, "("); ok && !strings.HasPrefix(line, "//") {
			out = append(out, name)
		}
	}
	return out
}

// TestRequests counts how often the first three tools have the one that is meant, for requests that are spelled
// right and for others.
func TestRequests(t *testing.T) {
	all := allTools(t)
	for path, least := range map[string]float64{
		"testdata/requests.txt": 0.93, "testdata/requests-misspelt.txt": 0.9,
	} {
		found, requests := 0, linesOf(t, path)
		for _, line := range requests {
			want, request, _ := strings.Cut(line, ": ")
			if got := names(search(t, all, request, "3")); slices.Contains(got, want) {
				found++
			} else {
				t.Logf("%q: want %s, got %v", request, want, got)
			}
		}
		share := float64(found) / float64(len(requests))
		t.Logf("%s: %d of %d requests (%.3f)", path, found, len(requests), share)
		if share < least {
			t.Errorf("%s: %.3f, the least is %.2f", path, share, least)
		}
	}
}

func TestNamesWin(t *testing.T) {
	all := allTools(t)
	for query, want := range map[string][]string{
		"glob":                 {"glob"},
		"undo, list_files":     {"undo", "list_files"},
		"bash":                 {"exec"}, // a name of another system
		"list_files and other": {"list_files"},
	} {
		if got := names(search(t, all, query, "2")); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
	if text := search(t, all, "xyzzy", "5"); !strings.Contains(text, "no tool matches") || !strings.Contains(text, "English") {
		t.Errorf("got %q", text)
	}
}

// TestFarBehind leaves out tools that match a request much worse than the best one.
func TestFarBehind(t *testing.T) {
	if got := names(search(t, allTools(t), "draw a pie chart of the sales", "5")); !slices.Contains(got, "create_image") ||
		len(got) == 5 {
		t.Errorf("got %v", got)
	}
}
