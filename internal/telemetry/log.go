package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// The formats of the log.
const (
	Text = "text" // for people
	JSON = "json" // for programs
)

// LogConfig configures the log.
type LogConfig struct {
	Level  slog.Leveler        // nil means info; a *slog.LevelVar can be changed later
	Format string              // Text or JSON; "" means Text
	Colour bool                // for Text on a terminal
	Scrub  func(string) string // removes credentials from text; nil changes nothing
}

// NewLogger returns a logger that writes each record to w as one line, with one call of
// Write. No line has a secret that Scrub knows. Text from outside the program cannot begin
// a new line or control a terminal.
func NewLogger(w io.Writer, c LogConfig) (*slog.Logger, error) {
	if c.Level == nil {
		c.Level = slog.LevelInfo
	}
	if c.Scrub == nil {
		c.Scrub = func(text string) string { return text }
	}
	switch c.Format {
	case Text, "":
		return slog.New(scrubber{&textHandler{level: c.Level, colour: c.Colour, out: &lineWriter{w: w}}, c.Scrub}), nil
	case JSON:
		next := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.Level})
		return slog.New(scrubber{next, func(text string) string { return escapeControls(c.Scrub(text)) }}), nil
	}
	return nil, fmt.Errorf("unknown log format %q; use %q or %q", c.Format, Text, JSON)
}

// escapeControls escapes the characters that JSON does not escape but a terminal
// interprets: control characters that are not ASCII, and those for text direction.
func escapeControls(text string) string {
	harmless := func(r rune) bool { return r < utf8.RuneSelf || strconv.IsPrint(r) }
	if all(text, harmless) {
		return text
	}
	return string(appendEscaped(nil, text, harmless))
}

// A scrubber removes secrets from records before the next handler writes them. The next
// handler ensures that a record is one line.
type scrubber struct {
	next  slog.Handler
	scrub func(string) string
}

func (s scrubber) Enabled(ctx context.Context, level slog.Level) bool {
	return s.next.Enabled(ctx, level)
}

func (s scrubber) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, s.scrub(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(s.attr(a))
		return true
	})
	return s.next.Handle(ctx, clean)
}

func (s scrubber) WithAttrs(attrs []slog.Attr) slog.Handler {
	return scrubber{s.next.WithAttrs(s.attrs(attrs)), s.scrub}
}

func (s scrubber) WithGroup(name string) slog.Handler {
	return scrubber{s.next.WithGroup(s.scrub(name)), s.scrub}
}

func (s scrubber) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = s.attr(a)
	}
	return clean
}

// attr turns every value that is not a number, a time or a group into text, because only
// text can be searched for secrets.
func (s scrubber) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return a // handlers ignore empty attributes
	}
	a.Key = s.scrub(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(s.scrub(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(s.attrs(a.Value.Group())...)
	case slog.KindAny:
		a.Value = slog.StringValue(s.scrub(textOf(a.Value.Any())))
	}
	return a
}

// byteLists matches how fmt writes bytes within another value: as numbers. No pattern finds a
// secret in them. It is compiled when first needed, to keep the start short.
var byteLists = text.Pattern(`\[\d{1,3}( \d{1,3}){7,}\]`)

// textOf returns the text of any value. fmt calls Error and String of the value and its
// parts, and recovers from their panics.
func textOf(v any) string {
	switch v.(type) {
	case error, fmt.Stringer:
		return fmt.Sprint(v)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
		return string(r.Bytes())
	}
	return byteLists().ReplaceAllLiteralString(fmt.Sprintf("%+v", v), "[bytes]")
}
