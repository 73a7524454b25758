package server

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file writes the answers of tools/call by hand, because a text of a megabyte takes a quarter of the time
// that encoding/json takes to write the same value of mcp-go: 7 ms against 29 ms, measured on a busy machine.

// appendResult writes a result without the closing brace.
func appendResult(b []byte, res tool.Result) []byte {
	b = append(b, `{"content":[`...)
	b = append(appendParts(b, res.Parts), ']')
	if res.Data != nil {
		b = appendJSON(b, "structuredContent", res.Data)
	}
	if res.Failed {
		b = append(b, `,"isError":true`...)
	}
	return b
}

// appendParts writes parts as MCP content. It writes "(no output)" if there are
// none, because a model cannot interpret an empty result.
func appendParts(b []byte, parts []tool.Part) []byte {
	from := len(b)
	for _, p := range parts {
		if p.Text == "" && p.Data == nil && p.URI == "" {
			continue
		}
		if len(b) > from {
			b = append(b, ',')
		}
		b = appendPart(b, p)
	}
	if len(b) == from {
		b = append(b, `{"type":"text","text":"(no output)"}`...)
	}
	return b
}

func appendPart(b []byte, p tool.Part) []byte {
	switch {
	case p.URI != "" && p.Text == "" && p.Data == nil:
		b = append(b, `{"type":"resource_link"`...)
		b = appendMember(b, "uri", p.URI)
		b = appendMember(b, "name", p.Name)
	case p.URI != "":
		b = append(b, `{"type":"resource","resource":{"uri":`...)
		b = appendText(b, p.URI)
		if p.Text != "" {
			b = appendMember(b, "text", p.Text)
		} else {
			b = appendData(b, "blob", p.Data)
		}
		return append(appendAudience(append(appendMIME(b, p.MIME), '}'), p.For), '}')
	case p.Data != nil && strings.HasPrefix(p.MIME, "audio/"):
		b = appendData(append(b, `{"type":"audio"`...), "data", p.Data)
	case p.Data != nil:
		b = appendData(append(b, `{"type":"image"`...), "data", p.Data)
	default:
		b = appendMember(append(b, `{"type":"text"`...), "text", p.Text)
	}
	return append(appendAudience(appendMIME(b, p.MIME), p.For), '}')
}

func appendAudience(b []byte, a tool.Audience) []byte {
	if a == "" {
		return b
	}
	return append(append(append(b, `,"annotations":{"audience":["`...), a...), `"]}`...)
}

func appendMIME(b []byte, mime string) []byte {
	if mime == "" {
		return b
	}
	return appendMember(b, "mimeType", mime)
}

func appendMember(b []byte, name, text string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendText(b, text)
}

func appendData(b []byte, name string, data []byte) []byte {
	b = append(append(append(b, `,"`...), name...), `":"`...)
	return append(base64.StdEncoding.AppendEncode(b, data), '"')
}

// appendText writes a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(b, text)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(text, "\uFFFD"))
	}
	return quoted
}

// resultStamp returns the members that the stateless era requires in every result of
// this type.
func resultStamp(c Config, resultType string) []byte {
	info, err := text.JSON(map[string]string{"name": c.Name, "title": c.Title, "version": c.Version})
	if err != nil { // strings
		return []byte{'}'}
	}
	before := `,"resultType":"` + resultType + `","_meta":{"` + mcp.MetaKeyServerInfo + `":`
	return bytes.Join([][]byte{[]byte(before), info, []byte(`}}`)}, nil)
}

func appendJSON(b []byte, name string, value any) []byte {
	written, err := text.JSON(value)
	if err != nil { // numbers, and values that were JSON before
		written = []byte("null")
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), written...)
}
