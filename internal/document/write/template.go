package write

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const maxItems = 10_000 // of a list that is filled in

// A template is a Word document or a presentation with placeholders: {{name}}, {{client.name}}, and in rows of tables and
// in paragraphs {{items.price}}, which are repeated for each element of the list.
type template struct {
	ctx    context.Context
	values map[string]any
	used   map[string]bool
	empty  map[string]bool // placeholders without a value
	size   int             // bytes that were written

	in       *input
	pictures map[string][]byte // by their names in values
	media    map[string]string // the parts that have them
	drawn    []drawn           // in the order of their marks
	shown    map[string]bool   // parts of pictures in the part that is being filled in
}

// placeholder finds a placeholder in the text of a paragraph.
var placeholder = text.Pattern(`\{\{\s*([\p{L}\p{N}_.\- ]{0,99}[\p{L}\p{N}_\-])\s*\}\}`)

// filledParts are the parts of documents that have text.
var filledParts = text.Pattern(`^(word/(document|header\d*|footer\d*|footnotes|endnotes)|ppt/(slides|notesSlides)/[^/]+)\.xml$`)

// fill fills in a template.
func fill(ctx context.Context, s Source, kind string) (*document.Written, error) {
	in, err := s.open(ctx, kind)
	if err != nil {
		return nil, err
	}
	if kinds := append(in.foreign(), in.loading()...); len(kinds) > 0 {
		return nil, broken("the template has links to other files or programs (%s), which would be followed by the program that opens "+
			"the document; remove them, and save it again", strings.Join(kinds, ", "))
	}
	if kind != "docx" && len(s.Pictures) > 0 {
		return nil, broken("pictures are filled in Word templates only; put the picture into the presentation template")
	}
	t := &template{ctx: ctx, values: map[string]any{}, used: map[string]bool{}, empty: map[string]bool{},
		in: in, pictures: s.Pictures, media: map[string]string{}, shown: map[string]bool{}}
	if len(s.Values) > 0 {
		d := json.NewDecoder(bytes.NewReader(s.Values))
		d.UseNumber()
		if err := d.Decode(&t.values); err != nil {
			return nil, broken(`the values of a template are an object, such as {"name":"Ann","items":[{"price":5}]}`)
		}
	}
	replaced := map[string]string{}
	for _, name := range in.names {
		if !filledParts().MatchString(name) {
			continue
		}
		source, err := in.Read(name)
		if err != nil {
			return nil, err
		}
		root, err := outline(ctx, string(source))
		if err != nil {
			return nil, broken("the part %.60q of the template is not valid: %v", name, err)
		}
		before := len(t.used)
		made, err := t.render(root, t.values)
		if err != nil {
			return nil, err
		}
		if len(t.used) > before || made != string(source) {
			replaced[name] = made
			if err := t.relate(name, replaced); err != nil {
				return nil, err
			}
		}
	}
	empty := slices.Sorted(maps.Keys(t.empty))
	if len(replaced) == 0 {
		if len(empty) == 0 {
			return nil, broken("the template has no placeholders; write them as {{name}}")
		}
		return nil, broken(`the template has the placeholders %.500q, and "values" has none of them`, empty)
	}
	var notes []string
	if len(empty) > 0 {
		notes = append(notes, fmt.Sprintf("these placeholders have no value, and were left as they are: %.500q", empty))
	}
	for name := range t.values {
		if !t.used[name] {
			notes = append(notes, fmt.Sprintf("the template has no placeholder for %.60q", name))
		}
	}
	slices.Sort(notes)
	content, err := in.repack(replaced)
	return &document.Written{Content: content, Notes: notes[:min(len(notes), 20)]}, err
}

// A span is an element of a part that matters here: a row, a paragraph, a run or a text.
type span struct {
	name          string // tr, p, r or t; empty for the whole part
	source        string // of the part
	start, end    int    // of the element
	inside, until int    // of its content
	text          string // of a text
	word          bool   // of Word, not of a presentation
	kids          []*span
	parent        *span
}

// outline finds the rows, paragraphs, runs and texts of a part.
func outline(ctx context.Context, source string) (*span, error) {
	root := &span{source: source, end: len(source), until: len(source)}
	d := xml.NewDecoder(strings.NewReader(source))
	open, depth := []*span{root}, 0
	names := []string{}
	for count := 0; ; count++ {
		start := int(d.InputOffset())
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if depth != 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		if count%10_000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at := open[len(open)-1]
		switch token := token.(type) {
		case xml.Directive:
			return nil, errors.New("it defines entities or a document type")
		case xml.StartElement:
			if depth++; depth > document.DefaultLimits().Depth {
				return nil, errors.New("its elements are nested too deep")
			}
			names = append(names, token.Name.Space+":"+token.Name.Local)
			if name := token.Name.Local; (token.Name.Space == "w" || token.Name.Space == "a") && slices.Contains([]string{"tr", "p", "r", "t"}, name) {
				s := &span{name: name, source: source, start: start, inside: int(d.InputOffset()), word: token.Name.Space == "w", parent: at}
				at.kids = append(at.kids, s)
				open = append(open, s)
			}
		case xml.EndElement:
			name := token.Name.Space + ":" + token.Name.Local
			if depth == 0 || names[depth-1] != name {
				return nil, fmt.Errorf("the element %.40q is not closed", name)
			}
			depth--
			names = names[:depth]
			if at.name != "" && token.Name.Local == at.name && (token.Name.Space == "w") == at.word {
				at.until, at.end = start, int(d.InputOffset())
				open = open[:len(open)-1]
			}
		case xml.CharData:
			if at.name == "t" {
				at.text += string(token)
			}
		}
	}
}

// texts returns the texts of a paragraph, without the texts of paragraphs in it.
func (s *span) texts() (all []*span) {
	for _, kid := range s.kids {
		switch kid.name {
		case "t":
			all = append(all, kid)
		case "p", "tr":
		default:
			all = append(all, kid.texts()...)
		}
	}
	return all
}

// joined returns the text of a paragraph, or of all paragraphs in a row but those of tables in it.
func (s *span) joined() string {
	var b strings.Builder
	for _, t := range s.texts() {
		b.WriteString(t.text)
	}
	if s.name != "p" {
		for _, kid := range s.kids {
			if kid.name == "p" {
				b.WriteString("\n" + kid.joined())
			}
		}
	}
	return b.String()
}

// render returns an element with its placeholders filled in. A row or a paragraph that names a list is repeated.
func (t *template) render(s *span, values map[string]any) (string, error) {
	if err := t.ctx.Err(); err != nil {
		return "", err
	}
	if s.name == "tr" || s.name == "p" {
		if name, list := t.list(s, values); name != "" {
			return t.repeat(s, name, list, values)
		}
	}
	var changed map[*span]string
	if s.name == "p" {
		changed = t.replace(s, values)
	}
	return t.copy(s, values, changed)
}

// copy returns the source of an element with its elements rendered, and the texts that were changed.
func (t *template) copy(s *span, values map[string]any, changed map[*span]string) (string, error) {
	var b strings.Builder
	at := s.start
	for _, kid := range s.kids {
		b.WriteString(s.source[at:kid.start])
		at = kid.end
		if made, ok := changed[kid]; ok {
			b.WriteString(made)
			continue
		}
		var made string
		var err error
		if kid.name == "r" || kid.name == "t" {
			made, err = t.copy(kid, values, changed)
		} else {
			made, err = t.render(kid, values)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(made)
	}
	b.WriteString(s.source[at:s.end])
	return b.String(), nil
}

// list returns the list that the placeholders of a row or a paragraph name, if there is one.
func (t *template) list(s *span, values map[string]any) (string, []any) {
	for _, match := range placeholder().FindAllStringSubmatch(s.joined(), -1) {
		name, _, _ := strings.Cut(match[1], ".")
		if list, ok := values[name].([]any); ok {
			return name, list
		}
	}
	return "", nil
}

func (t *template) repeat(s *span, name string, list []any, values map[string]any) (string, error) {
	t.used[name] = true
	if len(list) > maxItems {
		return "", document.Errorf(document.ErrTooBig, "the list %.60q has more than %d elements", name, maxItems)
	}
	if len(list) == 0 && s.name == "p" {
		list = []any{nil} // a cell without a paragraph is not valid
	}
	var b strings.Builder
	for _, item := range list {
		own := maps.Clone(values)
		if own[name] = item; item == nil {
			own[name] = nothing{}
		}
		made, err := t.render(s, own)
		if err != nil {
			return "", err
		}
		if t.size += len(made); t.size > maxInput/2 {
			return "", document.Errorf(document.ErrTooBig, "the document would be too large; use shorter lists")
		}
		b.WriteString(made)
	}
	return b.String(), nil
}

// nothing is the element of an empty list: all that is asked of it is empty.
type nothing struct{}

// value returns the value at a path such as client.name.
func (t *template) value(path string, values map[string]any) (string, bool) {
	name, rest, more := strings.Cut(path, ".")
	v, ok := values[name]
	for ok && more {
		if _, empty := v.(nothing); empty {
			return "", true
		}
		var inner map[string]any
		if inner, ok = v.(map[string]any); ok {
			name, rest, more = strings.Cut(rest, ".")
			v, ok = inner[name]
		}
	}
	if !ok {
		return "", false
	}
	switch v := v.(type) {
	case nil, nothing:
		return "", true
	case string:
		return readable(v), true
	case bool, json.Number:
		return fmt.Sprint(v), true
	case map[string]any:
		return t.picture(v)
	}
	return "", false
}

// replace returns the texts of a paragraph that change. A placeholder may begin in one text and end in another: programs
// split text where they like.
func (t *template) replace(p *span, values map[string]any) map[*span]string {
	all := p.texts()
	var joined strings.Builder
	for _, one := range all {
		joined.WriteString(one.text)
	}
	type change struct {
		from, to int
		value    string
	}
	var changes []change
	for _, m := range placeholder().FindAllStringSubmatchIndex(joined.String(), -1) {
		path := joined.String()[m[2]:m[3]]
		value, ok := t.value(path, values)
		if !ok {
			t.empty[path] = true
			continue
		}
		name, _, _ := strings.Cut(path, ".")
		t.used[name] = true
		changes = append(changes, change{m[0], m[1], value})
	}
	changed := map[*span]string{}
	at := 0
	for _, one := range all {
		from, to := at, at+len(one.text)
		at = to
		var b strings.Builder
		touched, done := false, from
		for _, c := range changes {
			if c.to <= from || c.from >= to {
				continue
			}
			touched = true
			b.WriteString(joined.String()[done:max(c.from, done)])
			if c.from >= from {
				b.WriteString(c.value)
			}
			done = min(c.to, to)
		}
		if touched {
			b.WriteString(joined.String()[done:to])
			changed[one] = one.with(b.String(), t.draw)
		}
	}
	return changed
}

// with returns the source of a text element with another text. Lines are broken as the format does.
func (s *span) with(text string, draw func(mark, begin string) string) string {
	begin, line := s.source[s.start:s.inside], ""
	if s.word {
		begin = `<w:t xml:space="preserve">`
		line = "</w:t><w:br/>" + begin
	} else if s.parent.name == "r" {
		line = "</a:t></a:r><a:br/>" + s.source[s.parent.start:s.inside]
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, l := range lines {
		var b strings.Builder
		for j, piece := range strings.Split(l, "\x00") {
			if j%2 == 0 {
				b.WriteString(escape(piece))
			} else {
				b.WriteString(draw(piece, begin))
			}
		}
		lines[i] = b.String()
	}
	if line == "" {
		line = " "
	}
	return begin + strings.Join(lines, line) + s.source[s.until:s.end]
}
