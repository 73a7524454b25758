package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"regexp"
	"strconv"
	"sync"
	"unicode/utf8"
)

// The formats of a log.
const (
	Text = "text" // for people
	JSON = "json" // for programs
)

// LogConfig says how the log looks.
type LogConfig struct {
	Level  slog.Leveler        // a *slog.LevelVar can be changed at run time; nil: info
	Format string              // Text or JSON; empty: Text
	Colour bool                // only for Text, and only when a person looks at a terminal
	Scrub  func(string) string // takes credentials out of text; nil: text stays as it is
}

// NewLogger returns a logger that writes to w, one line with one Write for
// each record. No line holds a secret that Scrub knows, and what strangers
// wrote cannot begin a new line or drive a terminal.
func NewLogger(w io.Writer, c LogConfig) (*slog.Logger, error) {
	if c.Level == nil {
		c.Level = slog.LevelInfo
	}
	if c.Scrub == nil {
		c.Scrub = func(text string) string { return text }
	}
	switch c.Format {
	case Text, "":
		return slog.New(scrubber{newTextHandler(w, c.Level, c.Colour), c.Scrub}), nil
	case JSON:
		next := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.Level})
		return slog.New(scrubber{next, func(text string) string { return tame(c.Scrub(text)) }}), nil
	}
	return nil, fmt.Errorf("there is no log format %q; use %q or %q", c.Format, Text, JSON)
}

// tame escapes what JSON leaves as it is and a terminal does not: the control
// characters beyond ASCII, and those that turn the direction of text.
func tame(text string) string {
	harmless := func(r rune) bool { return r < utf8.RuneSelf || strconv.IsPrint(r) }
	if all(text, harmless) {
		return text
	}
	return string(appendEscaped(nil, text, harmless))
}

// A scrubber takes secrets out of records before the next handler writes them.
// It is the next handler's part to write text so that it stays on its line.
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

// attr makes plain text of whatever is not a number, a time or a group, for
// only text can be searched for secrets.
func (s scrubber) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return a // an empty attribute is one to leave out
	}
	a.Key = s.scrub(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(s.scrub(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(s.attrs(a.Value.Group())...)
	case slog.KindAny:
		a.Value = slog.StringValue(s.scrub(plain(a.Value.Any())))
	}
	return a
}

// manyBytes is how fmt writes bytes that are part of something else: a secret
// written as numbers, which no pattern finds. It is compiled when it is first
// needed: a start that logs nothing unusual does not pay for it.
var manyBytes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[\d{1,3}( \d{1,3}){7,}\]`) })

// plain is the text of any value. fmt calls Error and String wherever a value
// or a part of it has them, and survives their panics.
func plain(v any) string {
	switch v.(type) {
	case error, fmt.Stringer:
		return fmt.Sprint(v)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
		return string(r.Bytes())
	}
	return manyBytes().ReplaceAllLiteralString(fmt.Sprintf("%+v", v), "[bytes]")
}
