package server

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// A redactor removes credentials from texts, and counts them by kind.
type redactor struct {
	scrub   *scrub.Scrubber
	removed map[string]int
}

func (r *redactor) text(text string) string {
	clean, kinds := r.scrub.Report(text)
	for kind, n := range kinds {
		if r.removed == nil {
			r.removed = make(map[string]int)
		}
		r.removed[kind] += n
	}
	return clean
}

// result removes credentials from all texts of a result, and from data with a
// MIME type of text.
func (r *redactor) result(res tool.Result) tool.Result {
	res = res.Map(r.text, r.scrub.Value)
	for i, part := range res.Parts {
		if len(part.Data) > 0 && isText(part.MIME) {
			res.Parts[i].Data = []byte(r.text(string(part.Data))) // Map has copied the parts
		}
	}
	return res
}

// scrubResult returns res without credentials, and how many were removed.
func (c *call) scrubResult(res tool.Result) (clean tool.Result, removed map[string]int) {
	r := redactor{scrub: c.server.scrubFor(c.Caller)}
	return r.result(res), r.removed
}

// scrubFor returns the scrubber for a caller. It also masks values that were masked before in
// the caller's session.
func (s *Server) scrubFor(c tool.Caller) *scrub.Scrubber {
	return s.scrub.For(scrub.Session{Agent: c.Agent, User: c.User, ID: c.Session})
}

// isText reports whether data of a MIME type can be read as text.
func isText(mime string) bool {
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

// A ResultStore keeps results that are too long for one response.
type ResultStore interface {
	// Put stores the text of r for owner, and returns its handle. Only that owner can page
	// through it.
	Put(ctx context.Context, owner string, r io.Reader) (handle string, err error)
}

// ReadResult is the tool that pages through stored results.
const ReadResult = "read_result"

// cut shortens a result of t that is too long for the model: head and tail stay, and the whole
// is stored under a handle. Text beyond the hard limit is dropped, and the result says so.
func (c *call) cut(ctx context.Context, res tool.Result, t tool.Tool) tool.Result {
	limits := c.now.Limits
	if t.Spec.MaxShown > 0 {
		limits.Result = min(limits.Result, t.Spec.MaxShown)
	}
	if c.Nested { // a program reads it
		limits.Result = limits.ResultHard
	} else {
		res = withText(res)
	}
	if !c.hasData() {
		res.Data = nil
	}
	for i, part := range res.Parts {
		if len(part.Data) > limits.ResultHard {
			note := fmt.Sprintf("[%s of %d bytes left out: the maximum is %d]", part.MIME, len(part.Data),
				limits.ResultHard)
			res.Parts[i] = tool.Part{Text: note}
		}
	}
	if res.Data != nil {
		if text, err := text.JSON(res.Data); err != nil || len(text) > limits.ResultHard {
			res.Data = nil
			res = res.Add(tool.Part{Text: fmt.Sprintf("[structured content left out: the maximum is %d bytes]",
				limits.ResultHard)})
		}
	}
	if res.View != nil {
		if text, err := text.JSON(res.View); err != nil || len(text) > limits.ResultHard {
			res.View = nil // the page shows the text
		}
	}
	text := res.Text()
	if len(text) <= limits.Result {
		return res
	}
	short, handle := c.shorten(ctx, text, limits, t.Spec.Name)
	parts := []tool.Part{{Text: short}}
	if handle != "" {
		parts = append(parts, tool.LinkToResult(handle))
	}
	for _, part := range res.Parts {
		if part.Text == "" {
			parts = append(parts, part)
		}
	}
	res.Parts = parts
	return res
}

// hasData reports whether the result keeps its structured content: programs read it, models do not.
func (c *call) hasData() bool { return c.Structured || c.Nested }

// wanted returns res without structured content that the client does not get, so that it is
// not scrubbed. Content that stands for the text stays until the text was made of it.
func (c *call) wanted(res tool.Result) tool.Result {
	if !c.hasData() && len(res.Parts) > 0 {
		res.Data = nil
	}
	if !c.Apps {
		res.View = nil
	}
	return res
}

// withText adds the text of a result that has only structured content: models
// read text, and some clients show them nothing else.
func withText(res tool.Result) tool.Result {
	if len(res.Parts) > 0 || res.Data == nil {
		return res
	}
	text, err := text.JSON(res.Data)
	if err != nil {
		return res
	}
	return res.Add(tool.Part{Text: string(text)})
}

// shorten returns the head and the tail of text, and stores as much of it as the hard limit
// allows. The tail is the tail of the whole text, so that a quotation is closed.
func (c *call) shorten(ctx context.Context, text string, limits Limits, name string) (short, handle string) {
	stored := text[:runeStart(text, min(limits.ResultHard, len(text)))]
	head := lineEnd(stored, limits.Result*3/4)
	tail := lineStart(text, len(text)-limits.Result/4)
	note, handle := c.store(ctx, stored, head, name)
	if len(stored) < len(text) {
		note += fmt.Sprintf("; of %d bytes only the first %d are stored", len(text), len(stored))
	}
	return fmt.Sprintf("%s\n[%d bytes left out here: %s]\n%s", text[:head], tail-head, note, text[tail:]), handle
}

// store stores text and returns the advice how to read on at next, and the handle. A caller
// that may not read it back gets advice instead of a handle.
func (c *call) store(ctx context.Context, text string, next int, name string) (advice, handle string) {
	reader, ok := c.now.tools.Lookup(ReadResult)
	if !ok || c.now.verdict(c.Access, reader.Spec.Name) != policy.Allow {
		return "ask for less to see it", ""
	}
	handle, err := c.server.Results.Put(ctx, c.Caller.Principal(), strings.NewReader(text))
	if err != nil {
		c.server.log.Error("a long result could not be stored", "tool", name, "err", err)
		return "it could not be stored; ask for less to see it", ""
	}
	return fmt.Sprintf(`call %s with {"id":%q,"offset":%d} to read on, or with tail or grep instead of offset`,
		ReadResult, handle, next), handle
}

// lineEnd returns the last end of a line at or before at, if one is near.
func lineEnd(text string, at int) int {
	at = runeStart(text, at)
	if i := strings.LastIndexByte(text[:at], '\n'); i > at/2 {
		return i
	}
	return at
}

// lineStart returns the first start of a line at or after at, if one is near.
func lineStart(text string, at int) int {
	at = runeStart(text, at)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i < (len(text)-at)/2 {
		return at + i + 1
	}
	return at
}

// runeStart returns the last start of a rune at or before at.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return min(at, len(text))
}
