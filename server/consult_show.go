package server

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// What a list says of a thing, at most, in bytes.
const (
	maxNameShown = 200
	maxDocShown  = 1000
)

// scrubFinding returns f without credentials, and how many were removed.
func (s *Server) scrubFinding(f Finding) (clean Finding, removed map[string]int) {
	r := redactor{scrub: s.scrub}
	f.Resources, f.Templates, f.Prompts = slices.Clone(f.Resources), slices.Clone(f.Templates), slices.Clone(f.Prompts)
	f.Values, f.Filled.Messages = slices.Clone(f.Values), slices.Clone(f.Filled.Messages)
	for i := range f.Resources {
		one := &f.Resources[i]
		r.texts(&one.URI, &one.Name, &one.Title, &one.Description, &one.MIME)
	}
	for i := range f.Templates {
		one := &f.Templates[i]
		r.texts(&one.URI, &one.Name, &one.Title, &one.Description, &one.MIME)
	}
	for i := range f.Prompts {
		one := &f.Prompts[i]
		r.texts(&one.Name, &one.Title, &one.Description)
		one.Arguments = slices.Clone(one.Arguments)
		for k := range one.Arguments {
			a := &one.Arguments[k]
			r.texts(&a.Name, &a.Title, &a.Description)
		}
	}
	for i := range f.Values {
		r.texts(&f.Values[i])
	}
	r.texts(&f.Filled.Description)
	f.Parts = r.parts(f.Parts)
	for i, m := range f.Filled.Messages {
		f.Filled.Messages[i].Part = r.parts([]tool.Part{m.Part})[0]
	}
	return f, r.removed
}

func (r *redactor) texts(texts ...*string) {
	for _, one := range texts {
		*one = r.text(*one)
	}
}

func (r *redactor) parts(parts []tool.Part) []tool.Part {
	parts = r.result(tool.Result{Parts: parts}).Parts
	for i := range parts {
		parts[i].MIME = r.text(parts[i].MIME)
	}
	return parts
}

// bound shortens what is too long for anybody. Names of prompts and of their
// arguments, and URIs, are never shortened: half of one names something else.
func (c *call) bound(f Finding) Finding {
	for i := range f.Resources {
		r := &f.Resources[i]
		abridge(&r.Description, &r.Name, &r.Title)
	}
	for i := range f.Templates {
		t := &f.Templates[i]
		abridge(&t.Description, &t.Name, &t.Title)
	}
	for i := range f.Prompts {
		one := &f.Prompts[i]
		abridge(&one.Description, &one.Title)
		for k := range one.Arguments {
			a := &one.Arguments[k]
			abridge(&a.Description, &a.Title)
		}
	}
	room := c.now.Limits.ResultHard
	f.Resources = fitting(c, &room, f.Resources)
	f.Templates = fitting(c, &room, f.Templates)
	f.Prompts = fitting(c, &room, f.Prompts)
	f.Filled.Description = text.Clip(f.Filled.Description, maxDocShown)
	for i := range f.Parts {
		f.Parts[i] = fit(f.Parts[i], &room)
	}
	for i := range f.Filled.Messages {
		m := &f.Filled.Messages[i]
		m.Part = fit(m.Part, &room)
	}
	f.Values = among(f.Values, func(v string) bool { return len(v) <= maxURI }) // half a value is another
	if len(f.Values) > maxCompletions {
		f.Values, f.More = f.Values[:maxCompletions], true
	}
	return f
}

// abridge bounds what is only there to be looked at.
func abridge(doc *string, names ...*string) {
	*doc = text.Clip(*doc, maxDocShown)
	for _, name := range names {
		*name = text.Clip(*name, maxNameShown)
	}
}

// fitting is as much of a list as there is room for.
func fitting[T any](c *call, room *int, list []T) []T {
	for i, one := range list {
		written, err := json.Marshal(one)
		if *room -= len(written); err != nil || *room < 0 {
			c.server.log.Error("the library lists more than there is room for", "left out", len(list)-i)
			return list[:i]
		}
	}
	return list
}

// fit cuts a part down to the room that is left.
func fit(part tool.Part, room *int) tool.Part {
	left := max(*room, 0)
	*room -= len(part.Text) + len(part.Data)
	switch {
	case len(part.Data) > left:
		part.Text = fmt.Sprintf("[%s of %d bytes left out: that is more than there is room for]", part.MIME,
			len(part.Data))
		part.Data, part.MIME = nil, "text/plain"
	case len(part.Text) > left:
		cut := runeStart(part.Text, left)
		part.Text = fmt.Sprintf("%s\n[the other %d bytes left out: that is more than there is room for]",
			part.Text[:cut], len(part.Text)-cut)
	}
	return part
}

// size is the number of bytes of text and data that f carries, or of what it lists.
func (f Finding) size() int {
	n := tool.Result{Parts: f.Parts}.Size()
	for _, m := range f.Filled.Messages {
		n += len(m.Part.Text) + len(m.Part.Data)
	}
	if n > 0 {
		return n
	}
	return len(f.written())
}

func (f Finding) digest() digest { return sum("finding", f.written()) }

func (f Finding) written() []byte {
	written, err := json.Marshal(f)
	if err != nil { // strings, numbers and times
		return nil
	}
	return written
}
