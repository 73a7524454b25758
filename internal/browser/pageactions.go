package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxFound       = 30
	maxConsole     = 100 // messages of one page
	maxConsoleLine = 500
	dragSteps      = 5
	maxWindow      = 4096 // pixels of a side
)

// inspect executes an action that only reads the page.
func (s *session) inspect(ctx context.Context, t *tab, req Request) (View, error) {
	var text string
	var err error
	switch req.Action {
	case Title:
		text, err = t.main.evaluateText(ctx, "document.title")
	case Address:
		text = s.address(t)
	case Console:
		text = s.takeConsole(t)
	case Frames:
		text, err = s.listFrames(ctx, t)
	case FindAction:
		text, err = s.findElements(ctx, t, req.Text)
	case Network:
		text = s.requestsOf(t, req.Text)
	case IsVisible:
		text, err = s.isVisible(ctx, t, req.Ref)
	}
	if err != nil {
		return View{}, err
	}
	v := s.view(ctx, t)
	if text == "" {
		v.Notes = append(v.Notes, "the result is empty")
	}
	add(&v, text)
	return v, nil
}

// evaluateText returns the value of an expression that is a string.
func (p *pageTarget) evaluateText(ctx context.Context, expression string) (text string, err error) {
	result, err := call(ctx, p.endpoint, runtime.Evaluate, runtime.EvaluateParams{Expression: expression})
	if err != nil || result.Result == nil || result.Result.Value.Kind() != '"' {
		return "", err
	}
	err = jsonv2.Unmarshal(result.Result.Value, &text)
	return short(text, 300), err
}

func (s *session) address(t *tab) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return short(t.url, 2000)
}

// findElements returns the elements with refs whose role, name and value contain all words
// of a text.
func (s *session) findElements(ctx context.Context, t *tab, what string) (string, error) {
	root, _, err := s.read(ctx, t)
	if err != nil {
		return "", err
	}
	var found lines
	root.search(strings.Fields(strings.ToLower(what)), &found, maxDepth)
	if len(found) == 0 {
		return "", tool.Errorf(tool.NotFound, "no element has the role or the label %.100q", what).
			Try("take a snapshot to see what there is")
	}
	if len(found) > maxFound {
		found = append(found[:maxFound], fmt.Sprintf("and %d more", len(found)-maxFound))
	}
	return strings.Join(found, "\n"), nil
}

// isVisible returns "true" if a person can see an element, at least after scrolling. An element that does not exist is not
// visible.
func (s *session) isVisible(ctx context.Context, t *tab, ref string) (string, error) {
	el, err := s.element(ctx, t, ref)
	if err == nil {
		var text string
		if text, _, err = el.call(ctx, "visible"); err == nil && text == "yes" {
			return "true", nil
		}
	}
	if known := (*tool.Error)(nil); errors.As(err, &known) && known.Kind == tool.NotFound {
		err = nil
	}
	return "false", err
}

// search appends the lines of the elements in n that contain all words.
func (n *node) search(words []string, found *lines, depth int) {
	if line := (&outline{}).label(n); n.ref != "" {
		_, label, _ := strings.Cut(strings.ToLower(line), "] ")
		isMissing := func(word string) bool { return !strings.Contains(label, word) }
		if !slices.ContainsFunc(words, isMissing) {
			*found = append(*found, line)
		}
	}
	for _, k := range n.children {
		if depth > 0 {
			k.search(words, found, depth-1)
		}
	}
}

// onConsoleEvent handles a message of a page's scripts, and reports whether it was one.
// The caller holds s.mu.
func (s *session) onConsoleEvent(p *pageTarget, method string, params jsonv2.Value) bool {
	switch method {
	case runtime.ConsoleAPICalled.Method:
		if e, ok := decodeEvent(runtime.ConsoleAPICalled, params); ok {
			var words []string
			for _, a := range e.Args {
				words = append(words, primitive(a))
			}
			p.tab.log(string(e.Type) + ": " + strings.Join(words, " "))
		}
	case runtime.ExceptionThrown.Method:
		if e, ok := decodeEvent(runtime.ExceptionThrown, params); ok && e.ExceptionDetails != nil {
			p.tab.log("exception: " + exceptionText(e.ExceptionDetails))
		}
	default:
		return false
	}
	return true
}

// log adds a line to the console of a tab. The first lines of a page are kept.
func (t *tab) log(line string) {
	if len(t.console) < maxConsole {
		t.console = append(t.console, short(line, maxConsoleLine))
	}
}

// takeConsole returns the messages since the last call.
func (s *session) takeConsole(t *tab) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(t.console, "\n")
	if len(t.console) == maxConsole {
		text += "\nthere may be more"
	}
	t.console = nil
	return text
}

// listFrames returns the names and addresses of the frames of a page.
func (s *session) listFrames(ctx context.Context, t *tab) (string, error) {
	s.mu.Lock()
	targets := []*pageTarget{t.main}
	for _, p := range s.targets {
		if p.tab == t && p != t.main {
			targets = append(targets, p)
		}
	}
	s.mu.Unlock()
	var all lines
	for _, p := range targets {
		tree, err := call(ctx, p.endpoint, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return "", err
		}
		appendFrames(tree.FrameTree, p.parent != nil, &all)
	}
	if len(all) == 0 {
		return "the page has no frames; its address is " + s.address(t), nil
	}
	return strings.Join(all, "\n"), nil
}

func appendFrames(tree *page.FrameTree, is bool, all *lines) {
	if is && len(*all) < maxFrames {
		*all = append(*all, strings.TrimSpace(fmt.Sprintf("frame %s %s", short(tree.Frame.Name, 100),
			short(tree.Frame.URL, 300))))
	}
	for _, child := range tree.ChildFrames {
		appendFrames(child, true, all)
	}
}

// savePDF saves a page as a PDF file of the caller.
func (s *session) savePDF(ctx context.Context, t *tab) error {
	if s.o.Files == nil {
		return tool.Errorf(tool.Unavailable, "this caller has no directory for files").
			Try("take a snapshot or a screenshot")
	}
	printed, err := call(ctx, t.main.endpoint, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: new(true)})
	if err != nil {
		return err
	}
	title, err := t.main.evaluateText(ctx, "document.title")
	if err != nil {
		return err
	}
	name, err := s.o.Files.Add(ctx, downloadDir+"/"+safeFileName(short(title, maxFileName)+".pdf"),
		bytes.NewReader(printed.Data))
	if err != nil {
		return err
	}
	s.addNote(fmt.Sprintf("saved the page as %q, %d bytes", name, len(printed.Data)))
	return nil
}

// Print returns a page as PDF. html is a page of the program's own, without scripts; its style decides about the size of
// the paper. The browser of the caller in ctx shows an empty page before and after.
func (b *Browsers) Print(ctx context.Context, html string) ([]byte, error) {
	empty := Request{Action: Open, URL: "about:blank"}
	if _, err := b.Do(ctx, empty); err != nil {
		return nil, err
	}
	v, err := b.Do(ctx, Request{Action: printText, Text: html})
	if err != nil {
		return nil, err
	}
	_, err = b.Do(ctx, empty)
	return v.Picture, err
}

// loaded waits until the pictures and fonts of a page can be shown.
const loaded = `Promise.all([document.fonts.ready, ...[...document.images].map(i => i.decode().catch(() => 0))]).then(() => 0)`

func (s *session) printText(ctx context.Context, t *tab, html string) (View, error) {
	tree, err := call(ctx, t.main.endpoint, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return View{}, err
	}
	err = run(ctx, t.main.endpoint, page.SetDocumentContent, page.SetDocumentContentParams{FrameID: tree.FrameTree.Frame.ID, HTML: html})
	if err == nil {
		err = run(ctx, t.main.endpoint, runtime.Evaluate, runtime.EvaluateParams{Expression: loaded, AwaitPromise: new(true)})
	}
	if err != nil {
		return View{}, err
	}
	printed, err := call(ctx, t.main.endpoint, page.PrintToPDF, page.PrintToPDFParams{
		PrintBackground: new(true), PreferCSSPageSize: new(true), GenerateTaggedPDF: new(true), GenerateDocumentOutline: new(true),
	})
	if err == nil && !bytes.HasPrefix(printed.Data, []byte("%PDF-")) {
		err = errors.New("the browser has printed no PDF")
	}
	return View{Picture: printed.Data, MIME: "application/pdf"}, err
}

// upload puts files of the caller into a file input. The browser gets copies, which are
// deleted with it.
func (s *session) upload(ctx context.Context, t *tab, req Request) error {
	if s.o.Files == nil {
		return tool.Errorf(tool.Unavailable, "there are no files to upload").Try("continue without")
	}
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.program.dirs.temp, "up")
	if err == nil {
		err = os.Chmod(dir, 0o755) // for the browser's user; others cannot enter the directory above
	}
	if err != nil {
		return err
	}
	var files []string
	for _, name := range req.Values {
		copied := filepath.Join(dir, safeFileName(path.Base(filepath.ToSlash(name))))
		if err := s.copyFile(ctx, name, copied); err != nil {
			return err
		}
		files = append(files, copied)
	}
	err = run(ctx, el.target.endpoint, dom.SetFileInputFiles,
		dom.SetFileInputFilesParams{Files: files, BackendNodeID: el.node})
	if err != nil {
		return tool.Errorf(tool.Invalid, "%.60q does not accept these files", req.Ref).
			Try("use the ref of a file input, and one file if it has no \"multiple\"").Because(err)
	}
	return nil
}

func (s *session) copyFile(ctx context.Context, from, to string) error {
	content, err := s.o.Files.Open(ctx, from)
	if err != nil {
		return err
	}
	defer content.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return tool.Errorf(tool.Invalid, "two files have the name %q",
			path.Base(from)).Try("send one of them").Because(err)
	}
	n, err := io.Copy(file, io.LimitReader(content, s.o.MaxDownload+1))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil && n > s.o.MaxDownload {
		return tool.Errorf(tool.TooLarge, "%.200q is larger than %d bytes", from,
			s.o.MaxDownload).Try("send a smaller file")
	}
	return err
}

// armDialog sets the answer to the next dialog. Dialogs without one are dismissed.
func (s *session) armDialog(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialogAnswer = &page.HandleJavaScriptDialogParams{Accept: req.Text != "dismiss"}
	if req.Text != "accept" && req.Text != "dismiss" {
		s.dialogAnswer.PromptText = req.Text
	}
	s.note("the next dialog is answered with %s", map[bool]string{true: "accept",
		false: "dismiss"}[s.dialogAnswer.Accept])
}

// drag presses the mouse on an element, moves it to another one, and releases it.
func (s *session) drag(ctx context.Context, t *tab, req Request) error {
	from, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	to, err := s.element(ctx, t, req.Text)
	if err != nil {
		return err
	}
	_ = from.scrollIntoView(ctx) // if it fails, center reports that the element is hidden
	x, y, err := s.center(ctx, from)
	if err != nil {
		return err
	}
	toX, toY, err := s.center(ctx, to)
	if err != nil {
		return err
	}
	return t.dragMouse(ctx, Point{x, y}, Point{toX, toY})
}

// dragMouse presses the mouse at a point, moves it to another one, and releases it.
func (t *tab) dragMouse(ctx context.Context, from, to Point) error {
	e := input.DispatchMouseEventParams{Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
	for step := range dragSteps + 3 { // move there, press, drag, release
		part := float64(min(max(step-1, 0), dragSteps)) / dragSteps
		e.X, e.Y, e.Type = from.X+(to.X-from.X)*part, from.Y+(to.Y-from.Y)*part, input.DispatchMouseEventTypeMouseMoved
		switch step {
		case 1:
			e.Type = input.DispatchMouseEventTypeMousePressed
		case dragSteps + 2:
			e.Type, e.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
		}
		if err := run(ctx, t.main.endpoint, input.DispatchMouseEvent, e); err != nil {
			return err
		}
	}
	return nil
}

// resize changes the size of the window.
func (s *session) resize(ctx context.Context, t *tab, req Request) error {
	var width, height int64
	if n, err := fmt.Sscanf(req.Text, "%dx%d", &width, &height); n != 2 || err != nil || width < 1 || height < 1 ||
		width > maxWindow || height > maxWindow {
		return tool.Errorf(tool.Invalid, "%.40q is not a size", req.Text).
			Try("use a size such as 1280x800, at most %d for each side", maxWindow)
	}
	return run(ctx, t.main.endpoint, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height})
}
