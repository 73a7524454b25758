package app

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/results"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// A library shows memories, skills and context files to clients that read without
// a tool: all of them as resources, skills also as prompts, and one prompt with
// all context files.
type library struct {
	memory  *memory.Memory
	skills  *skills.Library
	context *contextfiles.Files
	results *results.Store
	inbox   *sessions.Sessions
	teams   *teams.Teams
	made    generated.Files
	bridge  *bridge.Bridge
}

func (a *App) library() library {
	return library{a.memory, a.skills, a.contextFiles, a.results, a.sessions, a.teams, a.generated(), a.bridge}
}

// generated returns the store of files that tools make.
func (a *App) generated() generated.Files {
	return generated.Files{Workspace: a.files, Scrub: a.scrub.Text, Now: time.Now}
}

// maxProposed is the number of values that are proposed for an argument.
const maxProposed = 100

// The tools with the policy that applies to the resources.
const (
	readsMemory  = "memory_get"
	usesSkill    = "use_skill"
	readsContext = "read_file" // and generated files
	readsResult  = "read_result"
	readsInbox   = "wait"
	readsOthers  = bridge.ResourceTool
)

// contextPrompt returns all context files. No skill can have this name.
const contextPrompt = "agent_context"

func (library) Tools() []string {
	return []string{readsMemory, usesSkill, readsContext, readsResult, readsInbox, readsOthers}
}

func (library) Tool(ref server.Ref) string {
	switch {
	case ref.Prompt == contextPrompt, strings.HasPrefix(ref.URI, contextfiles.Scheme),
		strings.HasPrefix(ref.URI, generated.Scheme):
		return readsContext
	case ref.Prompt != "", strings.HasPrefix(ref.URI, skills.Scheme):
		return usesSkill
	case strings.HasPrefix(ref.URI, memory.Scheme):
		return readsMemory
	case strings.HasPrefix(ref.URI, tool.ResultScheme):
		return readsResult
	case ref.URI == sessions.URI:
		return readsInbox
	case strings.HasPrefix(ref.URI, bridge.Scheme+"://"):
		return readsOthers
	}
	return ""
}

func (library) Templates() []tool.Template {
	return []tool.Template{
		{
			URI: memory.Scheme + "{+path}", Name: "memory", Title: "Memory",
			Description: "A memory, such as MEMORY.md",
		},
		{
			URI: contextfiles.Scheme + "{name}", Name: "context", Title: "Context file",
			Description: "SOUL.md, AGENTS.md, TOOLS.md, IDENTITY.md, USER.md, USER_PREDEFINED.md or BOOTSTRAP.md",
			MIME:        "text/markdown",
		},
		{
			URI: skills.Scheme + "{name}/{+path}", Name: "skill", Title: "File of a skill",
			Description: "A file of a skill; SKILL.md is the skill itself",
		},
		{
			URI: generated.Scheme + "{+path}", Name: "generated", Title: "Generated file",
			Description: "A picture, sound or video that a tool made, such as 2026-01-31/chart.png",
		},
	}
}

// Resources lists the inbox, then context files, memories and skills.
func (l library) Resources(ctx context.Context, _ tool.Caller) (all []tool.Resource, err error) {
	for _, list := range []func(context.Context) ([]tool.Resource, error){
		l.inbox.Resources, l.context.Resources, l.memory.Resources, l.skills.Resources,
	} {
		more, err := list(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func (l library) Read(ctx context.Context, _ tool.Caller, uri string) ([]tool.Part, error) {
	read := l.skills.Resource
	switch {
	case strings.HasPrefix(uri, contextfiles.Scheme):
		read = l.context.Resource
	case strings.HasPrefix(uri, memory.Scheme):
		read = l.memory.Resource
	case strings.HasPrefix(uri, tool.ResultScheme):
		read = l.results.Resource
	case uri == sessions.URI:
		read = l.inbox.Resource
	case strings.HasPrefix(uri, generated.Scheme):
		read = l.made.Resource
	case strings.HasPrefix(uri, bridge.Scheme+"://"):
		return l.bridge.Resource(ctx, uri, nil)
	}
	part, err := read(ctx, uri)
	return []tool.Part{part}, err
}

func (l library) Prompts(ctx context.Context, c tool.Caller) ([]tool.Prompt, error) {
	list, err := l.skills.Prompts(ctx)
	return append(contextPrompts(c), list...), err
}

func (l library) Prompt(
	ctx context.Context, c tool.Caller, name string, args map[string]string,
) (tool.FilledPrompt, error) {
	if name == contextPrompt {
		return l.fillContext(ctx, c)
	}
	return l.skills.Prompt(ctx, name, args)
}

// Complete proposes names of context files, paths of memories and names of skills.
func (l library) Complete(ctx context.Context, _ tool.Caller, b server.CompletionRequest) (values []string, more bool,
	err error) {
	switch {
	case b.Of.URI == contextfiles.URI("{name}") && b.Name == "name":
		values, err = l.context.Complete(ctx, b.Value)
	case b.Of.URI == memory.Scheme+"{+path}" && b.Name == "path":
		return l.memory.Complete(ctx, b.Value, maxProposed)
	case strings.HasPrefix(b.Of.URI, skills.Scheme) && b.Name == "name":
		values, err = l.skills.Complete(ctx, b.Value, maxProposed)
	}
	return values, false, err
}

// contextPrompts returns the prompt with all context files, for callers with an
// agent.
func contextPrompts(c tool.Caller) []tool.Prompt {
	if c.Agent == "" {
		return nil
	}
	return []tool.Prompt{
		{
			Name: contextPrompt, Title: "Agent context",
			Description: "Identity, manner and user of the agent; to start a conversation with",
		},
	}
}

func (l library) fillContext(ctx context.Context, c tool.Caller) (tool.FilledPrompt, error) {
	if c.Agent == "" {
		return tool.FilledPrompt{}, tool.Errorf(tool.NotFound, "there is no prompt %q", contextPrompt)
	}
	text, err := l.context.Combined(ctx)
	if team, failed := l.teams.Brief(ctx); team != "" {
		text = strings.TrimSpace(text + "\n\n" + team)
	} else if err == nil {
		err = failed
	}
	if text == "" {
		text = "There are no context files for you and your user yet."
	}
	return tool.FilledPrompt{
		Description: contextPrompts(c)[0].Description, Messages: []tool.Message{{Part: tool.Part{Text: text}}},
	}, err
}
