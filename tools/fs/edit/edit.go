// Package edit finds the part of a text that an edit means, replaces it without changing any other byte, and shows the
// difference.
//
// Models often remember a text slightly wrong. So the old text is searched in steps, called rungs: first exactly, then
// ignoring one known kind of difference after the other. A step counts only if it finds one place. The outcome names
// the rung, the new text takes over the style of the text that it replaces, and the error about a missing text shows
// the most similar places.
//
// It knows texts and their encodings, but neither files nor tools. Begin with [Apply]; ladder.go has the rungs,
// rebuild.go the replacing. [Unified] and [Candidates] are useful alone. [Stream] edits files that are too large for
// memory.
package edit

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

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
	Content  string // the new content, in its encoding
	Encoding string
	Replaced int    // number of replacements
	Rungs    []Rung // the rungs other than Exact that were needed
	Spans    []Span // what changed in the decoded text
	shown    passage
}

// Diff returns the changes like [Unified], but for reading: it shortens long lines around the difference, and shows
// carriage returns only if not all lines have one.
func (o Outcome) Diff(context, maxBytes int) string {
	w := diffWriter{context: context, most: maxBytes, readable: true}
	return w.diff("", o.shown)
}

// Texts returns the decoded text before and after the edits.
func (o Outcome) Texts() (before, after string) { return o.shown.before, o.shown.after }

// maxText is the maximum size of an edited text.
const maxText = 64 << 20

// Apply makes the edits in order, each in the result of the one before, or none of them. Anchors refer to the lines of
// the original text. Errors are written for the model.
func Apply(ctx context.Context, content string, edits []Edit) (Outcome, error) {
	before, encoding, encode, err := open(content)
	if err != nil {
		return Outcome{}, err
	}
	d := draft{original: before, text: before}
	o := Outcome{Encoding: encoding}
	for i, e := range edits {
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
		found, err := d.apply(e)
		if err != nil {
			return Outcome{}, numbered(err, i, len(edits))
		}
		o.Replaced += len(found)
		for _, m := range found {
			o.Rungs = append(o.Rungs, m.rungs...)
		}
		slices.Sort(o.Rungs)
		o.Rungs = slices.Compact(o.Rungs)
	}
	if d.text == before {
		return Outcome{}, unchanged()
	}
	if o.Content, err = encode(d.text); err != nil {
		return Outcome{}, unwritable(err)
	}
	o.Spans = d.spans
	o.shown = passage{before: before, after: d.text, spans: d.spans}
	return o, nil
}

// open decodes content and returns a function that encodes it again. Invalid bytes stay unchanged if possible.
func open(content string) (decoded, encoding string, encode func(string) (string, error), err error) {
	asIs := func(text string) (string, error) { return text, nil }
	if utf8.ValidString(content) && strings.IndexByte(content, 0) < 0 && !strings.HasPrefix(content, "\uFEFF") {
		return content, textfile.UTF8, asIs, nil // the usual case, which needs no decoding
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
	return "", "", nil, damaged(doc.Encoding)
}
