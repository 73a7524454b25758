package server

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Keeper keeps what was too long to hand over at once.
type Keeper interface {
	// Keep stores text for owner and returns the handle under which only that
	// owner can page through it.
	Keep(owner, text string) (handle string, err error)
}

// ReadResult is the tool that pages through what a Keeper keeps.
const ReadResult = "read_result"

// cut shortens a result that is too long for the model: head and tail stay,
// the whole is kept under a handle. What is beyond the hard limit is gone, and
// the result says so.
func (p *passage) cut(res tool.Result) tool.Result {
	limits := p.now.Limits
	if most := p.tool.Spec.MaxShown; most > 0 {
		limits.Result = min(limits.Result, most)
	}
	res = p.mirror(res)
	for i, part := range res.Parts {
		if len(part.Data) > limits.ResultHard {
			res.Parts[i] = tool.Part{Text: fmt.Sprintf("[%s of %d bytes left out: the most is %d]", part.MIME, len(part.Data), limits.ResultHard)}
		}
	}
	if res.Data != nil {
		if text, err := marshal(res.Data); err != nil || len(text) > limits.ResultHard {
			res.Data = nil
			res = res.Add(tool.Part{Text: fmt.Sprintf("[structured content left out: the most is %d bytes]", limits.ResultHard)})
		}
	}
	text := res.Text()
	if len(text) <= limits.Result {
		return res
	}
	short := p.shorten(text, limits)
	kept := make([]tool.Part, 0, len(res.Parts))
	for _, part := range res.Parts {
		if part.Text == "" {
			kept = append(kept, part)
		}
	}
	res.Parts = append([]tool.Part{{Text: short}}, kept...)
	return res
}

// mirror gives a result that has only structured content a text of it: models
// read text, and some clients show them nothing else.
func (p *passage) mirror(res tool.Result) tool.Result {
	if len(res.Parts) > 0 || res.Data == nil {
		return res
	}
	text, err := marshal(res.Data)
	if err != nil {
		return res
	}
	return res.Add(tool.Part{Text: string(text)})
}

// shorten keeps the head and the tail of text, and as much of it in the keeper
// as may be kept. The tail is the text's own: what closes a quotation is there.
func (p *passage) shorten(text string, limits Limits) string {
	kept := text[:runeStart(text, min(limits.ResultHard, len(text)))]
	head := lineEnd(kept, limits.Result*3/4)
	tail := lineStart(text, len(text)-limits.Result/4)
	note := p.keep(kept, head)
	if len(kept) < len(text) {
		note += fmt.Sprintf("; of %d bytes only the first %d are kept", len(text), len(kept))
	}
	return fmt.Sprintf("%s\n[%d bytes left out here: %s]\n%s", text[:head], tail-head, note, text[tail:])
}

// keep stores text and says how to get at it. A caller that could not read it
// back gets advice instead of a handle.
func (p *passage) keep(text string, next int) string {
	reader, ok := p.server.Config.Tools.Lookup(ReadResult)
	if !ok || p.now.Policy.Verdict(p.subject(), reader.Spec.Name) != policy.Allow {
		return "ask for less to see it"
	}
	handle, err := p.server.Keeper.Keep(p.Caller.Principal(), text)
	if err != nil {
		p.server.log.Error("a long result could not be kept", "tool", p.tool.Spec.Name, "err", err)
		return "it could not be kept; ask for less to see it"
	}
	return fmt.Sprintf(`call %s with {"id":%q,"offset":%d} to go on, or with tail or grep instead of offset`, ReadResult, handle, next)
}

// lineEnd is the last end of a line at or before at, if one is near.
func lineEnd(text string, at int) int {
	at = runeStart(text, at)
	if i := strings.LastIndexByte(text[:at], '\n'); i > at/2 {
		return i
	}
	return at
}

// lineStart is the first start of a line at or after at, if one is near.
func lineStart(text string, at int) int {
	at = runeStart(text, at)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i < (len(text)-at)/2 {
		return at + i + 1
	}
	return at
}

// runeStart is the last start of a rune at or before at.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return min(at, len(text))
}
