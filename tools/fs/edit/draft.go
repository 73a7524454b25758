package edit

import (
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A draft is a text that is being edited.
type draft struct {
	original, text string
	spans          []Span // from original to text
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
		return nil, emptyOld()
	case e.Old == e.New:
		return nil, identical()
	}
	return d.rewrite(e, 0, len(d.text))
}

// rewrite makes e between two positions.
func (d *draft) rewrite(e Edit, from, to int) ([]match, error) {
	found := find(d.text[from:to], e.Old, e.New)
	for i := range found {
		found[i].start, found[i].end = found[i].start+from, found[i].end+from
	}
	switch {
	case len(found) == 0:
		return nil, d.missing(e, from, to)
	case len(found) > 1 && !e.All:
		return nil, several(d.text, found)
	case len(found) == maxPlaces:
		return nil, tooMany()
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
		if size += len(news[i]) - (m.end - m.start); size > maxText {
			return nil, tooLong()
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

// replace replaces the matches, which are in order, by new texts.
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
