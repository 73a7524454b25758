// Package jsonrpc reads and writes the messages of MCP: JSON-RPC 2.0, one
// message at a time, in bounded memory. It knows the members that the server needs, and how
// messages and lines of them are read and written, for the server and for the client of other
// servers, and for language servers, whose messages [Frames] splits. It does not know sessions, tools or HTTP. Begin with [Parse].
package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Message is one JSON-RPC message, read strictly and only as deep as the server needs. mcp-go
// decodes some messages again, less strictly. So [Parse] refuses messages that the two could
// read differently: duplicate members, members in another case, text after the end.
type Message struct {
	Raw        []byte
	ID         jsontext.Value // as it was written; nil for notifications
	Method     string
	IsResponse bool           // it answers a request of the server
	Result     jsontext.Value // of a response
	Error      jsontext.Value // of a response

	Params    []byte // as they were written
	Name      string // params.name, or params.uri
	Cursor    string // params.cursor
	Call      CallParams
	RequestID jsontext.Value // params.requestId of a cancellation
	Meta      Metadata
}

// CallParams holds the other params of a tools/call.
type CallParams struct {
	Arguments jsontext.Value
	Answers   jsontext.Value
	State     string
}

// Metadata holds the members of params._meta that the server reads.
type Metadata struct {
	Version      string         // of the protocol, for requests that carry it
	Capabilities jsontext.Value // of the client; nil if the request does not have them
	Program      jsontext.Value // the name and version of the client; nil likewise
	Progress     jsontext.Value
	Session      string // the name that the client gave this conversation
	Place        Place
	Trace        map[string]string
}

// A Place is the origin of a request, as the request states it.
type Place struct {
	Provider string // of the model
	Chat     string
	PeerKind string // direct or group
	Topic    string
	Sender   string // the writer in a group chat
}

// field returns the field that a member of _meta or a header names, or nil.
func (p *Place) field(name string) *string {
	switch name {
	case "provider":
		return &p.Provider
	case "chat":
		return &p.Chat
	case "peer-kind":
		return &p.PeerKind
	case "topic":
		return &p.Topic
	case "sender":
		return &p.Sender
	}
	return nil
}

// Modern reports whether m belongs to the stateless era of the protocol.
func (m *Message) Modern() bool { return mcp.IsModernProtocol(m.Meta.Version) }

// maxDepth is the deepest nesting of a message, far above the depth of real ones.
const maxDepth = 64

// MaxQuoted bounds the text of a client that an error repeats, in bytes.
const MaxQuoted = 200

// An Error is an error of the protocol, for the client's program. Failures of
// tools are results, for the model.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *Error) Error() string { return f.Message }

// Errorf returns an Error with this code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Parse reads one message. The Error is the response to the message. The message then holds the
// id if it could be read.
func Parse(raw []byte) (*Message, *Error) {
	m := &Message{Raw: raw}
	if huge := tooBig(raw); huge != nil {
		return m, huge
	}
	d := decoderFor(raw)
	defer decoders.Put(d)
	version := ""
	err := members(d, topNames(), func(name string) error {
		switch name {
		case "jsonrpc":
			return readText(d, &version)
		case "id":
			return value(d, &m.ID)
		case "method":
			return readText(d, &m.Method)
		case "params":
			from := d.InputOffset()
			err := m.readParams(d)
			m.Params = bytes.TrimLeft(raw[from:d.InputOffset()], ": \t\r\n")
			return err
		case "result":
			m.IsResponse = true
			return value(d, &m.Result)
		case "error":
			m.IsResponse = true
			return value(d, &m.Error)
		}
		return d.SkipValue()
	})
	if err == nil {
		_, err = d.ReadToken()
		if errors.Is(err, io.EOF) {
			return m, m.check(version)
		}
		err = errors.New("something follows the message")
	}
	if shape := (*shapeError)(nil); errors.As(err, &shape) {
		return m, Errorf(mcp.INVALID_REQUEST, "%s", shape.what)
	}
	return m, Errorf(mcp.PARSE_ERROR, "the message is not JSON: %s",
		text.Clip(strings.TrimPrefix(err.Error(), "jsontext: "), MaxQuoted))
}

// decoders are reused: a new one for every message was 4 % of the time of a call.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func decoderFor(raw []byte) *jsontext.Decoder {
	d, ok := decoders.Get().(*jsontext.Decoder)
	if !ok {
		d = new(jsontext.Decoder)
	}
	d.Reset(bytes.NewBuffer(raw))
	return d
}

// check returns the part of a message that a JSON document lacks.
func (m *Message) check(version string) *Error {
	switch {
	case version != mcp.JSONRPC_VERSION:
		return Errorf(mcp.INVALID_REQUEST, `"jsonrpc" must be "2.0"`)
	case m.IsResponse && m.Method != "":
		return Errorf(mcp.INVALID_REQUEST, "a message is a request or a response, not both")
	case !m.IsResponse && m.Method == "":
		return Errorf(mcp.INVALID_REQUEST, `"method" is missing`)
	case m.ID == nil || m.IsResponse: // a response gets no response
		return nil
	}
	if kind := m.ID.Kind(); kind != '"' && kind != '0' {
		m.ID = nil
		return Errorf(mcp.INVALID_REQUEST, `"id" must be a string or a number`)
	}
	return nil
}

func (m *Message) readParams(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		if m.Method != "" || d.PeekKind() == '[' {
			return &shapeError{`"params" must be an object`}
		}
		return d.SkipValue()
	}
	return members(d, paramNames(), func(name string) error {
		switch name {
		case "name", "uri":
			return optionalText(d, &m.Name)
		case "arguments":
			return value(d, &m.Call.Arguments)
		case "inputResponses":
			return value(d, &m.Call.Answers)
		case "requestState":
			return optionalText(d, &m.Call.State)
		case "cursor":
			return optionalText(d, &m.Cursor)
		case "requestId":
			return value(d, &m.RequestID)
		case "_meta":
			return m.readMeta(d)
		}
		return d.SkipValue()
	})
}

func (m *Message) readMeta(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	return members(d, metaNames(), func(name string) error {
		switch name {
		case mcp.MetaKeyProtocolVersion:
			return optionalText(d, &m.Meta.Version)
		case mcp.MetaKeyClientCapabilities:
			if d.PeekKind() != '{' {
				return d.SkipValue()
			}
			return value(d, &m.Meta.Capabilities)
		case mcp.MetaKeyClientInfo:
			return value(d, &m.Meta.Program)
		case sessionKey:
			return optionalText(d, &m.Meta.Session)
		case "progressToken":
			return value(d, &m.Meta.Progress)
		case "traceparent", "tracestate", "baggage":
			one := ""
			err := optionalText(d, &one)
			if m.Meta.Trace == nil {
				m.Meta.Trace = make(map[string]string, 3)
			}
			m.Meta.Trace[name] = one
			return err
		}
		if own, ok := strings.CutPrefix(name, ownPrefix); ok {
			if field := m.Meta.Place.field(own); field != nil {
				return optionalText(d, field)
			}
		}
		return d.SkipValue()
	})
}

// ownPrefix begins the members of _meta of this server. With sessionKey a client without
// sessions names the conversation that a request belongs to; for the others see Place.
const (
	ownPrefix  = "mcp-tools/"
	sessionKey = ownPrefix + "session"
)

func topNames() []string { return []string{"jsonrpc", "id", "method", "params", "result", "error"} }

func paramNames() []string {
	return []string{
		"name", "arguments", "_meta", "uri", "cursor", "level", "requestId", "protocolVersion", "capabilities",
		"clientInfo", "task", "taskId", "inputResponses", "requestState", "ref", "argument", "context", "notifications",
	}
}

func metaNames() []string {
	return []string{
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel,
		sessionKey, ownPrefix + "provider", ownPrefix + "chat", ownPrefix + "peer-kind", ownPrefix + "topic",
		ownPrefix + "sender", "progressToken", "traceparent", "tracestate", "baggage",
	}
}

// A shapeError reports a JSON document that is not a message.
type shapeError struct{ what string }

func (e *shapeError) Error() string { return e.what }

// members reads the next object. It refuses a member that differs from one of
// known only in case: the decoder of mcp-go would take it for that one.
func members(d *jsontext.Decoder, known []string, each func(name string) error) error {
	open, err := d.ReadToken()
	if err != nil {
		return err
	}
	if open.Kind() != '{' {
		return &shapeError{"a message is a JSON object; batches are not supported"}
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if !slices.Contains(known, name) {
			if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
				return &shapeError{fmt.Sprintf("the member %q must be written %q", name, known[i])}
			}
		}
		if err := each(name); err != nil {
			return err
		}
	}
	_, err = d.ReadToken()
	return err
}

// Members calls each with the members of a JSON object, whose values are parts of raw. It
// reports whether raw begins with an object whose members can be read.
func Members(raw []byte, each func(name string, value []byte)) bool {
	d := decoderFor(raw)
	defer decoders.Put(d)
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		end := int(d.InputOffset())
		each(name, raw[end-len(value):end])
	}
	return true
}

func readText(d *jsontext.Decoder, into *string) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '"' {
		return &shapeError{`"jsonrpc" and "method" must be strings`}
	}
	*into = token.String()
	return nil
}

// optionalText skips a value of another type; the reader of the text reports it.
func optionalText(d *jsontext.Decoder, into *string) error {
	if d.PeekKind() != '"' {
		return d.SkipValue()
	}
	return readText(d, into)
}

func value(d *jsontext.Decoder, into *jsontext.Value) error {
	v, err := d.ReadValue()
	*into = v.Clone() // the decoder reuses its buffer
	return err
}

// tooBig returns an Error for a message that would cost too much to decode.
func tooBig(raw []byte) *Error {
	switch depth, values := tool.Extent(raw); {
	case depth > maxDepth:
		return Errorf(mcp.INVALID_REQUEST, "the message is nested more than %d levels deep", maxDepth)
	case values > tool.MaxValues:
		return Errorf(mcp.INVALID_REQUEST, "the message has more than %d values", tool.MaxValues)
	}
	return nil
}

// Success writes the response to a request that succeeded.
func Success(id jsontext.Value, result any) []byte {
	body, err := text.JSON(result)
	if err != nil {
		return Failure(id, Errorf(mcp.INTERNAL_ERROR, "the result could not be written"))
	}
	return Respond(id, `,"result":`, body)
}

// Failure writes the response to a request that failed.
func Failure(id jsontext.Value, f *Error) []byte {
	body, err := text.JSON(f)
	if err != nil { // only for Data that does not marshal
		body, _ = text.JSON(Error{Code: f.Code, Message: f.Message})
	}
	return Respond(id, `,"error":`, body)
}

// Respond writes a response whose last member is written already: member is its
// name with the comma and the colon, body its value.
func Respond(id jsontext.Value, member string, body []byte) []byte {
	return append(append(Begin(id, member, len(body)), body...), '}')
}

// Begin writes a response up to the value of its last member, with room for a value of
// size bytes and the brace that the caller writes after it.
func Begin(id jsontext.Value, member string, size int) []byte {
	if id == nil {
		id = jsontext.Value("null")
	}
	out := make([]byte, 0, len(id)+size+40)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	return append(out, member...)
}

// Request writes a request or, without an id, a notification. It returns nil for params that cannot be written.
func Request(id jsontext.Value, method string, params any) []byte {
	body, err := text.JSON(struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id,omitempty"`
		Method  string         `json:"method"`
		Params  any            `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil { // Params are ours
		return nil
	}
	return body
}
