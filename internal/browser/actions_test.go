package browser

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A model calls the tool with the arguments of its schema, and keeps the last results.
type model struct {
	*fixture
	t    *testing.T
	tool tool.Tool
	said map[string]bool // names of used arguments and actions
	seen string
}

func newModel(t *testing.T, b *fixture) *model {
	t.Helper()
	return &model{fixture: b, t: t, tool: browserTool(b.browsers), said: make(map[string]bool)}
}

// browserTool makes the tool that the tests in this file call. tool_test.go sets it:
// package web imports this package, so tests in this package cannot import web.
var browserTool func(*Browsers) tool.Tool

// UseTool sets browserTool.
func UseTool(newTool func(*Browsers) tool.Tool) bool {
	browserTool = newTool
	return true
}

var named = regexp.MustCompile(`<([^<>]+)>`)

// call calls the tool. It replaces "<Name>" by the ref of the first line of the results
// with that name. The result has to contain all of want.
func (m *model) call(raw string, want ...string) {
	m.t.Helper()
	raw = named.ReplaceAllStringFunc(raw, func(name string) string {
		return m.ref(m.seen, `"`+strings.Trim(name, "<>")+
			`"`)
	})
	var args map[string]any
	if err := json.Unmarshal([]byte(raw), &args); err != nil {
		m.t.Fatalf("%s: %v", raw, err)
	}
	for name, value := range args {
		m.said[name] = true
		if name == "action" {
			m.said[fmt.Sprint(value)] = true
		}
	}
	call, err := m.tool.Bind(json.RawMessage(raw), tool.DefaultLimits())
	if err != nil {
		m.t.Fatalf("%s: %v", raw, err)
	}
	r, err := call.Run(m.as(m.user))
	if err != nil {
		m.t.Fatalf("%s: %v", raw, err)
	}
	text := r.Text()
	if strings.Contains(text, "[e") {
		m.seen = text + "\n" + m.seen
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			m.t.Fatalf("%s does not contain %q:\n%s", raw, w, text)
		}
	}
}

// TestEveryAction executes each action with each of its arguments, as a model calls the tool.
func TestEveryAction(t *testing.T) {
	t.Parallel()
	kept := profilesIn(t, t.TempDir())
	m := newModel(t, atShop(t, func(o *Options) { o.Profiles = kept }))
	page := func(t *testing.T) {
		m.t, m.fixture = t, m.in(t, m.user)
		m.seen = ""
		m.call(`{"action":"open","url":"`+shop+`/actions.html","max_chars":6000,"profile":"work"}`, `button "Pad"`)
	}
	for _, part := range []struct {
		name string
		do   func()
	}{
		{"scroll", m.scrolls}, {"the mouse", m.clicks}, {"coordinates", m.moves}, {"requests", m.seesRequests}, {"keys", m.presses}, {"reading", m.reads}, {"waiting", m.waits},
		{"tabs", m.goesThroughTabs}, {"forms", m.fills}, {"the page", m.inspects}, {"dialogs", m.answersDialogs},
	} {
		t.Run(part.name, func(t *testing.T) {
			page(t)
			part.do()
		})
	}
	t.Run("all arguments were used", m.saidAll)
}

func (m *model) scrolls() {
	m.call(`{"action":"scroll","text":"down"}`, "Page: between", "the page is at ")
	m.call(`{"action":"scroll","text":"up"}`, "Page: top", "the page is at the top")
	m.call(`{"action":"scroll"}`, "Page: between")
	m.call(`{"action":"scroll","text":"bottom"}`, "Page: bottom", "the page is at the bottom")
	m.call(`{"action":"scroll","direction":"down"}`, "shows the same as before", "the page is at the bottom")
	m.call(`{"action":"scroll","text":"Top"}`, "Page: top")
	m.call(`{"action":"scroll","ref":"<Item>","text":"down"}`, "Inner: between", "is at ")
	m.call(`{"action":"scroll","ref":"#inner","text":"up"}`, "Inner: top")
	m.call(`{"action":"scroll","ref":"<Item>","text":"bottom"}`, "Inner: bottom")
	m.call(`{"action":"scroll","ref":"<Item>"}`, "Inner: top")
	m.call(`{"action":"scroll","ref":"#inner","direction":"bottom"}`, "Inner: bottom")
	m.call(`{"action":"scroll","ref":"#inner","direction":"top"}`, "Inner: top")
}

func (m *model) clicks() {
	m.call(`{"action":"click","ref":"<Pad>"}`, "click 0")
	m.call(`{"action":"click","ref":"<Pad>","button":"right"}`, "contextmenu 2")
	m.call(`{"action":"click","ref":"<Pad>","button":"middle"}`, "auxclick 1")
	m.call(`{"action":"click","ref":"<Pad>","double_click":true}`, "dblclick 0")
	m.call(`{"action":"hover","ref":"<Keys>"}`, "the same as before")
	m.call(`{"action":"hover","ref":"<Pad>"}`, "mouseenter 0")
}

// moves uses the mouse by coordinates, of elements that a script looks up.
func (m *model) moves() {
	at := func(ref string) (x, y int) {
		m.t.Helper()
		text := m.do(Request{Action: Evaluate, Ref: ref, Text: "e => { const r = e.getBoundingClientRect();" +
			"return Math.round(r.x + r.width / 2) + ' ' + Math.round(r.y + r.height / 2) }"})
		if _, err := fmt.Sscanf(strings.TrimSpace(text), "%d %d", &x, &y); err != nil {
			m.t.Fatalf("%q: %v", text, err)
		}
		return x, y
	}
	x, y := at("#pad")
	m.call(fmt.Sprintf(`{"action":"mouse_move","text":"%d,%d"}`, x, y), "mouseenter 0")
	m.call(fmt.Sprintf(`{"action":"mouse_click","text":"%d, %d"}`, x, y), "click 0")
	m.call(fmt.Sprintf(`{"action":"mouse_click","x":%d,"y":%d,"button":"right"}`, x, y), "contextmenu 2")
	m.call(`{"action":"evaluate","text":"addEventListener('mouseup', e => said('up ' + e.clientX + ' ' + e.clientY)); 1"}`, "1")
	m.call(fmt.Sprintf(`{"action":"mouse_drag","text":"%d,%d 300,301"}`, x, y), "up 300 301")
	m.call(`{"action":"mouse_wheel","text":"600,400 0,700"}`)
	m.call(`{"action":"wait","text":"Page: between","ms":60000}`)
	m.call(`{"action":"mouse_wheel","x":600,"y":400,"direction":"up"}`)
}

// seesRequests reads the log of requests, which shows neither headers nor cookies, and whether elements are visible.
func (m *model) seesRequests() {
	m.call(`{"action":"is_visible","ref":"<Pad>"}`, "true")
	m.call(`{"action":"evaluate","text":"document.getElementById('pad').style.opacity = 0; 1"}`, "1")
	m.call(`{"action":"is_visible","ref":"#pad"}`, "false")
	m.call(`{"action":"is_visible","ref":"#nothing"}`, "false")
	m.call(`{"action":"evaluate","text":"fetch('/missing.json?q=1', {method: 'PUT', headers: {'X-Secret': 'hidden-header'}}).then(r => r.status)"}`, "405")
	m.call(`{"action":"evaluate","text":"fetch('/redirect?to=/slow.json').then(r => r.text())"}`, "item")
	m.call(`{"action":"evaluate","text":"fetch('http://other.invalid/x').then(() => 'answered', () => 'failed')"}`, "failed")
	m.call(`{"action":"network"}`, "GET "+shop+"/actions.html 200 document text/html", "PUT "+shop+"/missing.json?q=1 405 fetch text/plain",
		"GET "+shop+"/redirect?to=/slow.json 302", "GET "+shop+"/slow.json 200", " bytes", "GET http://other.invalid/x net::ERR")
	m.call(`{"action":"network","text":"missing"}`, "missing.json")
	if text := m.do(Request{Action: Network, Text: "missing"}); strings.Contains(text, "slow.json") || strings.Contains(text, "hidden-header") {
		m.t.Errorf("the log shows more:\n%s", text)
	}
}

func (m *model) presses() {
	m.call(`{"action":"press","ref":"<Keys>","text":"Control+a"}`, "ctrl+a")
	m.call(`{"action":"press","key":"x"}`, `= "x"`)
	m.call(`{"action":"press","text":"Shift+y"}`, `= "xY"`, "shift+Y")
	m.call(`{"action":"press","text":"Alt+Control+F2"}`, "ctrl+alt+F2")
	m.call(`{"action":"type","ref":"<Keys>","text":"whole","submit":true}`, `= "whole"`, "Enter")
	m.call(`{"action":"type","ref":"<Keys>","text":""}`, "Delete")
}

func (m *model) reads() {
	m.call(`{"action":"snapshot","ref":"#inner"}`, `button "Item"`)
	m.call(`{"action":"snapshot","max_chars":60}`, "offset 44 reads on")
	m.call(`{"action":"snapshot","offset":44}`, "The end")
	m.call(`{"action":"screenshot"}`)
	m.call(`{"action":"screenshot","full_page":true}`)
	m.call(`{"action":"screenshot","ref":"<Pad>"}`)
	m.call(`{"action":"evaluate","text":"document.title"}`, "Actions")
	m.call(`{"action":"evaluate","text":"e => e.id","ref":"<Pad>"}`, "pad")
}

func (m *model) waits() {
	m.call(`{"action":"wait"}`, "same as before")
	m.call(`{"action":"wait","ms":1}`, "same as before")
	m.call(`{"action":"wait","text":"the END"}`, "same as before")
	m.call(`{"action":"click","ref":"<Later>"}`)
	m.call(`{"action":"wait","ref":"#late"}`)
	m.call(`{"action":"snapshot"}`, "Late")
	m.call(`{"action":"wait","text_gone":"never there"}`)
	_, err := m.try(Request{Action: Wait, Text: "never", Millis: 1})
	if next := tool.AsError(err).Next; tool.AsError(err).Kind != tool.Timeout || strings.Contains(next, "ms") {
		m.t.Errorf("a text that never appears: %v", err)
	}
}

func (m *model) goesThroughTabs() {
	m.call(`{"action":"click","ref":"<Another>"}`, "t2 is the current tab now", `button "Inner"`)
	m.call(`{"action":"scroll","tab":"t1","text":"down"}`, "Page: between") // lookup a tab that another one covers
	m.call(`{"action":"screenshot","tab":"t1"}`)
	m.call(`{"action":"tabs","tab":"t2"}`, "t2 "+shop+"/frame.html?next (current)")
	m.call(`{"action":"open","tab":"new","url":"`+shop+`/table.html"}`, "t3 of 3", "title: Prices")
	m.call(`{"action":"open","tab":"t2","url":"`+shop+`/table.html"}`, "t2 of 3")
	m.call(`{"action":"back"}`, `button "Inner"`)
	m.call(`{"action":"close","tab":"t3"}`, "t2 ")
	m.call(`{"action":"close","tab":"t2"}`, "t1 ")
}

func (m *model) inspects() {
	m.call(`{"action":"get_title"}`, "Actions")
	m.call(`{"action":"get_url"}`, shop+"/actions.html")
	m.call(`{"action":"evaluate","text":"document.head.append(Object.assign(document.createElement('script'), ` +
		`{textContent: 'console.warn(\"from\", \"the page\"); throw new Error(\"late\")'}))"}`)
	m.call(`{"action":"console"}`, "warning: from the page", "exception: Error: late")
	m.call(`{"action":"console"}`, "the result is empty")
	m.call(`{"action":"find","text":"button pad"}`, `button "Pad"`)
	m.call(`{"action":"find","role":"button","name":"Later"}`, `button "Later"`)
	m.call(`{"action":"snapshot","interactive":true}`, `button "Pad"`)
	m.call(`{"action":"snapshot","depth":2}`, `button "Pad"`)
	m.call(`{"action":"frames"}`, "the page has no frames")
	m.call(`{"action":"pdf"}`, `saved the page as "downloads/Actions.pdf"`)
	m.call(`{"action":"resize","text":"400x300"}`)
	m.call(`{"action":"evaluate","text":"innerWidth + ' ' + innerHeight"}`, "400 300")
	m.call(`{"action":"resize","width":1280,"height":800}`)
	m.do(Request{Action: Evaluate, Text: `document.body.innerHTML = '<input type=range id=r min=0 max=100 value=0 ' +
		'style=width:300px><b id=end style=position:absolute;left:250px>end</b>'`})
	m.call(`{"action":"drag","ref":"#r","text":"#end"}`)
	m.call(`{"action":"evaluate","text":"+document.querySelector('#r').value > 50"}`, "true")
	if text, _ := m.savedFile("Actions.pdf"); !strings.HasPrefix(text, "%PDF-") {
		m.t.Errorf("the PDF is %.20q", text)
	}
	m.saved.files["notes.txt"] = "uploaded"
	m.call(`{"action":"open","url":"` + shop + `/form.html","max_chars":9000}`)
	m.call(`{"action":"upload","ref":"input[type=file]","text":"notes.txt"}`)
	m.call(`{"action":"evaluate","ref":"input[type=file]","text":"async e => e.files[0].name + ' ' + await e.files[0].text()"}`,
		"notes.txt uploaded")
}

func (m *model) answersDialogs() {
	m.call(`{"action":"dialog","text":"accept"}`, "answered with accept")
	m.call(`{"action":"evaluate","text":"confirm('Sure?')"}`, "true", "Sure?")
	m.call(`{"action":"evaluate","text":"confirm('Again?')"}`, "false", "dismissed")
	m.call(`{"action":"dialog","text":"Ann"}`)
	m.call(`{"action":"evaluate","text":"prompt('Name?')"}`, "Ann")
	m.call(`{"action":"dialog","accept":false}`, "answered with dismiss")
	m.call(`{"action":"type","ref":"<Keys>","text":"ab","slowly":true}`, `= "ab"`)
}

func (m *model) fills() {
	m.call(`{"action":"open","url":"` + shop + `/form.html","max_chars":9000}`)
	m.call(`{"action":"select","ref":"<Country>","text":"Sweden"}`, "Sweden")
	m.call(`{"action":"select","ref":"<Extras>","values":["Milk","Cream"]}`)
	m.call(`{"action":"close"}`, "closed")
}

// saidAll fails if an action or an argument was not used.
func (m *model) saidAll(t *testing.T) {
	var schema struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(m.tool.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	// hidden arguments
	all := []string{"key", "values", "max_chars", "text_gone", "ms", "direction", "button", "double_click"}
	for name := range schema.Properties {
		all = append(all, name)
	}
	actions := strings.Split(schema.Properties["action"].Description, ", ")
	if len(actions) != 30 {
		t.Errorf("the actions are %q", actions)
	}
	for _, name := range append(all, actions...) {
		if !m.said[name] {
			t.Errorf("%s was not used", name)
		}
	}
}
