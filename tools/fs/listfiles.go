package fs

import (
	"context"
	"fmt"
	iofs "io/fs"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// listFiles is the tool that lists a directory.
type listFiles struct{ files workspace.Files }

type listFilesArgs struct {
	Path    string `json:"path,omitempty" jsonschema:"directory to list" alias:"dir,directory,dir_path"`
	Depth   int    `json:"depth,omitempty" jsonschema:"directory levels to list" alias:"max_depth"`
	Pattern string `json:"pattern,omitempty" jsonschema:"glob for names" alias:"glob"`
	Limit   int    `json:"limit,omitempty" jsonschema:"entries to return, default 300"`
	Git     bool   `json:"gitignore,omitempty" jsonschema:"leave out ignored files" alias:"respect_gitignore"`

	Recursive bool `json:"recursive,omitempty" jsonschema:"list all levels" hidden:"true"`
}

const maxListDepth = 50

func (listFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "list_files", Group: group, Title: "List files", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:      "Lists a directory with sizes and times, including hidden files. To find files by name use glob.",
		Also:     []string{"ls", "LS", "list_dir", "list_directory", "tool::file_list"},
		Keywords: "directory folder contents tree ls dir how big size what is in", Output: listing{},
	}
}

func (t listFiles) Do(ctx context.Context, a listFilesArgs) (tool.Result, error) {
	if a.Recursive && a.Depth == 0 {
		a.Depth = maxListDepth
	}
	l, err := t.files.List(ctx, workspace.ListQuery{
		Path: dirOrWorkspace(a.Path), Depth: bounded(a.Depth, 1, maxListDepth), Limit: bounded(a.Limit, 300, 5000),
		Pattern: a.Pattern, Hidden: true, Ignored: !a.Git,
	})
	if err != nil {
		return tool.Result{}, err
	}
	data := listing{Path: l.Dir, Entries: []listed{}, More: l.More}
	for _, e := range l.Entries {
		data.Entries = append(data.Entries, listed{e.Name, e.Mode.IsDir(), e.Size, e.Modified, e.Target})
	}
	return tool.Text(formatListing(l, a)).With(data), nil
}

// A listing is the result of the tool for programs.
type listing struct {
	Path    string   `json:"path"`
	Entries []listed `json:"entries"`
	More    int      `json:"more"` // entries beyond the limit
}

type listed struct {
	Name     string    `json:"name"`
	Dir      bool      `json:"directory"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Target   string    `json:"target,omitempty"` // of a link
}

func formatListing(l workspace.Listing, a listFilesArgs) string {
	var b strings.Builder
	total := len(l.Entries) + l.More
	fmt.Fprintf(&b, "[%s: %s]\n", l.Dir, text.Plural(total, "entry", "entries"))
	for _, e := range l.Entries {
		switch {
		case e.Mode.IsDir():
			fmt.Fprintf(&b, "%s/\n", e.Name)
		case e.Mode&iofs.ModeSymlink != 0:
			fmt.Fprintf(&b, "%s -> %s\n", e.Name, e.Target)
		case !e.Mode.IsRegular():
			fmt.Fprintf(&b, "%s  (not a regular file)\n", e.Name)
		default:
			fmt.Fprintf(&b, "%s  %s  %s\n", e.Name, text.Bytes(e.Size), e.Modified.Format("2006-01-02 15:04"))
		}
	}
	if l.More > 0 {
		advice := "raise limit, or use a pattern or a subdirectory"
		if a.Depth > 1 && !a.Git {
			advice = "set gitignore to true to leave out ignored files; or " + advice
		}
		fmt.Fprintf(&b, "[%d more; %s]\n", l.More, advice)
	}
	formatUnlisted(&b, l.Unlisted)
	return strings.TrimSuffix(b.String(), "\n")
}
