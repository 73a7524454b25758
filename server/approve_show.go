package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// notShown names the fact that a person is not shown all of a call.
const notShown = "Not shown"

// shown is the arguments as a person reads them, and which parts are kept from
// view as secrets: those may be anything, and whoever decides has to know.
func (p *passage) shown(raw json.RawMessage) (text, hidden string) {
	clean := p.server.scrub.JSON(raw)
	return tool.Visible(plainJSON(clean)), maskedParts(raw, clean)
}

// plainJSON writes JSON without the escapes that only a web page needs: a
// person who reads a && b as a \u0026\u0026 b does not see what it does.
func plainJSON(raw []byte) string {
	plain, err := jsontext.AppendFormat(nil, raw)
	if err != nil {
		return string(raw)
	}
	return string(plain)
}

// maskedParts says which arguments differ from what is shown, and how much of
// each at most: "" when none does.
func maskedParts(raw, clean []byte) string {
	if bytes.Equal(raw, clean) {
		return ""
	}
	var before, after map[string]json.RawMessage
	if json.Unmarshal(raw, &before) != nil || json.Unmarshal(clean, &after) != nil {
		return "parts of the arguments, which look like secrets and may be anything"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if n := between(before[name], after[name]); n > 0 {
			parts = append(parts, fmt.Sprintf("up to %d of the %d bytes of %s", n, len(before[name]), tool.Visible(name)))
		}
	}
	return strings.Join(parts, ", ") + ", which look like secrets and may be anything"
}

// between is how much of a lies between what it begins and ends with like b.
func between(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	begin, end := 0, 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return max(len(a)-begin-end, 1)
}

// flat keeps text on its line, where more of it could pass for lines of ours.
func flat(text string) string {
	return strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(tool.Visible(text))
}
