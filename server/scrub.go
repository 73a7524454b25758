package server

import (
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// scrub takes credentials out of everything that a reader could see. Data is
// left alone, unless its type says that it is text.
func (p *passage) scrub(res tool.Result) tool.Result {
	res = res.Map(p.clean, p.server.scrub.Value)
	for i, part := range res.Parts {
		if len(part.Data) > 0 && textual(part.MIME) {
			res.Parts[i].Data = []byte(p.clean(string(part.Data))) // Map has copied the parts
		}
	}
	return res
}

// clean scrubs a text of the result and counts what it takes out.
func (p *passage) clean(text string) string {
	clean, kinds := p.server.scrub.Report(text)
	for kind, n := range kinds {
		if p.redacted == nil {
			p.redacted = make(map[string]int)
		}
		p.redacted[kind] += n
	}
	return clean
}

// textual reports whether data of a MIME type can be read as text.
func textual(mime string) bool {
	kind, _, _ := strings.Cut(mime, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if strings.HasPrefix(kind, "text/") {
		return true
	}
	for _, suffix := range []string{"+json", "+xml", "+yaml"} {
		if strings.HasSuffix(kind, suffix) {
			return true
		}
	}
	kind, found := strings.CutPrefix(kind, "application/")
	return found && slices.Contains([]string{
		"json", "jsonl", "ndjson", "x-ndjson", "xml", "yaml", "x-yaml", "toml", "sql",
		"javascript", "x-javascript", "x-sh", "x-www-form-urlencoded", "x-pem-file",
	}, kind)
}
