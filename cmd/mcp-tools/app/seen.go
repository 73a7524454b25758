package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// A SeenTool is a tool that the policy gives to a caller.
type SeenTool struct {
	Spec    tool.Spec
	Verdict policy.Verdict
	Needs   string // the missing requirement of a hidden tool; "" for a tool that clients get
}

// Seen returns the tools of the caller of the settings as a client gets them from a server, and after them the tools
// that need something that is not set up. It leaves no data directory behind where there was none.
func (e *Env) Seen(ctx context.Context) (_ []SeenTool, err error) {
	v, err := e.Examine()
	if err != nil {
		return nil, err
	}
	look := *e
	look.Err = io.Discard // a server logs its warnings
	dir, err := e.DataDir()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if look.Data, err = os.MkdirTemp("", "mcp-tools-look-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(look.Data)) }()
	}
	a, err := look.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	access, err := a.LocalCaller("cli")
	if err != nil {
		return nil, err
	}
	return a.seen(v, a.Server.ToolsList(access))
}

// seen returns the tools of an answer to tools/list, and the tools that a view has beyond that.
func (a *App) seen(v *View, answer []byte) (all []SeenTool, err error) {
	var listed struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(answer, &listed); err != nil {
		return nil, fmt.Errorf("reading the list of tools: %w", err)
	}
	has := make(map[string]bool, len(listed.Tools))
	for _, one := range listed.Tools {
		has[one.Name] = true
		if t, ok := a.set.Lookup(one.Name); ok {
			all = append(all, SeenTool{t.Spec, a.rules.load().policy.Verdict(v.Subject(), one.Name), ""})
		}
	}
	for _, t := range v.Visible(v.Subject()) {
		if !has[t.Spec.Name] {
			all = append(all, SeenTool{t.Spec, v.Policy.Verdict(v.Subject(), t.Spec.Name), needs(t.Spec)})
		}
	}
	return all, nil
}

// needs returns the requirement that is missing for a tool of ours that is not listed.
func needs(s tool.Spec) string {
	switch s.Name {
	case "spawn", "openai_compat_call":
		return "a language model (models.providers)"
	case "delegate":
		return "a language model (models.providers), and an agent with delegate_to"
	case "acp_spawn":
		return "an agent program (acp)"
	case "create_audio", "create_video":
		return "a provider of media (media.providers)"
	case "read_audio", "read_video":
		return "the program ffmpeg"
	case "tts":
		return "the program espeak-ng, or a provider of media (media.providers)"
	case "credentialed_exec":
		return "a program with credentials (exec.programs)"
	}
	switch s.Group {
	case messaging.Group:
		return "a channel (messaging.channels)"
	case teams.Group:
		return "a team that the agent is a member of (mcp-tools teams)"
	case "fs", "runtime":
		return "a workspace (--workspace)"
	}
	return "something that is not set up"
}

// needed returns the requirement of a tool of ours, under any of its names; "" for other names.
func needed(name string) string {
	if all, err := tools.All(tools.World{}); err == nil {
		if t, ok := all.Lookup(name); ok && !t.Spec.Internal {
			return needs(t.Spec)
		}
	}
	return ""
}
