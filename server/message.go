package server

import (
	"bytes"
	"encoding/json"
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

// A message is one JSON-RPC message, read strictly and only as deep as the
// door needs to. mcp-go decodes it again, loosely: so whatever the two could
// read differently (duplicate members, members in another case, something
// after the end) is refused here.
type message struct {
	raw    []byte
	id     jsontext.Value // as it came; nil for notifications
	method string
	answer bool           // a reply to a question of ours
	result jsontext.Value // of a reply
	fault  jsontext.Value // of a reply

	params    []byte // as they came
	name      string // params.name, or params.uri
	cursor    string // params.cursor
	call      callParams
	requestID jsontext.Value // params.requestId of a cancellation
	meta      metadata
}

// callParams are the other params of a tools/call.
type callParams struct {
	arguments jsontext.Value
	answers   jsontext.Value
	state     string
}

// metadata is what the door reads of params._meta.
type metadata struct {
	version      string         // of the protocol, for requests that carry it
	capabilities jsontext.Value // what the client says it can do; nil if it does not say
	progress     jsontext.Value
	session      string // what the client calls this conversation
	trace        map[string]string
}

// modern reports whether m belongs to the stateless era of the protocol.
func (m *message) modern() bool { return mcp.IsModernProtocol(m.meta.version) }

// maxDepth bounds the nesting of a message. Nothing honest comes near.
const maxDepth = 64

// maxQuoted bounds what an error repeats of a stranger's words.
const maxQuoted = 200

// A fault is an error on the level of the protocol, for the client's program.
// Failures of tools are results, for the model.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *fault) Error() string { return f.Message }

func faultf(code int, format string, args ...any) *fault {
	return &fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// parse reads one message. A fault that it returns is the answer; the message
// then holds the id if it was readable.
func parse(raw []byte) (*message, *fault) {
	m := &message{raw: raw}
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
			return value(d, &m.id)
		case "method":
			return readText(d, &m.method)
		case "params":
			from := d.InputOffset()
			err := m.readParams(d)
			m.params = bytes.TrimLeft(raw[from:d.InputOffset()], ": \t\r\n")
			return err
		case "result":
			m.answer = true
			return value(d, &m.result)
		case "error":
			m.answer = true
			return value(d, &m.fault)
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
		return m, faultf(mcp.INVALID_REQUEST, "%s", shape.what)
	}
	return m, faultf(mcp.PARSE_ERROR, "the message is not JSON: %s", text.Clip(strings.TrimPrefix(err.Error(), "jsontext: "), maxQuoted))
}

// decoders are used again: a new one for every message was 4 % of a call. What
// is left in one means nothing to the next.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func decoderFor(raw []byte) *jsontext.Decoder {
	d, ok := decoders.Get().(*jsontext.Decoder)
	if !ok {
		d = new(jsontext.Decoder)
	}
	d.Reset(bytes.NewBuffer(raw))
	return d
}

// check says what a well-formed JSON document lacks as a message.
func (m *message) check(version string) *fault {
	switch {
	case version != mcp.JSONRPC_VERSION:
		return faultf(mcp.INVALID_REQUEST, `"jsonrpc" must be "2.0"`)
	case m.answer && m.method != "":
		return faultf(mcp.INVALID_REQUEST, "a message is a request or a response, not both")
	case !m.answer && m.method == "":
		return faultf(mcp.INVALID_REQUEST, `"method" is missing`)
	case m.id == nil || m.answer: // a reply is never replied to
		return nil
	}
	if kind := m.id.Kind(); kind != '"' && kind != '0' {
		m.id = nil
		return faultf(mcp.INVALID_REQUEST, `"id" must be a string or a number`)
	}
	return nil
}

func (m *message) readParams(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		if m.method != "" || d.PeekKind() == '[' {
			return &shapeError{`"params" must be an object`}
		}
		return d.SkipValue()
	}
	return members(d, paramNames(), func(name string) error {
		switch name {
		case "name", "uri":
			return optionalText(d, &m.name)
		case "arguments":
			return value(d, &m.call.arguments)
		case "inputResponses":
			return value(d, &m.call.answers)
		case "requestState":
			return optionalText(d, &m.call.state)
		case "cursor":
			return optionalText(d, &m.cursor)
		case "requestId":
			return value(d, &m.requestID)
		case "_meta":
			return m.readMeta(d)
		}
		return d.SkipValue()
	})
}

func (m *message) readMeta(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	return members(d, metaNames(), func(name string) error {
		switch name {
		case mcp.MetaKeyProtocolVersion:
			return optionalText(d, &m.meta.version)
		case mcp.MetaKeyClientCapabilities:
			if d.PeekKind() != '{' {
				return d.SkipValue()
			}
			return value(d, &m.meta.capabilities)
		case sessionKey:
			return optionalText(d, &m.meta.session)
		case "progressToken":
			return value(d, &m.meta.progress)
		case "traceparent", "tracestate", "baggage":
			one := ""
			err := optionalText(d, &one)
			if m.meta.trace == nil {
				m.meta.trace = make(map[string]string, 3)
			}
			m.meta.trace[name] = one
			return err
		}
		return d.SkipValue()
	})
}

// sessionKey is our own member of _meta: a client without sessions names the
// conversation that a request belongs to.
const sessionKey = "mcp-tools/session"

func topNames() []string { return []string{"jsonrpc", "id", "method", "params", "result", "error"} }

func paramNames() []string {
	return []string{
		"name", "arguments", "_meta", "uri", "cursor", "level", "requestId", "protocolVersion", "capabilities",
		"clientInfo", "task", "inputResponses", "requestState", "ref", "argument", "context", "notifications",
	}
}

func metaNames() []string {
	return []string{
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel,
		sessionKey, "progressToken", "traceparent", "tracestate", "baggage",
	}
}

// A shapeError is a document that is JSON and yet no message.
type shapeError struct{ what string }

func (e *shapeError) Error() string { return e.what }

// members walks the object that comes next. A member that equals one of known
// but for its case is refused: the next decoder would take it for that one.
func members(d *jsontext.Decoder, known []string, each func(name string) error) error {
	open, err := d.ReadToken()
	if err != nil {
		return err
	}
	if open.Kind() != '{' {
		return &shapeError{"a message is a JSON object"}
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

// optionalText leaves complaints about another type to whoever needs the text.
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

// tooBig refuses what would cost too much to decode.
func tooBig(raw []byte) *fault {
	switch depth, values := tool.Extent(raw); {
	case depth > maxDepth:
		return faultf(mcp.INVALID_REQUEST, "the message is nested more than %d levels deep", maxDepth)
	case values > tool.MaxValues:
		return faultf(mcp.INVALID_REQUEST, "the message has more than %d values", tool.MaxValues)
	}
	return nil
}

// batch splits an array of messages. ok is false for anything else. It stops
// at one more than a batch may hold: that many are refused unread.
func batch(raw []byte) (items []json.RawMessage, ok bool) {
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '[' || tooBig(raw) != nil {
		return nil, false
	}
	// What is wrong with one message is found, and answered, by parse.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		item, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		if items = append(items, json.RawMessage(item.Clone())); len(items) > maxBatch {
			return items, true
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	_, err := d.ReadToken()
	return items, errors.Is(err, io.EOF)
}

// success and failure write the two kinds of response.
func success(id jsontext.Value, result any) []byte {
	body, err := marshal(result)
	if err != nil {
		return failure(id, faultf(mcp.INTERNAL_ERROR, "the result could not be written"))
	}
	return respond(id, `,"result":`, body)
}

func failure(id jsontext.Value, f *fault) []byte {
	body, err := marshal(f)
	if err != nil { // only for Data that does not marshal
		body, _ = marshal(fault{Code: f.Code, Message: f.Message})
	}
	return respond(id, `,"error":`, body)
}

func respond(id jsontext.Value, member string, body []byte) []byte {
	if id == nil {
		id = jsontext.Value("null")
	}
	out := make([]byte, 0, len(id)+len(body)+40)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, member...)
	out = append(out, body...)
	return append(out, '}')
}

// request writes a message of ours: a question, or without an id a
// notification, which wants no answer.
func request(id jsontext.Value, method string, params any) []byte {
	body, err := marshal(struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id,omitempty"`
		Method  string         `json:"method"`
		Params  any            `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil { // params are ours
		return nil
	}
	return body
}

// marshal is json.Marshal without the escapes that only HTML needs: they cost
// models tokens and people their eyesight.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
