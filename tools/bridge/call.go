package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

const (
	maxArgument   = 1 << 20                // bytes of one text argument
	progressEvery = 100 * time.Millisecond // how often progress is passed on, after the first reports
	firstReports  = 10
	maxParts      = 200 // of a result
)

// Scheme begins the URIs of resources of other servers: mcp://SERVER/URI, with the URI escaped.
const Scheme = "mcp"

// toolOf makes a tool of one that a server offers.
func (b *Bridge) toolOf(s *served, o Offered) tool.Tool {
	schema := o.Input
	if len(schema) == 0 || schema[0] != '{' {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	schema = cleanedSchema(schema)
	clean := func(title string) string { return cleaned(title, maxTitle) }
	called := toolName(s.name, o.Name)
	spec := tool.Spec{
		Name: called, Group: policy.Bridged,
		Title: cmp.Or(clean(o.Title), clean(o.Annotations.Title), clean(o.Name), called),
		Doc: cmp.Or(cleaned(o.Description, maxDescription),
			fmt.Sprintf("The tool %q of the MCP server %q.", o.Name, s.name)),
		Risk: s.riskOf(o), Hints: tool.Hints{OpenWorld: true, Idempotent: s.Trust != "" && o.Annotations.Idempotent},
		Timeout: s.timeout(), MaxText: maxArgument, Keywords: s.name,
	}
	if s.Elicitation {
		spec.Timeout += maxAnswer
	}
	name, definition := o.Name, o.digest()
	checked := checkedSchema(schema)
	return tool.PreparedForeign(spec, checked, func(ctx context.Context, args json.RawMessage) (tool.Plan, error) {
		if _, _, err := b.admit(ctx, s.name, name, definition); err != nil {
			return tool.Plan{}, err
		}
		return tool.Plan{
			Why: fmt.Sprintf("it calls the tool %q of the MCP server %q, which is outside of this program", name,
				s.name),
			Facts: func(context.Context) (tool.Facts, error) {
				return tool.Facts{"Definition of the tool": definition[:16]}, nil // a rule does not outlive a change
			},
			Run: func(ctx context.Context) (tool.Result, error) { return b.call(ctx, s.name, name, definition, args) },
		}, nil
	}).WithSchema(schema)
}

// riskOf returns the risk of a tool. The operator's word counts first; annotations count as far as the
// operator trusts them, and otherwise a tool may do anything.
func (s *served) riskOf(o Offered) tool.Risk {
	if risk, ok := riskNamed(s.Risks[o.Name]); ok {
		return risk
	}
	if s.Trust == TrustAnnotations || s.Trust == TrustFull {
		return riskOf(o.Annotations)
	}
	return tool.Runs
}

// admit returns the server of a tool, and its settings for the caller, if the caller may call it.
func (b *Bridge) admit(ctx context.Context, server, name, definition string) (*served, Server, error) {
	s := b.now()
	one := s.servers[server]
	if one == nil || one.usable[name] != definition {
		if one != nil && one.holds(name) {
			return nil, Server{}, b.heldBack(server)
		}
		return nil, Server{}, tool.Errorf(tool.Unavailable, "the tool is not offered any more").
			Try("list the tools again")
	}
	settings, ok := s.access(one, tool.CallerFrom(ctx), name)
	if !ok {
		return nil, Server{}, tool.Errorf(tool.NotFound, "there is no tool %q here", toolName(server, name)).
			Try("call tools/list to see the tools")
	}
	return one, settings, nil
}

// holds reports whether a tool has changed, and no operator has accepted it.
func (s *served) holds(name string) bool {
	return slices.ContainsFunc(slices.Concat(s.held, s.refused), func(c Change) bool { return c.Tool == name && c.After != nil })
}

func (b *Bridge) heldBack(server string) error {
	where := "in mcp-tools ui"
	if b.o.Page != nil {
		if page := b.o.Page(); page != "" {
			where = "on " + page
		}
	}
	return tool.Errorf(tool.Unavailable, "the MCP server %q has changed this tool, and no operator has accepted it yet",
		server).Try("ask the operator to look at the change and accept it %s, or with mcp-tools bridge show %s and then "+
		"mcp-tools bridge approve %s", where, server, server)
}

// call calls a tool of a server.
func (b *Bridge) call(ctx context.Context, server, name, definition string, args json.RawMessage) (tool.Result, error) {
	if id := tool.AnswersFrom(ctx).State; id != "" {
		return b.resume(ctx, id)
	}
	s, settings, err := b.admit(ctx, server, name, definition)
	if err != nil {
		return tool.Result{}, err
	}
	params := map[string]any{"name": name, "arguments": args}
	if len(args) == 0 || string(args) == "null" {
		params["arguments"] = json.RawMessage("{}")
	}
	do := func(ctx context.Context, call *asking) (tool.Result, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, settings.timeout()+call.patience(), tool.Errorf(tool.Timeout,
			"the MCP server %q did not answer within %s", server, settings.timeout()).Try("ask for less"))
		defer cancel()
		raw, err := b.request(ctx, s, settings, mcp.MethodToolsCall, params, call.Call, func() error {
			_, _, err := b.admit(ctx, server, name, definition) // a new connection has read the list
			return err
		})
		if err != nil {
			return tool.Result{}, b.failure(server, err)
		}
		return b.result(server, raw, tool.RunningFrom(ctx).Script != "")
	}
	if b.mayAsk(ctx, settings) {
		return b.park(ctx, server, settings, do)
	}
	return do(ctx, &asking{Call: &upstream.Call{Progress: progress(ctx)}})
}

// request makes a request to a server, once more on another connection if it did not get it. allowed is asked once
// there is a connection; nil allows it.
func (b *Bridge) request(ctx context.Context, s *served, settings Server, method mcp.MCPMethod, params map[string]any,
	call *upstream.Call, allowed func() error,
) (json.RawMessage, error) {
	key := poolKey{s.name, settings.identity(tool.CallerFrom(ctx))}
	for again := false; ; again = true {
		conn, release, err := b.pool.take(ctx, key, settings, func() { b.announced(s.name) })
		if err != nil {
			return nil, err
		}
		if allowed != nil {
			if err := allowed(); err != nil {
				release()
				return nil, err
			}
		}
		raw, err := conn.Do(ctx, method, params, call)
		release()
		if err == nil || again || ctx.Err() != nil || !errors.Is(err, upstream.ErrNotSent) {
			return raw, err
		}
	}
}

// failure returns the error of a request for the model.
func (b *Bridge) failure(server string, err error) error {
	var known *tool.Error
	var said *jsonrpc.Error
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, upstream.ErrLogin):
		return needsLogin(server)
	case errors.As(err, &said):
		kind := tool.Unavailable
		if said.Code == mcp.INVALID_PARAMS {
			kind = tool.Invalid
		}
		return tool.Errorf(kind, "the MCP server %q refused the call: %s", server,
			b.o.Marks.Quote(source(server), cleaned(said.Error(), maxReason))).
			Try("correct the arguments, or do it another way")
	}
	return tool.Errorf(tool.Unavailable, "the MCP server %q failed: %s", server,
		cleaned(fmt.Sprint(err), maxReason)).Because(err).
		Try("the call may have had an effect: check that before you call again")
}

// progress returns a function that passes on the progress of a server: a few reports at once,
// then at the pace of a reader.
func progress(ctx context.Context) func(done, total float64, message string) {
	report := tool.ReporterFrom(ctx)
	if report == nil {
		return nil
	}
	var last time.Time
	most, sent := math.Inf(-1), 0
	return func(done, total float64, message string) {
		if ctx.Err() != nil || done <= most ||
			sent >= firstReports && time.Since(last) < progressEvery && (total <= 0 || done < total) {
			return
		}
		last, most = time.Now(), done
		sent++
		report.Progress(done, total, cleaned(message, maxTitle))
	}
}

// content is one part of a result of a server.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     []byte `json:"data"`
	MIME     string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource *struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType"`
		Text string `json:"text"`
		Blob []byte `json:"blob"`
	} `json:"resource"`
}

// result reads the result of a call. Its texts are marked as from outside. A script gets a text in JSON as a value
// too, because it cannot read it between marks.
func (b *Bridge) result(server string, raw json.RawMessage, script bool) (tool.Result, error) {
	var got struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		Failed     bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "the MCP server %q sent a result that is not as MCP has it",
			server).Try("do it another way").Because(err)
	}
	var res tool.Result
	var texts []string
	var others []tool.Part
	for i, one := range got.Content {
		if i == maxParts {
			texts = append(texts, fmt.Sprintf("(%d further parts are left out)", len(got.Content)-i))
			break
		}
		said, part := b.part(server, one)
		if said != "" {
			texts = append(texts, said)
		}
		if part != nil {
			others = append(others, *part)
		}
	}
	structured := len(got.Structured) > 0 && string(got.Structured) != "null"
	if len(texts) == 0 && structured { // for models whose client shows no structured content
		texts = append(texts, string(got.Structured))
	}
	if len(texts) > 0 {
		res.Parts = []tool.Part{{Text: b.o.Marks.Quote(source(server), strings.Join(texts, "\n"))}}
	}
	res.Parts = append(res.Parts, others...)
	value := got.Structured
	if script && !structured && len(got.Content) == 1 && len(texts) == 1 &&
		strings.IndexAny(strings.TrimSpace(texts[0]), "{[") == 0 {
		value = json.RawMessage(texts[0])
	}
	if len(value) > 0 {
		var data any
		if json.Unmarshal(value, &data) == nil {
			res.Data = data
		}
	}
	if got.Failed {
		res.Failed, res.Kind = true, tool.Unavailable
		if len(res.Parts) == 0 {
			res.Parts = []tool.Part{{Text: fmt.Sprintf(
				"unavailable: the tool of the MCP server %q failed and did not say why",
				server)}}
		}
	}
	return res, nil
}

func source(server string) string { return "MCP server " + server }

// part reads a part of a result: text, or something else.
func (b *Bridge) part(server string, raw json.RawMessage) (said string, other *tool.Part) {
	var c content
	if err := json.Unmarshal(raw, &c); err != nil {
		return "(a part that cannot be read is left out)", nil
	}
	mime := cleaned(c.MIME, maxTitle)
	switch c.Type {
	case "text":
		return c.Text, nil
	case "image", "audio":
		if !strings.HasPrefix(mime, c.Type+"/") || strings.HasPrefix(mime, "image/svg") {
			return fmt.Sprintf("(a part of the type %q is left out)", mime), nil
		}
		return "", &tool.Part{Data: c.Data, MIME: mime}
	case "resource_link":
		name := cleaned(cmp.Or(c.Name, c.URI), maxTitle)
		return fmt.Sprintf("[%s](%s)", name, LinkOf(server, c.URI)), nil
	case "resource":
		if c.Resource == nil {
			return "", nil
		}
		if c.Resource.Blob != nil {
			mime := cleaned(c.Resource.MIME, maxTitle)
			return "", &tool.Part{Data: b.scrubBlob(c.Resource.Blob), MIME: mime, URI: LinkOf(server, c.Resource.URI)}
		}
		return LinkOf(server, c.Resource.URI) + "\n" + c.Resource.Text, nil
	}
	return fmt.Sprintf("(a part of the type %q is left out)", text.Clip(c.Type, 40)), nil
}

// scrubBlob masks the secrets of content that is a text. Other content stays as it is.
func (b *Bridge) scrubBlob(blob []byte) []byte {
	if !utf8.Valid(blob) {
		return blob
	}
	return b.scrub(blob)
}

// LinkOf returns the URI of a server's resource for our callers. They never get the server's own URI: it
// could name a file on their machine.
func LinkOf(server, uri string) string {
	return Scheme + "://" + server + "/" + url.PathEscape(text.Clip(uri, maxDescription))
}

func sortOffered(all []Offered) {
	slices.SortStableFunc(all, func(a, b Offered) int { return strings.Compare(a.Name, b.Name) })
}
