package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// libraryParams are the params of all requests about the library.
type libraryParams struct {
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Cursor    string            `json:"cursor"`
	Arguments map[string]string `json:"arguments"`
	Ref       struct {
		Type string `json:"type"`
		URI  string `json:"uri"`
		Name string `json:"name"`
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments"`
	} `json:"context"`
}

// consult answers requests about resources, prompts and completions.
func (x *exchange) consult(ctx context.Context) []byte {
	m, s := x.msg, x.session.server
	q := Inquiry{Access: x.access, Method: mcp.MCPMethod(m.Method), Trace: m.Meta.Trace}
	subscribing := q.Method == mcp.MethodResourcesSubscribe || q.Method == mcp.MethodResourcesUnsubscribe
	if wrong := q.take(m.Params); wrong != nil {
		return s.refusal(m.ID, wrong)
	}
	if subscribing {
		q.Keep = func() error {
			return x.session.subscribe(q.Ref.URI, q.Method == mcp.MethodResourcesSubscribe)
		}
	}
	found, err := s.Consult(ctx, q)
	if err != nil {
		return s.refusal(m.ID, q.fault(tool.AsError(err), m.Modern()))
	}
	return jsonrpc.Respond(m.ID, `,"result":`, s.writeFinding(q, found, m.Modern()))
}

// take reads the params of a request.
func (q *Inquiry) take(params []byte) *jsonrpc.Error {
	var given libraryParams
	if len(params) > 0 {
		if err := json.Unmarshal(params, &given); err != nil {
			field := "params"
			if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
				field += "." + wrong.Field
			}
			return jsonrpc.Errorf(mcp.INVALID_PARAMS, "%s has the wrong type for %s",
				text.Clip(field, jsonrpc.MaxQuoted), q.Method)
		}
	}
	switch q.Method {
	case mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodPromptsList:
		q.Cursor = given.Cursor
	case mcp.MethodPromptsGet:
		q.Ref.Prompt, q.Args = given.Name, given.Arguments
	case mcp.MethodCompletionComplete:
		switch given.Ref.Type {
		case "ref/prompt":
			q.Ref.Prompt = given.Ref.Name
		case "ref/resource":
			q.Ref.URI = given.Ref.URI
		default:
			return jsonrpc.Errorf(mcp.INVALID_PARAMS, `params.ref.type must be "ref/prompt" or "ref/resource"`)
		}
		q.Blank = Blank{Of: q.Ref, Name: given.Argument.Name, Value: given.Argument.Value,
			Given: given.Context.Arguments}
	default:
		q.Ref.URI = given.URI
	}
	return nil
}

// jsonrpc.Error is a failure as the protocol words it.
func (q Inquiry) fault(err *tool.Error, modern bool) *jsonrpc.Error {
	f := jsonrpc.Errorf(mcp.INTERNAL_ERROR, "%s", err.Error())
	switch err.Kind {
	case tool.NotFound:
		f.Code = mcp.INVALID_PARAMS
		if q.Ref.URI == "" || q.Method == mcp.MethodCompletionComplete {
			break
		}
		f.Data = map[string]string{"uri": text.Clip(q.Ref.URI, maxURI)} // which one, for clients that read several
		if !modern {
			f.Code = mcp.RESOURCE_NOT_FOUND
		}
	case tool.Invalid, tool.Refused, tool.Conflict, tool.TooLarge:
		f.Code = mcp.INVALID_PARAMS
	case tool.Busy:
		f.Code = codeBusy
	}
	return f
}

// writeFinding writes the result of an inquiry, for the era.
func (s *Server) writeFinding(q Inquiry, f Finding, modern bool) []byte {
	var body any
	stamp := s.listStamp
	switch q.Method {
	case mcp.MethodResourcesList:
		body = struct {
			Resources []any  `json:"resources"`
			Next      string `json:"nextCursor,omitempty"`
		}{each(f.Resources, Resource.written), f.Next}
	case mcp.MethodResourcesTemplatesList:
		body = map[string]any{"resourceTemplates": each(f.Templates, Template.written)}
	case mcp.MethodPromptsList:
		body = struct {
			Prompts []any  `json:"prompts"`
			Next    string `json:"nextCursor,omitempty"`
		}{each(f.Prompts, Prompt.written), f.Next}
	case mcp.MethodResourcesRead:
		body = map[string]any{"contents": each(f.Parts,
			func(p tool.Part) any { return contents(p, s.scrub.Text(q.Ref.URI)) })}
		stamp = s.readStamp
	case mcp.MethodPromptsGet:
		body = struct {
			Description string `json:"description,omitempty"`
			Messages    []any  `json:"messages"`
		}{f.Filled.Description, each(f.Filled.Messages, Message.written)}
		stamp = s.resultStamp
	case mcp.MethodCompletionComplete:
		body = map[string]any{"completion": struct {
			Values []string `json:"values"`
			More   bool     `json:"hasMore"`
		}{f.Values, f.More}}
		stamp = s.resultStamp
	default:
		body, stamp = struct{}{}, s.resultStamp
	}
	written, err := jsonrpc.Marshal(body)
	if err != nil { // strings, numbers and what appendPart has written
		return []byte("{}")
	}
	if !modern {
		return written
	}
	if written = written[:len(written)-1]; len(written) == 1 { // nothing but the brace
		stamp = stamp[1:]
	}
	return append(written, stamp...)
}

func each[T any](list []T, write func(T) any) []any {
	all := make([]any, len(list)) // [] and not null
	for i, one := range list {
		all[i] = write(one)
	}
	return all
}

func (r Resource) written() any {
	var notes map[string]string
	if !r.Modified.IsZero() {
		notes = map[string]string{"lastModified": r.Modified.UTC().Format(time.RFC3339)}
	}
	return struct {
		URI         string            `json:"uri"`
		Name        string            `json:"name"`
		Title       string            `json:"title,omitempty"`
		Description string            `json:"description,omitempty"`
		MIME        string            `json:"mimeType,omitempty"`
		Size        int64             `json:"size,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}{r.URI, r.Name, r.Title, r.Description, r.MIME, r.Size, notes}
}

func (t Template) written() any {
	return struct {
		URI         string `json:"uriTemplate"`
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		MIME        string `json:"mimeType,omitempty"`
	}{t.URI, t.Name, t.Title, t.Description, t.MIME}
}

func (p Prompt) written() any {
	return struct {
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		Arguments   []any  `json:"arguments,omitempty"`
	}{p.Name, p.Title, p.Description, each(p.Arguments, Argument.written)}
}

func (a Argument) written() any {
	return struct {
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		Required    bool   `json:"required,omitempty"`
	}{a.Name, a.Title, a.Description, a.Required}
}

func (m Message) written() any {
	role := "user"
	if m.Assistant {
		role = "assistant"
	}
	return struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}{role, appendPart(nil, m.Part)}
}

// contents is a part of a resource. A text that is empty is still one.
func contents(p tool.Part, uri string) any {
	if p.URI != "" {
		uri = p.URI
	}
	if p.Data != nil {
		return struct {
			URI  string `json:"uri"`
			MIME string `json:"mimeType,omitempty"`
			Blob []byte `json:"blob"`
		}{uri, p.MIME, p.Data}
	}
	return struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType,omitempty"`
		Text string `json:"text"`
	}{uri, p.MIME, p.Text}
}
