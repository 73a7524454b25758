package skills

import (
	"context"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// TestServedFilesAreListed lists, finds and searches the files of a version with the file tools. They see no other
// caller's skills, and no version that is not named.
func TestServedFilesAreListed(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		put(t, b.ws+"/draft/SKILL.md", mainFile("D\u00e9ploy", "how to deploy", "Say needle."))
		put(t, b.ws+"/draft/scripts/run.sh", "echo needle\n")
		p, err := b.Publish(b.ctx, "draft", true)
		if err != nil || p.Name != "deploy" || p.Title != "D\u00e9ploy" {
			t.Fatalf("%+v, %v", p, err)
		}
		names := func(l workspace.Listing, err error) (all []string) {
			if err != nil {
				t.Error(err)
			}
			for _, e := range l.Entries {
				all = append(all, e.Name)
			}
			return all
		}
		for path, want := range map[string][]string{
			"skills/deploy@1":         {"SKILL.md", "scripts", "scripts/run.sh"},
			"skills/deploy@1/scripts": {"run.sh"},
			".":                       {"draft", "draft/SKILL.md", "draft/scripts", "draft/scripts/run.sh"},
		} {
			got := names(b.files.List(b.ctx, workspace.ListQuery{Path: path, Depth: 3, Limit: 20}))
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q", path, got)
			}
		}
		glob := workspace.GlobQuery{Path: "skills/deploy@1", Pattern: "**/*.sh", Limit: 9}
		got := names(b.files.Glob(b.ctx, glob))
		if !slices.Equal(got, []string{"skills/deploy@1/scripts/run.sh"}) {
			t.Errorf("%q", got)
		}
		found, err := b.files.Search(b.ctx, search.Query{Path: "skills/deploy@1", Pattern: "needle", Limit: 9})
		if err != nil || len(found.Files) != 2 {
			t.Errorf("%+v, %v", found, err)
		}
		for _, ctx := range []context.Context{b.ctx, b.as("tester", "v"), b.as("other", "u")} {
			path := "skills/deploy@1"
			if ctx == b.ctx {
				path = "skills/deploy@2"
			}
			l, err := b.files.List(ctx, workspace.ListQuery{Path: path, Depth: 3, Limit: 20})
			if kind(err) != tool.NotFound {
				t.Errorf("%s: %+v, %v", path, l, err)
			}
		}
	})
}
