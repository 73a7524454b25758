package exec

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/exec/terminal"
)

// viewMost is how many bytes of a stream the page of an app shows.
const viewMost = 48 << 10

// view returns the view of a command for the page of an app, nil for a client without apps.
func (r *runner) view(ctx context.Context, p sandbox.Process, st sandbox.Status) any {
	if !tool.Viewed(ctx) {
		return nil
	}
	shown := view.Output{
		Kind: "output", Command: st.Text, State: string(st.State), ExitCode: st.Code, Signal: st.Signal,
		Seconds: st.Took.Seconds(), Process: answer{status: st}.process(),
	}
	for _, s := range []sandbox.Stream{sandbox.Stdout, sandbox.Stderr} {
		end, err := r.colored(ctx, whole(p, s))
		if err != nil {
			return nil // the page shows the text of the result
		}
		shown.Streams = append(shown.Streams, end)
	}
	return shown
}

// colored returns the end of a section with its colours. Secrets are removed from the text without colours, since a
// colour could divide one. A text with secrets has no colours: they are no longer in their places.
func (r *runner) colored(ctx context.Context, s section) (view.Text, error) {
	if s.to > 0 && s.binary() {
		return view.Text{Text: "(binary data)", Before: s.to}, nil
	}
	s.from = max(0, s.to-viewMost-scrub.LongestKey) // so that the shown part cannot begin with half a key
	var raw, marked, clean bytes.Buffer
	if err := s.raw(ctx, &raw); err != nil {
		return view.Text{}, err
	}
	c := terminal.NewCleaner(&marked)
	_, _ = c.Write(markColors(raw.Bytes())) // to memory
	_ = c.Close()
	text, colors := unmarkColors(marked.String())
	if r.Scrub != nil {
		w := r.Scrub(ctx, &clean)
		if _, err := w.Write([]byte(text)); err != nil {
			return view.Text{}, err
		}
		if err := w.Close(); err != nil {
			return view.Text{}, err
		}
		if clean.String() != text {
			text, colors = clean.String(), nil
		}
	}
	shown := view.Text{Text: text, Colors: colors, Before: s.from}
	if at := len(text) - viewMost; at > 0 {
		at += strings.IndexByte(text[at:], '\n') + 1
		for at < len(text) && text[at]&0xC0 == 0x80 { // within a character
			at++
		}
		shown.Text, shown.Before = text[at:], s.from+int64(at)
		shown.Colors = shifted(colors, units(text[:at]))
	}
	return shown, nil
}

// A style is how text looks: a colour of the terminal, with colored set, bold, underlined.
type style int

const (
	colored    style = 8
	bold       style = 16
	underlined style = 32
	// firstMark begins the unassigned characters that stand for styles while a text is cleaned.
	firstMark = 0x50000
	lastMark  = firstMark + 63
)

var sequences = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;:]{0,60}m") })

// markColors returns output with a character in place of each sequence that sets a style.
func markColors(raw []byte) []byte {
	raw = bytes.Map(func(r rune) rune {
		if r >= firstMark && r <= lastMark {
			return '\uFFFD'
		}
		return r
	}, bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	now := style(0)
	return sequences().ReplaceAllFunc(raw, func(seq []byte) []byte {
		now = now.with(string(seq[2 : len(seq)-1]))
		return []byte(string(firstMark + rune(now)))
	})
}

// with returns the style after a sequence. Colours of more than 3 bits are left out.
func (s style) with(params string) style {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		return 0
	}
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		switch {
		case err != nil:
		case n == 0:
			s = 0
		case n == 1:
			s |= bold
		case n == 22:
			s &^= bold
		case n == 4:
			s |= underlined
		case n == 24:
			s &^= underlined
		case n >= 30 && n <= 37:
			s = s&^7 | colored | style(n-30)
		case n >= 90 && n <= 97:
			s = s&^7 | colored | style(n-90)
		case n == 39:
			s &^= colored | 7
		case n == 38 || n == 48: // a colour of a palette, or of three numbers
			if i+1 < len(codes) && codes[i+1] == "2" {
				i += 4
			} else {
				i += 2
			}
			if n == 38 {
				s &^= colored | 7
			}
		}
	}
	return s
}

// unmarkColors returns the text without the characters of markColors, and the styles of its parts.
func unmarkColors(marked string) (text string, colors [][3]int) {
	var b strings.Builder
	now, from, at := style(0), 0, 0
	end := func() {
		if now != 0 && at > from {
			colors = append(colors, [3]int{from, at, int(now)})
		}
		from = at
	}
	for _, r := range marked {
		if r >= firstMark && r <= lastMark {
			end()
			now = style(r - firstMark)
			continue
		}
		b.WriteRune(r)
		at += units(string(r))
	}
	end()
	return b.String(), colors
}

// units returns the length of a text in UTF-16, as JavaScript counts.
func units(text string) (n int) {
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// shifted returns the styles of a text without its first characters.
func shifted(colors [][3]int, by int) (kept [][3]int) {
	for _, c := range colors {
		if c[1] > by {
			kept = append(kept, [3]int{max(0, c[0]-by), c[1] - by, c[2]})
		}
	}
	return kept
}
