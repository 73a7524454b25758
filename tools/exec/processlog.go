package exec

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// lookBack is the number of bytes read before a window, so that a secret that begins there
	// is found: more than the longest private key.
	lookBack  = 64 << 10
	logUsual  = 12_000
	logMost   = 48_000
	linesMost = 100 // that match
)

// window returns a part of a log, cleaned and scrubbed as a part of the whole.
func (r *runner) window(ctx context.Context, s section) (string, error) {
	gapFrom, gapTo := s.log.Gap()
	note := ""
	if s.from >= gapFrom && s.from < gapTo {
		note = fmt.Sprintf("[bytes %d to %d were dropped: the output exceeds its maximum]\n", s.from, gapTo)
		s.from = min(gapTo, s.to)
	}
	before := section{s.log, max(0, s.from-lookBack), s.from}
	if gapTo <= s.from && before.from < gapTo {
		before.from = gapTo
	}
	if (section{s.log, s.from, s.to}).binary() {
		return note + fmt.Sprintf("(%d bytes that are no text)", s.to-s.from), nil
	}
	var short, long bytes.Buffer
	if err := r.scrubbed(ctx, before, &short); err != nil {
		return "", err
	}
	if err := r.scrubbed(ctx, section{s.log, before.from, s.to}, &long); err != nil {
		return "", err
	}
	return note + long.String()[common(short.Bytes(), long.Bytes()):], nil
}

// common returns how long the beginning is that two texts share, in whole
// characters.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// log shows a part of a log: from an offset, the last lines, or the lines that
// match.
func (t processTool) log(ctx context.Context, p sandbox.Process, a processArgs) (tool.Result, error) {
	if a.Pattern != "" {
		return t.matching(ctx, p, a)
	}
	s, errs := whole(p, sandbox.Stdout), whole(p, sandbox.Stderr)
	if s.to == 0 {
		s, errs = errs, section{}
	}
	size, limit := s.to, int64(logUsual)
	if a.Limit > 0 {
		limit = logMost
	}
	if size == 0 {
		return about(p.Status(), fmt.Sprintf("(no output) [%s]", state(p.Status())), ""), nil
	}
	switch {
	case a.Offset != nil:
		s.from = min(*a.Offset, size)
		s.to = min(s.from+limit, size)
		s.to = lineEnd(s, a.Limit)
	default:
		s.from = max(0, size-limit)
		s.from = lineStart(s, cmp.Or(a.Tail, a.Limit))
	}
	text, err := t.window(ctx, s)
	if err != nil {
		return tool.Result{}, err
	}
	more := "the end"
	if s.to < size {
		more = fmt.Sprintf("go on with offset %d", s.to)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[bytes %d to %d of %d; %s; %s]\n%s", s.from, s.to, size, more, state(p.Status()), text)
	if errs.to > 0 {
		text, err := t.latest(ctx, errs)
		if err != nil {
			return tool.Result{}, err
		}
		b.WriteString("\n" + mark + text)
	}
	all := strings.TrimRight(b.String(), "\n")
	_, output, _ := strings.Cut(all, "\n") // without the line about the offsets
	return about(p.Status(), all, output), nil
}

// lineEnd returns where the first so many lines of a section end, or if there are
// fewer the last whole line; 0 is all.
func lineEnd(s section, lines int) int64 {
	buf := make([]byte, s.to-s.from)
	n, _ := s.log.ReadAt(buf, s.from) // an unreadable log has no lines
	at := 0
	for range lines {
		i := bytes.IndexByte(buf[at:n], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	if bytes.Count(buf[:at], []byte{'\n'}) == lines && lines > 0 {
		return s.from + int64(at)
	}
	if s.to == s.log.Size() {
		return s.to
	}
	if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
		return s.from + int64(i) + 1
	}
	return s.to
}

// lineStart returns where the last so many lines of a section begin; 0 is all whole
// ones.
func lineStart(s section, lines int) int64 {
	buf := make([]byte, s.to-s.from)
	n, _ := s.log.ReadAt(buf, s.from) // an unreadable log has no lines
	at := max(n-1, 0)                 // the end of the last line is none before it
	for i := 0; lines > 0; i++ {
		at = bytes.LastIndexByte(buf[:at], '\n')
		if at < 0 {
			break
		}
		if i+1 == lines {
			return s.from + int64(at) + 1
		}
	}
	if i := bytes.IndexByte(buf[:n], '\n'); s.from > 0 && i >= 0 && i+1 < n {
		return s.from + int64(i) + 1
	}
	return s.from
}

// matching shows the last lines that match, as grep -n does.
func (t processTool) matching(ctx context.Context, p sandbox.Process, a processArgs) (tool.Result, error) {
	re, err := a.expression()
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	total := 0
	for i, s := range []section{whole(p, sandbox.Stdout), whole(p, sandbox.Stderr)} {
		f := &finder{re: re}
		if err := t.scrubbed(ctx, s, f); err != nil {
			return tool.Result{}, err
		}
		if len(f.rest) > 0 {
			f.line()
		}
		if i == 1 && f.matches > 0 {
			b.WriteString(mark)
		}
		if more := f.matches - len(f.found); more > 0 {
			fmt.Fprintf(&b, "[%d earlier matches not shown: make the pattern narrower]\n", more)
		}
		b.WriteString(strings.Join(f.found, ""))
		total += f.matches
	}
	if total == 0 {
		return about(p.Status(), fmt.Sprintf("no line matches %q [%s]", a.Pattern, state(p.Status())), ""), nil
	}
	lines := strings.TrimRight(b.String(), "\n")
	return about(p.Status(), lines, lines), nil
}

// A finder keeps the last matching lines of the written text.
type finder struct {
	re      *regexp.Regexp
	rest    []byte
	number  int
	matches int
	bytes   int
	found   []string
}

func (f *finder) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		f.rest = append(f.rest, line[:min(len(line), max(0, lookBack-len(f.rest)))]...)
		if !ended {
			return n, nil
		}
		f.line()
		p = rest
	}
}

// line looks at the line that has come together.
func (f *finder) line() {
	f.number++
	if f.re.Match(f.rest) {
		const most = 300
		line := strings.ToValidUTF8(string(f.rest[:min(len(f.rest), most)]), "")
		if len(f.rest) > most {
			line += fmt.Sprintf(" [%d bytes of this line not shown]", len(f.rest)-most)
		}
		f.matches++
		f.found = append(f.found, fmt.Sprintf("%d:%s\n", f.number, line))
		f.bytes += len(f.found[len(f.found)-1])
		for len(f.found) > linesMost || f.bytes > outputMost {
			f.bytes -= len(f.found[0])
			f.found = f.found[1:]
		}
	}
	f.rest = f.rest[:0]
}
