// Package skills finds, uses, copies and publishes skills: directories with a file SKILL.md of
// instructions for a kind of task, and the files that these need. Skills are in directories or,
// if they are published, rows of the store. It selects the skills that a caller sees, and
// resolves a name that several skills have.
//
// Skills in directories are read again on each call. Skills of the workspace are read through
// the caller's own files, so that files denied there are denied here. Versions of published
// skills never change. This package runs nothing of a skill. The format of a skill is in the
// package skill below.
//
// Begin with [New] and [Library.Use], then view.go for the view of a caller; rows.go has the
// SQL.
package skills

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const group = "skills"

// Tools returns the tools of the group. They can be described without a library.
func Tools(l *Library) []tool.Tool {
	return []tool.Tool{
		tool.New(skillSearch{l}),
		tool.New(useSkill{l}),
		tool.New(copySkill{l}),
		tool.New(publishSkill{l}),
		tool.Prepared(skillManage{l}),
	}
}

// A Dir is a directory of skills that the operator has configured.
type Dir struct {
	Path string
	Name string // its name for the callers' file tools; "" for its path
}

// Options are the parts of a library.
type Options struct {
	Store *store.Store
	// Unused reports whether nothing was ever stored, so that listing skills need not create a store. Nil means never.
	Unused func() bool
	Files  workspace.Files // of the callers; nil if they have none
	Dirs   []Dir           // searched after the workspace, in this order
	// Live returns directories that come and go, such as the skills of plugins. They are
	// searched last. It may be nil.
	Live    func() []Dir
	Visible Visible
	// Encoder makes the search find skills by their meaning too; nil: by words only. Scrub is
	// applied to its input.
	Encoder Encoder
	Scrub   func(string) string // nil: nothing is removed
}

// A Library has all skills. Its methods may be called concurrently.
type Library struct {
	o     Options
	rows  rows
	guard func() *skill.Guard // compiled at the first use
	views *lru.Cache[viewer, *view]

	vectors  *lru.Cache[string, []float32] // by text
	encoding sync.Mutex                    // held while vectors are made
}

// New returns a library that has read nothing yet.
func New(o Options) *Library {
	if o.Unused == nil {
		o.Unused = func() bool { return false }
	}
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	return &Library{
		o: o, rows: rows{o.Store, o.Unused}, guard: sync.OnceValue(skill.NewGuard),
		views:   lru.New[viewer, *view](maxViews, func(*view) int64 { return 1 }),
		vectors: lru.New[string, []float32](maxVectors, func(v []float32) int64 { return int64(4*len(v)) + 512 }),
	}
}

// unavailable makes an error of the store readable for models.
func unavailable(err error) error {
	var known *tool.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return tool.Errorf(tool.Unavailable, "published skills cannot be read at present").
		Try("try again later").Because(err)
}

// oneLine returns untrusted text in one line, with invisible characters written out.
func oneLine(s string) string {
	return tool.Visible(strings.Join(strings.Fields(s), " "))
}

func formatSize(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return text.Plural(int(n), "byte")
}

// withVersion returns "published, version 2", or the source alone if there is no version.
func withVersion(source string, version int64) string {
	if version > 0 {
		return fmt.Sprintf("%s, version %d", source, version)
	}
	return source
}

// skillName returns the name in a text of a model: a name, a path of a skill or its file,
// "plugin:name" or "$name".
func skillName(given string) string {
	given = strings.Trim(strings.TrimSpace(given), "/")
	given = strings.TrimSuffix(strings.TrimSuffix(given, skill.Main), "/")
	return strings.TrimPrefix(given[strings.LastIndexAny(given, "/:")+1:], "$")
}

func formatFindings(list []skill.Finding) string {
	const maxShown = 12
	var b strings.Builder
	for i, f := range list {
		if i == maxShown {
			fmt.Fprintf(&b, "- and %d more\n", len(list)-maxShown)
			break
		}
		fmt.Fprintf(&b, "- %s\n", oneLine(f.String()))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
