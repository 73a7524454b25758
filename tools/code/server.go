package code

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/version"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

const (
	startTime = time.Minute      // max time of the handshake
	queryTime = 3 * time.Minute  // max time of an answer: a server that takes longer hangs, and is ended
	readTime  = 30 * time.Second // max time to wait while a server reads the workspace
	maxOpen   = 64               // files that a server has open
	maxListed = 20_000           // files whose changes a server hears about
	maxFile   = 2 << 20          // bytes of a file that is asked about
)

// A server is a running language server.
type server struct {
	room     *Room
	place    commands.Workplace
	language *language
	home     string
	program  string        // its name
	ready    chan struct{} // closed when it has started, or failed
	gone     chan struct{} // closed when it has ended
	failure  error         // why it did not start; after ready
	conn     *lsp.Conn
	process  *program.Process
	abandon  context.CancelFunc
	used     time.Time // guarded by room.mu

	mu     sync.Mutex // for notifications of the server about files
	files  map[string]*openFile
	listed map[string]stamp // nil before the first list
	number int
	fresh  bool // it has not yet read the workspace
}

// A stamp changes with a file.
type stamp struct {
	size     int64
	modified time.Time
}

// An openFile is a file that the server has open.
type openFile struct {
	name    string // for people
	uri     string
	version int
	stamp   string
	text    *lsp.Text
	asked   int
	reports int // number of the last report when the server got the text
}

func newServer(r *Room, place commands.Workplace, l *language, home string) *server {
	return &server{
		room: r, place: place, language: l, home: home, ready: make(chan struct{}), gone: make(chan struct{}),
		conn: lsp.New(l.config), used: time.Now(), files: make(map[string]*openFile), fresh: true, abandon: func() {},
	}
}

// open starts the server, and returns when it has ended.
func (s *server) open() {
	defer close(s.gone)
	s.failure = s.handshake()
	if s.failure != nil && s.conn.Err() == nil {
		s.conn.Lose(s.failure)
	}
	close(s.ready)
	<-s.conn.Done()
	if err := s.conn.Close(); err != nil {
		s.room.o.Log.Debug("a language server ended", "kind", s.language.name, "err", err)
	}
}

// lost reports whether the server has ended or is ending. Then it is ready, so that failure can be read.
func (s *server) lost() bool {
	select {
	case <-s.ready:
		return s.conn.Err() != nil
	default:
		return false // it starts
	}
}

// close ends the server and waits for its end.
func (s *server) close() {
	s.conn.Lose(errors.New("it was ended"))
	<-s.gone
}

// handshake starts the program and initializes the server.
func (s *server) handshake() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.room.startTime)
	defer cancel()
	context.AfterFunc(connContext{s.conn}, cancel)
	process, err := s.start(ctx)
	if err != nil {
		var none *errNoServer
		if errors.As(err, &none) {
			return none
		}
		s.room.o.Log.Warn("a language server did not start", "kind", s.language.name, "err", err)
		if known := (*tool.Error)(nil); errors.As(err, &known) {
			return &errNoServer{"the language server does not start here: " + known.What}
		}
		return &errNoServer{"the language server does not start here"}
	}
	s.process = process
	s.conn.Open(process)
	root, ok := process.Inside(s.place.Directories.Dir)
	if !ok {
		return &errNoServer{"the language server does not see the workspace"}
	}
	uri := lsp.URI(root)
	params := map[string]any{
		"processId": nil, "rootUri": uri, "rootPath": root, "clientInfo": map[string]any{"name": "mcp-tools", "version": version.String()},
		"workspaceFolders": []any{map[string]any{"uri": uri, "name": path.Base(root)}},
		"capabilities":     capabilities(), "initializationOptions": s.language.options,
	}
	if err := s.conn.Call(ctx, "initialize", params, nil); err != nil {
		return s.failed(err)
	}
	if err := s.conn.Notify(ctx, "initialized", map[string]any{}); err != nil {
		return s.failed(err)
	}
	return nil
}

// connContext is done when a connection is.
type connContext struct{ conn *lsp.Conn }

func (c connContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c connContext) Done() <-chan struct{}       { return c.conn.Done() }
func (c connContext) Err() error                  { return c.conn.Err() }
func (c connContext) Value(any) any               { return nil }

// failed returns the error of a server that cannot be used.
func (s *server) failed(err error) error {
	why := err.Error()
	if s.conn.Err() != nil {
		why = s.conn.Err().Error()
	}
	if limit := int64(s.room.o.Settings.Memory); strings.HasSuffix(why, "SIGKILL") && limit > 0 {
		why += fmt.Sprintf(", perhaps because it needs more memory than %s, which the operator can raise by code.memory", text.Bytes(limit))
	}
	if s.process != nil {
		if words := strings.TrimSpace(s.process.Words()); words != "" {
			why += "; its last words: " + words[strings.LastIndexByte(words, '\n')+1:]
		}
	}
	return &errNoServer{fmt.Sprintf("the language server %s failed: %s", s.program, text.ClipWords(tool.Line(strings.TrimPrefix(why, s.program+" failed: ")), 400))}
}

func capabilities() map[string]any {
	yes, no := map[string]any{}, map[string]any{"dynamicRegistration": false}
	return map[string]any{
		"general": map[string]any{"positionEncodings": []string{"utf-16"}},
		"window":  map[string]any{"workDoneProgress": true},
		"workspace": map[string]any{
			"applyEdit": false, "configuration": true, "workspaceFolders": true, "symbol": no,
			"workspaceEdit":         map[string]any{"documentChanges": true},
			"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
		},
		"textDocument": map[string]any{
			"synchronization": yes, "definition": map[string]any{"linkSupport": true}, "references": yes, "rename": no,
			"implementation": map[string]any{"linkSupport": true}, "hover": map[string]any{"contentFormat": []string{"plaintext", "markdown"}},
			"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
			"publishDiagnostics": map[string]any{"versionSupport": true},
		},
	}
}

// call asks the server. The error can be shown to the model.
func (s *server) call(ctx context.Context, method string, params, result any) error {
	s.room.use(s)
	asking, cancel := context.WithTimeoutCause(ctx, s.room.queryTime, errHangs)
	defer cancel()
	err := s.conn.Call(asking, method, params, result)
	s.room.use(s)
	var answered *lsp.ResponseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		why := answered.Error()
		if words := s.conn.Words(); words != "" {
			why += "; it says: " + words
		}
		return tool.Errorf(tool.Unavailable, "%s answers: %s", s.program, why).
			Try("check the name and the place, or use search").Because(err)
	case errors.Is(err, errHangs):
		s.conn.Lose(errHangs)
		return tool.Errorf(tool.Timeout, "%s did not answer in %s and was ended", s.program, s.room.queryTime).
			Try("call again, which starts it again, or use search")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.conn.Err() != nil:
		return s.ended(err)
	}
	return tool.Errorf(tool.Unavailable, "%s answers what cannot be read", s.program).Try("use search").Because(err)
}

// ended returns err, or errLost with its reason if the server has ended.
func (s *server) ended(err error) error {
	if err == nil || s.conn.Err() == nil {
		return err
	}
	return tool.Errorf(tool.Unavailable, "%s", s.failed(err).Error()).Try("call again, which starts it again, or use search").Because(errLost)
}

var (
	errHangs = errors.New("it does not answer")
	errLost  = errors.New("the server ended before it answered")
)

// uriOf returns the URI of a file of the workspace for the server.
func (s *server) uriOf(ctx context.Context, name string) (string, error) {
	dir, _, err := s.room.o.Dir(ctx, path.Dir(name))
	if err != nil {
		return "", err
	}
	host := filepath.Join(dir, path.Base(name))
	if _, ok := sandbox.Beneath(s.place.Directories.Dir, host); !ok {
		return "", tool.Errorf(tool.Invalid, "%q is not in the workspace", name).Try("use read_file and search for it")
	}
	inside, ok := s.process.Inside(host)
	if !ok {
		return "", tool.Errorf(tool.Invalid, "the language server does not see %q", name).Try("use read_file")
	}
	return lsp.URI(inside), nil
}

// nameOf returns the name of the file of the workspace that a URI of the server names, or "".
func (s *server) nameOf(uri string) string {
	inside := lsp.Path(uri)
	if inside == "" {
		return ""
	}
	host := s.process.Outside(filepath.FromSlash(inside))
	if host == "" {
		return ""
	}
	rel, ok := sandbox.Beneath(s.place.Directories.Dir, filepath.Clean(host))
	if !ok || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// read returns the text of a file of the caller.
func (r *Room) read(ctx context.Context, name string) (*workspace.File, *lsp.Text, error) {
	f, err := r.o.Files.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if f.Size > maxFile {
		return nil, nil, tool.Errorf(tool.TooLarge, "%q has %s, the maximum is %s", f.Name, text.Bytes(f.Size), text.Bytes(maxFile)).
			Try("use search")
	}
	all, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		return nil, nil, fmt.Errorf("reading a file: %w", err)
	}
	return f, lsp.NewText(string(all)), nil
}

// file opens a file in the server with its present text.
func (s *server) file(ctx context.Context, name string) (*openFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fileLocked(ctx, name)
}

func (s *server) fileLocked(ctx context.Context, name string) (*openFile, error) {
	f, t, err := s.room.read(ctx, name)
	if err != nil {
		return nil, err
	}
	s.number++
	known := s.files[f.Name]
	if known != nil && known.stamp == f.Stamp {
		known.asked = s.number
		return known, nil
	}
	uri, err := s.uriOf(ctx, f.Name)
	if err != nil {
		return nil, err
	}
	all := t.String()
	before, _ := s.conn.Reports(uri)
	now := &openFile{name: f.Name, uri: uri, version: 1, stamp: f.Stamp, text: t, asked: s.number, reports: before.Number}
	if known != nil {
		now.version = known.version + 1
		err = s.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": now.version}, "contentChanges": []any{map[string]any{"text": all}},
		})
		if err == nil {
			err = s.conn.Notify(ctx, "textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": uri}})
		}
	} else {
		err = s.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": uri, "languageId": s.language.files[strings.ToLower(path.Ext(f.Name))], "version": 1, "text": all,
		}})
	}
	if err != nil {
		return nil, s.ended(err)
	}
	s.files[f.Name] = now
	return now, s.ended(s.closeOldest(ctx))
}

// closeOldest closes files if too many are open. s.mu is held.
func (s *server) closeOldest(ctx context.Context) error {
	for len(s.files) > maxOpen {
		var oldest *openFile
		for _, f := range s.files {
			if oldest == nil || f.asked < oldest.asked {
				oldest = f
			}
		}
		if err := s.closeFile(ctx, oldest); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) closeFile(ctx context.Context, f *openFile) error {
	delete(s.files, f.name)
	return s.conn.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": f.uri}})
}

// refresh notifies the server of files that have changed since the last call, by any program.
func (s *server) refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.room.o.Files.Glob(ctx, workspace.GlobQuery{Pattern: s.language.glob(), Path: ".", Limit: maxListed, Newest: true})
	if err != nil {
		return err
	}
	now := make(map[string]stamp, len(list.Entries))
	for _, e := range list.Entries {
		now[e.Name] = stamp{e.Size, e.Modified}
	}
	const created, changed, removed = 1, 2, 3
	var events []any
	note := func(name string, kind int) {
		inside, ok := s.process.Inside(filepath.Join(s.place.Directories.Dir, filepath.FromSlash(name)))
		if ok {
			events = append(events, map[string]any{"uri": lsp.URI(inside), "type": kind})
		}
	}
	for name, st := range now {
		if old, ok := s.listed[name]; !ok {
			note(name, created)
		} else if old != st {
			note(name, changed)
		}
	}
	for name := range s.listed {
		if _, ok := now[name]; !ok {
			note(name, removed)
		}
	}
	first := s.listed == nil
	s.listed = now
	for _, f := range s.openNames() {
		if _, err := s.fileLocked(ctx, f.name); err != nil {
			if err := s.closeFile(ctx, f); err != nil {
				return s.ended(err)
			}
		}
	}
	if first || len(events) == 0 {
		return nil
	}
	return s.ended(s.conn.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": events}))
}

func (s *server) openNames() (all []*openFile) {
	for _, f := range s.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *openFile) int { return a.asked - b.asked })
	return all
}

// settle waits until the server has read the workspace, if it says so. It reports whether the server still reads.
func (s *server) settle(ctx context.Context) (busy bool) {
	if !s.language.indexes {
		return false
	}
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = false
	s.mu.Unlock()
	if fresh { // it does not say at once that it reads
		begun, cancel := context.WithTimeout(ctx, 2*time.Second)
		s.conn.Await(begun, func(_ map[string]lsp.Report, busy bool) bool { return busy })
		cancel()
	}
	waiting, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	return !s.conn.Await(waiting, func(_ map[string]lsp.Report, busy bool) bool { return !busy })
}

// symbols returns the symbols of an open file.
func (s *server) symbols(ctx context.Context, f *openFile) ([]symbol, error) {
	var answer []lsp.Symbol
	err := s.call(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": f.uri}}, &answer)
	if err != nil {
		return nil, err
	}
	var all []symbol
	var add func(list []lsp.Symbol, in string, depth int)
	add = func(list []lsp.Symbol, in string, depth int) {
		for _, one := range list {
			whole, at := one.Range, one.Selection.Start
			if one.Location.URI != "" { // the older form
				whole, at = one.Location.Range, one.Location.Range.Start
			}
			from, ok := f.text.Offset(whole.Start)
			to, also := f.text.Offset(whole.End)
			_, named := f.text.Offset(at)
			if !ok || !also || !named || to < from || len(all) > maxSymbols || depth > maxDepth {
				continue
			}
			name := text.Clip(tool.Line(one.Name), 200)
			if in != "" {
				name = in + "." + name
			} else if one.Container != "" && one.Location.URI != "" {
				name = text.Clip(tool.Line(one.Container), 200) + "." + name
			}
			at = onName(f.text, at, lastPart(plainName(name)))
			all = append(all, symbol{
				name: name, kind: lsp.KindName(one.Kind), first: whole.Start.Line,
				last: f.text.Position(max(from, to-1)).Line, at: at, depth: depth,
			})
			if kind := lsp.KindName(one.Kind); kind == "function" || kind == "method" || kind == "constructor" {
				one.Children = slices.DeleteFunc(one.Children, isLocal)
			}
			add(one.Children, name, depth+1)
		}
	}
	add(answer, "", 0)
	slices.SortStableFunc(all, func(a, b symbol) int { return a.first - b.first })
	return all, nil
}

// isLocal reports whether a symbol within a function is of no interest outside of it.
func isLocal(s lsp.Symbol) bool {
	switch lsp.KindName(s.Kind) {
	case "variable", "constant", "property", "field", "string", "number", "boolean", "array", "object", "key", "null":
		return true
	}
	return false
}

const (
	maxSymbols = 20_000 // of a file
	maxDepth   = 20
)

// onName returns the position of a name in the line of a position: the older form has only the begin of the symbol.
func onName(t *lsp.Text, at lsp.Position, name string) lsp.Position {
	offset, _ := t.Offset(at)
	start := t.Start(at.Line)
	if i := wordAt(t.Line(at.Line), name, min(offset-start, len(t.Line(at.Line)))); i >= 0 {
		return t.Position(start + i)
	}
	return at
}
