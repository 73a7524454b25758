package clients

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

var bom = []byte("\xef\xbb\xbf")

const jsonSpace = " \t\r\n" // white space of JSON

// A span is a part of a file, from the first byte to the one after the last.
type span struct{ start, end int }

func (s span) of(src []byte) string { return string(src[s.start:s.end]) }
func (s span) holds(o span) bool    { return s.start <= o.start && o.end <= s.end }

// A jsonDoc is a parsed JSON file with comments and trailing commas, with the
// offsets of everything.
type jsonDoc struct {
	src      []byte
	comments []span    // in order
	root     *jsonNode // nil if there are only white space and comments
}

// A jsonNode is a value: an object with members, an array with items, or a
// scalar with neither.
type jsonNode struct {
	span
	kind    byte // first byte of the value
	members []jsonMember
	items   []jsonNode
}

// A jsonMember is a key of an object with its value.
type jsonMember struct {
	name  string // the key with its escapes resolved
	key   span
	value jsonNode
	comma int // offset of the comma after it, or -1
}

// maxNodes is the max number of objects and arrays in a file, which limits the
// recursion of the parser.
const maxNodes = 1 << 20

// parseJSON parses src. Comments, trailing commas and a byte order mark are allowed.
func parseJSON(src []byte) (*jsonDoc, error) {
	if bytes.Count(src, []byte("{"))+bytes.Count(src, []byte("[")) > maxNodes {
		return nil, syntaxError(src, 0, "the file has too many objects and lists")
	}
	d := &jsonDoc{src: src}
	// The parser knows no byte order mark, and needs a line end after a comment.
	text := append(slices.Clone(src), '\n')
	if bytes.HasPrefix(text, bom) {
		copy(text, "   ")
	}
	value, err := hujson.Parse(text)
	d.addComments(value.StartOffset, value.BeforeExtra)
	switch {
	case err != nil && value.StartOffset == len(text): // only white space and comments
		return d, nil
	case err != nil:
		return nil, complain(src, text, err)
	}
	root := d.node(value)
	d.addComments(value.EndOffset+len(value.AfterExtra), value.AfterExtra)
	d.root = &root
	if root.kind != '{' {
		return nil, syntaxError(src, root.start, "the settings should be an object in braces")
	}
	return d, nil
}

var hujsonError = rule(`(?s)^hujson: line ([0-9]+), column ([0-9]+): (.*)$`)

// complain converts an error of the parser in text, whose columns are bytes.
func complain(src, text []byte, err error) error {
	found := hujsonError().FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	line, _ := strconv.Atoi(found[1])
	column, _ := strconv.Atoi(found[2])
	start := 0
	for range line - 1 {
		start += bytes.IndexByte(text[start:], '\n') + 1
	}
	message := found[3]
	switch {
	case message == "parsing comment: unexpected EOF":
		message = "this comment does not end"
	case strings.HasSuffix(message, "unexpected EOF"):
		message = "unexpected end of the file"
	case strings.HasPrefix(message, "invalid literal"): // with the text, which may be long
		message = "invalid value"
	}
	return syntaxError(src, start+column-1, "%s", message)
}

// addComments adds the comments in the white space that ends at an offset.
func (d *jsonDoc) addComments(end int, extra hujson.Extra) {
	at := end - len(extra)
	for len(extra) > 0 {
		size := 1
		switch {
		case bytes.HasPrefix(extra, []byte("//")):
			size = bytes.IndexByte(extra, '\n') + 1
			text := bytes.TrimRight(extra[:size], "\r\n")
			d.comments = append(d.comments, span{at, at + len(text)})
		case bytes.HasPrefix(extra, []byte("/*")):
			size = bytes.Index(extra[2:], []byte("*/")) + 4
			d.comments = append(d.comments, span{at, at + size})
		}
		at, extra = at+size, extra[size:]
	}
}

// node converts a value.
func (d *jsonDoc) node(v hujson.Value) jsonNode {
	n := jsonNode{kind: byte(v.Value.Kind()), span: span{v.StartOffset, v.EndOffset}}
	switch value := v.Value.(type) {
	case *hujson.Object:
		for i, m := range value.Members {
			d.addComments(m.Name.StartOffset, m.Name.BeforeExtra)
			d.addComments(m.Name.EndOffset+len(m.Name.AfterExtra), m.Name.AfterExtra)
			d.addComments(m.Value.StartOffset, m.Value.BeforeExtra)
			key := span{m.Name.StartOffset, m.Name.EndOffset}
			member := jsonMember{name: unquote(key.of(d.src)), key: key, value: d.node(m.Value), comma: -1}
			// Without a trailing comma, the last value has no AfterExtra.
			if i < len(value.Members)-1 || m.Value.AfterExtra != nil {
				end := m.Value.EndOffset + len(m.Value.AfterExtra)
				d.addComments(end, m.Value.AfterExtra)
				member.comma = end
			}
			n.members = append(n.members, member)
		}
		d.addComments(v.EndOffset-1, value.AfterExtra)
	case *hujson.Array:
		for _, item := range value.Elements {
			d.addComments(item.StartOffset, item.BeforeExtra)
			n.items = append(n.items, d.node(item))
			d.addComments(item.EndOffset+len(item.AfterExtra), item.AfterExtra)
		}
		d.addComments(v.EndOffset-1, value.AfterExtra)
	}
	return n
}

// unquote returns the value of a valid string.
func unquote(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}
