package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/text"
)

// A reading is one file while it is shown.
type reading struct {
	file     *workspace.File
	ask      readFileArgs
	content  io.ReaderAt
	head     []byte
	version  string
	kind     text.Kind
	encoding string
}

const (
	readWhole = 256 << 10 // up to this size a file is read once, and is one moment's
	readHead  = 64 << 10  // enough to know the kind and the encoding
	maxLine   = 2000      // bytes of one of many lines
	countUpTo = 64 << 20  // in larger files the lines before and after are not counted
)

// newReading finds out what is in the file.
func newReading(ctx context.Context, f *workspace.File, a readFileArgs) (*reading, error) {
	r := &reading{file: f, ask: a, content: f}
	whole := f.Size <= readWhole
	var err error
	if whole {
		r.head, err = readUpTo(f, 0, f.Size)
	} else {
		r.head, err = readUpTo(f, 0, readHead)
	}
	if err != nil {
		return nil, err
	}
	if whole {
		f.Size = int64(len(r.head))
		r.content, r.version = bytes.NewReader(r.head), VersionOf(r.head)
	} else if r.version, err = Version(f, f.Size, f.Stamp); err != nil {
		return nil, err
	}
	r.head = r.head[:min(len(r.head), readHead)]
	if a.Encoding != "" && !strings.EqualFold(a.Encoding, "auto") {
		if !strings.EqualFold(a.Encoding, "base64") {
			if r.encoding, err = text.Name(a.Encoding); err != nil {
				return nil, tool.Errorf(tool.Invalid, "there is no encoding %q", a.Encoding).
					Try("use one of %s, base64, or leave it out", strings.Join(text.Encodings(), ", "))
			}
		}
		return r, ctx.Err()
	}
	if r.kind = text.Sniff(r.head, f.Name); !r.kind.Binary() {
		r.encoding = text.Detect(r.head, int64(len(r.head)) == f.Size)
	}
	return r, ctx.Err()
}

// readUpTo reads n bytes, or what there is.
func readUpTo(r io.ReaderAt, at, n int64) ([]byte, error) {
	data := make([]byte, n)
	got, err := r.ReadAt(data, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return data[:got], nil
}

// text shows lines.
func (r *reading) text(ctx context.Context) (tool.Result, error) {
	w, err := r.window(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	ofKey, err := r.ofKey(ctx, w.Lines)
	if err != nil {
		return tool.Result{}, err
	}
	if len(w.Lines) == 0 && w.Total > 0 {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%s has only %s", r.file.Name, counted(w.Total, "line", "lines")).
			Try("offset -50 gives the last 50 lines")
	}
	var b strings.Builder
	b.Grow(int(min(2*r.file.Size, int64(r.ask.MaxBytes))) + 200)
	b.WriteString("[" + r.file.Name + ": " + r.describe(w) + "]")
	long := 0
	for i := range w.Lines {
		l := &w.Lines[i]
		b.WriteByte('\n')
		r.mark(&b, l)
		if ofKey[l.Number] {
			b.WriteString(scrub.Mask)
			continue
		}
		b.WriteString(l.Text)
		if l.Cut > 0 {
			fmt.Fprintf(&b, " [%d more bytes in this line]", l.Cut)
			long = l.Number
		}
	}
	r.goOn(&b, w, long)
	return tool.Text(b.String()), nil
}

// window reads the lines that were asked for.
func (r *reading) window(ctx context.Context) (text.Window, error) {
	q := text.Query{
		Encoding: r.encoding, From: r.ask.Offset, Lines: min(r.ask.Limit, r.ask.MaxBytes), Bytes: r.ask.MaxBytes, Line: maxLine, Count: countUpTo,
	}
	if q.Lines == 0 {
		q.Lines = maxReadLines
	}
	if q.Lines == 1 || r.file.Size <= int64(r.ask.MaxBytes) {
		q.Line = r.ask.MaxBytes
	}
	if r.ask.Anchors || r.ask.Numbers {
		q.Extra, q.Count = 4, text.Unlimited // no anchor without its line's number
	}
	if r.ask.Anchors {
		q.Extra = 7
	}
	w, err := text.Read(ctx, r.content, r.file.Size, q)
	// Where the beginning is ASCII what follows decides.
	if err == nil && w.Damaged != nil && r.ask.Encoding == "" && isASCII(r.head) {
		if q.Encoding = text.Detect(w.Damaged, true); q.Encoding != r.encoding {
			r.encoding = q.Encoding
			return text.Read(ctx, r.content, r.file.Size, q)
		}
	}
	return w, err
}

func isASCII(data []byte) bool {
	for _, c := range data {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// describe says in the fewest words what is to be known of the text.
func (r *reading) describe(w text.Window) string {
	if len(w.Lines) == 0 {
		return "empty, version " + r.version
	}
	first, last := w.Lines[0], w.Lines[len(w.Lines)-1]
	lines := counted(w.Total, "line", "lines")
	if first.Number != 1 || !w.End {
		lines = fmt.Sprintf("line %d", first.Number)
		if first.Number != last.Number {
			lines = fmt.Sprintf("lines %d to %d", first.Number, last.Number)
		}
		if w.Total >= 0 {
			lines += fmt.Sprintf(" of %d", w.Total)
		}
	}
	words := []string{lines, size(r.file.Size), "version " + r.version}
	switch r.encoding {
	case text.UTF8:
	case text.UTF8BOM:
		words = append(words, "UTF-8 with a byte order mark")
	default:
		words = append(words, r.encoding)
	}
	if w.Damaged != nil {
		words = append(words, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	if words = append(words, endings(w.Lines)...); w.End && last.Ending == "" {
		words = append(words, "no newline at the end")
	}
	return strings.Join(words, ", ")
}

// endings names the line endings when they are not the usual ones.
func endings(lines []text.Line) []string {
	lf, crlf := 0, 0
	for i := range lines {
		switch lines[i].Ending {
		case "\n":
			lf++
		case "\r\n":
			crlf++
		}
	}
	switch {
	case crlf == 0:
		return nil
	case lf == 0:
		return []string{"CRLF"}
	}
	return []string{fmt.Sprintf("mixed line endings (%d CRLF, %d LF)", crlf, lf)}
}

// mark writes what goes before a line. A line that was cut has no anchor: it
// cannot be told whether the rest is what it was.
func (r *reading) mark(b *strings.Builder, l *text.Line) {
	if !r.ask.Anchors && !r.ask.Numbers {
		return
	}
	b.WriteString(strconv.Itoa(l.Number))
	if r.ask.Anchors && l.Cut == 0 {
		b.WriteByte('#')
		b.WriteString(text.Anchor([]byte(l.Text)))
	}
	b.WriteByte('|')
}

// goOn says how to see what was not shown.
func (r *reading) goOn(b *strings.Builder, w text.Window, long int) {
	if long != 0 {
		fmt.Fprintf(b, "\n[long lines were cut; offset %d, limit 1 and max_bytes up to %d show more of one, search finds text in it]", long, maxReadBytes)
	}
	if w.End || len(w.Lines) == 0 {
		return
	}
	last := w.Lines[len(w.Lines)-1].Number
	more := "more lines follow"
	switch {
	case w.Total >= 0:
		more = counted(w.Total-last, "more line", "more lines")
	case last < 0:
		more = counted(-1-last, "more line", "more lines")
	}
	fmt.Fprintf(b, "\n[%s; go on with offset %d]", more, last+1)
}
