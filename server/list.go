package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
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
	written map[listKey]*toolList
}

type listKey struct {
	class             policy.Class
	files, structured bool
	searches          bool
	unusable          string
}

type toolList struct{ legacy, modern []byte }

// listTools answers tools/list.
func (x *rpcRequest) listTools() []byte {
	m := x.msg
	if m.Cursor != "" {
		return jsonrpc.Failure(m.ID,
			jsonrpc.Errorf(mcp.INVALID_PARAMS, "tools/list has one page; call it without a cursor"))
	}
	a := x.access
	a.searches = searchesTools(x.clientInfo().name)
	w := x.session.server.listFor(a)
	if m.Modern() {
		return jsonrpc.Respond(m.ID, `,"result":`, w.modern)
	}
	return jsonrpc.Respond(m.ID, `,"result":`, w.legacy)
}

// listFor returns the list of a caller, from the cache unless it is narrowed
// for this request.
func (s *Server) listFor(a Access) *toolList {
	c, now := a.Caller, s.settings()
	if !a.Narrow.Empty() || a.Within != nil {
		return s.writeList(now, a)
	}
	key := listKey{
		now.Policy.Class(a.subject()), a.hasFiles(), a.Structured, a.searches, strings.Join(s.unusable(c), " "),
	}
	now.lists.mu.Lock()
	defer now.lists.mu.Unlock()
	w, ok := now.lists.written[key]
	if !ok {
		w = s.writeList(now, a)
		if len(now.lists.written) < maxListings {
			now.lists.written[key] = w
		}
	}
	return w
}

func (s *Server) writeList(now *settings, a Access) *toolList {
	described := now.described
	if a.Structured {
		described = now.structured
	}
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	comma := ""
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
	for _, i := range visible {
		if !now.Policy.Lists(a.subject(), now.ordered[i].Spec.Name, short) {
			continue
		}
		b.WriteString(comma)
		b.Write(described(i))
		comma = ","
	}
	b.WriteByte(']')
	legacy := append(bytes.Clone(b.Bytes()), '}')
	b.Write(s.listStamp)
	return &toolList{legacy: legacy, modern: bytes.Clone(b.Bytes())}
}

// Tools lists what a caller may use, in order, also what tools/list leaves to
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
func (s *Server) ToolsList(a Access) []byte { return bytes.Clone(s.listFor(a).legacy) }

// cacheStamp returns the members that the stateless era requires in every list and
// resource: how long clients may cache it, the scope, and the server's name.
func cacheStamp(c Config, ttl time.Duration) []byte {
	stamp, err := jsonrpc.Marshal(map[string]any{
		"resultType": mcp.ResultTypeComplete, "ttlMs": ttl.Milliseconds(), "cacheScope": mcp.CacheScopePrivate,
		"_meta": map[string]any{mcp.MetaKeyServerInfo: map[string]string{"name": c.Name, "title": c.Title,
			"version": c.Version}},
	})
	if err != nil { // strings and numbers
		return []byte{'}'}
	}
	stamp[0] = ','
	return stamp
}

// Describe writes a tool as tools/list shows it to the model, with the schema of
// its structured content or without. All hints are written, because their defaults
// differ.
func Describe(t tool.Tool, structured bool) json.RawMessage {
	spec := t.Spec
	others := spec.Forwards || spec.Composes // so the worst is possible
	b := append(appendText([]byte(`{"name":`), spec.Name), `,"title":`...)
	b = appendMember(appendText(b, spec.Title), "description", spec.Doc)
	b = append(append(b, `,"inputSchema":`...), t.Schema()...)
	if structured && spec.Output != nil {
		if schema, err := jsonrpc.Marshal(t.OutputSchema()); err == nil { // maps of strings
			b = append(append(b, `,"outputSchema":`...), schema...)
		}
	}
	b = fmt.Appendf(b, `,"annotations":{"readOnlyHint":%t,"destructiveHint":%t,"idempotentHint":%t,"openWorldHint":%t}`,
		spec.Risk == tool.Reads && !others, spec.Risk >= tool.Destroys || others,
		spec.Hints.Idempotent || spec.Risk == tool.Reads && !others, spec.Hints.OpenWorld)
	switch {
	case spec.Core && spec.Keywords != "":
		b = append(appendMember(append(b, `,"_meta":{"anthropic/alwaysLoad":true`...),
			"anthropic/searchHint", spec.Keywords), '}')
	case spec.Core:
		b = append(b, `,"_meta":{"anthropic/alwaysLoad":true}`...)
	case spec.Keywords != "":
		b = append(appendText(append(b, `,"_meta":{"anthropic/searchHint":`...), spec.Keywords), '}')
	}
	return append(b, '}')
}
