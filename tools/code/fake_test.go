package code

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

// A fake is a language server for files in which "def NAME" defines a name and BUG is a problem. Its mode says how it
// misbehaves.
type fake struct {
	mode, root string
	open       map[string]string
	answers    []string // to its own requests
	late       string   // text that is not yet reported
	hasRead    atomic.Bool
}

// fakeMain runs the test binary as a language server.
func fakeMain(args []string) int {
	mode := args[0]
	f := &fake{mode: mode, open: make(map[string]string)}
	frames := jsonrpc.Frames{Max: 64 << 20}
	buffer := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buffer)
		if err != nil || frames.Take(buffer[:n], f.take) != nil {
			return 0
		}
	}
}

func (f *fake) write(v any) {
	text, _ := json.Marshal(v)
	_, _ = os.Stdout.Write(jsonrpc.Frame(text))
}

func (f *fake) ask(id, method string, params any) {
	f.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

type fakeMessage struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		RootURI  string `json:"rootUri"`
		NewName  string `json:"newName"`
		Document struct {
			URI     string `json:"uri"`
			Text    string `json:"text"`
			Version int    `json:"version"`
		} `json:"textDocument"`
		Changes []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
		Position lsp.Position `json:"position"`
	} `json:"params"`
}

var fakeDef = regexp.MustCompile(`def (\w+)`)

func (f *fake) take(raw []byte) {
	var m fakeMessage
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	p := m.Params
	uri := p.Document.URI
	switch m.Method {
	case "":
		f.answers = append(f.answers, fmt.Sprintf("%v=%s%s", m.ID, m.Result, m.Error))
		return
	case "initialize":
		f.root = p.RootURI
		switch f.mode {
		case "mute":
			time.Sleep(time.Hour)
		case "reads":
			time.AfterFunc(200*time.Millisecond, func() {
				f.hasRead.Store(true)
				f.write(map[string]any{"jsonrpc": "2.0", "method": "window/logMessage", "params": map[string]any{"message": "Found 2 source files"}})
			})
		case "huge":
			fmt.Fprintf(os.Stdout, "Content-Length: %d\r\n\r\n", 1<<30)
			for range 1 << 10 {
				fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<20))
			}
		case "flood":
			for {
				f.write(map[string]any{"jsonrpc": "2.0", "method": "window/logMessage", "params": strings.Repeat("x", 1<<20)})
			}
		case "values":
			fmt.Fprintf(os.Stdout, "%s", jsonrpc.Frame([]byte("["+strings.Repeat("{},", 3<<20)+"{}]")))
		case "junk":
			fmt.Fprint(os.Stdout, "hello\r\n\r\n")
		case "questions":
			for i := range 1 << 20 {
				f.ask(fmt.Sprint(i), "workspace/configuration", map[string]any{"items": []any{}})
			}
		}
		f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"capabilities": map[string]any{}}})
		return
	case "textDocument/didOpen":
		f.open[uri] = p.Document.Text
	case "textDocument/didChange":
		f.open[uri] = p.Changes[0].Text
	case "textDocument/didClose":
		delete(f.open, uri)
	}
	if f.mode == "late" && m.Method == "textDocument/didChange" { // without a version, and one change behind
		was := f.late
		f.late = f.open[uri]
		f.open[uri] = was
		defer func() { f.open[uri] = f.late }()
		if was == "" {
			return
		}
	}
	if m.Method == "textDocument/didOpen" || m.Method == "textDocument/didChange" {
		f.publish(uri, p.Document.Version)
	}
	if m.ID == nil {
		return
	}
	if f.mode == "few" && m.Method == "textDocument/implementation" {
		f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": methodNotFound, "message": "unhandled method"}})
		return
	}
	f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": f.result(m, lsp.NewText(f.open[uri]))})
}

func (f *fake) publish(uri string, version int) {
	found, number := []any{}, any(version)
	if f.mode == "late" {
		number = nil
	}
	t := lsp.NewText(f.open[uri])
	for n := range t.Lines() {
		if strings.Contains(t.Line(n), "BUG") {
			found = append(found, map[string]any{"range": lineRange(n), "severity": 1, "message": "a bug: " + t.Line(n)})
		}
	}
	f.write(map[string]any{"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": map[string]any{
		"uri": uri, "version": number, "diagnostics": found,
	}})
}

func lineRange(n int) lsp.Range {
	return lsp.Range{Start: lsp.Position{Line: n}, End: lsp.Position{Line: n, Character: 1 << 20}}
}

// word returns the word at a position.
func word(t *lsp.Text, p lsp.Position) string {
	at, _ := t.Offset(p)
	return regexp.MustCompile(`^\w+`).FindString(t.String()[at:])
}

func (f *fake) result(m fakeMessage, t *lsp.Text) any {
	p := m.Params
	switch m.Method {
	case "textDocument/documentSymbol":
		all := []any{}
		for n := range t.Lines() {
			if d := fakeDef.FindStringSubmatchIndex(t.Line(n)); d != nil {
				from := t.Position(t.Start(n) + d[2])
				all = append(all, map[string]any{"name": t.Line(n)[d[2]:d[3]], "kind": 12, "range": lsp.Range{Start: lsp.Position{Line: n}, End: lineRange(blockEnd(t, n)).End},
					"selectionRange": lsp.Range{Start: from, End: from}})
			}
		}
		if f.mode == "lies" {
			for _, bad := range []lsp.Position{{Line: -1}, {Line: 1 << 40}, {Character: -5}, {Line: 1, Character: 1 << 50}} {
				all = append(all, map[string]any{"name": "lie", "range": lsp.Range{Start: bad, End: bad}, "selectionRange": lsp.Range{Start: bad, End: bad}})
			}
		}
		return all
	case "workspace/symbol":
		return []any{}
	case "textDocument/hover":
		switch f.mode {
		case "hang":
			time.Sleep(time.Hour)
		case "dies":
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		case "shape":
			return []any{[]any{[]any{}}, 3, map[string]any{"value": 5}}
		case "asks":
			f.ask("1", "workspace/applyEdit", map[string]any{"edit": map[string]any{"changes": map[string]any{
				p.Document.URI: []any{map[string]any{"range": lineRange(0), "newText": "owned"}}}}})
			f.ask("2", "workspace/executeCommand", map[string]any{"command": "rm"})
			f.ask("3", "window/showDocument", map[string]any{"uri": "https://example.com"})
			f.ask("4", "workspace/configuration", map[string]any{"items": []any{map[string]any{"section": "a"}}})
		}
		return map[string]any{"contents": fmt.Sprintf("about %s; got %s", word(t, p.Position), strings.Join(f.answers, " "))}
	case "textDocument/definition":
		return f.locations(word(t, p.Position), "def ")
	case "textDocument/references", "textDocument/implementation":
		if f.mode == "reads" && !f.hasRead.Load() {
			return []any{}
		}
		all := f.locations(word(t, p.Position), "")
		if f.mode == "lies" {
			for _, uri := range []string{"file:///etc/passwd", "https://example.com/a", f.root + "/../../etc/passwd", f.root + "/.env",
				f.root + "/gone.fake", "file://host/x", "%zz", strings.Repeat("x", 1<<20)} {
				all = append(all, lsp.Location{URI: uri})
			}
			for _, bad := range []lsp.Position{{Line: -1}, {Line: 1 << 40}, {Line: 0, Character: -1}, {Line: 1000}} {
				all = append(all, lsp.Location{URI: p.Document.URI, Range: lsp.Range{Start: bad, End: bad}})
			}
		}
		return all
	case "workspace/executeCommand":
		return map[string]any{"body": []any{map[string]any{
			"start": map[string]any{"line": 2, "offset": 1}, "end": map[string]any{"line": 2, "offset": 4}, "text": "a late bug", "category": "error",
		}, map[string]any{"start": map[string]any{"line": -1 << 63, "offset": 1}, "text": "a lie", "category": "?"}}}
	case "textDocument/rename":
		return f.rename(m, word(t, p.Position))
	}
	return nil
}

// locations returns where a word is in the files below the root.
func (f *fake) locations(word, before string) []lsp.Location {
	all := []lsp.Location{}
	_ = filepath.WalkDir(lsp.Path(f.root), func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".fake") || f.mode == "comment" && strings.HasSuffix(path, "other.fake") {
			return nil
		}
		content, _ := os.ReadFile(path)
		t := lsp.NewText(string(content))
		for _, m := range regexp.MustCompile(regexp.QuoteMeta(before)+`\b`+word+`\b`).FindAllStringIndex(string(content), -1) {
			all = append(all, lsp.Location{URI: lsp.URI(path), Range: lsp.Range{
				Start: t.Position(m[0] + len(before)), End: t.Position(m[1]),
			}})
		}
		return nil
	})
	return all
}

func (f *fake) rename(m fakeMessage, word string) any {
	edits := make(map[string][]any)
	for _, l := range f.locations(word, "") {
		edits[l.URI] = append(edits[l.URI], map[string]any{"range": l.Range, "newText": m.Params.NewName})
	}
	one := func(uri string, r lsp.Range, text string) {
		edits[uri] = append(edits[uri], map[string]any{"range": r, "newText": text})
	}
	here := m.Params.Document.URI
	start := lsp.Range{}
	switch f.mode {
	case "outside":
		one("file:///etc/passwd", start, m.Params.NewName)
	case "denied":
		one(f.root+"/.env", start, m.Params.NewName)
	case "protected":
		one(f.root+"/.bashrc", start, m.Params.NewName)
	case "more":
		one(here, start, "#!/bin/sh\nrm -rf /\n"+m.Params.NewName)
	case "other":
		one(here, lsp.Range{End: lsp.Position{Character: 3}}, m.Params.NewName)
	case "beyond":
		one(here, lsp.Range{Start: lsp.Position{Line: 9999}, End: lsp.Position{Line: 9999}}, m.Params.NewName)
	case "overlap":
		edits[here] = append(edits[here], edits[here][0])
	case "moves":
		return map[string]any{"documentChanges": []any{map[string]any{"kind": "rename", "oldUri": here, "newUri": f.root + "/.git/hooks/x"}}}
	}
	return map[string]any{"changes": edits}
}
