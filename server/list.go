package server

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// maxBridged is how many tools of other servers a list has at most. If there are more, the list has none of them, and
// tool_search finds them.
const maxBridged = 40

// searchesTools reports whether a client, by the name of its program, loads tools by itself when its model looks for
// them. Such a client gets all tools.
func searchesTools(program string) bool { return strings.HasPrefix(strings.ToLower(program), "claude") }

// maxListings bounds the cache of written tool lists. In practice there are a handful.
const maxListings = 256

// listCache keeps the JSON of tools/list results. They depend on the settings and
// on the caller, not on earlier requests.
type listCache struct {
	mu      sync.Mutex
	written map[listKey][]byte
}

type listKey struct {
	class             policy.Class
	files, structured bool
	searches, modern  bool
	apps              bool
	unusable          string
}

// listTools answers tools/list.
func (x *rpcRequest) listTools(ctx context.Context) []byte {
	m := x.msg
	if m.Cursor != "" {
		return jsonrpc.Failure(m.ID,
			jsonrpc.Errorf(mcp.INVALID_PARAMS, "tools/list has one page; call it without a cursor"))
	}
	a := x.access
	a.searches, a.apps = searchesTools(x.clientInfo().name), x.showsApps()
	version := ""
	if m.Modern() {
		version = m.Meta.Version
	}
	s := x.session.server
	list, refused := s.listFor(ctx, a, version)
	if refused != nil {
		return x.failure(refused)
	}
	if s.Begun != nil {
		now := s.settings()
		s.Begun(a.Caller, func(name string) bool { return now.verdict(a, name) != policy.Deny })
	}
	return jsonrpc.Respond(m.ID, `,"result":`, list)
}

// listFor returns the list of a caller, from the cache unless it is narrowed
// for this request.
func (s *Server) listFor(ctx context.Context, a Access, version string) ([]byte, *jsonrpc.Error) {
	c, now := a.Caller, s.settings()
	if !a.Narrow.Empty() || a.Within != nil {
		return s.writeList(ctx, now, a, version)
	}
	key := listKey{
		now.Policy.Class(a.subject()), a.hasFiles(), a.Structured, a.searches, version != "", a.apps,
		strings.Join(s.unusable(c), " "),
	}
	now.lists.mu.Lock()
	defer now.lists.mu.Unlock()
	list, ok := now.lists.written[key]
	if !ok {
		var refused *jsonrpc.Error
		if list, refused = s.writeList(ctx, now, a, version); refused != nil {
			return nil, refused
		}
		if len(now.lists.written) < maxListings {
			now.lists.written[key] = list
		}
	}
	return list, nil
}

// writeList returns the result that mcp-go gives for the tools of a caller.
func (s *Server) writeList(ctx context.Context, now *settings, a Access, version string) ([]byte, *jsonrpc.Error) {
	described := now.described
	if a.Structured {
		described = now.structured
	}
	var visible []int
	bridged := 0
	for i, t := range now.ordered {
		if now.verdict(a, t.Spec.Name) != policy.Deny && !s.hides(t, a) {
			visible = append(visible, i)
			if t.Spec.Group == policy.Bridged {
				bridged++
			}
		}
	}
	short := bridged > maxBridged && !a.searches
	c := s.newCoreSession(nil)
	for _, i := range visible {
		if now.Policy.Lists(a.subject(), now.ordered[i].Spec.Name, short) {
			d := described(i)
			if a.apps && now.ordered[i].Spec.Viewed {
				d = shownByPage(d)
			}
			c.tools = append(c.tools, d)
		}
	}
	list, refused := s.ask(ctx, c, mcp.MethodToolsList, version, nil)
	if refused != nil {
		return nil, refused
	}
	return s.clean(plainText(list)), nil
}

// plainText returns JSON without the escapes that only HTML needs: the types of mcp-go write them.
func plainText(written []byte) []byte {
	v := jsontext.Value(written)
	if v.Format(jsontext.PreserveRawStrings(false), jsontext.AllowDuplicateNames(true)) != nil {
		return written
	}
	return v
}

// Tools lists the tools of a caller, in order, including tools that tools/list leaves to
// tool_search.
func (s *Server) Tools(a Access) []tool.Tool {
	now := s.settings()
	var visible []tool.Tool
	for _, t := range now.ordered {
		if now.verdict(a, t.Spec.Name) != policy.Deny && !s.hides(t, a) {
			visible = append(visible, t)
		}
	}
	return visible
}

// ToolsList returns the result of tools/list for a caller, as a legacy client
// gets it. Golden tests and the token budget use it.
func (s *Server) ToolsList(a Access) []byte {
	list, refused := s.listFor(context.Background(), a, "")
	if refused != nil { // the tools of a Set can be written
		return nil
	}
	return bytes.Clone(list)
}

// Describe writes a tool as tools/list shows it to the model, with the schema of
// its structured content or without.
func Describe(t tool.Tool, structured bool) json.RawMessage {
	written, err := text.JSON(describe(t, structured))
	if err != nil { // strings, booleans and schemas that were parsed
		return nil
	}
	return plainText(written)
}

// describe returns the description of a tool. All hints are set, because their defaults
// differ.
func describe(t tool.Tool, structured bool) mcp.Tool {
	spec := t.Spec
	others := spec.Forwards || spec.Composes // so the worst is possible
	d := mcp.NewToolWithRawSchema(spec.Name, spec.Doc, t.Schema())
	d.Title = spec.Title
	if structured && spec.Output != nil {
		if schema, err := text.JSON(t.OutputSchema()); err == nil { // maps of strings
			d.RawOutputSchema = schema
		}
	}
	d.Annotations = mcp.ToolAnnotation{
		ReadOnlyHint:    mcp.ToBoolPtr(spec.Risk == tool.Reads && !others),
		DestructiveHint: mcp.ToBoolPtr(spec.Risk >= tool.Destroys || others),
		IdempotentHint:  mcp.ToBoolPtr(spec.Hints.Idempotent || spec.Risk == tool.Reads && !others),
		OpenWorldHint:   mcp.ToBoolPtr(spec.Hints.OpenWorld),
	}
	meta := map[string]any{}
	if spec.Core {
		meta["anthropic/alwaysLoad"] = true
	}
	if spec.Keywords != "" {
		meta["anthropic/searchHint"] = spec.Keywords
	}
	if len(meta) > 0 {
		d.Meta = mcp.NewMetaFromMap(meta)
	}
	return d
}
