package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// browserTool drives a browser.
type browserTool struct {
	browser Browser
	marks   tool.Marks
}

// browserArgs are the arguments of all actions. The hidden ones are what similar tools
// use for the same.
type browserArgs struct {
	actionArgs
	Request *actionArgs `json:"request,omitempty" jsonschema:"an action with its arguments" hidden:"true"`
}

type actionArgs struct {
	Action   string `json:"action,omitempty" jsonschema:"open, back, snapshot, click, hover, type, press, select, scroll, screenshot, evaluate, wait, tabs, close" alias:"command"`
	URL      string `json:"url,omitempty" jsonschema:"URL to open" maxlen:"8192" alias:"target_url"`
	Ref      string `json:"ref,omitempty" jsonschema:"element: a ref such as e5, or a CSS selector" maxlen:"1000" alias:"selector,element,input_ref,uid"`
	Text     string `json:"text,omitempty" jsonschema:"text to type, select or wait for; key to press (Control+a); direction to scroll (down, up, top, bottom); JavaScript to evaluate" alias:"fn,script,expression,code,function,value,fill_value"`
	Submit   bool   `json:"submit,omitempty" jsonschema:"press Enter after typing"`
	Tab      string `json:"tab,omitempty" jsonschema:"tab such as t2, or new; default the current one" maxlen:"64" alias:"target_id,tab_id,page_id"`
	FullPage bool   `json:"full_page,omitempty" jsonschema:"screenshot of the whole page"`
	Offset   int    `json:"offset,omitempty" jsonschema:"characters of the snapshot to skip"`

	Key       string   `json:"key,omitempty" jsonschema:"key to press" maxlen:"40" hidden:"true" alias:"keys"`
	Values    []string `json:"values,omitempty" jsonschema:"options to select" maxitems:"50" hidden:"true" alias:"options"`
	MaxChars  int      `json:"max_chars,omitempty" jsonschema:"maximum characters of a snapshot" hidden:"true" alias:"limit"`
	Kind      string   `json:"kind,omitempty" jsonschema:"action, if action is act" hidden:"true"`
	Gone      string   `json:"text_gone,omitempty" jsonschema:"text to wait for to disappear" hidden:"true"`
	Millis    int      `json:"ms,omitempty" jsonschema:"milliseconds to wait" hidden:"true" alias:"time_ms,timeout_ms,timeout,delay_ms"`
	Direction string   `json:"direction,omitempty" jsonschema:"direction to scroll" enum:"down,up,top,bottom" hidden:"true"`
	Button    string   `json:"button,omitempty" jsonschema:"mouse button" enum:"left,right,middle" hidden:"true"`
	Double    bool     `json:"double_click,omitempty" jsonschema:"double-click" hidden:"true"`
	Slowly    bool     `json:"slowly,omitempty" jsonschema:"ignored: typing is as fast as the page allows" hidden:"true"`
	Choice    bool     `json:"interactive,omitempty" jsonschema:"ignored: interactive elements are always shown" hidden:"true" alias:"interactive_only"`
	Compact   bool     `json:"compact,omitempty" jsonschema:"ignored: snapshots are always compact" hidden:"true"`
	Depth     int      `json:"depth,omitempty" jsonschema:"ignored: the whole depth is shown" hidden:"true"`
}

func (browserTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "browser", Group: group, Title: "Browser", Risk: tool.Runs,
		Doc: `Controls a real browser. Each action returns a snapshot of the page, with refs such as e5 for the next.
To only read a page web_fetch is faster.`,
		Hints:    tool.Hints{OpenWorld: true},
		Keywords: "web page navigate click form login screenshot javascript chromium chrome playwright puppeteer",
		Timeout:  2 * time.Minute,
		MaxText:  64 << 10,
		Repeats:  true,
	}
}

// action returns the action by any of its names.
func (a actionArgs) action() (Deed, error) {
	requested := a.Action
	if requested == "" || requested == "act" {
		requested = a.Kind
	}
	name := strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(requested)))
	switch d := Deed(name); d {
	case Open, Back, Snapshot, Click, Hover, Type, Press, Select, Scroll, Screenshot, Evaluate, Wait, Tabs, Close:
		return d, nil
	}
	switch name {
	case "navigate", "goto", "go", "start", "new_tab":
		return Open, nil
	case "go_back":
		return Back, nil
	case "read", "get_text", "get_title", "get_url", "text", "view":
		return Snapshot, nil
	case "fill", "input", "key_type":
		return Type, nil
	case "key", "key_press", "press_key":
		return Press, nil
	case "select_option":
		return Select, nil
	case "take_screenshot", "screen_capture":
		return Screenshot, nil
	case "eval", "js", "execute":
		return Evaluate, nil
	case "wait_for":
		return Wait, nil
	case "status", "list", "focus", "switch_tab":
		return Tabs, nil
	case "stop", "quit":
		return Close, nil
	case "":
		if a.URL != "" {
			return Open, nil
		}
		return Snapshot, nil
	}
	return "", tool.Errorf(tool.Invalid, "unknown action %.40q", requested).
		Try("use open, back, snapshot, click, hover, type, press, select, scroll, screenshot, evaluate, wait, tabs " +
			"or close")
}

// act returns what to do. Arguments in Request have precedence.
func (a browserArgs) act() (Act, error) {
	args := a.actionArgs
	if r := a.Request; r != nil {
		args = *r
		args.Tab = cmp.Or(r.Tab, a.Tab)
		args.MaxChars = cmp.Or(r.MaxChars, a.MaxChars)
		if args.Action == "" && args.Kind == "" {
			args.Action, args.Kind = a.Action, a.Kind
		}
	}
	action, err := args.action()
	if err != nil {
		return Act{}, err
	}
	act := Act{
		Deed: action, Tab: args.Tab, URL: args.URL, Ref: strings.TrimPrefix(strings.TrimSpace(args.Ref), "@"),
		Text: args.Text, Gone: args.Gone, Key: args.Key, Values: args.Values, Way: args.Direction, Button: args.Button,
		Double: args.Double, Submit: args.Submit, Whole: args.FullPage, Millis: args.Millis, MaxChars: args.MaxChars,
		Offset: args.Offset,
	}
	switch {
	case action == Press && act.Key == "":
		act.Key = act.Text
	case action == Select && len(act.Values) == 0 && act.Text != "":
		act.Values = []string{act.Text}
	case action == Scroll && act.Way == "":
		act.Way = strings.ToLower(strings.TrimSpace(act.Text))
	}
	return act, act.check()
}

// maxSnapshot is the maximum length of a snapshot in characters.
const maxSnapshot = 100_000

// check checks that the arguments of the action are there and valid.
func (a Act) check() error {
	missing := func(what string) error {
		return tool.Errorf(tool.Invalid, "the action %s needs %s", a.Deed, what).Try("add it")
	}
	switch {
	case a.MaxChars < 0 || a.MaxChars > maxSnapshot || a.Offset < 0 || a.Millis < 0:
		return tool.Errorf(tool.Invalid, "offset or ms is negative, or max_chars is not from 0 to %d", maxSnapshot).
			Try("omit it for the default")
	case a.Deed == Open && a.URL == "":
		return missing("url")
	case a.Ref == "" && (a.Deed == Click || a.Deed == Hover || a.Deed == Type || a.Deed == Select):
		return missing("ref, such as e5 from a snapshot")
	case a.Deed == Press && a.Key == "":
		return missing("text, the key such as Enter")
	case a.Deed == Select && len(a.Values) == 0:
		return missing("text, the option to select")
	case a.Deed == Scroll && !slices.Contains([]string{"", "down", "up", "top", "bottom"}, a.Way):
		return tool.Errorf(tool.Invalid, "unknown direction %.40q", a.Way).
			Try("use down, up, top or bottom, or ref to scroll to an element")
	case a.Deed == Evaluate && a.Text == "":
		return missing("text, the JavaScript")
	}
	return nil
}

// Prepare rates an act by what it does in the caller's name: what the page can
// see. An approval is for the site at which the act is done, since a page may
// navigate before a person has answered.
func (t browserTool) Prepare(_ context.Context, a browserArgs) (tool.Plan, error) {
	act, err := t.act(a)
	if err != nil {
		return tool.Plan{}, err
	}
	plan := tool.Plan{Risk: tool.Writes, Why: "the page sees it as done by the caller"}
	switch act.Deed {
	case Snapshot, Scroll, Screenshot, Wait, Tabs, Close:
		plan.Risk, plan.Why = tool.Reads, ""
	case Evaluate:
		plan.Risk, plan.Why = tool.Runs, "runs JavaScript in a page, with the caller's logins"
	}
	plan.Facts = func(ctx context.Context) (tool.Facts, error) {
		site, err := t.browser.Where(ctx, act)
		facts := FactsAt(site)
		act.Basis = facts.Basis()
		return facts, err
	}
	plan.Run = func(ctx context.Context) (tool.Result, error) {
		view, err := t.browser.Do(ctx, act)
		if err != nil {
			return tool.Result{}, err
		}
		return t.show(view), nil
	}
	return plan, nil
}

// act returns what to do, if there is a browser.
func (t browserTool) act(a browserArgs) (Act, error) {
	act, err := a.act()
	if err == nil && t.browser == nil {
		err = tool.Errorf(tool.Unavailable, "no browser is available").Try("use web_fetch")
	}
	return act, err
}

// show returns a view as text. What the page contains is quoted.
func (t browserTool) show(v View) tool.Result {
	lines := v.Notes
	if v.Tab != "" {
		where := v.Tab
		if v.Tabs > 1 {
			where += fmt.Sprintf(" of %d", v.Tabs)
		}
		lines = append([]string{where}, lines...)
	}
	if v.Page != "" {
		lines = append(lines, t.marks.Quote(v.Source, v.Page))
	}
	if len(lines) == 0 {
		lines = []string{"done"}
	}
	r := tool.Text(strings.Join(lines, "\n"))
	if len(v.Picture) > 0 {
		r = r.Add(tool.Part{Data: v.Picture, MIME: v.MIME})
	}
	return r
}

// A Browser is a real browser with a session for each caller. The session ends with
// the caller's conversation or when it is closed. Errors may be shown to a model.
type Browser interface {
	// Do executes an Act and returns what the browser shows then. Acts of one caller
	// are executed one after the other. If ctx ends, the browser stays as it is.
	Do(ctx context.Context, a Act) (View, error)
	// Where returns the site at which an Act would be executed, such as
	// https://a.example, or the error that it would have, without using the browser;
	// "" for acts without a site.
	Where(ctx context.Context, a Act) (site string, err error)
}

// A Deed is an action of a browser.
type Deed string

// The actions. All but Open need an open page.
const (
	Open       Deed = "open"       // URL, and Tab for one that is there
	Back       Deed = "back"       // to the page before
	Snapshot   Deed = "snapshot"   // of the page, or of the content of Ref
	Click      Deed = "click"      // Ref
	Hover      Deed = "hover"      // Ref
	Type       Deed = "type"       // replaces the content of Ref with Text
	Press      Deed = "press"      // Key, at Ref or the focused element
	Select     Deed = "select"     // Values in Ref
	Scroll     Deed = "scroll"     // to Ref; with Way, the page or the element around Ref
	Screenshot Deed = "screenshot" // of the visible part, of Ref, or with Whole of the page
	Evaluate   Deed = "evaluate"   // Text as JavaScript, with Ref as its argument
	Wait       Deed = "wait"       // for Text or Ref, until Gone disappears, or Millis
	Tabs       Deed = "tabs"       // lists the tabs, and switches to Tab
	Close      Deed = "close"      // Tab, or the session
)

// An Act is an action with its arguments.
type Act struct {
	Deed   Deed
	Tab    string // t1; "" is the current one
	URL    string
	Ref    string // e1 from a snapshot, or a CSS selector
	Text   string
	Gone   string // text that has to disappear
	Key    string // Enter, Control+a
	Values []string
	Way    string // down, up, top, bottom
	Button string // left, right, middle; "" is left
	Double bool
	Submit bool // press Enter after typing
	Whole  bool
	Millis int // 0 is the default

	Basis string // of the FactsAt the approved site; "" without approval

	MaxChars int // of the snapshot; 0 is the default
	Offset   int // of the snapshot
}

// FactsAt returns what an approval of an Act at a site depends on.
func FactsAt(site string) tool.Facts {
	if site == "" {
		return nil
	}
	return tool.Facts{"site": site}
}

// A View is what a Browser shows.
type View struct {
	Tab     string   // the current tab
	Tabs    int      // open tabs
	Notes   []string // events and hints; trusted text
	Source  string   // address of the content of Page
	Page    string   // untrusted content: a snapshot, or a value
	Picture []byte
	MIME    string // of Picture
}
