package console

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Page is a view of the console.
type Page struct {
	Path  string // beneath the path of the session, as a pattern of net/http: "calls", "calls/{id}"
	Title string // in the menu; "" for a page that others link to
	Where room.Where
	Room  string // that has to be there, "" for none
	// Topics are the topics of the change feed that the page shows. Browsers load it again
	// when one changes.
	Topics []string
	// Template is the file of the page in templates/, without its ending. It defines
	// "title" and "main", and gets a View.
	Template string
	// Data returns View.Data. An error is shown in place of the page.
	Data func(*Request) (any, error)
}

// pages returns all pages, in the order of the menu.
func pages() []Page {
	return []Page{
		{Path: "questions", Title: "Questions", Where: room.Approver, Topics: []string{ask.Topic, bridgeTopic}, Template: "questions",
			Data: showQuestions},
		{Path: "questions/{id}", Where: room.Approver, Topics: []string{ask.Topic}, Template: "questions",
			Data: showQuestion},
		{Path: "today", Title: "Today", Where: room.Operator, Topics: []string{audit.Topic, jobs.Topic}, Template: "today",
			Data: showToday},
		{Path: "changes/{id}", Where: room.Operator, Template: "change", Data: showChange},
		{Path: "calls", Title: "Calls", Where: room.Operator, Topics: []string{audit.Topic}, Template: "calls", Data: showCalls},
		{Path: "calls/{id}", Where: room.Operator, Topics: []string{audit.Topic}, Template: "call", Data: showCall},
		{Path: "charts", Title: "Charts", Where: room.Operator, Topics: []string{audit.Topic}, Template: "charts", Data: showCharts},
		{Path: "graph", Title: "Knowledge", Where: room.Operator, Room: "knowledge", Template: "graph", Data: showGraph},
		{Path: "browsers", Title: "Browsers", Where: room.Approver, Room: "browser", Template: "browsers", Data: showBrowsers},
		{Path: "browsers/{id}", Where: room.Approver, Template: "browser", Data: showBrowser},
		{Path: "rooms", Title: "More", Where: room.Approver, Template: "rooms", Data: showRooms},
		{Path: "rooms/{room}", Where: room.Approver, Topics: []string{jobs.Topic, bridgeTopic}, Template: "room", Data: showRoom},
		{Path: "rooms/{room}/{verb...}", Where: room.Approver, Template: "verb", Data: showVerb},
		{Path: "health", Title: "Health", Where: room.Operator, Template: "health", Data: showHealth},
	}
}

// bridgeTopic is the topic of changes of other MCP servers in the change feed.
const bridgeTopic = "mcp"

// A Request is a request of a person who is logged in.
type Request struct {
	*http.Request
	Who  room.Person
	Base string // path that begins all links, without a slash at the end

	session *session
	console *Console
}

// Store returns the store.
func (r *Request) Store() *store.Store { return r.console.API.Host.Store }

// Call calls a verb that reads, and returns what it returns or, if it streams, all that it
// emits.
func (r *Request) Call(roomName, verb string, args map[string]any) (tool.Result, []tool.Result, error) {
	home, v, err := r.verb(roomName, verb)
	if err != nil {
		return tool.Result{}, nil, err
	}
	if v.Risk != tool.Reads {
		return tool.Result{}, nil, fmt.Errorf("%s %s changes something", roomName, verb)
	}
	return r.call(home, v, args, false)
}

// verb returns a verb that the person may call.
func (r *Request) verb(roomName, name string) (*room.Room, room.Verb, error) {
	for _, one := range r.console.API.Rooms {
		if one.Name != roomName {
			continue
		}
		if v, ok := one.Verb(name); ok && v.Allows(r.Who) {
			return one, v, nil
		}
	}
	return nil, room.Verb{}, tool.Errorf(tool.NotFound, "there is no action %q of %q", name, roomName)
}

// has reports whether there is a room with verbs for the person.
func (r *Request) has(name string) bool {
	_, _, err := r.room(name)
	return err == nil
}

// view returns the data of the layout, with those of a page.
func (r *Request) view(p Page, data any) View {
	v := View{Base: r.Base, Who: r.Who.Name, CSRF: r.session.csrf, Page: p, Data: data, Now: time.Now(),
		Path: strings.TrimPrefix(r.URL.RequestURI(), r.Base+"/"), Note: r.session.note(r.URL.Query().Get("note"))}
	for _, one := range pages() {
		if one.Title != "" && r.sees(one) && (one.Room == "" || r.has(one.Room)) {
			v.Menu = append(v.Menu, one)
		}
	}
	if r.Store().Missing() {
		return v
	}
	ctx, cancel := context.WithTimeout(r.Context(), layoutPatience)
	defer cancel()
	var err error
	if v.Paused, err = pauses.List(ctx, r.Store()); err != nil {
		v.Outage = r.console.Scrub(err.Error())
	}
	if open, err := ask.List(ctx, r.Store(), ""); err == nil {
		for _, q := range open {
			if (r.Who.Agent == "" || r.Who.Agent == q.Agent) && (r.Who.User == "" || r.Who.User == q.User) {
				v.Open++
			}
		}
	}
	v.Open += r.heldCount()
	_, _, err = r.verb("pauses", "pause")
	v.MayPause = err == nil
	return v
}

// layoutPatience limits the reads for the head of a page.
const layoutPatience = 5 * time.Second

// sees reports whether the person may see a page.
func (r *Request) sees(p Page) bool {
	return p.Where == room.Approver || r.Who.Operates()
}

// A View is what a template gets.
type View struct {
	Base, Who, CSRF string
	Page            Page
	Path            string // of this page beneath Base, with its query
	Menu            []Page
	Open            int            // questions
	Paused          []pauses.Pause // now
	MayPause        bool
	Outage          string // the store cannot be read
	Note            *note  // result of the last action
	Now             time.Time
	Data            any
}

//go:embed templates/*.html console.js browser.js console.css
var files embed.FS

// Style returns the style sheet of the console, for other pages for people.
func Style() []byte {
	style, err := files.ReadFile("console.css")
	if err != nil { // impossible: it is embedded
		return nil
	}
	return style
}

// A look is what the templates are when they were parsed.
type look struct{ pages map[string]*template.Template }

func parseLook() (*look, error) {
	l := &look{pages: map[string]*template.Template{}}
	names, err := files.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	layout, err := template.New("layout.html").Funcs(functions()).ParseFS(files, "templates/layout.html",
		"templates/parts.html")
	if err != nil {
		return nil, err
	}
	for _, f := range names {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		one, err := layout.Clone()
		if err == nil {
			_, err = one.ParseFS(files, "templates/"+f.Name())
		}
		if err != nil {
			return nil, err
		}
		l.pages[name] = one
	}
	return l, nil
}

// show answers with a page.
func (c *Console) show(w http.ResponseWriter, r *Request, p Page) {
	if !r.sees(p) {
		c.notFound(w, r)
		return
	}
	data, err := p.Data(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	c.write(w, http.StatusOK, p.Template, r.view(p, data))
}

// showFirst leads to the first page.
func (c *Console) showFirst(w http.ResponseWriter, r *Request) {
	http.Redirect(w, r.Request, r.Base+"/"+pages()[0].Path, http.StatusSeeOther)
}

func (c *Console) notFound(w http.ResponseWriter, r *Request) {
	c.fail(w, r, tool.Errorf(tool.NotFound, "there is no such page"))
}

// fail answers with an error in place of a page.
func (c *Console) fail(w http.ResponseWriter, r *Request, err error) {
	known := tool.AsError(err)
	if known.Kind == tool.Internal {
		c.Log.Warn("a page of the console failed", "path", r.URL.Path[len(r.Base):], "err", err)
		known = tool.Errorf(tool.Internal, "%s", err)
	}
	c.write(w, room.Status(known), "failed", r.view(Page{}, failure{Text: c.Scrub(known.What + nextStep(known))}))
}

func nextStep(err *tool.Error) string {
	if err.Next == "" {
		return ""
	}
	return "; " + err.Next
}

// write writes a page. Characters that cannot be seen are written out, whatever text they
// are in: the templates have none.
func (c *Console) write(w http.ResponseWriter, status int, name string, data any) {
	look, err := c.look()
	var page bytes.Buffer
	if err == nil {
		err = look.pages[name].ExecuteTemplate(&page, "layout.html", data)
	}
	if err != nil {
		c.Log.Error("a page of the console cannot be written", "path", name, "err", err)
		http.Error(w, "the page cannot be written; the log of the server has the reason", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(visible(page.Bytes())) // else the client has disconnected
}

// visible writes out hidden characters in a page.
func visible(page []byte) []byte {
	if !bytes.ContainsFunc(page, hidden) {
		return page
	}
	out := make([]byte, 0, len(page)+256)
	for _, c := range string(page) {
		if hidden(c) {
			out = fmt.Appendf(out, "&lt;U+%04X&gt;", c)
		} else {
			out = utf8.AppendRune(out, c)
		}
	}
	return out
}

func hidden(c rune) bool { return c != '\n' && c != '\t' && tool.Hidden(c) }

// file serves an embedded file.
func (c *Console) file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := files.ReadFile(name)
		if err != nil {
			c.gate(w, r, http.StatusNotFound, "")
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(content) // else the client has disconnected
	}
}

// functions are those of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"fold": foldText, "line": terminal.OneLine, "short": func(most int, text string) string {
			return terminal.Short(terminal.OneLine(text), most)
		},
		"time":   func(t time.Time) string { return t.Local().Format(time.DateTime) },
		"clock":  func(t time.Time) string { return t.Local().Format(time.TimeOnly) },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"left":   func(t time.Time) string { return max(time.Until(t), 0).Round(time.Second).String() },
		"ago":    func(t time.Time) string { return time.Since(t).Round(time.Second).String() },
		"lines":  func(list []string) string { return strings.Join(list, "\n") },
		"escape": escape, "verb": verbPath, "outcome": outcomeOf,
		"ms":   func(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) },
		"add":  func(a, b int) int { return a + b },
		"diff": diffRows, "oneSided": oneSided, "held": held, "exact": exact, "owned": func(owner url.Values) template.URL { return template.URL(owner.Encode()) }, "most": func() int { return maxHeld }, "picture": pictureURL, "heading": heading,
		"args": func(v ...any) []any { return v },
	}
}

func escape(text string) string { return url.QueryEscape(text) }

// A folded text is a long one, of which the beginning is shown at first.
type folded struct {
	Head, Text string
	Size       string // of the whole, "" if it is short
	Cut        bool   // Text is not the whole
}

const (
	// foldAt is the length from which a text is folded, in bytes, and foldLines in lines.
	foldAt    = 1200
	foldLines = 16
	// maxShown is how much of a text a page has.
	maxShown = 64 << 10
)

// foldText prepares a text for the template "text".
func foldText(text string) folded {
	head := text
	if n := lineEnd(text, foldLines); n < len(head) {
		head = head[:n]
	}
	if len(head) > foldAt {
		head = cut(head, foldAt/2)
	}
	if head == text {
		return folded{Head: text}
	}
	f := folded{Head: head, Text: cut(text, maxShown), Size: terminal.FileSize(int64(len(text)))}
	f.Cut = len(f.Text) < len(text)
	return f
}

// lineEnd returns the end of the first n lines.
func lineEnd(text string, n int) (end int) {
	for range n {
		at := strings.IndexByte(text[end:], '\n')
		if at < 0 {
			return len(text)
		}
		end += at + 1
	}
	return end
}

// cut returns the beginning of a text, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
