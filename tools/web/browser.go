package web

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// browserTool drives a browser.
type browserTool struct {
	browser Browser
	marks   tool.Marks
}

// browserArgs are the arguments of all actions. The hidden ones are arguments
// of similar tools use for the same.
type browserArgs struct {
	actionArgs
	Request *actionArgs `json:"request,omitempty" jsonschema:"an action with its arguments" hidden:"true"`
}

type actionArgs struct {
	Action   string `json:"action,omitempty" jsonschema:"open, back, snapshot, find, click, hover, drag, type, press, select, upload, dialog, scroll, resize, screenshot, pdf, evaluate, console, network, frames, is_visible, get_title, get_url, wait, tabs, close, mouse_move, mouse_click, mouse_drag, mouse_wheel" alias:"command"`
	URL      string `json:"url,omitempty" jsonschema:"URL to open, such as localhost:3000 of a server of exec, or file such as page.html" maxlen:"8192" alias:"target_url"`
	Ref      string `json:"ref,omitempty" jsonschema:"ref such as e5, or CSS selector" maxlen:"1000" alias:"selector,element,input_ref,uid"`
	Text     string `json:"text,omitempty" jsonschema:"text to type, select or wait for; role and label to find; key; direction; JavaScript; ref to drag to; file to upload; size such as 1280x800; answer to the next dialog: accept, dismiss or a text; for mouse_ actions x,y in the window, and a second x,y to drag to or to scroll by" alias:"fn,script,expression,code,function,value,fill_value,end_ref,target_ref,path,prompt_text,name"`
	Profile  string `json:"profile,omitempty" jsonschema:"with open: name of a profile, which keeps logins for later conversations" maxlen:"64" alias:"user_profile,profile_name"`
	Submit   bool   `json:"submit,omitempty" jsonschema:"press Enter after typing"`
	Tab      string `json:"tab,omitempty" jsonschema:"tab such as t2, or new" maxlen:"64" alias:"target_id,tab_id,page_id"`
	FullPage bool   `json:"full_page,omitempty" jsonschema:"screenshot the whole page"`
	Offset   int    `json:"offset,omitempty" jsonschema:"snapshot characters to skip"`

	X         *float64 `json:"x,omitempty" jsonschema:"place of the mouse from the left, in pixels" hidden:"true" alias:"from_x"`
	Y         *float64 `json:"y,omitempty" jsonschema:"place of the mouse from the top, in pixels" hidden:"true" alias:"from_y"`
	ToX       float64  `json:"to_x,omitempty" jsonschema:"place to drag to, or pixels to scroll to the right" hidden:"true" alias:"delta_x"`
	ToY       float64  `json:"to_y,omitempty" jsonschema:"place to drag to, or pixels to scroll down" hidden:"true" alias:"delta_y,pixels"`
	Key       string   `json:"key,omitempty" jsonschema:"key to press" maxlen:"40" hidden:"true" alias:"keys"`
	Values    []string `json:"values,omitempty" jsonschema:"options to select, or files to upload" maxitems:"50" hidden:"true" alias:"options,paths,files"`
	Role      string   `json:"role,omitempty" jsonschema:"role to find" maxlen:"40" hidden:"true"`
	Accept    *bool    `json:"accept,omitempty" jsonschema:"accept the next dialog" hidden:"true"`
	Width     int      `json:"width,omitempty" jsonschema:"width of the window" hidden:"true"`
	Height    int      `json:"height,omitempty" jsonschema:"height of the window" hidden:"true"`
	MaxChars  int      `json:"max_chars,omitempty" jsonschema:"maximum characters of a snapshot" hidden:"true" alias:"limit"`
	Kind      string   `json:"kind,omitempty" jsonschema:"action, if action is act" hidden:"true"`
	Gone      string   `json:"text_gone,omitempty" jsonschema:"text to wait for to disappear" hidden:"true"`
	Millis    int      `json:"ms,omitempty" jsonschema:"milliseconds to wait" hidden:"true" alias:"time_ms,timeout_ms,timeout,delay_ms"`
	Direction string   `json:"direction,omitempty" jsonschema:"direction to scroll" enum:"down,up,top,bottom" hidden:"true"`
	Button    string   `json:"button,omitempty" jsonschema:"mouse button" enum:"left,right,middle" hidden:"true"`
	Double    bool     `json:"double_click,omitempty" jsonschema:"double-click" hidden:"true"`
	Slowly    bool     `json:"slowly,omitempty" jsonschema:"type key by key" hidden:"true"`
	Choice    bool     `json:"interactive,omitempty" jsonschema:"only elements with refs" hidden:"true" alias:"interactive_only"`
	Compact   bool     `json:"compact,omitempty" jsonschema:"without effect: snapshots are compact" hidden:"true"`
	Depth     int      `json:"depth,omitempty" jsonschema:"levels of a snapshot to show" hidden:"true"`
}

func (browserTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "browser", Group: group, Title: "Browser", Risk: tool.Runs, Viewed: true,
		Doc: `Controls a browser. Each action returns a snapshot of the page, with refs for its elements.
A snapshot of a ref shows that part, with the addresses of its links. To only read a page use web_fetch.`,
		Hints: tool.Hints{OpenWorld: true},
		Keywords: "web page site shop order buy navigate click button scroll menu cookie form fill login sign in " +
			"screenshot javascript chromium chrome playwright puppeteer",
		Timeout: 2 * time.Minute,
		MaxText: 64 << 10,
		Repeats: true,
	}
}

// actionNames are the names that other systems have for actions.
var actionNames = map[string]browser.Action{
	"navigate": browser.Open, "goto": browser.Open, "go": browser.Open, "start": browser.Open, "new_tab": browser.Open,
	"go_back": browser.Back, "title": browser.Title, "url": browser.Address, "console_messages": browser.Console,
	"read": browser.Snapshot, "get_text": browser.Snapshot, "text": browser.Snapshot, "view": browser.Snapshot,
	"save_as_pdf": browser.PDF, "pdf_save": browser.PDF,
	"file_upload": browser.Upload, "upload_file": browser.Upload, "handle_dialog": browser.Dialog,
	"fill": browser.Type, "input": browser.Type, "key_type": browser.Type,
	"key": browser.Press, "key_press": browser.Press, "press_key": browser.Press, "select_option": browser.Select,
	"take_screenshot": browser.Screenshot, "screen_capture": browser.Screenshot,
	"eval": browser.Evaluate, "js": browser.Evaluate, "execute": browser.Evaluate, "wait_for": browser.Wait,
	"network_requests": browser.Network, "requests": browser.Network, "visible": browser.IsVisible,
	"wheel": browser.MouseWheel, "mouse_scroll": browser.MouseWheel,
	"status": browser.Tabs, "list": browser.Tabs, "focus": browser.Tabs, "switch_tab": browser.Tabs,
	"stop": browser.Close, "quit": browser.Close, "": browser.Snapshot,
}

// action returns the action by any of its names.
func (a actionArgs) action() (browser.Action, error) {
	requested := a.Action
	if requested == "" || requested == "act" {
		requested = a.Kind
	}
	name := strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(requested)))
	switch d := browser.Action(name); d {
	case browser.Open, browser.Back, browser.Snapshot, browser.Click, browser.Hover, browser.Type, browser.Press,
		browser.Select, browser.Scroll, browser.Screenshot, browser.Evaluate, browser.Wait, browser.Tabs, browser.Close,
		browser.Title, browser.Address, browser.FindAction, browser.Console, browser.Frames, browser.PDF,
		browser.Upload, browser.Dialog, browser.Drag, browser.Resize, browser.IsVisible, browser.Network, browser.MouseMove,
		browser.MouseClick, browser.MouseDrag, browser.MouseWheel:
		return d, nil
	}
	if name == "" && a.URL != "" {
		return browser.Open, nil
	}
	if d, ok := actionNames[name]; ok {
		return d, nil
	}
	return "", tool.Errorf(tool.Invalid, "unknown action %.40q", requested).
		Try("use open, back, snapshot, find, click, hover, drag, type, press, select, upload, dialog, scroll, " +
			"resize, screenshot, pdf, evaluate, console, network, frames, is_visible, get_title, get_url, wait, tabs, close, " +
			"mouse_move, mouse_click, mouse_drag or mouse_wheel")
}

// request returns the request of the arguments. Arguments in Request have precedence.
func (a browserArgs) request() (browser.Request, error) {
	args := a.actionArgs
	if r := a.Request; r != nil {
		args = *r
		args.Tab = cmp.Or(r.Tab, a.Tab)
		args.MaxChars, args.Profile = cmp.Or(r.MaxChars, a.MaxChars), cmp.Or(r.Profile, a.Profile)
		if args.Action == "" && args.Kind == "" {
			args.Action, args.Kind = a.Action, a.Kind
		}
	}
	action, err := args.action()
	if err != nil {
		return browser.Request{}, err
	}
	req := browser.Request{
		Action: action, Tab: args.Tab, URL: args.URL, Profile: args.Profile, Ref: strings.TrimPrefix(strings.TrimSpace(args.Ref), "@"),
		Text: args.Text, TextGone: args.Gone, Key: args.Key, Values: args.Values, Direction: args.Direction,
		Button: args.Button,
		Double: args.Double, Submit: args.Submit, FullPage: args.FullPage, Millis: args.Millis, MaxChars: args.MaxChars,
		Offset: args.Offset, Slowly: args.Slowly, Interactive: args.Choice, Depth: args.Depth,
	}
	switch {
	case action == browser.Press && req.Key == "":
		req.Key = req.Text
	case (action == browser.Select || action == browser.Upload) && len(req.Values) == 0 && req.Text != "":
		req.Values = []string{req.Text}
	case action == browser.FindAction:
		req.Text = strings.TrimSpace(args.Role + " " + req.Text)
	case action == browser.Dialog && args.Accept != nil && (req.Text == "" || !*args.Accept):
		req.Text = map[bool]string{true: "accept", false: "dismiss"}[*args.Accept]
	case action == browser.Resize && req.Text == "":
		req.Text = fmt.Sprintf("%dx%d", args.Width, args.Height)
	case action == browser.Scroll && req.Direction == "":
		req.Direction = strings.ToLower(strings.TrimSpace(req.Text))
	}
	if isMouse(action) {
		if err := args.place(&req); err != nil {
			return browser.Request{}, err
		}
	}
	return req, checkRequest(req)
}

func isMouse(a browser.Action) bool {
	return a == browser.MouseMove || a == browser.MouseClick || a == browser.MouseDrag || a == browser.MouseWheel
}

var points = regexp.MustCompile(`^\s*(-?[\d.]+)\s*[, ]\s*(-?[\d.]+)(?:\s*[;, ]\s*(-?[\d.]+)\s*[, ]\s*(-?[\d.]+))?\s*$`)

// maxPlace is the maximum distance of the mouse from the upper left, in pixels.
const maxPlace = 100_000

// place sets the points of a mouse action, from the numbers or from the text.
func (a actionArgs) place(req *browser.Request) error {
	needs := tool.Errorf(tool.Invalid, "the action %s needs a place", req.Action).
		Try("send it as text, such as 120,80 in pixels from the upper left of a screenshot")
	if req.Action == browser.MouseDrag || req.Action == browser.MouseWheel {
		needs = tool.Errorf(tool.Invalid, "the action %s needs two pairs of numbers", req.Action).
			Try("send them as text, such as 120,80 300,80 to drag, or 120,80 0,500 to scroll down by 500 pixels there")
	}
	if a.X != nil && a.Y != nil {
		req.At, req.To = browser.Point{X: *a.X, Y: *a.Y}, browser.Point{X: a.ToX, Y: a.ToY}
		if req.Action == browser.MouseWheel && req.To == (browser.Point{}) {
			req.To.Y = map[string]float64{"": 500, "down": 500, "up": -500}[a.Direction]
		}
	} else {
		found := points.FindStringSubmatch(req.Text)
		if found == nil || found[3] == "" && (req.Action == browser.MouseDrag || req.Action == browser.MouseWheel) {
			return needs
		}
		for i, to := range []*float64{&req.At.X, &req.At.Y, &req.To.X, &req.To.Y} {
			if found[i+1] == "" {
				break
			}
			n, err := strconv.ParseFloat(found[i+1], 64)
			if err != nil {
				return needs
			}
			*to = n
		}
	}
	for _, n := range []float64{req.At.X, req.At.Y, req.To.X, req.To.Y} {
		if math.IsNaN(n) || math.Abs(n) > maxPlace || req.At.X < 0 || req.At.Y < 0 {
			return tool.Errorf(tool.Invalid, "the place is not in the window").Try("take a screenshot to see where things are")
		}
	}
	req.Text = ""
	return nil
}

// maxSnapshot is the maximum length of a snapshot in characters.
const maxSnapshot = 100_000

// checkRequest checks that the arguments of the action are there and valid.
func checkRequest(a browser.Request) error {
	missing := func(what string) error {
		return tool.Errorf(tool.Invalid, "the action %s needs %s", a.Action, what).Try("add it")
	}
	switch {
	case a.MaxChars < 0 || a.MaxChars > maxSnapshot || a.Offset < 0 || a.Millis < 0 || a.Depth < 0:
		return tool.Errorf(tool.Invalid, "offset, depth or ms is negative, or max_chars is not from 0 to %d",
			maxSnapshot).
			Try("omit it for the default")
	case a.Action == browser.Open && a.URL == "":
		return missing("url")
	case a.Profile != "" && a.Action != browser.Open:
		return tool.Errorf(tool.Invalid, "profile is for the action open").Try("omit it; the browser keeps the profile that it was opened with")
	case a.Profile != "":
		return profiles.CheckName(a.Profile)
	case a.Ref == "" && (a.Action == browser.Click || a.Action == browser.Hover || a.Action == browser.Type ||
		a.Action == browser.Select || a.Action == browser.Drag || a.Action == browser.Upload || a.Action == browser.IsVisible):
		return missing("ref, such as e5 from a snapshot")
	case a.Action == browser.Press && a.Key == "":
		return missing("text, the key such as Enter")
	case a.Action == browser.Select && len(a.Values) == 0:
		return missing("text, the option to select")
	case a.Action == browser.Scroll && !slices.Contains([]string{"", "down", "up", "top", "bottom"}, a.Direction):
		return tool.Errorf(tool.Invalid, "unknown direction %.40q", a.Direction).
			Try("use down, up, top or bottom, or ref to scroll to an element")
	case a.Action == browser.Upload && len(a.Values) == 0:
		return missing("text, the file")
	case a.Text == "" && (a.Action == browser.Evaluate || a.Action == browser.FindAction || a.Action == browser.Drag ||
		a.Action == browser.Dialog):
		return missing("text: " + map[browser.Action]string{browser.Evaluate: "the JavaScript",
			browser.FindAction: "a role or a label", browser.Drag: "the ref to drag to",
			browser.Dialog: "accept, dismiss, or the text to enter"}[a.Action])
	case a.Action != browser.Snapshot && (a.Interactive || a.Depth > 0):
		return tool.Errorf(tool.Invalid, "interactive and depth are for the action snapshot").Try("omit them")
	}
	return nil
}

// Prepare rates a request by its effect in the caller's name, which the page can see. An approval is for the site of
// the request, since a page may navigate before a person has answered.
func (t browserTool) Prepare(_ context.Context, a browserArgs) (tool.Plan, error) {
	req, err := t.request(a)
	if err != nil {
		return tool.Plan{}, err
	}
	plan := tool.Plan{Risk: tool.Writes, Why: "the page sees it as done by the caller"}
	switch req.Action {
	case browser.Snapshot, browser.Scroll, browser.Screenshot, browser.Wait, browser.Tabs, browser.Close,
		browser.Title, browser.Address, browser.FindAction, browser.Console, browser.Frames, browser.Resize,
		browser.IsVisible, browser.Network:
		plan.Risk, plan.Why = tool.Reads, ""
	case browser.PDF:
		plan.Why = "saves a file"
	case browser.Open:
		if req.Profile != "" {
			plan.Why = fmt.Sprintf("the page sees the logins of the profile %s", req.Profile)
		}
	case browser.Upload:
		plan.Risk, plan.Why = tool.Runs, "sends files of the workspace to the site"
	case browser.Evaluate:
		plan.Risk, plan.Why = tool.Runs, "runs JavaScript in a page, with the caller's logins"
	}
	plan.Facts = func(ctx context.Context) (tool.Facts, error) {
		site, err := t.browser.Where(ctx, req)
		facts := browser.SiteFacts(site)
		req.Basis = facts.Basis()
		return facts, err
	}
	plan.Run = func(ctx context.Context) (tool.Result, error) {
		req.Seen = tool.Viewed(ctx)
		v, err := t.browser.Do(ctx, req)
		if err != nil {
			return tool.Result{}, err
		}
		res := t.show(v)
		if req.Seen && len(v.Seen)+len(v.Picture) > 0 {
			res = res.Showing(view.Snapshot{
				Kind: "snapshot", Tab: v.Tab, Tabs: v.Tabs, Address: v.Source, Notes: v.Notes, Outline: v.Page, Picture: v.Seen,
				MIME: "image/jpeg",
			})
		}
		return res, nil
	}
	return plan, nil
}

// request returns the request of the arguments, if there is a browser.
func (t browserTool) request(a browserArgs) (browser.Request, error) {
	req, err := a.request()
	if err == nil && t.browser == nil {
		err = tool.Errorf(tool.Unavailable, "no browser is available").Try("use web_fetch")
	}
	return req, err
}

// show returns a view as text. The content of the page is quoted.
func (t browserTool) show(v browser.View) tool.Result {
	lines := v.Notes
	if v.Tab != "" {
		where := v.Tab
		if v.Tabs > 1 {
			where += fmt.Sprintf(" of %d", v.Tabs)
		}
		lines = append([]string{where}, lines...)
	}
	if v.Page != "" {
		page := v.Source + "\n" + v.Page
		if !v.Own { // an own page is as trusted as the output of a command
			page = t.marks.Quote(v.Source, v.Page)
		}
		lines = append(lines, page)
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
	// Do executes a request and returns the view of the browser after it. Requests of one caller are executed one after
	// the other. If ctx ends, the browser stays as it is.
	Do(ctx context.Context, a browser.Request) (browser.View, error)
	// Where returns the site at which a request would be executed, such as
	// https://a.example, or the error that it would have, without using the browser;
	// "" for requests without a site.
	Where(ctx context.Context, a browser.Request) (site string, err error)
}
