// Package skills holds the tools that find, use, copy and publish skills:
// directories with instructions for a kind of task, and the files these need.
//
// It knows what a model is asked for and told. It does not know where skills
// are kept, how they are found, or who sees which: [Skills] does. Nothing in a
// skill runs here; its scripts are files, and commands have a tool of their own.
//
// Begin with [Skills], then use.go.
package skills

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const group = "skills"

// Skills are those of whoever the running call is made for: the caller is in
// the context. Errors are fit for the model as they are.
type Skills interface {
	// Search finds skills by their words; "" and "*" list them.
	Search(ctx context.Context, query string, limit int) (Found, error)
	// Use returns a skill and counts that it was used. Version 0 is the one that
	// comes first; others are versions of published ones.
	Use(ctx context.Context, name string, version int64) (Skill, error)
	// Copy writes the files of a skill to a directory of the workspace; "" for
	// the usual one.
	Copy(ctx context.Context, name string, version int64, path string) (Copied, error)
	// Publish keeps a directory of the workspace as a version of a skill. What
	// the guard finds in it has to be accepted.
	Publish(ctx context.Context, path string, accept bool) (Published, error)
}

// Found is what a search has found.
type Found struct {
	Hits  []Hit
	More  bool
	Total int      // skills that there are
	Names []string // some of them, when nothing was found
}

// A Hit is a skill in short.
type Hit struct {
	Name        string
	Description string
	Tags        []string
	Source      string
	Version     int64  // 0: it has none
	Problem     string // why it cannot be used
	Uses        int64  // by the caller
}

// A Skill is one that is to be used.
type Skill struct {
	Name         string
	Source       string // where it comes from, in a few words
	Version      int64  // 0: it has none
	By           string // who has written it; "" when that is not known
	Created      time.Time
	Meta         skill.Meta
	Instructions string
	Dir          string // what the file tools call its directory
	OnDisk       bool   // commands can reach it there
	Files        []skill.File
	MoreFiles    bool
	Findings     []skill.Finding
	Hides        []string // where else there are skills of that name
}

// Copied is what Copy has done.
type Copied struct {
	Name  string
	Dir   string
	Files int
	Bytes int64
	Kept  int // files that were just the same
}

// Published is what Publish has done.
type Published struct {
	Name     string
	Title    string // the name that its SKILL.md gives it, which may be another
	Version  int64
	Files    int
	Bytes    int64
	Same     bool   // there was nothing new in it
	Before   string // a skill of that name that comes first, "" for none
	Findings []skill.Finding
	Left     []string // names that were left out
	Needs    []string // what its scripts use, and may not be there
}

// Tools are the tools about skills.
func Tools(s Skills) []tool.Tool {
	return []tool.Tool{
		tool.New(skillSearch{s}),
		tool.New(useSkill{s}),
		tool.New(copySkill{s}),
		tool.New(publishSkill{s}),
	}
}

// oneLine shows a stranger's text in a line.
func oneLine(text string) string {
	return tool.Visible(strings.Join(strings.Fields(text), " "))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return counted(int(n), "byte")
}

func versioned(source string, version int64) string {
	if version > 0 {
		return fmt.Sprintf("%s, version %d", source, version)
	}
	return source
}

// name reads the ways in which models name a skill, or its file.
func name(given string) string {
	given = strings.Trim(strings.TrimSpace(given), "/")
	given = strings.TrimSuffix(strings.TrimSuffix(given, skill.Main), "/")
	return strings.TrimPrefix(given[strings.LastIndexAny(given, "/:")+1:], "$")
}

// findings are a list of what the guard has found.
func findings(list []skill.Finding) string {
	const most = 12
	var b strings.Builder
	for i, f := range list {
		if i == most {
			fmt.Fprintf(&b, "- and %d more\n", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "- %s\n", oneLine(f.String()))
	}
	return b.String()
}
