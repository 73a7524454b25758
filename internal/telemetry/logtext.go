package telemetry

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A textHandler writes short lines for people:
//
//	15:04:05 INFO  a message key=value group.key="a value"
type textHandler struct {
	level  slog.Leveler
	colour bool
	group  string // the names of the open groups, each with a dot after it
	attrs  []byte // formatted attributes, each with a space before it
	out    *lineWriter
}

// A lineWriter is shared by all handlers that write to the same destination.
type lineWriter struct {
	mu   sync.Mutex
	w    io.Writer
	line []byte // reused
}

// maxKeptLine is the maximum size of the buffer that is kept for the next line.
const maxKeptLine = 16 << 10

func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = append([]byte(nil), h.attrs...)
	for _, a := range attrs {
		with.attrs = h.appendAttr(with.attrs, h.group, a)
	}
	return &with
}

func (h *textHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.group += name + "."
	return &with
}

func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	line := h.out.line[:0]
	if !r.Time.IsZero() {
		line = r.Time.AppendFormat(h.paint(line, dim), time.TimeOnly)
		line = append(h.paint(line, plainColour), ' ')
	}
	line = append(h.paint(line, levelColour(r.Level)), padded(r.Level.String())...)
	line = append(h.paint(line, plainColour), ' ')
	line = appendPrintable(line, r.Message)
	line = append(line, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		line = h.appendAttr(line, h.group, a)
		return true
	})
	line = append(line, '\n')
	_, err := h.out.w.Write(line)
	if cap(line) <= maxKeptLine {
		h.out.line = line
	}
	return err
}

func (h *textHandler) appendAttr(line []byte, group string, a slog.Attr) []byte {
	if a.Value.Kind() == slog.KindGroup {
		if a.Key != "" { // the members of a group without a name are inlined
			group += a.Key + "."
		}
		for _, member := range a.Value.Group() {
			line = h.appendAttr(line, group, member)
		}
		return line
	}
	if a.Equal(slog.Attr{}) {
		return line
	}
	line = append(h.paint(append(line, ' '), dim), quoted(group+a.Key)...)
	line = h.paint(append(line, '='), plainColour)
	if a.Value.Kind() == slog.KindTime {
		return a.Value.Time().AppendFormat(line, time.RFC3339)
	}
	return append(line, quoted(a.Value.String())...)
}

// Terminal escape sequences for colours.
const (
	plainColour = "\x1b[0m"
	dim         = "\x1b[2m"
	red         = "\x1b[31m"
	yellow      = "\x1b[33m"
	cyan        = "\x1b[36m"
)

func (h *textHandler) paint(line []byte, colour string) []byte {
	if !h.colour {
		return line
	}
	return append(line, colour...)
}

func levelColour(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return red
	case level >= slog.LevelWarn:
		return yellow
	case level >= slog.LevelInfo:
		return cyan
	}
	return dim
}

// padded pads the names of levels to the same length, so that messages line up.
func padded(level string) string {
	if len(level) == 4 {
		return level + " "
	}
	return level
}

// quoted returns text unchanged if it is one printable word, otherwise in quotes.
func quoted(text string) string {
	if text == "" || strings.ContainsAny(text, ` "=\`) || !printable(text) {
		return strconv.Quote(text)
	}
	return text
}

func printable(text string) bool { return all(text, strconv.IsPrint) }

// all reports whether text is valid UTF-8 and fine returns true for each character.
func all(text string, fine func(rune) bool) bool {
	for i, r := range text {
		if !fine(r) || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return false
		}
	}
	return true
}

// appendPrintable appends text. It escapes characters that are not printable, such as line
// breaks and the start of a terminal command.
func appendPrintable(line []byte, text string) []byte {
	if printable(text) {
		return append(line, text...)
	}
	return appendEscaped(line, text, strconv.IsPrint)
}

// appendEscaped appends text. It escapes characters that are not fine, and invalid UTF-8.
func appendEscaped(line []byte, text string, fine func(rune) bool) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if fine(r) && !(r == utf8.RuneError && size == 1) {
			line = append(line, text[:size]...)
		} else {
			escape := strconv.Quote(text[:size])
			line = append(line, escape[1:len(escape)-1]...)
		}
		text = text[size:]
	}
	return line
}
