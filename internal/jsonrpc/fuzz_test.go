package jsonrpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// seedMessages returns one message of each kind, and what lies between the kinds.
func seedMessages() []string {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
	const modern = `{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	return []string{
		call, modern, "[" + call + "," + call + "]", `[]`, `[1,null]`, `{}`, `null`, `""`, ``, ` `,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","N\u0061me":"b"}}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{},"argument":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		strings.Repeat("[", 70), "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}",
		`{"jsonrpc":"2.0","id":1,"method":"ping"}x`,
	}
}

// FuzzParse holds our reading of a message against that of encoding/json,
// which is what mcp-go reads it with: what we let in both must read alike.
func FuzzParse(f *testing.F) {
	for _, seed := range seedMessages() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, broken := Parse(bytes.Clone(raw))
		if broken != nil {
			if reply := Failure(m.ID, broken); !json.Valid(reply) {
				t.Errorf("the refusal is no JSON: %q", reply)
			}
			return
		}
		var other struct {
			JSONRPC string
			ID      json.RawMessage
			Method  string
			Params  json.RawMessage
			Result  json.RawMessage
		}
		if err := json.Unmarshal(raw, &other); err != nil {
			t.Fatalf("it is no JSON: %v", err)
		}
		if other.Method != m.Method || other.JSONRPC != "2.0" || !bytes.Equal(other.ID, m.ID) || !m.IsResponse &&
			len(m.Method) == 0 {
			t.Errorf("they read %+v, we %q %q", other, m.Method, m.ID)
		}
		if !m.IsResponse && other.Params != nil && !bytes.Equal(other.Params, m.Params) {
			t.Errorf("they read params %q, we %q", other.Params, m.Params)
		}
		var params struct {
			Name, URI any
			Arguments json.RawMessage
		}
		if m.IsResponse || json.Unmarshal(other.Params, &params) != nil {
			return
		}
		if name, ok := params.Name.(string); ok && params.URI == nil && name != m.Name {
			t.Errorf("they read the name %q, we %q", name, m.Name)
		}
		if len(params.Arguments) > 0 && string(params.Arguments) != string(m.Call.Arguments) {
			t.Errorf("they read the arguments %q, we %q", params.Arguments, m.Call.Arguments)
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\n", "a\nb", "a\r\n\r\nb\n", strings.Repeat("x", 70) + "\ny\n",
		strings.Repeat("x", 33), " \t\n{}\n"} {
		f.Add([]byte(seed))
	}
	const most = 32
	all := func(r io.Reader) (lines []string) {
		reader := &LineReader{bufio.NewReaderSize(r, 16), most}
		for {
			line, err := reader.Next()
			switch {
			case err == nil:
				lines = append(lines, string(line))
			case errors.As(err, new(*LongLine)):
				lines = append(lines, "too long")
			default:
				return lines
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines := all(bytes.NewReader(raw))
		if diff := cmp.Diff(lines, all(iotest.OneByteReader(bytes.NewReader(raw)))); diff != "" {
			t.Errorf("it depends on how it comes: %s", diff)
		}
		var want []string
		for line := range bytes.SplitSeq(raw, []byte("\n")) {
			switch trimmed := trim(line); {
			case len(line) > most:
				want = append(want, "too long")
			case len(trimmed) > 0:
				want = append(want, string(trimmed))
			}
		}
		// A last line without its end may have the byte that the end would take.
		if last := raw[bytes.LastIndexByte(raw, '\n')+1:]; len(last) == most+1 {
			want[len(want)-1] = string(trim(last))
		}
		if diff := cmp.Diff(want, lines); diff != "" && len(want)+len(lines) > 0 {
			t.Error(diff)
		}
	})
}
