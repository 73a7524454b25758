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

// browserTool lets a model drive a browser.
type browserTool struct {
	browser Browser
	marks   tool.Marks
}

// browserArgs are one flat list: what goes with which action is clear from the
// names. What is hidden is how other tools like this one say the same.
type browserArgs struct {
	browserAsk
	Request *browserAsk `json:"request,omitempty" jsonschema:"an action and what goes with it" hidden:"true"`
}

type browserAsk struct {
	Action   string `json:"action,omitempty" jsonschema:"open, back, snapshot, click, hover, type, press, select, scroll, screenshot, evaluate, wait, tabs, close" alias:"command"`
	URL      string `json:"url,omitempty" jsonschema:"to open" maxlen:"8192" alias:"target_url"`
	Ref      string `json:"ref,omitempty" jsonschema:"e5, or a CSS selector" maxlen:"1000" alias:"selector,element,input_ref,uid"`
	Text     string `json:"text,omitempty" jsonschema:"to type, select or wait for; key to press (Control+a); where to scroll: down, up, top, bottom; JavaScript" alias:"fn,script,expression,code,function,value,fill_value"`
	Submit   bool   `json:"submit,omitempty" jsonschema:"Enter after type"`
	Tab      string `json:"tab,omitempty" jsonschema:"t2; new" maxlen:"64" alias:"target_id,tab_id,page_id"`
	FullPage bool   `json:"full_page,omitempty" jsonschema:"in a screenshot"`
	Offset   int    `json:"offset,omitempty" jsonschema:"of a snapshot"`

	Key       string   `json:"key,omitempty" jsonschema:"to press" maxlen:"40" hidden:"true" alias:"keys"`
	Values    []string `json:"values,omitempty" jsonschema:"to select" maxitems:"50" hidden:"true" alias:"options"`
	MaxChars  int      `json:"max_chars,omitempty" jsonschema:"of a snapshot" hidden:"true" alias:"limit"`
	Kind      string   `json:"kind,omitempty" jsonschema:"of act: an action" hidden:"true"`
	Gone      string   `json:"text_gone,omitempty" jsonschema:"to wait until it is not there" hidden:"true"`
	Millis    int      `json:"ms,omitempty" jsonschema:"how long to wait" hidden:"true" alias:"time_ms,timeout_ms,timeout,delay_ms"`
	Direction string   `json:"direction,omitempty" jsonschema:"to scroll" enum:"down,up,top,bottom" hidden:"true"`
	Button    string   `json:"button,omitempty" jsonschema:"of the mouse" enum:"left,right,middle" hidden:"true"`
	Double    bool     `json:"double_click,omitempty" jsonschema:"click twice" hidden:"true"`
	Slowly    bool     `json:"slowly,omitempty" jsonschema:"it is typed as fast as the page takes it" hidden:"true"`
	Choice    bool     `json:"interactive,omitempty" jsonschema:"what can be used is always shown" hidden:"true" alias:"interactive_only"`
	Compact   bool     `json:"compact,omitempty" jsonschema:"it always is" hidden:"true"`
	Depth     int      `json:"depth,omitempty" jsonschema:"all of it is shown" hidden:"true"`
}

func (browserTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "browser", Group: group, Title: "Browser", Risk: tool.Runs,
		Doc: `Drives a real browser. Each action returns what the page shows, with refs such as e5 to act on.
To only read a page web_fetch is faster.`,
		Hints:    tool.Hints{OpenWorld: true},
		Keywords: "web page navigate click form login screenshot javascript chromium chrome playwright puppeteer",
		Timeout:  2 * time.Minute,
		MaxText:  64 << 10,
		Repeats:  true,
	}
}

// deed is what an action asks for by any of its names.
func (a browserAsk) deed() (Deed, error) {
	said := a.Action
	if said == "" || said == "act" {
		said = a.Kind
	}
	name := strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(said)))
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
	return "", tool.Errorf(tool.Invalid, "there is no action %.40q", said).
		Try("use open, back, snapshot, click, hover, type, press, select, scroll, screenshot, evaluate, wait, tabs or close")
}

// act is what the arguments ask for. A request in them comes first, and what it
// leaves out is taken from around it.
func (a browserArgs) act() (Act, error) {
	ask := a.browserAsk
	if r := a.Request; r != nil {
		ask = *r
		ask.Tab = cmp.Or(r.Tab, a.Tab)
		ask.MaxChars = cmp.Or(r.MaxChars, a.MaxChars)
		if ask.Action == "" && ask.Kind == "" {
			ask.Action, ask.Kind = a.Action, a.Kind
		}
	}
	deed, err := ask.deed()
	if err != nil {
		return Act{}, err
	}
	act := Act{
		Deed: deed, Tab: ask.Tab, URL: ask.URL, Ref: strings.TrimPrefix(strings.TrimSpace(ask.Ref), "@"), Text: ask.Text, Gone: ask.Gone, Key: ask.Key,
		Values: ask.Values, Way: ask.Direction, Button: ask.Button, Double: ask.Double, Submit: ask.Submit, Whole: ask.FullPage,
		Millis: ask.Millis, MaxChars: ask.MaxChars, Offset: ask.Offset,
	}
	switch {
	case deed == Press && act.Key == "":
		act.Key = act.Text
	case deed == Select && len(act.Values) == 0 && act.Text != "":
		act.Values = []string{act.Text}
	case deed == Scroll && act.Way == "":
		act.Way = strings.ToLower(strings.TrimSpace(act.Text))
	}
	return act, act.check()
}

// maxChars is the most that a page is told in.
const maxChars = 100_000

// check finds what is missing, or cannot be meant.
func (a Act) check() error {
	missing := func(what string) error {
		return tool.Errorf(tool.Invalid, "%s needs %s", a.Deed, what).Try("send it, too")
	}
	switch {
	case a.MaxChars < 0 || a.MaxChars > maxChars || a.Offset < 0 || a.Millis < 0:
		return tool.Errorf(tool.Invalid, "a number is negative, or more than %d characters are asked for", maxChars).Try("leave it out for the usual")
	case a.Deed == Open && a.URL == "":
		return missing("a url")
	case a.Ref == "" && (a.Deed == Click || a.Deed == Hover || a.Deed == Type || a.Deed == Select):
		return missing("a ref, such as e5 of a snapshot")
	case a.Deed == Press && a.Key == "":
		return missing("a key, such as Enter")
	case a.Deed == Select && len(a.Values) == 0:
		return missing("values, the options by their names")
	case a.Deed == Scroll && !slices.Contains([]string{"", "down", "up", "top", "bottom"}, a.Way):
		return tool.Errorf(tool.Invalid, "there is no %.40q to scroll to", a.Way).Try("use down, up, top or bottom; or ref, to bring an element into view")
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
		return t.tell(view), nil
	}
	return plan, nil
}

// act is what is to be done, if there is anything to do it with.
func (t browserTool) act(a browserArgs) (Act, error) {
	act, err := a.act()
	if err == nil && t.browser == nil {
		err = tool.Errorf(tool.Unavailable, "there is no browser here").Try("use web_fetch")
	}
	return act, err
}

// tell puts a view into words: what is ours outside of the marks, what is the
// page's between them.
func (t browserTool) tell(v View) tool.Result {
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
