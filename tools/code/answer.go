package code

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

// Entries of a page.
const (
	symbolsPage     = 150
	referencesPage  = 60
	definitionsPage = 4
)

const (
	maxShownLine = 240    // bytes
	maxBody      = 80     // lines of a definition
	maxPlaces    = 10_000 // that a server gives
)

// page returns the entries of the page that was asked for, and notes how to get the next one.
func page[E any](q *question, all []E, size int) []E {
	n := max(1, q.args.Page)
	from := min((n-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		q.note("%d to %d of %d; page %d has the next", from+1, to, len(all), n+1)
	} else if from >= len(all) && n > 1 {
		q.note("there is no page %d", n)
	}
	return all[from:to]
}

// show writes a part of a line of a file, with masks for secrets.
func (q *question) show(file string, t *lsp.Text, line int) string {
	from, to := t.Span(line)
	cut := min(to, from+maxShownLine)
	shown := q.secrets.Secrets(t.String(), from, cut).Marked(file).Lines(from, cut)
	if cut < to {
		shown = strings.ToValidUTF8(shown, "") + "…"
	}
	return tool.Visible(strings.ReplaceAll(shown, "\t", "  "))
}

// body writes lines of a file, with numbers.
func (q *question) body(b *strings.Builder, file string, t *lsp.Text, first, last int) {
	shown := min(last, first+maxBody-1)
	fmt.Fprintf(b, "%s:%d-%d\n", file, first+1, last+1)
	for n := first; n <= shown; n++ {
		fmt.Fprintf(b, "%d %s\n", n+1, q.show(file, t, n))
	}
	if shown < last {
		fmt.Fprintf(b, "[%d more lines; read_file %s from line %d]\n", last-shown, file, shown+2)
	}
}

// fileSymbols lists the symbols of a file.
func (q *question) fileSymbols() (string, error) {
	name, l, err := q.languageOf(q.args.Path)
	if err != nil {
		return "", err
	}
	s, err := q.server(l)
	if err != nil {
		return "", err
	}
	sp, t, all, err := q.open(name, l, s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", sp.file, text.Plural(len(all), "symbol"))
	for _, one := range page(q, all, symbolsPage) {
		line := strings.TrimSuffix(strings.TrimSpace(q.show(sp.file, t, one.at.Line)), "{")
		fmt.Fprintf(&b, "\n%s%d", strings.Repeat("  ", one.depth), one.first+1)
		if one.last > one.first {
			fmt.Fprintf(&b, "-%d", one.last+1)
		}
		b.WriteString(" " + strings.TrimSpace(line))
	}
	return b.String(), nil
}

// listSpots lists symbols of the workspace.
func (q *question) listSpots(all []spot) string {
	var b strings.Builder
	for i, sp := range page(q, all, symbolsPage) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d %s", sp.file, sp.at.Line+1, strings.TrimSpace(q.show(sp.file, q.text(sp.file), sp.at.Line)))
		if sp.symbol != nil && sp.symbol.kind != "" {
			fmt.Fprintf(&b, " (%s %s)", sp.symbol.kind, sp.symbol.name)
		}
	}
	return b.String()
}

// at returns the parameters that name the place of a spot.
func (sp spot) params() map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": sp.uri}, "position": sp.at}
}

// definition shows definitions.
func (q *question) definition(all []spot) (string, error) {
	var b strings.Builder
	if sp := all[0]; sp.symbol == nil {
		if sp.server == nil {
			return "", q.needsServer()
		}
		return q.definitionOf(sp)
	}
	for i, sp := range page(q, all, definitionsPage) {
		if i > 0 {
			b.WriteByte('\n')
		}
		t := q.text(sp.file)
		q.body(&b, sp.file, t, withComment(t, sp.symbol.first), sp.symbol.last)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// needsServer returns the error of a question that patterns cannot answer.
func (q *question) needsServer() error {
	why := strings.Join(q.notes, "; ")
	why, _, _ = strings.Cut(why, ": this is found")
	return tool.Errorf(tool.Unavailable, "%s needs a language server: %s", q.args.Action, why).Try("use search and read_file")
}

// definitionOf shows the definition of a name that is used at a place.
func (q *question) definitionOf(sp spot) (string, error) {
	var answer lsp.Locations
	if err := sp.server.call(q.ctx, "textDocument/definition", sp.params(), &answer); err != nil {
		return "", err
	}
	found := q.places(sp.server, answer)
	if len(found) == 0 {
		q.outside = 0
		about, err := q.hover(sp)
		if err == nil && len(answer) > 0 {
			q.note("it is defined outside of the workspace")
		}
		return about, err
	}
	var b strings.Builder
	for i, p := range page(q, found, definitionsPage) {
		if i > 0 {
			b.WriteByte('\n')
		}
		_, t, all, err := q.open(p.file, sp.language, sp.server)
		if err != nil {
			return "", err
		}
		first, last := p.line, blockEnd(t, p.line)
		for _, s := range all {
			if s.at.Line == p.line {
				first, last = s.first, s.last
				break
			}
		}
		q.body(&b, p.file, t, withComment(t, first), last)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// A found is a place in a file of the caller.
type found struct {
	file string
	line int
	text *lsp.Text
	in   *symbol // around it; nil if none is known
}

// places returns the places that the caller has, in order and each line once.
func (q *question) places(s *server, all []lsp.Location) (list []found) {
	if len(all) > maxPlaces {
		q.note("the server gives %d places; %d were looked at", len(all), maxPlaces)
		all = all[:maxPlaces]
	}
	for _, one := range all {
		if name, t := q.place(s, one.URI, one.Range.Start); t != nil {
			list = append(list, found{file: name, line: min(one.Range.Start.Line, t.Lines()-1), text: t})
		}
	}
	return q.ordered(list, s.language)
}

// ordered sorts places and finds the symbols around them.
func (q *question) ordered(list []found, l *language) []found {
	slices.SortFunc(list, func(a, b found) int {
		if a.file != b.file {
			return strings.Compare(a.file, b.file)
		}
		return a.line - b.line
	})
	list = slices.CompactFunc(list, func(a, b found) bool { return a.file == b.file && a.line == b.line })
	outlines := make(map[string][]symbol)
	for i := range list {
		f := &list[i]
		all, ok := outlines[f.file]
		if !ok {
			all = l.outline(f.text)
			outlines[f.file] = all
		}
		f.in = enclosing(all, f.line)
	}
	return list
}

// references lists the references to a symbol, or the functions that have them.
func (q *question) references(sp spot) (string, error) {
	var list []found
	if sp.server != nil {
		if err := q.prepareWhole(sp); err != nil {
			return "", err
		}
		if header := q.missingHeader(sp); header != "" {
			q.note("%s: %s needs compile_commands.json of the build to tell references from other uses of the word", header, sp.server.program)
			sp.server = nil
		}
	}
	if sp.server == nil {
		files, err := q.mentions(lastPart(plainName(q.args.Name)), sp.language)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			for _, line := range f.Lines {
				if t := q.text(f.Name); t != nil && line.Match && line.Number <= t.Lines() && (f.Name != sp.file || line.Number-1 != sp.at.Line) {
					list = append(list, found{file: f.Name, line: line.Number - 1, text: t})
				}
			}
		}
		list = q.ordered(list, sp.language)
	} else {
		params, answer := sp.params(), lsp.Locations{}
		params["context"] = map[string]any{"includeDeclaration": false}
		if err := sp.server.call(q.ctx, "textDocument/references", params, &answer); err != nil {
			return "", err
		}
		list = q.places(sp.server, answer)
	}
	if q.args.Action == actCallers {
		list = slices.DeleteFunc(list, func(f found) bool {
			return f.in == nil || f.file == sp.file && f.line == sp.at.Line || f.in.first == f.line && f.file == sp.file
		})
	}
	if len(list) == 0 {
		q.noteMentions(sp)
		return fmt.Sprintf("no %s of %s (%s:%d)", q.args.Action, q.args.Name, sp.file, sp.at.Line+1), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s (%s:%d)", text.Plural(len(list), "line refers", "lines refer"), q.args.Name, sp.file, sp.at.Line+1)
	q.list(&b, page(q, list, referencesPage))
	return b.String(), nil
}

// missingHeader returns the problem of a file that a narrow server cannot read for lack of a header, or "".
func (q *question) missingHeader(sp spot) string {
	report, _ := sp.server.conn.Reports(sp.uri)
	for _, d := range report.Diagnostics {
		if sp.server.language.narrow && string(d.Code) == `"pp_file_not_found"` {
			return text.ClipWords(q.secrets.Text(tool.Line(d.Message)), 200)
		}
	}
	return ""
}

// noteMentions notes that other files have the word of a symbol that has no references.
func (q *question) noteMentions(sp spot) {
	files, err := q.mentions(lastPart(plainName(q.args.Name)), sp.language)
	files = slices.DeleteFunc(files, func(f search.FileMatches) bool { return f.Name == sp.file })
	if err == nil && len(files) > 0 {
		q.note("%s, such as %s: search shows them", text.Plural(len(files), "other file has the word", "other files have the word"), files[0].Name)
	}
}

// list writes places by file and by the symbols around them.
func (q *question) list(b *strings.Builder, list []found) {
	file, in := "", ""
	for _, f := range list {
		if f.file != file {
			fmt.Fprintf(b, "\n%s", f.file)
			file, in = f.file, ""
		}
		if f.in != nil && f.in.name != in {
			in = f.in.name
			if f.in.first != f.line {
				fmt.Fprintf(b, "\n in %d %s", f.in.first+1, strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(q.show(f.file, f.text, f.in.first)), "{")))
			}
		}
		fmt.Fprintf(b, "\n  %d %s", f.line+1, strings.TrimSpace(q.show(f.file, f.text, f.line)))
	}
}

// prepareWhole makes a server ready for a question about all files.
func (q *question) prepareWhole(sp spot) error {
	if sp.server.language.narrow {
		files, err := q.mentions(lastPart(plainName(q.args.Name)), sp.language)
		if err != nil {
			return err
		}
		const most = 40
		if len(files) > most {
			q.note("%d files have the word, the server has opened %d of them and those it knows from compile_commands.json", len(files), most)
		}
		var open []string
		for _, f := range files[:min(len(files), most)] {
			if o, err := sp.server.file(q.ctx, "./"+f.Name); err == nil { // else it is too large, or gone
				open = append(open, o.uri)
			}
		}
		waiting, cancel := context.WithTimeout(q.ctx, readTime)
		defer cancel()
		known := sp.server.conn.Await(waiting, func(reports map[string]lsp.Report, _ bool) bool {
			return !slices.ContainsFunc(open, func(uri string) bool { return reports[uri].Number == 0 })
		})
		if known && len(open) == len(files) {
			return nil // what it reads in the background does not have the word
		}
	}
	if sp.server.settle(q.ctx) {
		q.note("the server still reads the workspace: there may be more")
	}
	return nil
}

// implementations lists the implementations of a symbol.
func (q *question) implementations(sp spot) (string, error) {
	if sp.server == nil {
		return "", q.needsServer()
	}
	if err := q.prepareWhole(sp); err != nil {
		return "", err
	}
	var list []found
	var answer lsp.Locations
	err := sp.server.call(q.ctx, "textDocument/implementation", sp.params(), &answer)
	var unknown *lsp.ResponseError
	switch {
	case errors.As(err, &unknown) && unknown.Code == methodNotFound:
		if list, err = q.subclasses(sp); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		list = q.places(sp.server, answer)
	}
	if len(list) == 0 {
		return fmt.Sprintf("no implementations of %s in the workspace", q.args.Name), nil
	}
	var b strings.Builder
	b.WriteString(text.Plural(len(list), "implementation"))
	q.list(&b, page(q, list, referencesPage))
	return b.String(), nil
}

// methodNotFound is the code of a server that does not answer a kind of question.
const methodNotFound = -32601

// subclasses returns the definitions that refer to a class in their first line, for a server that knows no implementations.
func (q *question) subclasses(sp spot) ([]found, error) {
	q.note("%s knows no implementations; these definitions refer to %s in their first line", sp.server.program, q.args.Name)
	params, answer := sp.params(), lsp.Locations{}
	params["context"] = map[string]any{"includeDeclaration": false}
	err := sp.server.call(q.ctx, "textDocument/references", params, &answer)
	return slices.DeleteFunc(q.places(sp.server, answer), func(f found) bool {
		name, _, _ := sp.language.defined(f.text.Line(f.line))
		return name == "" || f.in == nil || f.in.first != f.line || f.file == sp.file && f.line == sp.at.Line
	}), err
}

// hover shows the signature of a symbol and its comment.
func (q *question) hover(sp spot) (string, error) {
	if sp.server == nil {
		return "", q.needsServer()
	}
	var answer lsp.Hover
	if err := sp.server.call(q.ctx, "textDocument/hover", sp.params(), &answer); err != nil {
		return "", err
	}
	about, _ := tool.Clean(answer.Text())
	if about = strings.TrimSpace(about); about == "" {
		return fmt.Sprintf("nothing is known about %s at %s:%d", q.args.Name, sp.file, sp.at.Line+1), nil
	}
	return fmt.Sprintf("%s:%d\n%s", sp.file, sp.at.Line+1, text.ClipWords(q.secrets.Text(about), 6000)), nil
}

// diagnosticsTime is the max time to wait for the problems of a file.
const diagnosticsTime = 20 * time.Second

// diagnostics lists the problems of a file.
func (q *question) diagnostics() (string, error) {
	name, l, err := q.languageOf(q.args.Path)
	if err != nil {
		return "", err
	}
	s, err := q.server(l)
	if err != nil {
		return "", err
	}
	if s == nil {
		return "", q.needsServer()
	}
	f, err := s.file(q.ctx, name)
	if err != nil {
		return "", err
	}
	if _, err := s.symbols(q.ctx, f); err != nil { // it has read the file then
		return "", err
	}
	all, err := q.problems(s, f)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "no problems in " + f.name, nil
	}
	slices.SortStableFunc(all, func(a, b lsp.Diagnostic) int { return a.Range.Start.Line - b.Range.Start.Line })
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.name, text.Plural(len(all), "problem"))
	for _, d := range page(q, all, referencesPage) {
		b.WriteString("\n" + problemLine(q.secrets.Text, f.text, d))
		if _, ok := f.text.Offset(d.Range.Start); ok && d.Range.Start.Line < f.text.Lines() {
			fmt.Fprintf(&b, "\n  %s", strings.TrimSpace(q.show(f.name, f.text, d.Range.Start.Line)))
		}
	}
	return b.String(), nil
}

// problems returns the problems of an open file.
func (q *question) problems(s *server, f *openFile) ([]lsp.Diagnostic, error) {
	all, err := s.askedProblems(q.ctx, f)
	var unknown *lsp.ResponseError
	if err == nil && s.language.problems != nil || err != nil && !errors.As(err, &unknown) {
		return all, err
	}
	waiting, cancel := context.WithTimeout(q.ctx, diagnosticsTime)
	defer cancel()
	if !s.conn.Await(waiting, func(reports map[string]lsp.Report, _ bool) bool { return isAbout(reports[f.uri], f) }) {
		if s.conn.Err() != nil {
			return nil, s.ended(s.conn.Err())
		}
		q.note("the server has reported nothing about this text yet")
	}
	report, _ := s.conn.Reports(f.uri)
	return slices.Clone(report.Diagnostics), nil
}

// askedProblems returns the problems of a file that tsserver answers.
func (s *server) askedProblems(ctx context.Context, f *openFile) (all []lsp.Diagnostic, err error) {
	type place struct { // from 1
		Line   int `json:"line"`
		Offset int `json:"offset"`
	}
	severities := map[string]int{"error": 1, "warning": 2, "suggestion": 4}
	for _, request := range s.language.problems {
		var answer struct {
			Body []struct {
				Start    place  `json:"start"`
				End      place  `json:"end"`
				Text     string `json:"text"`
				Category string `json:"category"`
			} `json:"body"`
		}
		err := s.call(ctx, "workspace/executeCommand", map[string]any{
			"command": "typescript.tsserverRequest", "arguments": []any{request, map[string]any{"file": lsp.Path(f.uri)}},
		}, &answer)
		if err != nil {
			return nil, err
		}
		for _, d := range answer.Body {
			all = append(all, lsp.Diagnostic{
				Range:    lsp.Range{Start: lsp.Position{Line: d.Start.Line - 1, Character: d.Start.Offset - 1}, End: lsp.Position{Line: d.End.Line - 1, Character: d.End.Offset - 1}},
				Severity: severities[d.Category], Message: d.Text,
			})
		}
	}
	return all, nil
}

// isAbout reports whether a report is about the present text of a file.
func isAbout(r lsp.Report, f *openFile) bool {
	return r.Number > 0 && (r.Version == nil && r.Number > f.reports || r.Version != nil && *r.Version >= f.version)
}

// problemLine writes a problem in one line.
func problemLine(scrub func(string) string, t *lsp.Text, d lsp.Diagnostic) string {
	where := "?"
	if _, ok := t.Offset(d.Range.Start); ok {
		where = fmt.Sprint(d.Range.Start.Line + 1)
	}
	message := text.ClipWords(scrub(tool.Line(d.Message)), 300)
	return where + " " + d.SeverityName() + ": " + message
}
