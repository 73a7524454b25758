package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

// A library shows memories, skills and context files to clients that read without
// a tool: all of them as resources, skills also as prompts, and one prompt with
// all context files.
type library struct {
	memory  *memory.Memory
	files   memory.Files
	skills  *skills.Library
	context *contextfiles.Files
}

func (a *App) library() library {
	return library{a.memory, a.memory.Files(), a.skills, a.contextFiles}
}

const (
	memoryScheme = "memory:///"
	skillScheme  = "skill://"
	pageOfMany   = 100
)

// The tools whose policy applies.
const (
	readsMemory = "memory_get"
	usesSkill   = "use_skill"
)

func (library) Tools() []string { return []string{readsMemory, usesSkill, readsContext} }

func (library) Tool(ref server.Ref) string {
	switch {
	case ref.Prompt == contextPrompt, strings.HasPrefix(ref.URI, contextScheme):
		return readsContext
	case ref.Prompt != "", strings.HasPrefix(ref.URI, skillScheme):
		return usesSkill
	case strings.HasPrefix(ref.URI, memoryScheme):
		return readsMemory
	}
	return ""
}

func (library) Templates() []server.Template {
	return []server.Template{
		{
			URI: memoryScheme + "{+path}", Name: "memory", Title: "Memory",
			Description: "A memory, such as MEMORY.md",
		},
		{
			URI: contextScheme + "{name}", Name: "context", Title: "Context file",
			Description: "SOUL.md, AGENTS.md, IDENTITY.md, USER.md, USER_PREDEFINED.md or BOOTSTRAP.md",
			MIME:        "text/markdown",
		},
		{
			URI: skillScheme + "{name}/{+path}", Name: "skill", Title: "File of a skill",
			Description: "A file of a skill; SKILL.md is the skill itself",
		},
	}
}

// Resources lists context files, then memories, then skills. The cursor is a
// digest of the path of the last memory of the page, since paths can be private,
// or a slash and the name of the last skill.
func (l library) Resources(
	ctx context.Context, _ tool.Caller, cursor string,
) (page []server.Resource, next string, err error) {
	if after, among := strings.CutPrefix(cursor, "/"); among {
		return l.skillResources(ctx, after, nil)
	}
	if cursor == "" {
		if page, err = l.contextResources(ctx); err != nil {
			return nil, "", err
		}
	}
	list, err := l.files.List(ctx, ".")
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(list, func(a, b workspace.SourceEntry) int { return strings.Compare(a.Name, b.Name) })
	if cursor != "" {
		last := slices.IndexFunc(list, func(f workspace.SourceEntry) bool { return placeIn(f.Name) == cursor })
		if last < 0 {
			return nil, "", tool.Errorf(tool.Invalid, "the list has changed since the cursor was made").
				Try("start again without a cursor")
		}
		list = list[last+1:]
	}
	for i, f := range list {
		if i == pageOfMany {
			return page, placeIn(list[i-1].Name), nil
		}
		page = append(page, server.Resource{
			URI: memoryURI(f.Name), Name: f.Name, MIME: textMIME(f.Name), Size: f.Size, Modified: f.Modified,
		})
	}
	return l.skillResources(ctx, "", page)
}

// skillResources appends the skills after one to a page.
func (l library) skillResources(
	ctx context.Context, after string, page []server.Resource,
) (_ []server.Resource, next string, err error) {
	list, more, err := l.skills.Resources(ctx, after, pageOfMany)
	for _, r := range list {
		page = append(page, server.Resource{
			URI: r.URI, Name: r.Name, Description: r.Description, MIME: "text/markdown",
		})
	}
	if more {
		next = "/" + list[len(list)-1].Name
	}
	return page, next, err
}

// placeIn returns the cursor after a memory, which does not reveal its name.
func placeIn(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// textMIME returns the type of a memory, by the extension of its name.
func textMIME(name string) string {
	switch path.Ext(name) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".json":
		return "application/json"
	}
	return "text/plain"
}

func memoryURI(name string) string { return memoryScheme + (&url.URL{Path: name}).EscapedPath() }

func (l library) Read(ctx context.Context, _ tool.Caller, uri string) ([]tool.Part, error) {
	if strings.HasPrefix(uri, contextScheme) {
		return l.readContext(ctx, uri)
	}
	if escaped, ok := strings.CutPrefix(uri, memoryScheme); ok {
		name, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, tool.Errorf(tool.NotFound, "no memory %.200q", uri).
				Try("send a URI such as %sMEMORY.md", memoryScheme)
		}
		d, err := l.memory.Get(ctx, name)
		return []tool.Part{{URI: uri, Text: d.Text, MIME: textMIME(d.Path)}}, err
	}
	data, text, err := l.skills.Resource(ctx, uri)
	if text {
		return []tool.Part{{URI: uri, Text: string(data), MIME: "text/plain"}}, err
	}
	return []tool.Part{{URI: uri, Data: data, MIME: "application/octet-stream"}}, err
}

func (l library) Prompts(ctx context.Context, c tool.Caller) (all []server.Prompt, err error) {
	all = contextPrompts(c)
	for after, more := "", true; more && err == nil; {
		var list []skills.Prompt
		if list, more, err = l.skills.Prompts(ctx, after, pageOfMany); len(list) == 0 {
			break
		}
		for _, p := range list {
			prompt := server.Prompt{Name: p.Name, Description: p.Description}
			for _, a := range p.Arguments {
				prompt.Arguments = append(prompt.Arguments, server.Argument{
					Name: a.Name, Description: a.Description, Required: a.Required,
				})
			}
			all = append(all, prompt)
		}
		after = list[len(list)-1].Name
	}
	return all, err
}

func (l library) Prompt(
	ctx context.Context, c tool.Caller, name string, args map[string]string,
) (server.Filled, error) {
	if name == contextPrompt {
		return l.fillContext(ctx, c)
	}
	text, description, err := l.skills.Prompt(ctx, name, args)
	return server.Filled{Description: description, Messages: []server.Message{{Part: tool.Part{Text: text}}}}, err
}

// Complete proposes names of context files, paths of memories and names of skills.
func (l library) Complete(ctx context.Context, _ tool.Caller, b server.Blank) (values []string, more bool, err error) {
	switch {
	case b.Of.URI == contextURI("{name}") && b.Name == "name":
		list, err := l.context.List(ctx, ".")
		for _, f := range list {
			if strings.HasPrefix(f.Name, b.Value) {
				values = append(values, f.Name)
			}
		}
		return values, false, err
	case b.Of.URI == memoryScheme+"{+path}" && b.Name == "path":
		list, err := l.files.List(ctx, ".")
		for _, f := range list {
			if strings.HasPrefix(f.Name, b.Value) {
				values = append(values, f.Name)
			}
		}
		slices.Sort(values)
		return values[:min(len(values), pageOfMany)], len(values) > pageOfMany, err
	case strings.HasPrefix(b.Of.URI, skillScheme) && b.Name == "name":
		values, err = l.skills.Complete(ctx, b.Value, pageOfMany)
	}
	return values, false, err
}
