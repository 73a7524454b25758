package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// TestResources lists memories in pages and reads each of them by its URI.
func TestResources(t *testing.T) {
	m, _ := open(t, t.TempDir(), t.TempDir())
	ctx := as(t, "helper", "ann")
	texts := map[string]string{}
	for _, key := range []string{"deploy", "a b", "taste"} {
		texts[remember(t, ctx, m, key, "text of "+key).Path] = "text of " + key
	}
	var names []string
	cursor := ""
	for {
		page, next, err := m.Resources(ctx, cursor, 2)
		if err != nil || len(page) > 2 {
			t.Fatalf("%d resources, %v", len(page), err)
		}
		for _, f := range page {
			names = append(names, f.Name)
			part, err := m.Resource(ctx, memory.URI(f.Name))
			if err != nil || !strings.Contains(part.Text, texts[f.Name]) || part.MIME != "text/markdown" {
				t.Errorf("%s: %+v, %v", f.Name, part, err)
			}
		}
		if next == "" {
			break
		}
		if strings.Contains(next, "memory") || len(names) > 3 {
			t.Fatalf("cursor %q after %q", next, names)
		}
		cursor = next
	}
	if !slices.IsSorted(names) || len(names) != 3 {
		t.Errorf("listed %q", names)
	}
	if _, _, err := m.Resources(ctx, "gone", 2); tool.AsError(err).Kind != tool.Invalid {
		t.Errorf("unknown cursor: %v", err)
	}
	if _, err := m.Resource(ctx, memory.Scheme+"%zz"); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("invalid URI: %v", err)
	}
	if got, more, err := m.Complete(ctx, "memory/", 2); err != nil || !more || !slices.Equal(got, names[:2]) {
		t.Errorf("completions %q, more %v, %v", got, more, err)
	}
}
