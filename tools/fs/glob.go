package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// globFiles finds files by their names.
type globFiles struct{ files workspace.Files }

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"as in src/**/*.{ts,tsx}" alias:"glob,glob_pattern"`
	Path    string `json:"path,omitempty" jsonschema:"directory" alias:"dir,directory,dir_path"`
	Sort    string `json:"sort,omitempty" jsonschema:"newest or name"`
	Limit   int    `json:"limit,omitempty" jsonschema:"default 200" alias:"max_results,head_limit"`
	All     bool   `json:"all,omitempty" jsonschema:"hidden and ignored too"`
}

const byName = "name"

func (globFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "glob", Group: group, Title: "Find files by name", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:  "Finds files by name; honours .gitignore.",
		Also: []string{"Glob", "glob_search", "find", "find_files"}, Keywords: "find files names wildcard",
	}
}

func (t globFiles) Do(ctx context.Context, a globArgs) (tool.Result, error) {
	switch strings.ToLower(a.Sort) {
	case "name", "path":
		a.Sort = byName
	case "", "newest", "mtime", "modified", "time":
	default:
		return tool.Result{}, tool.Errorf(tool.Invalid, "there is no order %.40q", a.Sort).Try("sort by newest or %s", byName)
	}
	l, err := t.files.Glob(ctx, workspace.GlobQuery{
		Pattern: a.Pattern, Path: here(a.Path), Limit: bounded(a.Limit, 200, 5000), Newest: a.Sort != byName, Hidden: a.All, Ignored: a.All,
	})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showFound(l, a)), nil
}

func showFound(l workspace.Listing, a globArgs) string {
	var b strings.Builder
	for _, e := range l.Entries {
		b.WriteString(e.Name)
		b.WriteByte('\n')
	}
	switch {
	case len(l.Entries) == 0:
		fmt.Fprintf(&b, "no file below %s matches %q", l.Dir, a.Pattern)
		if !strings.Contains(a.Pattern, "**") {
			fmt.Fprintf(&b, "; %q looks in all directories", "**/"+strings.TrimPrefix(a.Pattern, "./"))
		} else if !a.All {
			b.WriteString("; all: true looks at hidden and ignored files too")
		}
		b.WriteByte('\n')
	case l.More > 0:
		fmt.Fprintf(&b, "[%d of %d files, %s; raise limit, or narrow the pattern]\n",
			len(l.Entries), len(l.Entries)+l.More, order(a.Sort))
	}
	unlisted(&b, l.Unlisted)
	return strings.TrimSuffix(b.String(), "\n")
}

func order(sort string) string {
	if sort == byName {
		return "by name"
	}
	return "newest first"
}
