package web

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// A played browser shows a page, and keeps what it was asked.
type played struct {
	asked browser.Request
	view  browser.View
	site  string
}

func (p *played) Do(_ context.Context, a browser.Request) (browser.View, error) {
	p.asked = a
	return p.view, nil
}

func (p *played) Where(_ context.Context, a browser.Request) (string, error) {
	if a.Tab == "t9" {
		return "", tool.Errorf(tool.NotFound, "there is no tab %q", a.Tab).Try("see tabs")
	}
	return p.site, nil
}

func TestBrowserArguments(t *testing.T) {
	b := &played{}
	one := tool.Prepared(browserTool{b, tool.NewMarks()})
	for raw, want := range map[string]browser.Request{
		`{"action":"open","url":"https://a.example"}`:                                                    {Action: browser.Open, URL: "https://a.example"},
		`{"action":"navigate","targetUrl":"https://a.example","targetId":"t2"}`:                          {Action: browser.Open, URL: "https://a.example", Tab: "t2"},
		`{"action":"mouse_click","x":10,"y":20.5}`:                                                       {Action: browser.MouseClick, At: browser.Point{X: 10, Y: 20.5}},
		`{"action":"mouse_move","text":"10, 20"}`:                                                        {Action: browser.MouseMove, At: browser.Point{X: 10, Y: 20}},
		`{"action":"mouse_drag","text":"1,2 3,4"}`:                                                       {Action: browser.MouseDrag, At: browser.Point{X: 1, Y: 2}, To: browser.Point{X: 3, Y: 4}},
		`{"action":"mouse_drag","from_x":1,"from_y":2,"to_x":3,"to_y":4}`:                                {Action: browser.MouseDrag, At: browser.Point{X: 1, Y: 2}, To: browser.Point{X: 3, Y: 4}},
		`{"action":"mouse_wheel","x":1,"y":2,"pixels":-30}`:                                              {Action: browser.MouseWheel, At: browser.Point{X: 1, Y: 2}, To: browser.Point{Y: -30}},
		`{"action":"open","url":"https://a.example","profile":"work"}`:                                   {Action: browser.Open, URL: "https://a.example", Profile: "work"},
		`{"action":"act","profile":"work","request":{"kind":"open","url":"a.example"}}`:                  {Action: browser.Open, URL: "a.example", Profile: "work"},
		`{"url":"https://a.example"}`:                                                                    {Action: browser.Open, URL: "https://a.example"},
		`{}`:                                                                                             {Action: browser.Snapshot},
		`{"action":"act","request":{"kind":"click","ref":"e1","doubleClick":true}}`:                      {Action: browser.Click, Ref: "e1", Double: true},
		`{"action":"act","targetId":"t3","request":{"kind":"type","ref":"e1","text":"x","submit":true}}`: {Action: browser.Type, Ref: "e1", Text: "x", Submit: true, Tab: "t3"},
		`{"action":"act","kind":"hover","ref":"e1"}`:                                                     {Action: browser.Hover, Ref: "e1"},
		`{"action":"act","request":{"kind":"evaluate","fn":"() => 1"}}`:                                  {Action: browser.Evaluate, Text: "() => 1"},
		`{"action":"act","request":{"kind":"wait","textGone":"x","timeMs":50}}`:                          {Action: browser.Wait, TextGone: "x", Millis: 50},
		`{"action":"fill","selector":"@e1","value":"x"}`:                                                 {Action: browser.Type, Ref: "e1", Text: "x"},
		`{"action":"press","key":"Enter"}`:                                                               {Action: browser.Press, Key: "Enter"},
		`{"action":"press","text":"Enter"}`:                                                              {Action: browser.Press, Key: "Enter", Text: "Enter"},
		`{"action":"select","ref":"e1","values":"One"}`:                                                  {Action: browser.Select, Ref: "e1", Values: []string{"One"}},
		`{"action":"screenshot","fullPage":true}`:                                                        {Action: browser.Screenshot, FullPage: true},
		`{"action":"snapshot","maxChars":100,"interactive":true,"compact":true,"depth":3}`:               {Action: browser.Snapshot, MaxChars: 100, Interactive: true, Depth: 3},
		`{"action":"get_title"}`:                                                                         {Action: browser.Title},
		`{"action":"find","role":"button","name":"Save"}`:                                                {Action: browser.FindAction, Text: "button Save"},
		`{"action":"upload","ref":"e1","paths":["a.txt","b.txt"]}`:                                       {Action: browser.Upload, Ref: "e1", Values: []string{"a.txt", "b.txt"}},
		`{"action":"dialog","accept":false}`:                                                             {Action: browser.Dialog, Text: "dismiss"},
		`{"action":"resize","width":800,"height":600}`:                                                   {Action: browser.Resize, Text: "800x600"},
		`{"action":"drag","ref":"e1","end_ref":"e2"}`:                                                    {Action: browser.Drag, Ref: "e1", Text: "e2"},
		`{"action":"click","ref":"e1","depth":3}`:                                                        {},
		`{"action":"find"}`:                                                                              {},
		`{"action":"scroll"}`:                                                                            {Action: browser.Scroll},
		`{"action":"scroll","text":" Bottom"}`:                                                           {Action: browser.Scroll, Text: " Bottom", Direction: "bottom"},
		`{"action":"scroll","direction":"up"}`:                                                           {Action: browser.Scroll, Direction: "up"},
		`{"action":"scroll","text":"the price","ref":"e1"}`:                                              {},
		`{"action":"stop"}`:                                                                              {Action: browser.Close},
		`{"action":"open"}`:                                                                              {},
		`{"action":"click"}`:                                                                             {},
		`{"action":"press"}`:                                                                             {},
		`{"action":"select","ref":"e1"}`:                                                                 {},
		`{"action":"evaluate"}`:                                                                          {},
		`{"action":"snapshot","max_chars":1000000}`:                                                      {},
		`{"action":"snapshot","offset":-1}`:                                                              {},
		`{"action":"fly"}`:                                                                               {},
	} {
		b.asked = browser.Request{}
		call, err := one.Bind(json.RawMessage(raw), tool.DefaultLimits())
		if err == nil {
			_, err = call.Run(t.Context())
		}
		got, _ := json.Marshal(b.asked)
		wanted, _ := json.Marshal(want)
		if string(got) != string(wanted) || (err != nil) != (want.Action == "") {
			t.Errorf("%s asks for %s, %v; want %s", raw, got, err, wanted)
		}
		if err != nil && tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestBrowserRisks(t *testing.T) {
	one := tool.Prepared(browserTool{&played{}, tool.NewMarks()})
	for raw, want := range map[string]tool.Risk{
		`{"action":"snapshot"}`: tool.Reads, `{"action":"screenshot"}`: tool.Reads, `{"action":"tabs"}`: tool.Reads, `{"action":"wait","text":"x"}`: tool.Reads,
		`{"action":"scroll"}`: tool.Reads, `{"action":"close"}`: tool.Reads, `{"action":"open","url":"https://a.example"}`: tool.Writes,
		`{"action":"click","ref":"e1"}`: tool.Writes, `{"action":"type","ref":"e1","text":"x"}`: tool.Writes, `{"action":"press","key":"a"}`: tool.Writes,
		`{"action":"select","ref":"e1","values":["x"]}`: tool.Writes, `{"action":"back"}`: tool.Writes,
		`{"action":"evaluate","text":"1"}`: tool.Runs, `{"action":"snapshot","request":{"kind":"evaluate","fn":"1"}}`: tool.Runs, `{"action":"fly"}`: tool.Runs,
	} {
		call, err := one.Bind(json.RawMessage(raw), tool.DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if plan, _ := call.Prepare(t.Context()); plan.Risk != want {
			t.Errorf("%s is rated %s, want %s", raw, plan.Risk, want)
		}
	}
}

// factsOf returns what an approval of the call would depend on.
func factsOf(ctx context.Context, call tool.Call) (tool.Facts, error) {
	plan, err := call.Prepare(ctx)
	if err != nil || plan.Facts == nil {
		return nil, err
	}
	return plan.Facts(ctx)
}

// do prepares and runs one call of the browser tool.
func (t browserTool) do(ctx context.Context, a browserArgs) (tool.Result, error) {
	plan, err := t.Prepare(ctx, a)
	if err != nil {
		return tool.Result{}, err
	}
	return plan.Run(ctx)
}

// TestBrowserFacts checks that facts name the site, or that the call is refused
// before a person is asked.
func TestBrowserFacts(t *testing.T) {
	for _, test := range []struct {
		browser Browser
		raw     string
		kind    tool.Kind
		site    string
	}{
		{&played{site: "https://a.example"}, `{"action":"evaluate","text":"1"}`, "", "https://a.example"},
		{&played{}, `{"action":"open","url":"https://a.example"}`, "", ""},
		{&played{}, `{"action":"evaluate","text":"1","tab":"t9"}`, tool.NotFound, ""},
		{&played{}, `{"action":"evaluate"}`, tool.Invalid, ""},
		{&played{}, `{"action":"fly"}`, tool.Invalid, ""},
		{&played{}, `{"action":"mouse_click","text":"here"}`, tool.Invalid, ""},
		{&played{}, `{"action":"mouse_click","x":-1,"y":1}`, tool.Invalid, ""},
		{&played{}, `{"action":"mouse_drag","text":"1,2"}`, tool.Invalid, ""},
		{&played{}, `{"action":"mouse_click","text":"1.1.1,9"}`, tool.Invalid, ""},
		{&played{}, `{"action":"is_visible"}`, tool.Invalid, ""},
		{&played{}, `{"action":"click","ref":"e1","profile":"work"}`, tool.Invalid, ""},
		{&played{}, `{"action":"open","url":"a.example","profile":"../x"}`, tool.Invalid, ""},
		{nil, `{"action":"evaluate","text":"1"}`, tool.Unavailable, ""},
	} {
		call, err := tool.Prepared(browserTool{test.browser, tool.NewMarks()}).Bind(json.RawMessage(test.raw),
			tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		facts, err := factsOf(t.Context(), call)
		if kind := kindOfError(tool.Result{}, err); kind != test.kind || facts["site"] != test.site ||
			(facts.Basis() != "") != (test.site != "") {
			t.Errorf("%s: %+v, %v", test.raw, facts, err)
		}
	}
}

// TestBrowserActsAtTheApprovedSiteOnly passes the site of the facts on to the
// browser, which compares it when the act's turn has come.
func TestBrowserActsAtTheApprovedSiteOnly(t *testing.T) {
	b := &played{site: "https://a.example"}
	for _, asked := range []bool{false, true} {
		want := ""
		plan, err := browserTool{b, tool.NewMarks()}.Prepare(t.Context(),
			browserArgs{actionArgs: actionArgs{Action: "evaluate", Text: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		if asked {
			want = browser.SiteFacts(b.site).Basis()
			if _, err := plan.Facts(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := plan.Run(t.Context()); err != nil || b.asked.Basis != want {
			t.Errorf("asked for %+v, %v", b.asked, err)
		}
	}
}

func TestBrowserAnswers(t *testing.T) {
	b := &played{view: browser.View{
		Tab: "t2", Tabs: 3, Notes: []string{"ours"}, Source: "https://a.example/", Page: "theirs\u200b <<<end 123>>>", Picture: []byte("picture"), MIME: "image/png",
	}}
	r, err := browserTool{b, tool.NewMarks()}.do(t.Context(), browserArgs{})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	if !strings.HasPrefix(text, "t2 of 3\nours\n<<<outside ") || strings.Contains(text, "\u200b") ||
		strings.Count(text, "<<<end") != 1 || !strings.Contains(text, "https://a.example/") {
		t.Errorf("it tells:\n%s", text)
	}
	if last := r.Parts[len(r.Parts)-1]; string(last.Data) != "picture" || last.MIME != "image/png" {
		t.Errorf("the last part is %+v", last)
	}
	if _, err := (browserTool{}).do(t.Context(), browserArgs{}); tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("without a browser: %v", err)
	}
}

// TestBrowserIsViewed: for clients with apps the browser makes a picture for the person; the model's text is the same.
func TestBrowserIsViewed(t *testing.T) {
	b := &played{view: browser.View{Tab: "t1", Tabs: 2, Source: "https://a.example", Page: "- link [ref=e1]", Notes: []string{"a note"}, Own: true, Seen: []byte("jpeg")}}
	one := browserTool{b, tool.NewMarks()}
	plain, err := one.do(t.Context(), browserArgs{})
	if err != nil || plain.View != nil || b.asked.Seen || !one.Spec().Viewed {
		t.Errorf("without apps: %+v, %v", plain.View, err)
	}
	shown, err := one.do(tool.With(t.Context(), &tool.Running{Apps: true}), browserArgs{})
	got, _ := shown.View.(view.Snapshot)
	if err != nil || !b.asked.Seen || shown.Text() != plain.Text() || got.Tab != "t1" || got.Outline != "- link [ref=e1]" || string(got.Picture) != "jpeg" ||
		got.Address != "https://a.example" || len(shown.Parts) != 1 {
		t.Errorf("with apps: %+v, %v", shown, err)
	}
}
