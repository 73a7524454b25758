package fs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tokencount"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// readFile is the tool that returns text and images of files.
type readFile struct {
	files workspace.Files
	seen  *Seen
	// images limits how many images are decoded at a time: one can take hundreds of megabytes.
	images    chan struct{}
	documents *document.Service // nil for none
}

func newReadFile(files workspace.Files, seen *Seen, documents *document.Service) readFile {
	return readFile{files, seen, make(chan struct{}, 1), documents}
}

// The limits are in errors and not in the schema: every conversation pays for the schema.
type readFileArgs struct {
	Path     string   `json:"path,omitempty" jsonschema:"file to read" alias:"file_path,file,filename,absolute_path,target_file"`
	Paths    []string `json:"paths,omitempty" jsonschema:"several files to read" alias:"files,file_paths"`
	Offset   int      `json:"offset,omitempty" jsonschema:"first line, with base64 first byte; negative counts from the end" alias:"start_line,line"`
	Limit    int      `json:"limit,omitempty" jsonschema:"lines to return, default 2000" alias:"lines,max_lines,head"`
	End      int      `json:"end_line,omitempty" jsonschema:"last line to return" hidden:"true"`
	Tail     int      `json:"tail,omitempty" jsonschema:"lines to return from the end" hidden:"true"`
	MaxBytes int      `json:"max_bytes,omitempty" jsonschema:"bytes to return, default 16000" alias:"max_size"`
	Encoding string   `json:"encoding,omitempty" jsonschema:"text encoding, or base64 to return bytes"`
	Numbers  bool     `json:"numbers,omitempty" jsonschema:"show line numbers" alias:"line_numbers"`
	Anchors  bool     `json:"anchors,omitempty" jsonschema:"show line anchors for edit.at"`
	Raw      bool     `json:"raw,omitempty" jsonschema:"return the text alone, or an error if it is cut" hidden:"true"`

	maxTokens int // 0 if max_bytes was given
}

func (readFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_file", Group: group, Title: "Read file", Core: true,
		Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc: `Returns the text of a file, an image or document, and the version.
A long text is cut and shows the next offset. To find text in files use search.`,
		Also: []string{"Read", "read", "file_read", "tool::file_read", "read_text_file", "read_multiple_files",
			"hashline::read"},
		Means:    map[string]string{"hashline::read": `{"anchors":true}`},
		Keywords: "open view cat head tail load print show contents lines source code log json image picture photo",
	}
}

// Limits of one call.
const (
	maxReadFiles     = 20
	defaultReadLines = 2000
	defaultReadBytes = 16_000
	// defaultReadTokens is the number of tokens of 16,000 bytes of code. Hashes and numbers are
	// more tokens for a byte.
	defaultReadTokens = 5_000
	maxReadBytes      = 400_000
	minReadBytes      = 200     // of each of several files
	maxReadImages     = 4 << 20 // bytes of all images
)

// normalized checks the limits, fills in defaults, and replaces hidden parameters by the shown
// ones.
func (a readFileArgs) normalized() (readFileArgs, error) {
	switch {
	case a.Path != "":
		a.Path, a.Paths = "", append([]string{a.Path}, a.Paths...)
	case len(a.Paths) == 0:
		return a, tool.Errorf(tool.Invalid, `read_file: "path" is missing`).Try(`send at least {"path":"..."}`)
	}
	if len(a.Paths) > maxReadFiles {
		return a, tool.Errorf(tool.Invalid, "there are %d files, the maximum is %d", len(a.Paths), maxReadFiles).
			Try("read some of them first")
	}
	if a.MaxBytes > maxReadBytes {
		return a, tool.Errorf(tool.Invalid, "max_bytes is %d, the maximum is %d", a.MaxBytes, maxReadBytes).
			Try("read the file in parts with offset")
	}
	if a.MaxBytes <= 0 {
		a.MaxBytes, a.maxTokens = defaultReadBytes, defaultReadTokens
	}
	if a.End > 0 && a.Limit == 0 {
		a.Limit = max(a.End-max(a.Offset, 1)+1, 1)
	}
	if a.Tail > 0 && a.Offset == 0 {
		a.Offset = -a.Tail
	}
	a.Limit = max(a.Limit, 0)
	if a.Raw && a.Limit == 0 {
		a.Limit = maxReadBytes // every line has a byte
	}
	return a, nil
}

func (t readFile) Do(ctx context.Context, a readFileArgs) (tool.Result, error) {
	script := tool.RunningFrom(ctx).Script != "" && !a.Numbers && !a.Anchors && len(a.Paths) == 0
	if a.Raw = a.Raw || script; script && a.MaxBytes == 0 {
		a.MaxBytes = maxReadBytes
	}
	a, err := a.normalized()
	if err != nil {
		return tool.Result{}, err
	}
	if len(a.Paths) == 1 {
		return t.readOne(ctx, a.Paths[0], a)
	}
	return t.readSeveral(ctx, a)
}

// readSeveral returns several files, one after the other. It fails only if none can be read.
func (t readFile) readSeveral(ctx context.Context, a readFileArgs) (tool.Result, error) {
	var all tool.Result
	var failed *tool.Error // the first error
	left, images, succeeded := a.MaxBytes, 0, 0
	for i, path := range a.Paths {
		a.MaxBytes = max(left/(len(a.Paths)-i), minReadBytes)
		res, err := t.readOne(ctx, path, a)
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		if err != nil {
			known := tool.AsError(err)
			if failed == nil {
				failed = known
			}
			res = tool.Textf("[%q: %s]", path, known)
		} else {
			succeeded++
		}
		for _, part := range res.Parts {
			if images += len(part.Data); images > maxReadImages && part.Data != nil {
				part = tool.Part{Text: fmt.Sprintf("[the image %s was left out: too many images; read it alone]", path)}
			}
			left -= len(part.Text)
			all = all.Add(part)
		}
		left = max(left, 0)
	}
	if succeeded == 0 {
		all.Failed, all.Kind = true, failed.Kind
	}
	return all, nil
}

func (t readFile) readOne(ctx context.Context, path string, a readFileArgs) (tool.Result, error) {
	f, err := t.files.Open(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	r, err := newReader(ctx, f, a)
	if err != nil {
		return tool.Result{}, err
	}
	r.secrets = t.seen.secretsFor(ctx)
	caller := tool.CallerFrom(ctx)
	part := fmt.Sprint(a.Offset, a.Limit, a.MaxBytes, a.Encoding, a.Numbers, a.Anchors)
	// A tiny file costs less than the note that it is unchanged.
	if !a.Raw && f.Size > minReadBytes && t.seen.wasShown(caller, f.Name, r.version, part) {
		const unchanged = "[%s is unchanged since you read this part of it (version %s); " +
			"to see it again call once more]"
		return tool.Textf(unchanged, f.Name, r.version), nil
	}
	res, err := t.format(ctx, r)
	if err == nil {
		t.seen.noteShown(caller, f.Name, r.version, part)
	}
	return res, err
}

// format returns the wanted part, in the form that suits the kind of file.
func (t readFile) format(ctx context.Context, r *reader) (tool.Result, error) {
	switch {
	case strings.EqualFold(r.args.Encoding, asBase64):
		return r.formatBytes()
	case r.kind.Binary() && r.args.Raw:
		return tool.Result{}, tool.Errorf(tool.Invalid, "%s is not text", r.file.Name).Try("read it without raw")
	case r.kind.Binary():
		return t.formatBinary(ctx, r)
	}
	return r.formatText(ctx)
}

// A reader reads one file for a call.
type reader struct {
	file     *workspace.File
	args     readFileArgs
	content  io.ReaderAt
	head     []byte
	version  string
	kind     textfile.Kind
	encoding string
	secrets  *scrub.Scrubber
}

const (
	maxReadWhole = 256 << 10 // files up to this size are read at once, so that all parts are of the same moment
	headSize     = 64 << 10  // enough to detect kind and encoding
	maxLineBytes = 2000      // bytes shown of a line if there are several
	maxCounted   = 64 << 20  // in larger files the lines before and after are not counted
)

// newReader reads the head of a file and detects its version, kind and encoding.
func newReader(ctx context.Context, f *workspace.File, a readFileArgs) (*reader, error) {
	r := &reader{file: f, args: a, content: f}
	whole := f.Size <= maxReadWhole
	var err error
	if whole {
		r.head, err = readUpTo(f, 0, f.Size)
	} else {
		r.head, err = readUpTo(f, 0, headSize)
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
	r.head = r.head[:min(len(r.head), headSize)]
	if a.Encoding != "" && !strings.EqualFold(a.Encoding, "auto") {
		if !strings.EqualFold(a.Encoding, asBase64) {
			if r.encoding, err = textfile.Name(a.Encoding); err != nil {
				return nil, tool.Errorf(tool.Invalid, "there is no encoding %q", a.Encoding).
					Try("use one of %s, base64, or omit it", strings.Join(textfile.Encodings(), ", "))
			}
		}
		return r, ctx.Err()
	}
	if r.kind = textfile.Sniff(r.head, f.Name); !r.kind.Binary() {
		r.encoding = textfile.Detect(r.head, int64(len(r.head)) == f.Size)
	}
	return r, ctx.Err()
}

// readUpTo reads n bytes, or fewer at the end of the file.
func readUpTo(r io.ReaderAt, at, n int64) ([]byte, error) {
	data := make([]byte, n)
	got, err := r.ReadAt(data, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return data[:got], nil
}

// formatText returns lines.
func (r *reader) formatText(ctx context.Context) (tool.Result, error) {
	w, err := r.readWindow(ctx)
	if errors.Is(err, textfile.ErrTooLarge) {
		return tool.Result{}, tool.Errorf(tool.TooLarge, "%s is %w", r.file.Name, err).
			Try("convert it to UTF-8 with a command such as iconv")
	}
	if err != nil {
		return tool.Result{}, err
	}
	if r.args.Raw {
		return r.formatRaw(w)
	}
	secrets, starts := r.findSecrets(w)
	if n := r.withinTokens(w.Lines); n < len(w.Lines) {
		w.Lines, w.End = w.Lines[:n], false
	}
	if len(w.Lines) == 0 && w.Total > 0 {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%s has only %s", r.file.Name, text.Plural(w.Total, "line")).
			Try("to get the last 50 lines use offset -50")
	}
	var b strings.Builder
	b.Grow(int(min(2*r.file.Size, int64(r.args.MaxBytes))) + 200)
	b.WriteString("[" + r.file.Name + ": " + r.describe(w) + "]")
	long := 0
	for i := range w.Lines {
		l := &w.Lines[i]
		from, to := starts[i], starts[i]+len(l.Text)
		if next := secrets.After(from); i > 0 && next > from { // the mask of the line before stands for this line too
			from = min(next, to)
		} else {
			b.WriteByte('\n')
			r.formatPrefix(&b, l)
		}
		b.WriteString(secrets.Show(from, to))
		if l.Cut > 0 {
			fmt.Fprintf(&b, " [%d more bytes in this line]", l.Cut)
			long = l.Number
		}
	}
	r.formatNext(&b, w, long)
	return tool.Text(b.String()), nil
}

// findSecrets finds the secrets of the lines with the text around them. It returns where the lines begin in that text.
func (r *reader) findSecrets(w textfile.Window) (scrub.Secrets, []int) {
	var all strings.Builder
	size := len(w.Before) + len(w.After)
	for i := range w.Lines {
		size += len(w.Lines[i].Text) + len(w.Lines[i].Ending)
	}
	all.Grow(size)
	all.WriteString(w.Before)
	starts := make([]int, len(w.Lines)+1)
	for i := range w.Lines {
		starts[i] = all.Len()
		all.WriteString(w.Lines[i].Text)
		all.WriteString(w.Lines[i].Ending)
	}
	starts[len(w.Lines)] = all.Len()
	all.WriteString(w.After)
	return r.secrets.Secrets(all.String(), len(w.Before), starts[len(w.Lines)]).Marked(r.file.Name), starts
}

// formatRaw returns the lines as they are in the file, for programs.
func (r *reader) formatRaw(w textfile.Window) (tool.Result, error) {
	cut := !w.End && len(w.Lines) < r.args.Limit
	for _, l := range w.Lines {
		cut = cut || l.Cut > 0
	}
	if cut {
		return tool.Result{}, tool.Errorf(tool.TooLarge, "%s has more than %d bytes from this line on", r.file.Name,
			r.args.MaxBytes).Try("read it in parts with offset and limit")
	}
	secrets, starts := r.findSecrets(w)
	return tool.Text(secrets.Show(starts[0], starts[len(w.Lines)])), nil
}

// withinTokens returns how many of the lines are within the limit of tokens, at least one.
func (r *reader) withinTokens(lines []textfile.Line) int {
	if r.args.maxTokens == 0 {
		return len(lines)
	}
	left := r.args.maxTokens
	for i := range lines {
		if left -= tokencount.Text(lines[i].Text) + 1; left < 0 && i > 0 {
			return i
		}
	}
	return len(lines)
}

// readWindow reads the lines that were asked for.
func (r *reader) readWindow(ctx context.Context) (textfile.Window, error) {
	q := textfile.Query{
		Encoding: r.encoding, From: r.args.Offset, Lines: min(r.args.Limit, r.args.MaxBytes), Bytes: r.args.MaxBytes,
		Line: maxLineBytes, Count: maxCounted, Around: scrub.LongestKey,
	}
	if q.Lines == 0 {
		q.Lines = defaultReadLines
	}
	if q.Lines == 1 || r.file.Size <= int64(r.args.MaxBytes) {
		q.Line = r.args.MaxBytes
	}
	if r.args.Anchors || r.args.Numbers {
		q.Extra, q.Count = 4, textfile.Unlimited // numbers need a count of all lines before
	}
	if r.args.Anchors {
		q.Extra = 7
	}
	w, err := textfile.Read(ctx, r.content, r.file.Size, q)
	// If the head is ASCII, the encoding shows only in the rest.
	if err == nil && w.Damaged != nil && r.args.Encoding == "" && isASCII(r.head) {
		if q.Encoding = textfile.Detect(w.Damaged, true); q.Encoding != r.encoding {
			r.encoding = q.Encoding
			return textfile.Read(ctx, r.content, r.file.Size, q)
		}
	}
	return w, err
}

// readsOtherwise reports whether the text in the encoding that was asked for differs from
// that in the encoding that was detected, as far as that one is certain.
func (r *reader) readsOtherwise(detected string) bool {
	wide := strings.HasPrefix(r.encoding, "utf-16")
	switch detected {
	case r.encoding, textfile.Latin1, textfile.Windows1252:
		return false
	case textfile.UTF8, textfile.UTF8BOM:
		return wide && !bytes.Contains(r.head, []byte{0}) ||
			!wide && !isASCII(r.head) && !strings.HasPrefix(r.encoding, "utf-8")
	}
	return true
}

func isASCII(data []byte) bool {
	for _, c := range data {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// describe returns the range of lines, the size, the version, and remarks about unusual text.
func (r *reader) describe(w textfile.Window) string {
	if len(w.Lines) == 0 {
		return "empty, version " + r.version
	}
	first, last := w.Lines[0], w.Lines[len(w.Lines)-1]
	lines := text.Plural(w.Total, "line")
	if first.Number != 1 || !w.End {
		lines = fmt.Sprintf("line %d", first.Number)
		if first.Number != last.Number {
			lines = fmt.Sprintf("lines %d to %d", first.Number, last.Number)
		}
		if w.Total >= 0 {
			lines += fmt.Sprintf(" of %d", w.Total)
		}
	}
	facts := []string{lines, text.Bytes(r.file.Size), "version " + r.version}
	switch r.encoding {
	case textfile.UTF8:
	case textfile.UTF8BOM:
		facts = append(facts, "UTF-8 with a byte order mark")
	default:
		facts = append(facts, r.encoding)
	}
	if r.args.Encoding != "" {
		if seems := textfile.Detect(r.head, int64(len(r.head)) == r.file.Size); r.readsOtherwise(seems) {
			facts = append(facts, fmt.Sprintf("but it seems to be %s: omit encoding", seems))
		}
	}
	if w.Damaged != nil {
		facts = append(facts, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	if n, first := invisible(w.Lines); n > 0 {
		facts = append(facts, fmt.Sprintf("%s such as %U", text.Plural(n, "invisible character"), first))
	}
	if facts = append(facts, lineEndings(w.Lines)...); w.End && last.Ending == "" {
		facts = append(facts, "no newline at the end")
	}
	return strings.Join(facts, ", ")
}

// invisible counts the characters that show nothing or change the direction of text, and returns the first. The joiner
// of emoji does not count.
func invisible(lines []textfile.Line) (n int, first rune) {
	const joiner = '\u200D'
	for i := range lines {
		for _, r := range lines[i].Text {
			if r >= 0x80 && r != joiner && unicode.Is(unicode.Cf, r) {
				if n++; n == 1 {
					first = r
				}
			}
		}
	}
	return n, first
}

// lineEndings returns the line endings if they are not all LF.
func lineEndings(lines []textfile.Line) []string {
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

// formatPrefix writes the number or anchor of a line. A line that was shortened has no anchor, since the anchor stands
// for the whole line.
func (r *reader) formatPrefix(b *strings.Builder, l *textfile.Line) {
	if !r.args.Anchors && !r.args.Numbers {
		return
	}
	b.WriteString(strconv.Itoa(l.Number))
	if r.args.Anchors && l.Cut == 0 {
		b.WriteByte('#')
		b.WriteString(textfile.Anchor([]byte(l.Text)))
	}
	b.WriteByte('|')
}

// formatNext writes the call that reads the omitted lines. Long is the number of a shortened
// line, 0 for none.
func (r *reader) formatNext(b *strings.Builder, w textfile.Window, long int) {
	if long != 0 {
		fmt.Fprintf(b, "\n[long lines were shortened; to read one use offset %d, limit 1 and max_bytes up to %d, "+
			"or find text in it with search]", long, maxReadBytes)
	}
	if w.End || len(w.Lines) == 0 {
		return
	}
	last := w.Lines[len(w.Lines)-1].Number
	more := "more lines follow"
	switch {
	case w.Total >= 0:
		more = text.Plural(w.Total-last, "more line")
	case last < 0:
		more = text.Plural(-1-last, "more line")
	}
	fmt.Fprintf(b, "\n[%s; continue with offset %d]", more, last+1)
}

// formatBytes returns bytes of the file in base64.
func (r *reader) formatBytes() (tool.Result, error) {
	from := int64(r.args.Offset)
	if from < 0 {
		from = max(r.file.Size+from, 0)
	}
	if from > 0 && from >= r.file.Size {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%s has only %d bytes", r.file.Name, r.file.Size).
			Try("with encoding base64 offset is in bytes, from 0")
	}
	room := int64(base64.StdEncoding.DecodedLen(r.args.MaxBytes &^ 3))
	if r.args.Limit > 0 {
		room = min(room, int64(r.args.Limit))
	}
	data, err := readUpTo(r.content, from, min(room, r.file.Size-from))
	if err != nil {
		return tool.Result{}, err
	}
	if err := r.checkBytes(from, data); err != nil {
		return tool.Result{}, err
	}
	end := from + int64(len(data))
	header := fmt.Sprintf("[%s: bytes %d to %d of %d, version %s, base64]", r.file.Name, from, end, r.file.Size,
		r.version)
	body := base64.StdEncoding.EncodeToString(data)
	if end < r.file.Size {
		body += fmt.Sprintf("\n[continue with offset %d]", end)
	}
	return tool.Text(header + "\n" + body), nil
}

// formatBinary returns an image, or a description of another binary file.
func (t readFile) formatBinary(ctx context.Context, r *reader) (tool.Result, error) {
	facts := fmt.Sprintf("%s, %s, version %s", r.kind.Name, text.Bytes(r.file.Size), r.version)
	if picture.Shows(r.head) {
		p, err := t.loadPicture(ctx, r)
		switch {
		case err == nil:
			return tool.Textf("[%s: %s]", r.file.Name,
				r.describePicture(p)).Add(tool.Part{Data: p.Data, MIME: p.MIME}), nil
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case errors.Is(err, picture.ErrTooLarge):
			return tool.Textf("[%s: %s; not shown: %v; scale it down with a command first]", r.file.Name, facts,
				err), nil
		}
		return tool.Textf("[%s: %s; not shown: it could not be decoded; to get its bytes use encoding base64]",
			r.file.Name, facts), nil
	}
	isDocument := t.documents.Takes(r.head)
	if isDocument {
		res, err := t.documents.Answer(ctx, document.Request{
			Name: document.NameOf(r.file.Name), Content: r.content, Size: r.file.Size, OCR: document.OCRAuto,
		}, document.View{Path: r.file.Name})
		if !errors.Is(err, document.ErrNoReader) {
			return res, err
		}
	}
	return tool.Textf("[%s: %s; not text: %s]", r.file.Name, facts, r.adviceForBinary(isDocument)), nil
}

// loadPicture decodes and scales an image.
func (t readFile) loadPicture(ctx context.Context, r *reader) (picture.Picture, error) {
	select {
	case t.images <- struct{}{}:
	case <-ctx.Done():
		return picture.Picture{}, ctx.Err()
	}
	defer func() { <-t.images }()
	return picture.Load(ctx, r.content, r.file.Size)
}

// describePicture describes the image that the model sees, and how it differs from the file.
func (r *reader) describePicture(p picture.Picture) string {
	facts := fmt.Sprintf("%dx%d %s, %s, version %s",
		p.Width, p.Height, p.Format, text.Bytes(int64(len(p.Data))), r.version)
	switch {
	case p.Width*p.Height != p.FromWidth*p.FromHeight:
		facts += fmt.Sprintf(", scaled from %dx%d %s, %s",
			p.FromWidth, p.FromHeight, p.FromFormat, text.Bytes(r.file.Size))
	case p.Format != p.FromFormat:
		facts += fmt.Sprintf(", converted from %s, %s", p.FromFormat, text.Bytes(r.file.Size))
	}
	return facts
}

// adviceForBinary returns how to use a file that is not text. A document was not read since a program is missing.
func (r *reader) adviceForBinary(isDocument bool) string {
	mime := r.kind.MIME
	switch {
	case mime == "text/plain":
		return "convert it to UTF-8 with a command such as iconv"
	case bytes.HasPrefix(r.head, []byte("PK")), strings.HasSuffix(r.kind.Name, "archive"):
		return "list or unpack it with a command"
	case isDocument:
		return "convert it to text with a command such as pandoc or libreoffice"
	case mime == "application/vnd.sqlite3":
		return "query it with a command such as sqlite3"
	case mime == "image/heic", mime == "image/heif", mime == "image/avif":
		return "show it with read_image"
	case strings.HasPrefix(mime, "image/"):
		return "convert it to PNG with a command, then read that"
	case strings.HasPrefix(mime, "audio/"):
		return "read it with read_audio"
	case strings.HasPrefix(mime, "video/"):
		return "read it with read_video"
	}
	return "to get its bytes use encoding base64"
}
