package judge

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// redirections judges redirections, sets what the statement reads, and returns
// the files it writes to.
func (j *judge) redirections(s *scope, list []*syntax.Redirect) []arg {
	var outputs []arg
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			s.in = j.hereDoc(s, r)
			continue
		}
		to := oneOf(j.fields(s, []*syntax.Word{r.Word}))
		switch r.Op {
		case syntax.WordHdoc:
			s.in = streamOf(arg{text: to.text + "\n", taint: to.taint})
		case syntax.RdrIn:
			s.in = j.input(s, to)
		case syntax.DplIn:
			s.in = stream{from: anyText}
			if isDescriptor(to.text) {
				continue
			}
			j.read(s, to)
		case syntax.DplOut:
			if !isDescriptor(to.text) {
				j.write(s, to, "writes to")
				outputs = append(outputs, to)
			}
		case syntax.RdrInOut:
			j.write(s, to, "writes to")
			s.in = stream{from: anyText}
		default:
			j.write(s, to, "writes to")
			outputs = append(outputs, to)
		}
	}
	return outputs
}

// oneOf is the one word that a redirection takes.
func oneOf(fields []arg) arg {
	if len(fields) == 1 {
		return fields[0]
	}
	all := joinArgs(fields)
	if len(fields) == 0 {
		all.text = unknown
	}
	return all
}

// isDescriptor reports whether text is the 1 of 2>&1, or a - that closes.
func isDescriptor(text string) bool {
	return text == "-" || text != "" && strings.Trim(strings.TrimSuffix(text, "-"), "0123456789") == ""
}

// streamOf is what reading a text gives.
func streamOf(a arg) stream {
	if a.static() {
		return stream{from: exactly, text: a.text, taint: a.taint}
	}
	return stream{from: anyText, taint: a.taint}
}

func (j *judge) hereDoc(s *scope, r *syntax.Redirect) stream {
	if r.Hdoc == nil {
		return stream{from: exactly}
	}
	var body arg
	if raw(r.Word) {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				body.text += lit.Value
			}
		}
	} else {
		b := builder{j: j, s: s, whole: true, open: true}
		b.all(r.Hdoc.Parts, true)
		body = b.joined()
	}
	if r.Op == syntax.DashHdoc {
		body.text = strings.ReplaceAll("\n"+body.text, "\n\t", "\n")[1:]
	}
	return streamOf(body)
}

// raw reports whether the word that ends a here-document has quotes, so that
// nothing in the document is expanded.
func raw(end *syntax.Word) bool {
	for _, p := range end.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return true
		}
	}
	return false
}

// input is what reading a file gives.
func (j *judge) input(s *scope, from arg) stream {
	if from.input != nil {
		return *from.input
	}
	j.read(s, from)
	for _, p := range s.resolve(from.text) {
		switch content := j.files[p]; len(content) {
		case 0:
		case 1:
			return content[0]
		default:
			return stream{from: anyText, taint: content[0].taint | content[1].taint}
		}
	}
	if p := from.text; p == "/dev/null" {
		return stream{from: exactly}
	}
	return stream{from: aFile, text: from.text, taint: from.taint}
}

// maxContents is how many contents a file may have at different times.
const maxContents = 8

// wrote remembers what was written to a file, for when it is run.
func (j *judge) wrote(s *scope, file arg, content stream) {
	if !file.static() || content.from == nothing {
		content.from = anyText
	}
	for _, p := range s.resolve(file.text) {
		if j.files == nil {
			j.files = map[string][]stream{}
		}
		before := j.files[p]
		if len(before) >= maxContents {
			content = stream{from: anyText, taint: content.taint}
			before = before[:maxContents-1]
		}
		j.files[p] = append(before, content)
		if n := len(before); n > 0 && n+1 < maxContents { // it may have been appended
			j.files[p] = append(j.files[p], before[n-1].and(content))
		}
	}
}

// write judges writing to a file.
func (j *judge) write(s *scope, to arg, doing string) {
	if to.input != nil {
		return
	}
	switch j.place(s, to) {
	case harmlessPlace:
	case netPlace:
		j.hit(remoteHand, to.shown())
	case devicePlace:
		j.hit(writeDisk, to.shown())
	case kernelPlace:
		j.hit(kernelTree, to.shown())
	case enginePlace:
		j.hit(dockerSock, to.shown())
	case startPlace:
		j.hit(persist, to.shown())
	case ourPlace:
		j.hit(ourselves, to.shown())
	case insidePlace, globPlace, tempPlace:
		risk := tool.Writes
		if j.own == nil && j.rules.Mode == Unknown { // a redirection: no pattern speaks for it
			risk = tool.Runs
		}
		j.raise(risk, doing+" "+to.shown())
	case rootPlace, abovePlace, secretPlace, homePlace, otherPlace:
		j.raise(tool.Destroys, doing+" "+to.shown()+", outside the workspace")
	case systemPlace, topPlace:
		j.hit(systemPath, to.shown())
	case unknownPlace:
		j.always = false
		j.raise(tool.Destroys, "cannot be told before it runs: where it "+doing+" ("+to.shown()+")")
	}
}

// read judges reading a file.
func (j *judge) read(s *scope, from arg) {
	if from.input != nil {
		return
	}
	switch j.place(s, from) {
	case netPlace:
		j.hit(remoteHand, from.shown())
	case environPlace:
		j.hit(environ, from.shown())
	case secretPlace:
		j.hit(secretFile, from.shown())
	case enginePlace:
		j.hit(dockerSock, from.shown())
	case ourPlace:
		j.hit(ourselves, from.shown())
	case devicePlace:
		j.raise(tool.Runs, "reads the device "+from.shown())
	case homePlace, otherPlace, abovePlace:
		if !j.req.Sealed {
			j.raise(tool.Runs, "reads outside the workspace: "+from.shown())
		}
	}
}
