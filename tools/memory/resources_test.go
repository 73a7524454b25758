package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// TestResources lists memories and reads each of them by its URI.
func TestResources(t *testing.T) {
	m, _ := open(t, t.TempDir(), t.TempDir())
	ctx := as(t, "helper", "ann")
	texts := map[string]string{}
	for _, key := range []string{"deploy", "a b", "taste"} {
		texts[remember(t, ctx, m, key, "text of "+key).Path] = "text of " + key
	}
	var names []string
	list, err := m.Resources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		names = append(names, r.Name)
		part, err := m.Resource(ctx, r.URI)
		if err != nil || !strings.Contains(part.Text, texts[r.Name]) || part.MIME != "text/markdown" {
			t.Errorf("%s: %+v, %v", r.Name, part, err)
		}
	}
	if !slices.IsSorted(names) || len(names) != 3 {
		t.Errorf("listed %q", names)
	}
	if _, err := m.Resource(ctx, memory.Scheme+"%zz"); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("invalid URI: %v", err)
	}
	if got, more, err := m.Complete(ctx, "memory/", 2); err != nil || !more || !slices.Equal(got, names[:2]) {
		t.Errorf("completions %q, more %v, %v", got, more, err)
	}
}
