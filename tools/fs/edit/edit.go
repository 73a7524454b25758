// Package edit finds the part of a text that an edit means, replaces it without changing any other byte, and shows the
// difference.
//
// Models often remember a text slightly wrong. So the old text is searched in steps, called rungs: first exactly, then
// ignoring one known kind of difference after the other. A step counts only if it finds one place. The outcome names
// the rung, the new text takes over the style of the text that it replaces, and the error about a missing text shows
// the most similar places.
//
// It knows texts and their encodings, but neither files nor tools. Begin with [Apply]; match.go has the rungs,
// rewrite.go the replacing, diff.go the difference. Patches are matched by the same steps: see [Ladder], [Style] and
// [Candidates].
package edit

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// An Edit is one replacement. At limits it to some lines, like 12#a3 or 12#a3-15#f1: line numbers and the digests of
// [textfile.Anchor]. An edit with At and without Old replaces these lines.
type Edit struct {
	Old, New string
	All      bool // replace every occurrence, not only one
	At       string
}

// An Outcome is the result of edits.
type Outcome struct {
	Content       string // the new content, in its encoding
	Encoding      string
	Before, After string // the decoded text
	Replaced      int    // number of replacements
	Rungs         []Rung // the rungs other than Exact that were needed
	Spans         []Span // the changes in the decoded text, in order
	secrets       *scrub.Scrubber
}

// Hiding hides the secrets of a file: no text matches a part of one, errors and diffs mask them, and an edit that would
// show one is refused. Marks of the file in edits stand for its secrets.
type Hiding struct {
	By   *scrub.Scrubber // nil has no known values
	File string          // name of the file, for marks
}

// A Span is a part that changed: Start to End before the change, From to To after it. Outside of spans both texts are
// equal.
type Span struct{ Start, End, From, To int }

const (
	// MaxBytes is the maximum size of a text to edit.
	MaxBytes  = 16 << 20
	maxResult = 64 << 20 // bytes of the text after the edits
	// maxPlaces is the maximum number of places of one edit. To replace more use a program.
	maxPlaces = 200_000
)

// Apply makes the edits in order, each in the result of the one before, or none of them. Anchors refer to the lines of
// the original text. Errors are written for the model.
func Apply(ctx context.Context, content string, edits []Edit, hiding Hiding) (Outcome, error) {
	before, encoding, encode, err := decode(content)
	if err != nil {
		return Outcome{}, err
	}
	d := draft{original: before, text: before, secrets: hiding.By.Secrets(before, 0, len(before)).Marked(hiding.File)}
	d.hidden = d.secrets
	o := Outcome{Encoding: encoding, Before: before, secrets: hiding.By}
	typed := ""
	for _, e := range edits {
		typed += e.Old + "\n" + e.New + "\n"
	}
	for i, e := range edits {
		e.Old = hiding.By.Unmask(hiding.File, before, e.Old)
		e.New = hiding.By.Unmask(hiding.File, before, e.New)
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
		found, err := d.apply(e)
		if err != nil {
			return Outcome{}, numbered(err, i, len(edits))
		}
		if d.hidden.Any() {
			if err := hiding.By.CheckShown(before, d.text, typed); err != nil {
				return Outcome{}, numbered(shown(err), i, len(edits))
			}
			d.secrets = hiding.By.Secrets(d.text, 0, len(d.text)).Marked(hiding.File)
		}
		o.Replaced += len(found)
		for _, m := range found {
			o.Rungs = append(o.Rungs, m.rungs...)
		}
		slices.Sort(o.Rungs)
		o.Rungs = slices.Compact(o.Rungs)
	}
	if d.text == before {
		return Outcome{}, tool.Errorf(tool.Invalid, "nothing would change: the file has this text already").
			Try("continue without this edit")
	}
	if o.Content, err = encode(d.text); err != nil {
		return Outcome{}, unwritable(err)
	}
	o.After, o.Spans = d.text, d.spans
	return o, nil
}

// decode decodes content and returns a function that encodes it again. Invalid bytes stay unchanged if possible.
func decode(content string) (decoded, encoding string, encode func(string) (string, error), err error) {
	asIs := func(text string) (string, error) { return text, nil }
	if utf8.ValidString(content) && strings.IndexByte(content, 0) < 0 && !strings.HasPrefix(content, "\uFEFF") {
		return content, textfile.UTF8, asIs, nil // the usual case: nothing to decode
	}
	doc, err := textfile.Decode([]byte(content), "")
	switch {
	case err != nil:
		return "", "", nil, err
	case doc.Lossless:
		return doc.Text, doc.Encoding, func(text string) (string, error) {
			data, err := doc.Encode(text)
			return string(data), err
		}, nil
	case doc.Encoding == textfile.UTF8, doc.Encoding == textfile.UTF8BOM:
		return content, doc.Encoding, asIs, nil
	}
	return "", "", nil, tool.Errorf(tool.Invalid, "the file looks like %s but has bytes that are invalid in it",
		doc.Encoding).Try("change it with a command for such files")
}

// A draft is a text that is being edited.
type draft struct {
	original, text string
	spans          []Span        // from original to text
	hidden         scrub.Secrets // of original
	secrets        scrub.Secrets // of text, if original has any
}

// shown explains that a change would show a secret.
func shown(err error) error {
	return tool.Errorf(tool.Refused, "%w", err).
		Try("leave the secret under its present name, or ask the user to make this change")
}

func (d *draft) apply(e Edit) ([]match, error) {
	switch {
	case !utf8.ValidString(e.Old) || !utf8.ValidString(e.New):
		return nil, tool.Errorf(tool.Invalid, "old_string or new_string is not valid UTF-8").
			Try("send valid text")
	case e.At != "":
		return d.applyAt(e)
	case e.Old == "" && d.text == "":
		return d.replace([]match{{}}, []string{e.New})
	case e.Old == "":
		return nil, tool.Errorf(tool.Invalid, "old_string is empty, but the file is not").
			Try("send the text to replace, or use write_file to write the whole file")
	}
	return d.rewrite(e, 0, len(d.text))
}

// rewrite makes e between two positions.
func (d *draft) rewrite(e Edit, from, to int) ([]match, error) {
	if e.Old == e.New {
		return nil, tool.Errorf(tool.Invalid, "old_string and new_string are identical").
			Try("send the changed text as new_string")
	}
	found := find(d.text[from:to], e.Old, e.New)
	for i := range found {
		found[i].start, found[i].end = found[i].start+from, found[i].end+from
	}
	if d.hidden.Any() {
		found = slices.DeleteFunc(found, func(m match) bool { return d.secrets.Cut(m.start, m.end) })
	}
	switch {
	case len(found) == 0:
		return nil, d.missing(e, from, to)
	case len(found) > 1 && !e.All:
		return nil, several(d.text, found)
	case len(found) == maxPlaces:
		return nil, tool.Errorf(tool.TooLarge, "old_string occurs %d times or more", maxPlaces).
			Try("send a longer old_string, or replace it with a command")
	case len(found) == 2 && found[1].start < found[0].end:
		found = found[:1]
	}
	r := newRewriting(e.Old, e.New)
	news := make([]string, len(found))
	size := len(d.text)
	for i, m := range found {
		if len(m.rungs) == 0 {
			news[i] = d.exactly(e, m)
		} else {
			news[i] = r.at(m, d.text[m.start:m.end], newlineNear(d.text, m.start))
		}
		if size += len(news[i]) - (m.end - m.start); size > maxResult {
			return nil, tool.Errorf(tool.TooLarge, "the text would become longer than %d MB", maxResult>>20).
				Try("replace fewer occurrences, or use a shorter new_string")
		}
	}
	return d.replace(found, news)
}

// exactly returns the replacement of an exact match: the new text. If it has line breaks and the old text has none, it
// gets the line endings of the file.
func (d *draft) exactly(e Edit, m match) string {
	if strings.Contains(e.Old, "\n") || !strings.Contains(e.New, "\n") || strings.Contains(e.New, "\r\n") {
		return e.New
	}
	if newlineNear(d.text, m.start) == "\r\n" {
		return strings.ReplaceAll(e.New, "\n", "\r\n")
	}
	return e.New
}

// replace replaces the matches by new texts. The matches are in order.
func (d *draft) replace(found []match, news []string) ([]match, error) {
	var b strings.Builder
	b.Grow(len(d.text))
	done := 0
	spans := make([]Span, len(found))
	for i, m := range found {
		b.WriteString(d.text[done:m.start])
		spans[i] = Span{m.start, m.end, b.Len(), b.Len() + len(news[i])}
		b.WriteString(news[i])
		done = m.end
	}
	b.WriteString(d.text[done:])
	d.text, d.spans = b.String(), compose(d.spans, spans)
	return found, nil
}

// compose joins the spans between a first and a second text with those between the second and a third.
func compose(first, second []Span) []Span {
	all := make([]Span, 0, len(first)+len(second))
	back, ahead := 0, 0 // offsets from the second text to the first, and to the third
	end := -1           // of the last span, in the second text
	for len(first)+len(second) > 0 {
		var from, to, more, less int
		if len(second) == 0 || len(first) > 0 && first[0].From <= second[0].Start {
			s := first[0]
			first = first[1:]
			from, to, less = s.From, s.To, (s.End-s.Start)-(s.To-s.From)
		} else {
			s := second[0]
			second = second[1:]
			from, to, more = s.Start, s.End, (s.To-s.From)-(s.End-s.Start)
		}
		if from > end || len(all) == 0 {
			all = append(all, Span{Start: from + back, From: from + ahead})
			end = to
		}
		end = max(end, to)
		back, ahead = back+less, ahead+more
		last := &all[len(all)-1]
		last.End, last.To = end+back, end+ahead
	}
	return all
}

// now returns where a part of the original is in the text. ok is false if it was changed.
func (d *draft) now(start, end int) (from, to int, ok bool) {
	shift := 0
	for _, s := range d.spans {
		if s.Start < end && s.End > start || s.Start > start && s.Start < end {
			return 0, 0, false
		}
		if s.End <= start {
			shift = s.To - s.End
		}
	}
	return start + shift, end + shift, true
}
