// Package edit finds the place in a text that somebody means and replaces it,
// without another byte becoming different, and shows what did.
//
// Whoever wants to change a text often remembers it a little wrong. So a place
// is looked for on a ladder of rungs: exactly first, then with one known sort
// of difference after the other, and each time only one place may be meant.
// The rung that held is told, what is put in takes on the look of what it
// replaces, and what is nowhere is answered with what is nearest.
//
// It knows texts and their encodings, and neither files nor tools. Begin with
// [Apply]; ladder.go has the rungs, rebuild.go the replacing. [Unified] and
// [Candidates] are of use by themselves. [Stream] is for files that are too
// large to be held in memory.
package edit

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// An Edit is one replacement. With At it is made in these lines only: of the
// form 12#a3 or 12#a3-15#f1, numbers and the marks that [textfile.Anchor] gives. An
// edit with At and no Old replaces the lines.
type Edit struct {
	Old, New string
	All      bool // in all places, and not in the only one
	At       string
}

// An Outcome tells what edits did.
type Outcome struct {
	Content  string // what the text became, in its encoding
	Encoding string
	Replaced int    // places
	Rungs    []Rung // those other than Exact that were needed
	Spans    []Span // what changed, of the decoded text
	shown    passage
}

// Diff is what the edits changed, like [Unified] but for reading: long lines are
// cut to where they differ, and carriage returns are left out, or are seen where
// not all lines have one.
func (o Outcome) Diff(context, maxBytes int) string {
	w := diffWriter{context: context, most: maxBytes, readable: true}
	return w.diff("", o.shown)
}

// Texts are what was edited and what came of it, decoded.
func (o Outcome) Texts() (before, after string) { return o.shown.before, o.shown.after }

// maxText is how large a text may become.
const maxText = 64 << 20

// Apply makes the edits one after the other, each in what the one before made
// of the text, or none of them. Anchors name lines of the text as it was.
// Errors are written for the model.
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

// open decodes content and returns how to turn it back. Bytes that are no
// characters stay what they are, where that is possible.
func open(content string) (decoded, encoding string, encode func(string) (string, error), err error) {
	asIs := func(text string) (string, error) { return text, nil }
	if utf8.ValidString(content) && strings.IndexByte(content, 0) < 0 && !strings.HasPrefix(content, "\uFEFF") {
		return content, textfile.UTF8, asIs, nil // like most, and decoding would only take longer
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
