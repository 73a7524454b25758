package fs

import (
	"context"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// listFiles shows what is in a directory.
type listFiles struct{ files workspace.Files }

type listFilesArgs struct {
	Path    string `json:"path,omitempty" jsonschema:"directory" alias:"dir,directory,dir_path"`
	Depth   int    `json:"depth,omitempty" jsonschema:"levels, default 1" alias:"max_depth"`
	Pattern string `json:"pattern,omitempty" jsonschema:"glob of names" alias:"glob"`
	Limit   int    `json:"limit,omitempty" jsonschema:"default 300"`
	Git     bool   `json:"gitignore,omitempty" jsonschema:"without ignored files" alias:"respect_gitignore"`

	Recursive bool `json:"recursive,omitempty" jsonschema:"all levels" hidden:"true"`
}

const deepest = 50 // levels

func (listFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "list_files", Group: group, Title: "List files", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:  "Lists a directory with sizes and times.",
		Also: []string{"ls", "LS", "list_dir", "list_directory", "tool::file_list"}, Keywords: "directory folder tree ls",
	}
}

func (t listFiles) Do(ctx context.Context, a listFilesArgs) (tool.Result, error) {
	if a.Recursive && a.Depth == 0 {
		a.Depth = deepest
	}
	l, err := t.files.List(ctx, workspace.ListQuery{
		Path: here(a.Path), Depth: bounded(a.Depth, 1, deepest), Limit: bounded(a.Limit, 300, 5000), Pattern: a.Pattern, Hidden: true, Ignored: !a.Git,
	})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showListing(l, a)), nil
}

func showListing(l workspace.Listing, a listFilesArgs) string {
	var b strings.Builder
	total := len(l.Entries) + l.More
	fmt.Fprintf(&b, "[%s: %s]\n", l.Dir, counted(total, "entry", "entries"))
	for _, e := range l.Entries {
		switch {
		case e.Mode.IsDir():
			fmt.Fprintf(&b, "%s/\n", e.Name)
		case e.Mode&iofs.ModeSymlink != 0:
			fmt.Fprintf(&b, "%s -> %s\n", e.Name, e.Target)
		case !e.Mode.IsRegular():
			fmt.Fprintf(&b, "%s  (not a file)\n", e.Name)
		default:
			fmt.Fprintf(&b, "%s  %s  %s\n", e.Name, size(e.Size), e.Modified.Format("2006-01-02 15:04"))
		}
	}
	if l.More > 0 {
		hint := "raise limit, or give a pattern or a directory further down"
		if a.Depth > 1 && !a.Git {
			hint = "gitignore: true leaves ignored files out; or " + hint
		}
		fmt.Fprintf(&b, "[%d more; %s]\n", l.More, hint)
	}
	unlisted(&b, l.Unlisted)
	return strings.TrimSuffix(b.String(), "\n")
}

// unlisted names directories that could not be read.
func unlisted(b *strings.Builder, dirs []string) {
	const most = 5
	if len(dirs) == 0 {
		return
	}
	shown := dirs[:min(most, len(dirs))]
	fmt.Fprintf(b, "[could not read %s", strings.Join(shown, ", "))
	if more := len(dirs) - len(shown); more > 0 {
		fmt.Fprintf(b, " and %d more", more)
	}
	b.WriteString("]\n")
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// size writes a number of bytes for reading, not for adding up.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if value /= 1000; value < 999.5 {
			break
		}
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}
