package app

import (
	"context"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
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
	skills  *skills.Library
	context *contextfiles.Files
}

func (a *App) library() library {
	return library{a.memory, a.skills, a.contextFiles}
}

// pageSize is the number of memories or skills in a page.
const pageSize = 100

// The tools with the policy that applies to the resources.
const (
	readsMemory  = "memory_get"
	usesSkill    = "use_skill"
	readsContext = "read_file"
)

// contextPrompt returns all context files. No skill can have this name.
const contextPrompt = "agent_context"

func (library) Tools() []string { return []string{readsMemory, usesSkill, readsContext} }

func (library) Tool(ref server.Ref) string {
	switch {
	case ref.Prompt == contextPrompt, strings.HasPrefix(ref.URI, contextfiles.Scheme):
		return readsContext
	case ref.Prompt != "", strings.HasPrefix(ref.URI, skills.Scheme):
		return usesSkill
	case strings.HasPrefix(ref.URI, memory.Scheme):
		return readsMemory
	}
	return ""
}

func (library) Templates() []server.Template {
	return []server.Template{
		{
			URI: memory.Scheme + "{+path}", Name: "memory", Title: "Memory",
			Description: "A memory, such as MEMORY.md",
		},
		{
			URI: contextfiles.Scheme + "{name}", Name: "context", Title: "Context file",
			Description: "SOUL.md, AGENTS.md, IDENTITY.md, USER.md, USER_PREDEFINED.md or BOOTSTRAP.md",
			MIME:        "text/markdown",
		},
		{
			URI: skills.Scheme + "{name}/{+path}", Name: "skill", Title: "File of a skill",
			Description: "A file of a skill; SKILL.md is the skill itself",
		},
	}
}

// Resources lists context files, then memories, then skills. The cursor is one of the
// memories, or a slash and the name of the last skill.
func (l library) Resources(
	ctx context.Context, _ tool.Caller, cursor string,
) (page []server.Resource, next string, err error) {
	if after, ok := strings.CutPrefix(cursor, "/"); ok {
		return l.skillResources(ctx, after, nil)
	}
	if cursor == "" {
		list, err := l.context.List(ctx, ".")
		if err != nil {
			return nil, "", err
		}
		for _, f := range list {
			page = append(page, server.Resource{
				URI: contextfiles.URI(f.Name), Name: f.Name, MIME: "text/markdown", Size: f.Size, Modified: f.Modified,
			})
		}
	}
	list, next, err := l.memory.Resources(ctx, cursor, pageSize)
	for _, f := range list {
		page = append(page, server.Resource{
			URI: memory.URI(f.Name), Name: f.Name, MIME: memory.MIME(f.Name), Size: f.Size, Modified: f.Modified,
		})
	}
	if next != "" || err != nil {
		return page, next, err
	}
	return l.skillResources(ctx, "", page)
}

// skillResources appends the skills after one to a page.
func (l library) skillResources(
	ctx context.Context, after string, page []server.Resource,
) (_ []server.Resource, next string, err error) {
	list, more, err := l.skills.Resources(ctx, after, pageSize)
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

func (l library) Read(ctx context.Context, _ tool.Caller, uri string) ([]tool.Part, error) {
	switch {
	case strings.HasPrefix(uri, contextfiles.Scheme):
		part, err := l.context.Resource(ctx, uri)
		return []tool.Part{part}, err
	case strings.HasPrefix(uri, memory.Scheme):
		part, err := l.memory.Resource(ctx, uri)
		return []tool.Part{part}, err
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
		if list, more, err = l.skills.Prompts(ctx, after, pageSize); len(list) == 0 {
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
) (server.FilledPrompt, error) {
	if name == contextPrompt {
		return l.fillContext(ctx, c)
	}
	text, description, err := l.skills.Prompt(ctx, name, args)
	return server.FilledPrompt{Description: description, Messages: []server.Message{{Part: tool.Part{Text: text}}}}, err
}

// Complete proposes names of context files, paths of memories and names of skills.
func (l library) Complete(ctx context.Context, _ tool.Caller, b server.CompletionRequest) (values []string, more bool,
	err error) {
	switch {
	case b.Of.URI == contextfiles.URI("{name}") && b.Name == "name":
		values, err = l.context.Complete(ctx, b.Value)
	case b.Of.URI == memory.Scheme+"{+path}" && b.Name == "path":
		return l.memory.Complete(ctx, b.Value, pageSize)
	case strings.HasPrefix(b.Of.URI, skills.Scheme) && b.Name == "name":
		values, err = l.skills.Complete(ctx, b.Value, pageSize)
	}
	return values, false, err
}

// contextPrompts returns the prompt with all context files, for callers with an
// agent.
func contextPrompts(c tool.Caller) []server.Prompt {
	if c.Agent == "" {
		return nil
	}
	return []server.Prompt{
		{
			Name: contextPrompt, Title: "Agent context",
			Description: "Who the agent is, how it works and for whom; to start a conversation with",
		},
	}
}

func (l library) fillContext(ctx context.Context, c tool.Caller) (server.FilledPrompt, error) {
	if c.Agent == "" {
		return server.FilledPrompt{}, tool.Errorf(tool.NotFound, "there is no prompt %q", contextPrompt)
	}
	text, err := l.context.Combined(ctx)
	if text == "" {
		text = "There are no context files for you and your user yet."
	}
	return server.FilledPrompt{
		Description: contextPrompts(c)[0].Description, Messages: []server.Message{{Part: tool.Part{Text: text}}},
	}, err
}
