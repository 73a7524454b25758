package server

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// What a list says of a thing, at most, in bytes.
const (
	maxNameShown = 200
	maxDocShown  = 1000
)

// redact takes credentials out of everything that a reader could see.
func (p *passage) redact(f Finding) Finding {
	f.Resources, f.Templates, f.Prompts = slices.Clone(f.Resources), slices.Clone(f.Templates), slices.Clone(f.Prompts)
	f.Values, f.Filled.Messages = slices.Clone(f.Values), slices.Clone(f.Filled.Messages)
	for i := range f.Resources {
		r := &f.Resources[i]
		p.cleanAll(&r.URI, &r.Name, &r.Title, &r.Description, &r.MIME)
	}
	for i := range f.Templates {
		t := &f.Templates[i]
		p.cleanAll(&t.URI, &t.Name, &t.Title, &t.Description, &t.MIME)
	}
	for i := range f.Prompts {
		one := &f.Prompts[i]
		p.cleanAll(&one.Name, &one.Title, &one.Description)
		one.Arguments = slices.Clone(one.Arguments)
		for k := range one.Arguments {
			a := &one.Arguments[k]
			p.cleanAll(&a.Name, &a.Title, &a.Description)
		}
	}
	for i := range f.Values {
		p.cleanAll(&f.Values[i])
	}
	p.cleanAll(&f.Filled.Description)
	f.Parts = p.redactParts(f.Parts)
	for i, m := range f.Filled.Messages {
		f.Filled.Messages[i].Part = p.redactParts([]tool.Part{m.Part})[0]
	}
	return f
}

func (p *passage) cleanAll(texts ...*string) {
	for _, text := range texts {
		*text = p.clean(*text)
	}
}

func (p *passage) redactParts(parts []tool.Part) []tool.Part {
	parts = p.scrub(tool.Result{Parts: parts}).Parts
	for i := range parts {
		parts[i].MIME = p.clean(parts[i].MIME)
	}
	return parts
}

// bound shortens what is too long for anybody. Names of prompts and of their
// arguments, and URIs, are never shortened: half of one names something else.
func (p *passage) bound(f Finding) Finding {
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
	room := p.now.Limits.ResultHard
	f.Resources = fitting(p, &room, f.Resources)
	f.Templates = fitting(p, &room, f.Templates)
	f.Prompts = fitting(p, &room, f.Prompts)
	f.Filled.Description = clip(f.Filled.Description, maxDocShown)
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
	*doc = clip(*doc, maxDocShown)
	for _, name := range names {
		*name = clip(*name, maxNameShown)
	}
}

// fitting is as much of a list as there is room for.
func fitting[T any](p *passage, room *int, list []T) []T {
	for i, one := range list {
		written, err := json.Marshal(one)
		if *room -= len(written); err != nil || *room < 0 {
			p.server.log.Error("the library lists more than there is room for", "left out", len(list)-i)
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
		part.Text = fmt.Sprintf("[%s of %d bytes left out: that is more than there is room for]", part.MIME, len(part.Data))
		part.Data, part.MIME = nil, "text/plain"
	case len(part.Text) > left:
		cut := runeStart(part.Text, left)
		part.Text = fmt.Sprintf("%s\n[the other %d bytes left out: that is more than there is room for]", part.Text[:cut], len(part.Text)-cut)
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
