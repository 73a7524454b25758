package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// searchFiles finds text in files.
type searchFiles struct{ files workspace.Files }

type searchArgs struct {
	Pattern   string   `json:"pattern" jsonschema:"RE2" alias:"query,regex,search"`
	Path      string   `json:"path,omitempty" jsonschema:"directory or file" alias:"dir,directory,dir_path,search_path"`
	Glob      []string `json:"glob,omitempty" jsonschema:"*.go, !vendor/**" alias:"include,includes,globs,include_pattern,file_pattern"`
	Type      []string `json:"type,omitempty" jsonschema:"go, py, ..." alias:"types,file_type"`
	Mode      string   `json:"mode,omitempty" jsonschema:"content, files or count" alias:"output_mode"`
	Context   int      `json:"context,omitempty" jsonschema:"lines around" alias:"context_lines,-C"`
	Case      bool     `json:"case,omitempty" jsonschema:"false: ignore case" default:"true" alias:"case_sensitive"`
	Word      bool     `json:"word,omitempty" jsonschema:"whole words" alias:"-w"`
	Multiline bool     `json:"multiline,omitempty" jsonschema:"across lines"`
	Literal   bool     `json:"literal,omitempty" jsonschema:"no regex" alias:"fixed_strings,-F"`
	All       bool     `json:"all,omitempty" jsonschema:"hidden and ignored too"`
	Limit     int      `json:"limit,omitempty" jsonschema:"default 100" alias:"max_results,head_limit,max_count"`
	Offset    int      `json:"offset,omitempty" jsonschema:"matches to skip"`

	After      int  `json:"after,omitempty" jsonschema:"as of grep" hidden:"true" alias:"-A,context_after,after_context"`
	Before     int  `json:"before,omitempty" jsonschema:"as of grep" hidden:"true" alias:"-B,context_before,before_context"`
	IgnoreCase bool `json:"ignore_case,omitempty" jsonschema:"as of grep" hidden:"true" alias:"-i,case_insensitive"`
	Numbers    bool `json:"line_numbers,omitempty" jsonschema:"they are always there" hidden:"true" alias:"-n,show_line_numbers"`
}

func (searchFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "search", Group: group, Title: "Search in files", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true}, Core: true,
		Doc:  "Finds lines in files, grouped by file; honours .gitignore, skips binary files.",
		Also: []string{"Grep", "grep", "content_search", "search_files", "grep_search", "search_file_content"}, Keywords: "grep ripgrep regex text code",
	}
}

func (t searchFiles) Do(ctx context.Context, a searchArgs) (tool.Result, error) {
	mode, err := searchMode(a.Mode)
	if err != nil {
		return tool.Result{}, err
	}
	q := workspace.SearchQuery{
		Pattern: a.Pattern, Path: here(a.Path), Globs: a.Glob, Types: a.Type, Mode: mode, Context: min(max(a.Context, a.After, a.Before), 50),
		Literal: a.Literal, IgnoreCase: !a.Case || a.IgnoreCase, Word: a.Word, Multiline: a.Multiline, Hidden: a.All, Ignored: a.All,
		Limit: bounded(a.Limit, 100, 2000), Offset: max(a.Offset, 0),
	}
	found, err := t.files.Search(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showSearch(found, q)), nil
}

// searchMode reads a mode by its own name or by those of other systems. It is
// no enum, which would not take them.
func searchMode(name string) (search.Mode, error) {
	switch strings.ToLower(name) {
	case "", string(search.Content), "lines":
		return search.Content, nil
	case string(search.Names), "files_with_matches", "names":
		return search.Names, nil
	case string(search.Count), "counts":
		return search.Count, nil
	}
	return "", tool.Errorf(tool.Invalid, "there is no mode %.40q", name).Try("use %s, %s or %s", search.Content, search.Names, search.Count)
}

func showSearch(found search.Found, q workspace.SearchQuery) string {
	var b strings.Builder
	shown := 0
	for i, file := range found.Files {
		switch q.Mode {
		case search.Names:
			fmt.Fprintln(&b, file.Name)
			shown++
		case search.Count:
			fmt.Fprintf(&b, "%s: %d\n", file.Name, file.Matches)
			shown++
		default:
			if i > 0 {
				b.WriteByte('\n')
			}
			shown += showLines(&b, file)
		}
	}
	b.WriteString(summary(found, q, shown))
	b.WriteByte('\n')
	if found.Unread > 0 {
		why := "could not be read"
		if q.Multiline { // which holds a file whole
			why += ", or too large for multiline"
		}
		fmt.Fprintf(&b, "[%s %s]\n", counted(found.Unread, "file", "files"), why)
	}
	unlisted(&b, found.Unlisted)
	return strings.TrimSuffix(b.String(), "\n")
}

// showLines writes the lines of one file as grep -n does: a colon marks a
// match, a dash its surroundings. It returns the number of matches.
func showLines(b *strings.Builder, file search.FileMatches) (shown int) {
	fmt.Fprintln(b, file.Name)
	if file.Binary && len(file.Lines) == 0 {
		b.WriteString("(a binary file that matches)\n")
	}
	for i, line := range file.Lines {
		if i > 0 && line.Number > file.Lines[i-1].Number+1 && !(line.Match && file.Lines[i-1].Match) {
			b.WriteString("--\n")
		}
		mark := "-"
		if line.Match {
			mark = ":"
			shown++
		}
		fmt.Fprintf(b, "%d%s%s%s\n", line.Number, mark, tool.Visible(line.Text), windowed(line))
	}
	return shown
}

// windowed says that a long line is not shown whole.
func windowed(line search.Line) string {
	switch {
	case line.Cut == 0:
		return ""
	case line.Column > 0:
		return fmt.Sprintf(" [from column %d; %d bytes of this line not shown]", line.Column, line.Cut)
	}
	return fmt.Sprintf(" [%d bytes of this line not shown]", line.Cut)
}

func summary(found search.Found, q workspace.SearchQuery, shown int) string {
	switch {
	case shown == 0 && len(found.Files) == 0 && q.Offset > 0:
		return fmt.Sprintf("[no more after offset %d]", q.Offset)
	case len(found.Files) == 0:
		return nothing(found, q)
	case found.More && q.Mode == search.Content:
		return fmt.Sprintf("[%s from offset %d; there are more: offset %d goes on, or narrow the pattern, path or glob]",
			counted(shown, "matching line", "matching lines"), q.Offset, q.Offset+shown)
	case found.More:
		return fmt.Sprintf("[%s from offset %d; there are more: offset %d goes on]", counted(shown, "file", "files"), q.Offset, q.Offset+shown)
	case q.Mode == search.Content:
		return fmt.Sprintf("[%s in %s]", counted(shown, "matching line", "matching lines"), counted(len(found.Files), "file", "files"))
	}
	return fmt.Sprintf("[%s]", counted(shown, "file", "files"))
}

func nothing(found search.Found, q workspace.SearchQuery) string {
	var tries []string
	if !q.IgnoreCase {
		tries = append(tries, "case: false")
	}
	if !q.Literal && strings.ContainsAny(q.Pattern, `.*+?()[]{}|\^$`) {
		tries = append(tries, "literal: true")
	}
	if !q.Hidden {
		tries = append(tries, "all: true (hidden and ignored files)")
	}
	if found.Searched == 0 && found.Unread == 0 && len(found.Unlisted) == 0 {
		return noFile(q)
	}
	text := fmt.Sprintf("no line matches %q in %s (text in binary files is not searched)", q.Pattern, counted(found.Searched, "file", "files"))
	if len(tries) > 0 {
		text += "; to widen: " + strings.Join(tries, ", ")
	}
	return text
}

// noFile tells of a search that had nothing to look at, which is no answer
// about the pattern.
func noFile(q workspace.SearchQuery) string {
	text := fmt.Sprintf("no file to search in %q", q.Path)
	if len(q.Globs)+len(q.Types) > 0 {
		text += " fits glob and type"
	}
	if !q.Hidden {
		text += "; all: true takes hidden and ignored files too"
	}
	return text
}
