package browser

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

var isRef = regexp.MustCompile(`^e\d+$`)

// element returns the element for a ref, or for a CSS selector in the main frame.
func (s *session) element(ctx context.Context, t *tab, ref string) (element, error) {
	if isRef.MatchString(ref) {
		el, err := s.elements.get(ref)
		if err == nil && el.target.tab != t {
			err = tool.Errorf(tool.Invalid, "%s is in another tab, %s", ref, el.target.tab.name).Try("omit tab")
		}
		return el, err
	}
	selector, err := jsonv2.Marshal(ref)
	if err != nil {
		return element{}, err
	}
	found, err := call(ctx, t.main.endpoint, runtime.Evaluate,
		runtime.EvaluateParams{Expression: "document.querySelector(" + string(selector) + ")"})
	if err != nil {
		return element{}, err
	}
	if found.ExceptionDetails != nil {
		return element{}, tool.Errorf(tool.Invalid, "%.200q is neither a ref nor a CSS selector",
			ref).Try("use a ref from a snapshot, such as e5")
	}
	if found.Result == nil || found.Result.ObjectID == "" {
		return element{}, tool.Errorf(tool.NotFound, "no element matches %.200q",
			ref).Try("use a ref from a snapshot")
	}
	return t.main.elementOf(ctx, found.Result.ObjectID)
}

// elementOf returns the element of a JavaScript object.
func (p *pageTarget) elementOf(ctx context.Context, id runtime.RemoteObjectID) (element, error) {
	described, err := call(ctx, p.endpoint, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: id})
	if err != nil || described.Node == nil {
		return element{}, errors.Join(errors.New("no node"), err)
	}
	return element{p, described.Node.BackendNodeID}, nil
}

// object returns the JavaScript object of an element, or an error if the element does
// not exist any longer.
func (el element) object(ctx context.Context) (runtime.RemoteObjectID, error) {
	found, err := call(ctx, el.target.endpoint, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: el.node})
	if err != nil || found.Object == nil {
		if ctx.Err() != nil || errors.Is(err, errBrowserEnded) {
			return "", err
		}
		return "", stale("the element").Because(err)
	}
	return found.Object.ObjectID, nil
}

//go:embed page.js
var scriptFiles embed.FS

// pageScript returns the functions that run in pages.
var pageScript = sync.OnceValues(func() (string, error) {
	text, err := scriptFiles.ReadFile("page.js")
	return string(text), err
})

// call calls a function of page.js with the element as this. The function returns a
// string or an element.
func (el element) call(ctx context.Context, function string, arguments ...any) (text string, other *element,
	err error) {
	object, err := el.object(ctx)
	if err != nil {
		return "", nil, err
	}
	script, err := pageScript()
	if err != nil {
		return "", nil, err
	}
	params := runtime.CallFunctionOnParams{FunctionDeclaration: script, ObjectID: object, UserGesture: new(true)}
	for _, a := range append([]any{function}, arguments...) {
		value, err := jsonv2.Marshal(a)
		if err != nil {
			return "", nil, err
		}
		params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: value})
	}
	result, err := call(ctx, el.target.endpoint, runtime.CallFunctionOn, params)
	if err != nil {
		return "", nil, err
	}
	if result.ExceptionDetails != nil || result.Result == nil {
		return "", nil, errors.New("the page's script failed")
	}
	if result.Result.ObjectID != "" {
		found, err := el.target.elementOf(ctx, result.Result.ObjectID)
		return "", &found, err
	}
	if result.Result.Value.Kind() != '"' {
		return "", nil, nil
	}
	return text, nil, jsonv2.Unmarshal(result.Result.Value, &text)
}

// click clicks on an element, or moves the mouse there for Hover.
func (s *session) click(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	_ = el.scrollIntoView(ctx) // if it fails, cover reports that the element is hidden
	why, cover, err := el.call(ctx, "cover")
	switch {
	case err != nil:
		return err
	case cover != nil:
		return tool.Errorf(tool.Conflict, "%.60q is covered by %s", req.Ref, s.elements.name(*cover)).
			Try("click or close the covering element first; a screenshot shows it")
	case why == "disabled":
		return tool.Errorf(tool.Conflict, "%.60q is disabled", req.Ref).Try("fill in the required fields first")
	case why == "option":
		return tool.Errorf(tool.Invalid, "%.60q is an option",
			req.Ref).Try("use the action select on its list, with its name as text")
	case why == "label": // the label shows the input, as for styled check boxes
		_, _, err := el.call(ctx, "click")
		return err
	case why == "hidden":
		return notVisible(nil)
	}
	x, y, err := s.center(ctx, el)
	if err != nil {
		return err
	}
	if link, _, err := el.call(ctx, "fileLink"); err == nil && link == "file" && req.Action == Click {
		s.expectDownload()
	}
	return t.mouse(ctx, x, y, req)
}

// mouse moves the mouse and, for Click, clicks.
func (t *tab) mouse(ctx context.Context, x, y float64, req Request) error {
	move := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y}
	if err := run(ctx, t.main.endpoint, input.DispatchMouseEvent, move); err != nil || req.Action == Hover || req.Action == MouseMove {
		return err
	}
	mask := map[string]int64{"left": 1, "right": 2, "middle": 4}
	e := input.DispatchMouseEventParams{X: x, Y: y, Button: input.MouseButton(cmp.Or(req.Button, "left"))}
	for e.ClickCount = 1; e.ClickCount == 1 || e.ClickCount == 2 && req.Double; e.ClickCount++ {
		e.Type, e.Buttons = input.DispatchMouseEventTypeMousePressed, mask[string(e.Button)]
		if err := run(ctx, t.main.endpoint, input.DispatchMouseEvent, e); err != nil {
			return err
		}
		e.Type, e.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
		if err := run(ctx, t.main.endpoint, input.DispatchMouseEvent, e); err != nil {
			return err
		}
	}
	return nil
}

// center returns the middle of an element in coordinates of the page.
func (s *session) center(ctx context.Context, el element) (x, y float64, err error) {
	found, err := call(ctx, el.target.endpoint, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: el.node})
	for _, q := range found.Quads {
		if len(q) == 8 && (q[0] != q[4] && q[1] != q[5]) {
			dx, dy, err := s.origin(ctx, el.target)
			return (q[0]+q[2]+q[4]+q[6])/4 + dx, (q[1]+q[3]+q[5]+q[7])/4 + dy, err
		}
	}
	return 0, 0, notVisible(err)
}

func notVisible(err error) *tool.Error {
	return tool.Errorf(tool.Conflict, "the element is not visible").
		Try("take a snapshot or a screenshot to see what is visible").Because(err)
}

func (el element) scrollIntoView(ctx context.Context) error {
	return run(ctx, el.target.endpoint, dom.ScrollIntoViewIfNeeded,
		dom.ScrollIntoViewIfNeededParams{BackendNodeID: el.node})
}

// origin returns the position of a target on its page.
func (s *session) origin(ctx context.Context, p *pageTarget) (x, y float64, err error) {
	for ; p.parent != nil; p = p.parent {
		s.mu.Lock()
		frame := p.frame
		s.mu.Unlock()
		owner, err := call(ctx, p.parent.endpoint, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: frame})
		if err != nil {
			return 0, 0, err
		}
		box, err := call(ctx, p.parent.endpoint, dom.GetBoxModel,
			dom.GetBoxModelParams{BackendNodeID: owner.BackendNodeID})
		if err != nil || box.Model == nil || len(box.Model.Content) < 2 {
			return 0, 0, errors.Join(errors.New("the frame has no position"), err)
		}
		x, y = x+box.Model.Content[0], y+box.Model.Content[1]
	}
	return x, y, nil
}

// typeText replaces the content of an element.
func (s *session) typeText(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	_ = el.scrollIntoView(ctx) // typing works without it
	how, _, err := el.call(ctx, "prepareInput", req.Text)
	switch kind, rest, _ := strings.Cut(how, " "); {
	case err != nil:
		return err
	case kind == "disabled" || kind == "readonly":
		return tool.Errorf(tool.Conflict, "%.60q is %s", req.Ref, kind).Try("fill in the required fields first")
	case kind == "no" && rest == "file":
		return tool.Errorf(tool.Invalid, "%.60q is a file input",
			req.Ref).Try("use the action upload, with the file as text")
	case kind == "no":
		return tool.Errorf(tool.Invalid, "%.60q does not accept text", req.Ref).Try("click it, or use select")
	case kind == "form":
		return tool.Errorf(tool.Invalid, "%.60q does not accept %.60q: its type is %.20s", req.Ref, req.Text, rest).
			Try("write dates as 2026-01-31, times as 13:45, colors as #ff0000")
	case kind == "type" && req.Text == "":
		err = el.target.key(ctx, keyNamed("delete"), 0)
	case kind == "type" && req.Slowly:
		err = el.target.typeKeys(ctx, req.Text)
	case kind == "type":
		err = run(ctx, el.target.endpoint, input.InsertText, input.InsertTextParams{Text: req.Text})
	}
	if err == nil && req.Submit {
		err = el.target.key(ctx, keyNamed("enter"), 0)
	}
	return err
}

// pressKey presses a key, at an element or the focused one.
func (s *session) pressKey(ctx context.Context, t *tab, req Request) error {
	k, modifiers, err := parseKey(req.Key)
	if err != nil {
		return err
	}
	p := t.main
	if req.Ref != "" {
		el, err := s.element(ctx, t, req.Ref)
		if err != nil {
			return err
		}
		if err := run(ctx, el.target.endpoint, dom.Focus, dom.FocusParams{BackendNodeID: el.node}); err != nil {
			return tool.Errorf(tool.Invalid, "%.60q does not accept keys",
				req.Ref).Try("omit ref to press the key at the focused element").Because(err)
		}
		p = el.target
	}
	return p.key(ctx, k, modifiers)
}

// selectOptions selects options of a list.
func (s *session) selectOptions(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	how, _, err := el.call(ctx, "select", req.Values)
	switch {
	case err != nil:
		return err
	case how == "no":
		return tool.Errorf(tool.Invalid, "%.60q is not a list of options",
			req.Ref).Try("click it, then click an option")
	case how == "one":
		return tool.Errorf(tool.Invalid, "only one option can be selected").Try("send one value")
	case how == "disabled":
		return tool.Errorf(tool.Conflict, "%.60q is disabled", req.Ref).Try("fill in the required fields first")
	case how != "":
		return tool.Errorf(tool.NotFound, "option %.100q not found",
			strings.TrimPrefix(how, "missing ")).Try("take a snapshot of %s to see the options", req.Ref)
	}
	return nil
}

// scroll scrolls to an element, or scrolls the page or the area around an element. It
// notes the position, since a snapshot also contains what is not visible.
func (s *session) scroll(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, cmp.Or(req.Ref, "html"))
	if err != nil {
		return err
	}
	direction := req.Direction
	if req.Ref == "" {
		direction = cmp.Or(direction, "down")
	} else if err := el.scrollIntoView(ctx); err != nil {
		return err
	}
	position, _, err := el.call(ctx, "scroll", direction)
	if err != nil {
		return err
	}
	of, percent, _ := strings.Cut(position, " ")
	name := map[string]string{"page": "the page", "part": "the scrollable area"}[of]
	at, err := strconv.ParseUint(percent, 10, 7)
	switch {
	case of == "none":
		s.addNote("nothing is scrollable")
	case name == "" || err != nil || at > 100: // the page has changed the result
	case at == 0:
		s.addNote(name + " is at the top")
	case at == 100:
		s.addNote(name + " is at the bottom")
	default:
		s.addNote(fmt.Sprintf("%s is at %d %%", name, at))
	}
	return nil
}
