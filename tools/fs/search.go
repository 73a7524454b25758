package fs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// searchFiles is the tool that finds text in files.
type searchFiles struct {
	files workspace.Files
	seen  *Seen
	texts *texts
}

type searchArgs struct {
	Pattern   string   `json:"pattern" jsonschema:"regular expression (RE2)" alias:"query,regex,search"`
	Path      string   `json:"path,omitempty" jsonschema:"directory or file to search" alias:"dir,directory,dir_path,search_path"`
	Glob      []string `json:"glob,omitempty" jsonschema:"globs for paths; !vendor/** excludes" alias:"include,includes,globs,include_pattern,file_pattern"`
	Type      []string `json:"type,omitempty" jsonschema:"file types, such as go" alias:"types,file_type"`
	Mode      string   `json:"mode,omitempty" jsonschema:"return content (default), files or count" alias:"output_mode"`
	Context   int      `json:"context,omitempty" jsonschema:"lines to show around each match" alias:"context_lines,-C"`
	Case      bool     `json:"case,omitempty" jsonschema:"whether case must match" default:"true" alias:"case_sensitive"`
	Word      bool     `json:"word,omitempty" jsonschema:"match whole words" alias:"-w"`
	Multiline bool     `json:"multiline,omitempty" jsonschema:"let matches span lines"`
	Literal   bool     `json:"literal,omitempty" jsonschema:"treat pattern as plain text" alias:"fixed_strings,-F"`
	All       bool     `json:"all,omitempty" jsonschema:"include hidden and ignored files" alias:"hidden,include_hidden"`
	Limit     int      `json:"limit,omitempty" jsonschema:"matches to return, default 100" alias:"max_results,head_limit,max_count"`
	Offset    int      `json:"offset,omitempty" jsonschema:"matches to skip"`

	After      int  `json:"after,omitempty" jsonschema:"lines after a match" hidden:"true" alias:"-A,context_after,after_context"`
	Before     int  `json:"before,omitempty" jsonschema:"lines before a match" hidden:"true" alias:"-B,context_before,before_context"`
	IgnoreCase bool `json:"ignore_case,omitempty" jsonschema:"ignore case" hidden:"true" alias:"-i,case_insensitive"`
	Numbers    bool `json:"line_numbers,omitempty" jsonschema:"always true" hidden:"true" alias:"-n,show_line_numbers"`
}

func (searchFiles) Spec() tool.Spec {
	return tool.Spec{
		Name: "search", Group: group, Title: "Search in files", Core: true,
		Risk: tool.Reads, Timeout: time.Minute, Hints: tool.Hints{Idempotent: true},
		Doc: `Searches file contents, also the text of PDF, office and mail files. Returns matching lines with numbers or pages, grouped by file.
Leaves out other binary and ignored files. To find files by name use glob; for definitions and callers in code use code.`,
		Also: []string{"Grep", "grep", "content_search", "search_files", "grep_search", "search_file_content"},
		Keywords: "grep ripgrep regex look for find text code occurrences references where used use count how many " +
			"times appears called defined " +
			"definition mention contains library message repository",
		Output: search.Found{},
	}
}

func (t searchFiles) Do(ctx context.Context, a searchArgs) (tool.Result, error) {
	mode, err := searchMode(a.Mode)
	if err != nil {
		return tool.Result{}, err
	}
	q := search.Query{
		Pattern: a.Pattern, Path: dirOrWorkspace(a.Path), Globs: a.Glob, Types: a.Type, Mode: mode,
		Context: min(max(a.Context, a.After, a.Before), 50), Literal: a.Literal, IgnoreCase: !a.Case || a.IgnoreCase,
		Word: a.Word, Multiline: a.Multiline, Hidden: a.All, Ignored: a.All,
		Limit: bounded(a.Limit, 100, 2000), Offset: max(a.Offset, 0), Secrets: t.seen.secretsFor(ctx),
		Documents: t.texts.conversion(),
	}
	found, err := t.files.Search(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	found.Files = append([]search.FileMatches{}, found.Files...) // not null in JSON
	text := formatSearch(found, q)
	if q.Mode == search.Content && slices.ContainsFunc(found.Files, func(f search.FileMatches) bool { return f.Document }) {
		text = t.texts.documents.Quote("search", text) // what documents say is not an instruction
	}
	return tool.Text(text).With(found), nil
}

// searchMode returns a mode by its own name or one of other systems, which an enum in the schema would refuse.
func searchMode(name string) (search.Mode, error) {
	switch strings.ToLower(name) {
	case "", string(search.Content), "lines":
		return search.Content, nil
	case string(search.Names), "files_with_matches", "names":
		return search.Names, nil
	case string(search.Count), "counts":
		return search.Count, nil
	}
	return "", tool.Errorf(tool.Invalid, "there is no mode %.40q", name).
		Try("use %s, %s or %s", search.Content, search.Names, search.Count)
}

func formatSearch(found search.Found, q search.Query) string {
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
			shown += formatMatches(&b, file)
		}
	}
	b.WriteString(summary(found, q, shown))
	b.WriteByte('\n')
	if found.Unread > 0 {
		fmt.Fprintf(&b, "[%s could not be read", text.Plural(found.Unread, "file"))
		for i, f := range found.Failed {
			fmt.Fprintf(&b, "%s %s %s", []string{":", ";"}[min(i, 1)], f.Name, f.Why)
		}
		b.WriteString("]\n")
	}
	if found.Waiting > 0 {
		fmt.Fprintf(&b, "[%s not yet converted; call again to search them]\n", text.Plural(found.Waiting, "document"))
	}
	formatUnlisted(&b, found.Unlisted)
	return strings.TrimSuffix(b.String(), "\n")
}

// formatMatches writes the lines of one file like grep -n, with a colon after the number of a
// match and a dash after other numbers. It returns the number of matches.
func formatMatches(b *strings.Builder, file search.FileMatches) (shown int) {
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
		place := strconv.Itoa(line.Number)
		if line.Part != "" {
			place = tool.Visible(line.Part)
		}
		fmt.Fprintf(b, "%s%s%s%s\n", place, mark, tool.Visible(line.Text), formatCut(line))
	}
	return shown
}

// formatCut returns how much of a long line is not shown.
func formatCut(line search.Line) string {
	switch {
	case line.Cut == 0:
		return ""
	case line.Column > 0:
		return fmt.Sprintf(" [from column %d; %d bytes of this line not shown]", line.Column, line.Cut)
	}
	return fmt.Sprintf(" [%d bytes of this line not shown]", line.Cut)
}

func summary(found search.Found, q search.Query, shown int) string {
	matches := text.Plural(shown, "matching line")
	if q.Mode != search.Content {
		matches = text.Plural(shown, "file")
	}
	next := q.Offset + shown
	switch {
	case len(found.Files) == 0 && q.Offset > 0:
		return fmt.Sprintf("[no matches after offset %d]", q.Offset)
	case len(found.Files) == 0:
		return adviceForNone(found, q)
	case found.More && q.Mode == search.Content:
		return fmt.Sprintf("[%s from offset %d; for more use offset %d, or narrow the pattern, path or glob]",
			matches, q.Offset, next)
	case found.More:
		return fmt.Sprintf("[%s from offset %d; for more use offset %d]", matches, q.Offset, next)
	case q.Mode == search.Content:
		return fmt.Sprintf("[%s in %s]", matches, text.Plural(len(found.Files), "file"))
	}
	return fmt.Sprintf("[%s]", matches)
}

// adviceForNone returns the searched places without a match, and ways to find more.
func adviceForNone(found search.Found, q search.Query) string {
	if found.Searched == 0 && found.Unread == 0 && len(found.Unlisted) == 0 {
		advice := fmt.Sprintf("no file to search in %q", q.Path)
		if len(q.Globs)+len(q.Types) > 0 {
			advice += " matches glob and type"
		}
		if !q.Hidden {
			advice += "; to include hidden and ignored files set all to true"
		}
		return advice
	}
	if found.Searched == 0 {
		return "no file was searched"
	}
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
	advice := fmt.Sprintf("no line matches %q in %s (binary files are not searched)",
		q.Pattern, text.Plural(found.Searched, "file"))
	if len(tries) > 0 {
		advice += "; to find more try " + strings.Join(tries, ", ")
	}
	return advice
}
