package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// globFiles is the tool that finds files by name.
type globFiles struct{ files workspace.Files }

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"glob such as src/**/*.{ts,tsx}" alias:"glob,glob_pattern"`
	Path    string `json:"path,omitempty" jsonschema:"directory to search" alias:"dir,directory,dir_path"`
	Sort    string `json:"sort,omitempty" jsonschema:"order: newest or name"`
	Limit   int    `json:"limit,omitempty" jsonschema:"files to return" alias:"max_results,head_limit"`
	All     bool   `json:"all,omitempty" jsonschema:"include hidden and ignored files" alias:"hidden,include_hidden"`
}

const byName = "name"

func (globFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "glob", Group: group, Title: "Find files by name",
		Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:  "Finds files by name, newest first. Leaves out ignored files. To find text in files use search.",
		Also: []string{"Glob", "glob_search", "find", "find_files"},
		Keywords: "find list all files by name type extension pattern ending wildcard newest latest last changed " +
			"recent images png csv logs markdown",
		Output: globbed{},
	}
}

func (t globFiles) Do(ctx context.Context, a globArgs) (tool.Result, error) {
	switch strings.ToLower(a.Sort) {
	case "name", "path":
		a.Sort = byName
	case "", "newest", "mtime", "modified", "time":
	default:
		return tool.Result{}, tool.Errorf(tool.Invalid, "cannot sort by %.40q", a.Sort).
			Try("sort by newest or %s", byName)
	}
	l, err := t.files.Glob(ctx, workspace.GlobQuery{
		Pattern: a.Pattern, Path: dirOrWorkspace(a.Path), Limit: bounded(a.Limit, 200, 5000),
		Newest: a.Sort != byName, Hidden: a.All, Ignored: a.All,
	})
	if err != nil {
		return tool.Result{}, err
	}
	data := globbed{Path: l.Dir, Files: []string{}, More: l.More}
	for _, e := range l.Entries {
		data.Files = append(data.Files, e.Name)
	}
	return tool.Text(formatGlob(l, a)).With(data), nil
}

// globbed is the result of the tool for programs.
type globbed struct {
	Path  string   `json:"path"`
	Files []string `json:"files"` // relative to the path
	More  int      `json:"more"`  // files beyond the limit
}

func formatGlob(l workspace.Listing, a globArgs) string {
	var b strings.Builder
	for _, e := range l.Entries {
		b.WriteString(e.Name)
		b.WriteByte('\n')
	}
	switch {
	case len(l.Entries) == 0:
		fmt.Fprintf(&b, "no file below %s matches %q", l.Dir, a.Pattern)
		if !strings.Contains(a.Pattern, "**") {
			fmt.Fprintf(&b, "; to search all directories use %q", "**/"+strings.TrimPrefix(a.Pattern, "./"))
		} else if !a.All {
			b.WriteString("; to include hidden and ignored files set all to true")
		}
		b.WriteByte('\n')
	case l.More > 0:
		order := "newest first"
		if a.Sort == byName {
			order = "by name"
		}
		fmt.Fprintf(&b, "[%d of %d files, %s; raise limit, or narrow the pattern]\n",
			len(l.Entries), len(l.Entries)+l.More, order)
	}
	formatUnlisted(&b, l.Unlisted)
	return strings.TrimSuffix(b.String(), "\n")
}
