package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// This file passes on the resources and prompts of servers whose operator allows it. They have URIs of ours:
// mcp://SERVER/URI for a resource and mcp://SERVER/prompt:NAME for a prompt, escaped.

const (
	// ResourceTool is the name of the tool that lists and reads them. The policy of it counts for reading without
	// a tool too.
	ResourceTool = "mcp_resources"

	promptPrefix = "prompt:"
	maxResources = 1000 // of one server
	maxShown     = 200  // of a list
)

// readResources lists and reads resources and prompts of servers.
type readResources struct{ b *Bridge }

type readResourcesArgs struct {
	URI       string            `json:"uri,omitempty" jsonschema:"resource, as mcp://SERVER/..., default a list"`
	Arguments map[string]string `json:"arguments,omitempty" jsonschema:"arguments of a prompt"`
}

func (readResources) Spec() tool.Spec {
	return tool.Spec{
		Name: ResourceTool, Group: policy.Bridged, Title: "Resources of servers", Risk: tool.Reads,
		Doc:   "Lists the resources and prompts of MCP servers, or reads one by its mcp:// URI.",
		Hints: tool.Hints{OpenWorld: true},
	}
}

func (t readResources) Do(ctx context.Context, a readResourcesArgs) (tool.Result, error) {
	if a.URI != "" {
		parts, err := t.b.Resource(ctx, a.URI, a.Arguments)
		return tool.Result{Parts: parts}, err
	}
	var lines []string
	for _, one := range t.b.now().ordered {
		settings, ok := t.b.now().access(one, tool.CallerFrom(ctx), "")
		if !ok || !settings.Resources {
			continue
		}
		list, err := t.b.resourcesOf(ctx, one, settings)
		if err != nil {
			list = []string{fmt.Sprintf("%s: %s", one.name, tool.AsError(err).What)}
		}
		lines = append(lines, list...)
	}
	if len(lines) == 0 {
		return tool.Text("The servers have no resources and no prompts."), nil
	}
	return tool.Text(t.b.o.Marks.Quote("MCP servers", strings.Join(lines, "\n"))), nil
}

// resourcesOf lists the resources and prompts of a server, each on a line.
func (b *Bridge) resourcesOf(ctx context.Context, s *served, settings Server) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, settings.timeout())
	defer cancel()
	key := poolKey{s.name, settings.identity(tool.CallerFrom(ctx))}
	conn, release, err := b.pool.take(ctx, key, settings, func() { b.announced(s.name) })
	if err != nil {
		return nil, err
	}
	defer release()
	type item struct {
		URI         string `json:"uri"`
		Template    string `json:"uriTemplate"`
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Arguments   []struct {
			Name     string `json:"name"`
			Required bool   `json:"required"`
		} `json:"arguments"`
	}
	list := func(has bool, method mcp.MCPMethod, member string, write func(item) string) error {
		if !has {
			return nil
		}
		raw, err := conn.List(ctx, method, member, maxResources)
		if err != nil {
			return b.failure(s.name, err)
		}
		for i, one := range raw {
			var read item
			if json.Unmarshal(one, &read) != nil {
				continue
			}
			if i == maxShown {
				lines = append(lines, fmt.Sprintf("%s: %d further %s", s.name, len(raw)-i, member))
				break
			}
			about := strings.Join(strings.Fields(cleaned(cmp.Or(read.Title, read.Name)+": "+read.Description,
				maxTitle)), " ")
			lines = append(lines, write(read)+"  "+about)
		}
		return nil
	}
	err = list(conn.Info().Resources, mcp.MethodResourcesList, "resources",
		func(i item) string { return LinkOf(s.name, i.URI) })
	if err == nil {
		err = list(conn.Info().Prompts, mcp.MethodPromptsList, "prompts", func(i item) string {
			var names []string
			for _, a := range i.Arguments {
				names = append(names, cleaned(a.Name, maxTitle))
			}
			return LinkOf(s.name, promptPrefix+i.Name) + " (" + strings.Join(names, ", ") + ")"
		})
	}
	return lines, err
}

// Resource reads a resource or a prompt of a server for the caller in ctx.
func (b *Bridge) Resource(ctx context.Context, uri string, args map[string]string) ([]tool.Part, error) {
	rest, ours := strings.CutPrefix(uri, Scheme+"://")
	name, escaped, found := strings.Cut(rest, "/")
	of, err := url.PathUnescape(escaped)
	s := b.now().servers[name]
	var settings Server
	allowed := false
	if s != nil {
		settings, allowed = b.now().access(s, tool.CallerFrom(ctx), "")
	}
	if !ours || !found || err != nil || of == "" || !allowed || !settings.Resources {
		return nil, tool.Errorf(tool.NotFound, "there is no resource %q", text.Clip(uri, maxTitle)).
			Try("list them with %s", ResourceTool)
	}
	ctx, cancel := context.WithTimeout(ctx, settings.timeout())
	defer cancel()
	method, params := mcp.MethodResourcesRead, map[string]any{"uri": of}
	if prompt, ok := strings.CutPrefix(of, promptPrefix); ok {
		method, params = mcp.MethodPromptsGet, map[string]any{"name": prompt}
		if len(args) > 0 {
			params["arguments"] = args
		}
	}
	raw, err := b.request(ctx, s, settings, method, params, nil, nil)
	if err != nil {
		return nil, b.failure(name, err)
	}
	return b.contents(name, uri, raw)
}

// contents reads the content of a resource or a prompt. Its texts are marked as from outside.
func (b *Bridge) contents(server, uri string, raw json.RawMessage) ([]tool.Part, error) {
	var got struct {
		Contents []struct {
			MIME string `json:"mimeType"`
			Text string `json:"text"`
			Blob []byte `json:"blob"`
		} `json:"contents"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the MCP server %q sent a resource that is not as MCP has it",
			server).
			Try("do it another way").Because(err)
	}
	var texts []string
	var parts []tool.Part
	for i, c := range got.Contents {
		switch {
		case i >= maxParts:
		case c.Blob != nil:
			parts = append(parts, tool.Part{Data: b.scrubBlob(c.Blob), MIME: cleaned(c.MIME, maxTitle), URI: uri})
		default:
			texts = append(texts, c.Text)
		}
	}
	for i, m := range got.Messages {
		if i >= maxParts {
			break
		}
		said, part := b.part(server, m.Content)
		if said != "" {
			texts = append(texts, cleaned(m.Role, 20)+": "+said)
		}
		if part != nil {
			parts = append(parts, *part)
		}
	}
	if len(texts) > 0 {
		quoted := tool.Part{Text: b.o.Marks.Quote(source(server), strings.Join(texts, "\n")), URI: uri,
			MIME: "text/plain"}
		parts = append([]tool.Part{quoted}, parts...)
	}
	return parts, nil
}
