package document

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tokencount"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

const (
	// maxTokens is the size of the text of one result.
	maxTokens = 4_000
	// maxPictures is the number of pictures in one result, and maxPictureBytes their size.
	maxPictures     = 8
	maxPictureBytes = 4 << 20
	maxListed       = 6
	// maxMasked is the largest page that is scrubbed whole. Of a larger page only the shown
	// part is scrubbed.
	maxMasked = 2 << 20
)

// A View is the part of a document that a result shows.
type View struct {
	// Path or URL is the argument of read_document for the next page. If both are empty, the
	// document has to be saved first.
	Path, URL string
	Offset    int // bytes of the first page that were shown before
}

func (v View) source(r Request) string { return cmp.Or(v.Path, v.URL, r.Name) }

// Answer reads a document and returns the result for a model: text between marks, the pictures
// if they are wanted, and how to read on with read_document.
// The error of a document that no reader reads is an ErrNoReader.
func (s *Service) Answer(ctx context.Context, r Request, v View) (tool.Result, error) {
	got, err := s.Read(ctx, r)
	if err != nil {
		return tool.Result{}, explain(err)
	}
	if s.o.Mask != nil { // before texts are cut: half a secret is not found
		got.Title = s.o.Mask(got.Title)
		for i := range got.Parts {
			p := &got.Parts[i]
			if p.Name = s.o.Mask(p.Name); len(p.Markdown) <= maxMasked {
				p.Markdown = s.o.Mask(p.Markdown)
			}
		}
	}
	source := v.source(r)
	if len(got.Parts) == 0 && len(got.Pictures) == 0 {
		if len(r.Pages) > 0 && got.Total > 0 {
			return tool.Result{}, tool.Errorf(tool.Invalid, "%q has only %s", source,
				text.Plural(got.Total, unitOf(got))).Try("omit pages to begin with the first one")
		}
		return tool.Text(head(source, got) + "\n[there is no text in it]"), nil
	}
	shown, pieces, next := excerpt(got, r.Pages, v.Offset)
	if shown == "" && v.Offset > 0 {
		return tool.Result{}, tool.Errorf(tool.Invalid, "offset is %d, but the text ends before", v.Offset).
			Try("do not continue: the end was reached")
	}
	var b strings.Builder
	b.WriteString(head(source, got))
	for _, note := range got.Notes {
		clean, _ := tool.Clean(note)
		fmt.Fprintf(&b, "\n[%s]", clean)
	}
	if isBlank(got) {
		b.WriteString("\n[" + noText(got) + "]")
	}
	if shown = titled(got, shown, v.Offset); shown != "" {
		b.WriteString("\n" + s.o.Marks.Quote(source, shown))
	}
	b.WriteString(pictureList(got, r, v))
	if next != nil {
		fmt.Fprintf(&b, "\n[%s; to read on call read_document with %s]", next.why, next.arguments(r, v))
	}
	res := tool.Text(b.String())
	if r.Pictures || len(got.Parts) == 0 {
		res = res.Add(pictureParts(got)...)
	}
	if tool.Viewed(ctx) && len(pieces) > 0 {
		res = res.Showing(shownPages(got, r, v, pieces, next))
	}
	return res, nil
}

// shownPages returns the pages for the page of an app: the pages of the text.
func shownPages(got Reading, r Request, v View, pieces []piece, next *rest) view.Document {
	d := view.Document{
		Kind: "document", Path: v.Path, URL: v.URL, Name: r.Name, Title: text.Clip(tool.Line(got.Title), 200),
		Format: string(got.Format), Unit: got.Unit, Total: got.Total,
	}
	for _, p := range pieces {
		clean, _ := tool.Clean(p.text)
		d.Pages = append(d.Pages, view.DocumentPage{
			Number: p.part.Number, Name: text.Clip(tool.Line(p.part.Name), 200), OCR: p.part.OCR, Continued: p.continued,
			Text: clean,
		})
	}
	if next != nil {
		d.Offset = next.offset
	}
	return d
}

// explain returns the error that a model gets.
func explain(err error) error {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	kind := map[Kind]tool.Kind{
		ErrPassword: tool.Refused, ErrBroken: tool.Invalid, ErrTooBig: tool.TooLarge, ErrNoReader: tool.Unavailable,
		ErrNoMember: tool.NotFound, ErrFailed: tool.Internal,
	}[known.Kind]
	if kind == "" {
		return err
	}
	failed := tool.Errorf(kind, "%s", known.Text).Because(known)
	if known.Kind == ErrPassword {
		return failed.Try("ask the user for the password, and send it as password")
	}
	return failed
}

func unitOf(r Reading) string {
	if r.Unit == "" {
		return "part"
	}
	return r.Unit
}

// head describes the document in a line.
func head(source string, r Reading) string {
	facts := []string{string(r.Format)}
	if r.Unit != "" {
		facts = append(facts, text.Plural(r.Total, r.Unit))
	}
	clean, _ := tool.Clean(source)
	return "[" + clean + ": " + strings.Join(facts, ", ") + "]"
}

// isBlank reports whether there is nothing to see on the pages.
func isBlank(r Reading) bool {
	for _, p := range r.Parts {
		if strings.TrimSpace(p.Markdown) != "" {
			return false
		}
	}
	return len(r.Pictures) == 0
}

func noText(r Reading) string {
	if n := len(r.Parts); n < r.Total {
		return "there is no text on " + text.Plural(n, unitOf(r)) + " of it"
	}
	return "there is no text in it"
}

// titled returns the text with the title above its beginning, unless the text begins with it. The
// title is written by the author of the document, so it stands between the marks.
func titled(r Reading, shown string, offset int) string {
	title := text.Clip(tool.Line(r.Title), 200)
	first := text.Cut(shown, 500)
	if title == "" || shown == "" || offset > 0 || len(r.Parts) == 0 || r.Parts[0].Number > 1 ||
		strings.Contains(first, title) {
		return shown
	}
	return "Title: " + title + "\n" + shown
}

// A rest is the part of a document that a result does not show.
type rest struct {
	why    string
	pages  Ranges
	offset int
}

// arguments returns the arguments of the next call.
func (n rest) arguments(r Request, v View) string {
	args := struct {
		Path   string `json:"path,omitempty"`
		URL    string `json:"url,omitempty"`
		Pages  string `json:"pages,omitempty"`
		Offset int    `json:"offset,omitempty"`
		OCR    string `json:"ocr,omitempty"`
		Images bool   `json:"images,omitempty"`
	}{v.Path, v.URL, n.pages.String(), n.offset, "", r.Pictures}
	if r.OCR != OCRAuto {
		args.OCR = r.OCR
	}
	text, err := json.Marshal(args)
	switch {
	case err != nil:
		return "the next pages"
	case v.Path == "" && v.URL == "":
		return fmt.Sprintf("the path of the saved file and %s", text)
	case r.Password != "":
		return string(text) + " and the password"
	}
	return string(text)
}

// A piece is a part of a document as far as it is shown.
type piece struct {
	part      Part
	continued bool
	text      string
}

// excerpt returns the text of the parts that fit, the same in pieces, and the rest.
func excerpt(r Reading, wanted Ranges, offset int) (shown string, pieces []piece, next *rest) {
	var b strings.Builder
	left := maxTokens
	for i, p := range r.Parts {
		body := p.Markdown
		from := 0
		if i == 0 && offset > 0 {
			from = floor(body, offset)
			body = tableHead(body, from) + body[from:]
		}
		added := len(body) - (len(p.Markdown) - from)
		mark := partMark(r, p, from > 0)
		end := fit(body, left)
		if i > 0 && end < len(body) && (end == 0 || fit(body, maxTokens) == len(body)) {
			// It does not fit any more, but as a whole into the next result.
			return strings.TrimSuffix(b.String(), "\n"), pieces, following(r, wanted, p.Number)
		}
		b.WriteString(mark + body[:end])
		pieces = append(pieces, piece{p, from > 0, body[:end]})
		if end < len(body) {
			pages := wanted.Rest(p.Number)
			if r.Unit == "" {
				pages = nil
			}
			at := from + end - added
			return b.String(), pieces, &rest{fmt.Sprintf("%s of %s were shown", text.Bytes(int64(at)),
				text.Bytes(int64(len(p.Markdown)))), pages, at}
		}
		if !strings.HasSuffix(body, "\n") {
			b.WriteByte('\n')
		}
		left -= tokencount.Text(body)
	}
	if n := len(r.Parts); n > 0 && r.Unit != "" {
		if last := r.Parts[n-1].Number; last < wanted.Last(r.Total) {
			return strings.TrimSuffix(b.String(), "\n"), pieces, following(r, wanted, last+1)
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), pieces, nil
}

// following returns the rest from a part on.
func following(r Reading, wanted Ranges, from int) *rest {
	pages := wanted.Rest(from)
	return &rest{fmt.Sprintf("%ss %s follow", unitOf(r), until(pages, r.Total)), pages, 0}
}

// until returns ranges without open ends.
func until(pages Ranges, total int) string {
	closed := make(Ranges, 0, len(pages))
	for _, p := range pages {
		if p.First <= total {
			closed = append(closed, Range{p.First, min(p.Last, total)})
		}
	}
	return closed.String()
}

// partMark returns the line above a part.
func partMark(r Reading, p Part, continued bool) string {
	if r.Unit == "" && !p.OCR {
		return ""
	}
	mark := fmt.Sprintf("%s %d of %d", unitOf(r), p.Number, r.Total)
	if name := strings.ReplaceAll(strings.Join(strings.Fields(p.Name), " "), "--", "- -"); name != "" {
		mark += ": " + name
	}
	if p.OCR {
		mark += ", OCR"
	}
	if continued {
		mark += ", continued"
	}
	return "<!-- " + mark + " -->\n"
}

// fit returns the length of the longest beginning of a text with at most so many tokens that
// ends at a line. If the first line is too long it ends at a character.
func fit(body string, tokens int) (end int) {
	if tokens <= 0 {
		return 0
	}
	left := tokens
	for end < len(body) {
		line := body[end:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if len(line) > 8*left { // more tokens than that, and slow to count
			break
		}
		if left -= tokencount.Text(line); left < 0 {
			break
		}
		end += len(line)
	}
	if end == 0 {
		return floor(body, 3*tokens)
	}
	return end
}

// floor returns the greatest index of a character up to n.
func floor(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// tableHead returns the first two lines of the table around at, so that its columns keep their
// names.
func tableHead(body string, at int) string {
	if at >= len(body) || body[at] != '|' {
		return ""
	}
	begin := at
	for begin > 0 {
		previous := strings.LastIndexByte(body[:begin-1], '\n') + 1
		if body[previous] != '|' {
			break
		}
		begin = previous
	}
	lines := strings.SplitAfterN(body[begin:at], "\n", 3)
	if len(lines) < 3 || !strings.HasPrefix(lines[1], "|") || strings.Trim(lines[1], "|-: \n") != "" {
		return ""
	}
	return lines[0] + lines[1]
}

// plainName matches the names of pictures that cannot be sentences. They have at most maxPlainName bytes.
var plainName = text.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

const maxPlainName = 81

// pictureList returns how pictures are fetched, if there are some that are not shown.
func pictureList(r Reading, asked Request, v View) string {
	if len(r.Parts) == 0 || asked.Pictures || v.Path == "" || len(r.Pictures) == 0 {
		return ""
	}
	var names []string
	for _, p := range r.Pictures {
		// Another name could be a sentence outside of the marks.
		if len(names) < maxListed && len(p.Name) <= maxPlainName && plainName().MatchString(p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(r.Pictures) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("\n[pictures: %s%s; to see one call read_document with path %q]",
		strings.Join(names, ", "), more, v.Path+"!/"+names[0])
}

// pictureParts returns the pictures for the model.
func pictureParts(r Reading) (parts []tool.Part) {
	left := maxPictureBytes
	skipped := 0
	for _, p := range r.Pictures {
		if p.Data == nil {
			continue
		}
		if left -= len(p.Data); left < 0 || len(parts) == 2*maxPictures {
			skipped++
			continue
		}
		parts = append(parts, tool.Part{Text: "[" + tool.Line(p.Name) + "]"}, tool.Part{Data: p.Data, MIME: p.Type})
	}
	if skipped > 0 {
		parts = append(parts,
			tool.Part{Text: fmt.Sprintf("[%s left out: ask for fewer pages, or for one picture by name]",
				text.Plural(skipped, "picture"))})
	}
	return parts
}

// Markdown returns the text of a whole document, of at most so many bytes, and its format.
func (s *Service) Markdown(ctx context.Context, r Request, most int) (string, Format, error) {
	var b strings.Builder
	for next := 1; ; next += chunk {
		r.Pages = Ranges{{next, next + chunk - 1}}
		got, err := s.Read(ctx, r)
		if err != nil {
			return "", got.Format, explain(err)
		}
		for _, p := range got.Parts {
			b.WriteString(partMark(got, p, false) + strings.TrimSpace(p.Markdown) + "\n\n")
		}
		if b.Len() > most {
			return "", got.Format, tool.Errorf(tool.TooLarge, "its text has more than %d bytes", most)
		}
		if got.Unit == "" || next+chunk > got.Total {
			text, _ := tool.Clean(strings.TrimSpace(b.String()))
			return text + "\n", got.Format, nil
		}
	}
}
