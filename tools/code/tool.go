package code

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

// codeTool is the tool that finds and renames code by name.
type codeTool struct{ room *Room }

type codeArgs struct {
	Action  string `json:"action" jsonschema:"question to answer" enum:"symbols,definition,references,callers,implementations,hover,diagnostics,rename"`
	Name    string `json:"name,omitempty" jsonschema:"symbol, such as parse or Server.parse" alias:"symbol,query"`
	Path    string `json:"path,omitempty" jsonschema:"file that has the name; needed for symbols of a file and for diagnostics" alias:"file,file_path"`
	Line    int    `json:"line,omitempty" jsonschema:"line of the name, if the file has it several times"`
	NewName string `json:"new_name,omitempty" jsonschema:"name after rename" alias:"to"`
	Page    int    `json:"page,omitempty" jsonschema:"page of the answer, default 1"`
}

func (codeTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "code", Group: group, Title: "Ask about code", Risk: tool.Runs, Timeout: 5 * time.Minute,
		Doc: `Finds code by meaning, with the language's own server, and returns the code itself: definition of a name, its
references, callers or implementations, symbols of a file, problems. rename changes all files at once and can be undone.
For text use search.`,
		Also: []string{"LSP", "lsp", "find_symbol", "find_references", "go_to_definition"},
		Keywords: "symbol definition references callers implementations usages hover type signature rename refactor outline " +
			"diagnostics errors warnings compile language server lsp function class method",
	}
}

const (
	actSymbols         = "symbols"
	actDefinition      = "definition"
	actReferences      = "references"
	actCallers         = "callers"
	actImplementations = "implementations"
	actHover           = "hover"
	actDiagnostics     = "diagnostics"
	actRename          = "rename"
)

// Prepare rates a call: a server can change nothing in a sandbox, but anything without one.
func (t codeTool) Prepare(ctx context.Context, a codeArgs) (tool.Plan, error) {
	p := tool.Plan{Risk: tool.Reads, Run: func(ctx context.Context) (tool.Result, error) { return t.room.run(ctx, a) }}
	if a.Action == actRename {
		p.Risk, p.Kept = tool.Writes, true
		p.Why = fmt.Sprintf("renames %.60q to %.60q in all files", a.Name, a.NewName)
	}
	if place, err := t.room.o.Workplace(ctx); err == nil && !place.Isolated {
		p.Risk, p.Kept, p.Why = tool.Runs, false, "asks a language server, which runs without a sandbox here"
	}
	return p, a.check()
}

// check refuses arguments that mean nothing.
func (a codeArgs) check() error {
	switch {
	case a.Action == actDiagnostics && a.Path == "", a.Action == actSymbols && a.Path == "" && a.Name == "":
		return tool.Errorf(tool.Invalid, "%s needs a path", a.Action).Try("give the path of a file")
	case a.Action != actDiagnostics && a.Action != actSymbols && lastPart(plainName(a.Name)) == "":
		return tool.Errorf(tool.Invalid, "%s needs a name", a.Action).Try("give the name of a symbol, and its path if you know it")
	case len(a.Name) > 300 || strings.ContainsAny(a.Name, "\r\n"):
		return tool.Errorf(tool.Invalid, "that is no name of a symbol").Try("give a name such as parse or Server.parse")
	case a.Action == actRename && (a.NewName == "" || len(a.NewName) > 200 || strings.ContainsAny(a.NewName, " \t\r\n\"'`/\\;(){}")):
		return tool.Errorf(tool.Invalid, "new_name is not the name of a symbol").Try("give the new name alone")
	}
	return nil
}

// A question is one call.
type question struct {
	ctx     context.Context
	room    *Room
	args    codeArgs
	secrets *scrub.Scrubber
	texts   map[string]*lsp.Text // of files of the caller, by name; nil if there is no such file
	notes   []string
	lies    int // places that are not in their files
	outside int // places that are not in the workspace
}

// A spot is a place of a name.
type spot struct {
	server   *server // nil: there is none
	language *language
	file     string
	uri      string
	at       lsp.Position
	symbol   *symbol // that is defined there; nil: the name is only used there
}

// run answers a question. A new server is asked if the first was killed before; a server that ends after a longer time needs
// too much memory, and would again.
func (r *Room) run(ctx context.Context, a codeArgs) (tool.Result, error) {
	begun := time.Now()
	res, err := r.ask(ctx, a)
	if errors.Is(err, errLost) && time.Since(begun) < startTime/2 {
		return r.ask(ctx, a)
	}
	return res, err
}

func (r *Room) ask(ctx context.Context, a codeArgs) (tool.Result, error) {
	c := tool.CallerFrom(ctx)
	q := &question{
		ctx: ctx, room: r, args: a, texts: make(map[string]*lsp.Text),
		secrets: r.o.Secrets.For(scrub.Session{Agent: c.Agent, User: c.User, ID: c.Session}),
	}
	var answer string
	var err error
	switch {
	case a.Action == actDiagnostics:
		answer, err = q.diagnostics()
	case a.Action == actSymbols && a.Name == "":
		answer, err = q.fileSymbols()
	default:
		answer, err = q.aboutName()
	}
	if err != nil {
		return tool.Result{}, err
	}
	if q.lies > 0 {
		q.note("%s left out, which the server gave and the files do not have", text.Plural(q.lies, "place"))
	}
	if q.outside > 0 {
		q.note("%s outside of the workspace left out", text.Plural(q.outside, "place"))
	}
	for _, note := range q.notes {
		answer += "\n[" + note + "]"
	}
	return tool.Text(strings.TrimPrefix(answer, "\n")), nil
}

func (q *question) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(q.notes, n) {
		q.notes = append(q.notes, n)
	}
}

// server returns the server for a language, or nil with a note.
func (q *question) server(l *language) (*server, error) {
	s, err := q.room.server(q.ctx, l)
	var none *errNoServer
	if errors.As(err, &none) {
		q.note("%s: this is found by patterns, not by meaning", none.why)
		return nil, nil
	}
	if err == nil {
		err = s.refresh(q.ctx)
	}
	return s, err
}

// text returns the text of a file, or nil.
func (q *question) text(name string) *lsp.Text {
	t, known := q.texts[name]
	if !known {
		_, t, _ = q.room.read(q.ctx, "./"+name) // nil for a file that the caller does not see
		q.texts[name] = t
	}
	return t
}

// open reads a file and its symbols, by the server if there is one.
func (q *question) open(name string, l *language, s *server) (sp spot, t *lsp.Text, all []symbol, err error) {
	sp = spot{server: s, language: l, file: name}
	if s == nil {
		if t = q.text(name); t == nil {
			return sp, nil, nil, tool.Errorf(tool.NotFound, "no file %q", name).Try("call glob to find it")
		}
		return sp, t, l.outline(t), nil
	}
	f, err := s.file(q.ctx, name)
	if err != nil {
		return sp, nil, nil, err
	}
	sp.file, sp.uri = f.name, f.uri
	q.texts[f.name] = f.text
	all, err = s.symbols(q.ctx, f)
	return sp, f.text, all, err
}

// languageOf returns the language of a file of the caller, with its name.
func (q *question) languageOf(given string) (name string, l *language, err error) {
	f, t, err := q.room.read(q.ctx, given)
	if err != nil {
		return "", nil, err
	}
	if l = of(q.room.languages, f.Name); l == nil {
		return "", nil, tool.Errorf(tool.Unavailable, "no language is known for %q", f.Name).Try("use read_file and search")
	}
	q.texts[f.Name] = t
	return f.Name, l, nil
}

// spots returns the places that the arguments name.
func (q *question) spots() ([]spot, error) {
	if q.args.Path == "" {
		return q.everywhere()
	}
	name, l, err := q.languageOf(q.args.Path)
	if err != nil {
		return nil, err
	}
	s, err := q.server(l)
	if err != nil {
		return nil, err
	}
	sp, t, all, err := q.open(name, l, s)
	if err != nil {
		return nil, err
	}
	wanted := plainName(q.args.Name)
	if q.args.Line > 0 {
		return q.atLine(sp, t, all, lastPart(wanted))
	}
	if found := matching(sp, all, wanted); len(found) > 0 {
		return q.bodies(found), nil
	}
	for n := range t.Lines() { // it is used there
		line := t.Line(n)
		if i := wordAt(line, lastPart(wanted), 0); i >= 0 && !isComment(line) && !isQuoted(line[:i]) {
			sp.at = t.Position(t.Start(n) + i)
			return []spot{sp}, nil
		}
	}
	return nil, tool.Errorf(tool.NotFound, "%s does not have %q", name, q.args.Name).Try("leave out path, or use search")
}

// isQuoted reports whether a string literal seems to be open after the beginning of a line.
func isQuoted(before string) bool {
	return slices.ContainsFunc([]string{`"`, "'", "`"}, func(mark string) bool { return strings.Count(before, mark)%2 == 1 })
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "*") || strings.HasPrefix(line, "/*") || strings.HasPrefix(line, "# ")
}

// atLine returns the place of a word at a line, or near it.
func (q *question) atLine(sp spot, t *lsp.Text, all []symbol, word string) ([]spot, error) {
	for _, by := range []int{0, 1, -1, 2, -2, 3, -3} {
		n := q.args.Line - 1 + by
		i := wordAt(t.Line(n), word, 0)
		if i < 0 {
			continue
		}
		sp.at = t.Position(t.Start(n) + i)
		for k := range all {
			if all[k].at == sp.at {
				sp.symbol = &all[k]
			}
		}
		return []spot{sp}, nil
	}
	return nil, tool.Errorf(tool.NotFound, "line %d of %s does not have %q", q.args.Line, sp.file, word).
		Try("leave out line, or read the file again")
}

// matching returns the symbols that a name means.
func matching(sp spot, all []symbol, wanted string) (found []spot) {
	add := func(fits func(symbol) bool) {
		for k := range all {
			within := slices.ContainsFunc(found, func(o spot) bool { // a type of C, within its typedef
				return o.symbol.first <= all[k].first && o.symbol.last >= all[k].last
			})
			if len(found) < maxSpots && fits(all[k]) && !within {
				one := sp
				one.symbol, one.at = &all[k], all[k].at
				found = append(found, one)
			}
		}
	}
	add(func(s symbol) bool { return plainName(s.name) == wanted })
	if len(found) == 0 {
		add(func(s symbol) bool { return s.matches(wanted) })
	}
	if i := strings.LastIndexByte(wanted, '.'); i > 0 && len(found) == 0 { // of a package or module
		in := lastPart(wanted[:i])
		if in == path.Base(path.Dir(sp.file)) || in == strings.TrimSuffix(path.Base(sp.file), path.Ext(sp.file)) {
			add(func(s symbol) bool { return s.depth == 0 && s.matches(wanted[i+1:]) })
		}
	}
	return found
}

const (
	maxMentions = 50_000 // lines with a word: its definition may come after all of its uses

	maxSpots = 200
	maxTried = 12 // files whose symbols are asked for
)

// everywhere finds a name in the workspace. Patterns find the files with possible definitions, and the servers
// decide.
func (q *question) everywhere() ([]spot, error) {
	wanted := plainName(q.args.Name)
	word := lastPart(wanted)
	files, err := q.mentions(word, nil)
	if err != nil {
		return nil, err
	}
	var tried, exact, users []search.FileMatches
	for _, f := range files {
		l := of(q.room.languages, f.Name)
		defines, whole := false, false
		for _, line := range f.Lines {
			name, in, _ := l.defined(line.Text)
			defines = defines || line.Match && name == word
			whole = whole || line.Match && name == word && in != "" && strings.HasSuffix(in+"."+name, wanted)
		}
		switch {
		case whole:
			exact = append(exact, f)
		case defines:
			tried = append(tried, f)
		default:
			users = append(users, f)
		}
	}
	if tried = append(exact, tried...); len(exact) > 0 && word != wanted {
		tried = exact
	}
	if tried == nil { // a field, a constant of a group, or a method with its parameters on other lines
		tried = q.near(wanted, users)
	}
	if len(tried) > maxTried {
		q.note("%d files may define %s, %d were asked; give the path of one", len(tried), word, maxTried)
		tried = tried[:maxTried]
	}
	var found []spot
	var first *server
	for _, f := range tried {
		l := of(q.room.languages, f.Name)
		s, err := q.server(l)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = s
		}
		sp, _, all, err := q.open(f.Name, l, s)
		if err != nil {
			return nil, err
		}
		found = append(found, matching(sp, all, wanted)...)
	}
	if len(found) == 0 && first != nil {
		if found, err = q.workspaceSymbols(first, wanted); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		e := tool.Errorf(tool.NotFound, "no symbol %q in the workspace", q.args.Name)
		if len(files) > 0 {
			return nil, e.Try("%s has the word; give path and name, or use search", files[0].Name)
		}
		return nil, e.Try("use search")
	}
	return q.bodies(found[:min(len(found), maxSpots)]), nil
}

// bodies returns the definitions among declarations of C: those with a body, else those that are not extern.
func (q *question) bodies(all []spot) []spot {
	rank := func(sp spot) int {
		if sp.symbol == nil || sp.language.name != "c" {
			return 0
		}
		t := q.text(sp.file)
		from, _ := t.Span(sp.symbol.first)
		_, to := t.Span(min(sp.symbol.last, t.Lines()-1))
		switch code := strings.TrimSpace(t.String()[from:to]); {
		case strings.HasPrefix(code, "extern "):
			return 2
		case strings.HasSuffix(code, ";") && !strings.Contains(code, "{"):
			return 1
		}
		return 0
	}
	best := 2
	for _, sp := range all {
		best = min(best, rank(sp))
	}
	return slices.DeleteFunc(all, func(sp spot) bool { return rank(sp) > best })
}

// near returns a few of the files that use a name: the files that define the symbol around it, if it has one.
func (q *question) near(wanted string, users []search.FileMatches) []search.FileMatches {
	if i := strings.LastIndexByte(wanted, '.'); i > 0 {
		around := lastPart(wanted[:i])
		files, err := q.mentions(around, nil)
		if err != nil {
			return nil
		}
		var homes []search.FileMatches
		for _, f := range files {
			l := of(q.room.languages, f.Name)
			if slices.ContainsFunc(f.Lines, func(line search.Line) bool {
				name, _, _ := l.defined(line.Text)
				return line.Match && name == around
			}) && slices.ContainsFunc(users, func(u search.FileMatches) bool { return u.Name == f.Name }) {
				homes = append(homes, f)
			}
		}
		if homes != nil {
			return homes
		}
	}
	return users[:min(3, len(users))]
}

// mentions returns the files of known languages, or of one, that have a word.
func (q *question) mentions(word string, only *language) ([]search.FileMatches, error) {
	var globs []string
	for _, l := range q.room.languages {
		if only == nil || l == only {
			globs = append(globs, l.sources())
		}
	}
	found, err := q.room.o.Files.Search(q.ctx, search.Query{
		Pattern: word, Literal: true, Word: !strings.ContainsRune(word, '$'), Path: ".", Globs: globs, Limit: maxMentions, MaxLine: maxLine,
		Secrets: q.secrets,
	})
	return found.Files, err
}

// workspaceSymbols asks a server for a symbol of the workspace.
func (q *question) workspaceSymbols(s *server, wanted string) (found []spot, err error) {
	var answer []lsp.Symbol
	if err := s.call(q.ctx, "workspace/symbol", map[string]any{"query": lastPart(wanted)}, &answer); err != nil {
		return nil, err
	}
	for _, one := range answer {
		if len(found) >= maxTried {
			break
		}
		sym := symbol{name: text.Clip(tool.Line(one.Name), 200)}
		if !sym.matches(wanted) && !(symbol{name: one.Container + "." + one.Name}).matches(wanted) {
			continue
		}
		name, t := q.place(s, one.Location.URI, one.Location.Range.Start)
		if t == nil {
			continue
		}
		f, err := s.file(q.ctx, "./"+name)
		if err != nil {
			return nil, err
		}
		at := onName(t, one.Location.Range.Start, lastPart(plainName(sym.name)))
		sym.first, sym.at, sym.kind = at.Line, at, lsp.KindName(one.Kind)
		sym.last = blockEnd(t, at.Line)
		found = append(found, spot{server: s, language: s.language, file: f.name, uri: f.uri, at: at, symbol: &sym})
	}
	return found, nil
}

// place returns the file and the text of a place that a server gives, or nil for a place that the caller does not have.
func (q *question) place(s *server, uri string, at lsp.Position) (string, *lsp.Text) {
	name := s.nameOf(uri)
	if name == "" {
		q.outside++
		return "", nil
	}
	t := q.text(name)
	if t == nil {
		q.outside++
		return "", nil
	}
	if _, ok := t.Offset(at); !ok {
		q.lies++
		return "", nil
	}
	return name, t
}

// aboutName answers a question about a name.
func (q *question) aboutName() (string, error) {
	all, err := q.spots()
	if err != nil {
		return "", err
	}
	switch q.args.Action {
	case actSymbols:
		return q.listSpots(all), nil
	case actDefinition:
		return q.definition(all)
	}
	if len(all) > 1 && !overloaded(all) {
		return "", tool.Errorf(tool.Invalid, "%q is defined %d times: %s", q.args.Name, len(all), q.choices(all)).
			Try("give path, and line if the file has it several times")
	}
	sp := all[0]
	switch q.args.Action {
	case actReferences, actCallers:
		return q.references(sp)
	case actImplementations:
		return q.implementations(sp)
	case actHover:
		return q.hover(sp)
	}
	return q.rename(sp)
}

// overloaded reports whether all spots are declarations of one name in one file.
func overloaded(all []spot) bool {
	return !slices.ContainsFunc(all, func(sp spot) bool {
		return sp.symbol == nil || sp.file != all[0].file || plainName(sp.symbol.name) != plainName(all[0].symbol.name)
	})
}

func (q *question) choices(all []spot) string {
	var b strings.Builder
	for i, sp := range all[:min(len(all), 10)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s:%d", sp.file, sp.at.Line+1)
		if sp.symbol != nil {
			fmt.Fprintf(&b, " %s", sp.symbol.name)
		}
	}
	return b.String()
}
