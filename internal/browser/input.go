package browser

import (
	"context"
	"errors"
	"regexp"
	"strings"

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

// call calls a JavaScript function with the element as this. The function returns a
// string or an element.
func (el element) call(ctx context.Context, function string, arguments ...any) (text string, other *element,
	err error) {
	object, err := el.object(ctx)
	if err != nil {
		return "", nil, err
	}
	params := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: object, UserGesture: new(true)}
	for _, a := range arguments {
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

// coverScript returns "" if a click on the middle of an element reaches it. Otherwise it
// returns a reason, or the element that covers it.
const coverScript = `function() {
	if (this.nodeType !== 1) return this.parentElement ? '' : 'hidden';
	if (this.tagName === 'OPTION') return 'option';
	if (this.disabled) return 'disabled';
	const meets = () => {
		const box = [...this.getClientRects()].find(r => r.width > 0 && r.height > 0);
		if (!box) return this.matches('input') && this.labels && this.labels.length ? 'label' : 'hidden';
		const x = box.left + box.width / 2, y = box.top + box.height / 2;
		let at = this.getRootNode().elementFromPoint(x, y);
		if (!at || at === this || this.contains(at) || at.contains(this)) return '';
		const label = at.closest('label');
		if (label && label.control === this) return '';
		for (let up = this; up; up = up.getRootNode().host) if (up === at || at.contains(up)) return '';
		return at;
	};
	const first = meets();
	if (first === '' || first === 'hidden' || first === 'label') return first;
	this.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
	return meets();
}`

// click clicks on an element, or moves the mouse there for Hover.
func (s *session) click(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	// If scrolling fails, coverScript reports that the element is hidden.
	_ = run(ctx, el.target.endpoint, dom.ScrollIntoViewIfNeeded,
		dom.ScrollIntoViewIfNeededParams{BackendNodeID: el.node})
	why, cover, err := el.call(ctx, coverScript)
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
		_, _, err := el.call(ctx, `function() { this.click(); return ''; }`)
		return err
	case why == "hidden":
		return tool.Errorf(tool.Conflict, "%.60q is not visible",
			req.Ref).Try("take a snapshot or a screenshot to see what is visible")
	}
	x, y, err := s.center(ctx, el)
	if err != nil {
		return err
	}
	if req.Action == Click && el.linksToFile(ctx) {
		s.expectDownload()
	}
	return t.mouse(ctx, x, y, req)
}

// fileLinkScript returns "file" if an element is in a link that downloads a file.
// Chromium opens such links to other sites like ordinary links.
const fileLinkScript = `function() {
	const link = this.nodeType === 1 && this.closest('a[download][href], area[download][href]');
	return link && (link.origin === location.origin || /^(blob|data):$/.test(link.protocol)) ? 'file' : '';
}`

// linksToFile reports whether a click on an element should start a download.
func (el element) linksToFile(ctx context.Context) bool {
	result, _, err := el.call(ctx, fileLinkScript)
	return err == nil && result == "file"
}

// mouse moves the mouse and, for Click, clicks.
func (t *tab) mouse(ctx context.Context, x, y float64, req Request) error {
	move := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y}
	if err := run(ctx, t.main.endpoint, input.DispatchMouseEvent, move); err != nil || req.Action == Hover {
		return err
	}
	button, mask := input.MouseButtonLeft, int64(1)
	switch req.Button {
	case "right":
		button, mask = input.MouseButtonRight, 2
	case "middle":
		button, mask = input.MouseButtonMiddle, 4
	}
	for n := int64(1); n <= 2; n++ {
		for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed,
			input.DispatchMouseEventTypeMouseReleased} {
			e := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: button, Buttons: mask, ClickCount: n}
			if kind == input.DispatchMouseEventTypeMouseReleased {
				e.Buttons = 0
			}
			if err := run(ctx, t.main.endpoint, input.DispatchMouseEvent, e); err != nil {
				return err
			}
		}
		if !req.Double {
			break
		}
	}
	return nil
}

// center returns the middle of an element in coordinates of the page.
func (s *session) center(ctx context.Context, el element) (x, y float64, err error) {
	found, err := call(ctx, el.target.endpoint, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: el.node})
	if err != nil {
		return 0, 0, tool.Errorf(tool.Conflict, "the element is not visible").
			Try("take a snapshot to see what is visible").Because(err)
	}
	for _, q := range found.Quads {
		if len(q) == 8 && (q[0] != q[4] && q[1] != q[5]) {
			x, y = (q[0]+q[2]+q[4]+q[6])/4, (q[1]+q[3]+q[5]+q[7])/4
			dx, dy, err := s.origin(ctx, el.target)
			return x + dx, y + dy, err
		}
	}
	return 0, 0, tool.Errorf(tool.Conflict, "the element is not visible").Try("take a snapshot to see what is visible")
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

// prepareInputScript focuses an input and selects its content. Inputs without a text
// cursor, such as dates, are set at once.
const prepareInputScript = `function(text) {
	const kind = (this.type || '').toLowerCase();
	if (this.disabled) return 'disabled';
	if (this.readOnly) return 'readonly';
	if (this.tagName === 'INPUT') {
		if (['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image', 'hidden'].includes(kind)) {
			return 'no ' + kind;
		}
		if (['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'].includes(kind)) {
			this.focus();
			Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(this, text);
			this.dispatchEvent(new Event('input', {bubbles: true}));
			this.dispatchEvent(new Event('change', {bubbles: true}));
			return this.value === '' && text !== '' ? 'form ' + kind : 'set';
		}
	} else if (this.tagName !== 'TEXTAREA' && !this.isContentEditable) {
		return 'no ' + this.tagName.toLowerCase();
	}
	this.focus();
	if (this.isContentEditable) getSelection().selectAllChildren(this);
	else this.select();
	return 'type';
}`

// typeText replaces the content of an element.
func (s *session) typeText(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	_ = run(ctx, el.target.endpoint, dom.ScrollIntoViewIfNeeded,
		dom.ScrollIntoViewIfNeededParams{BackendNodeID: el.node})
	how, _, err := el.call(ctx, prepareInputScript, req.Text)
	switch kind, rest, _ := strings.Cut(how, " "); {
	case err != nil:
		return err
	case kind == "disabled" || kind == "readonly":
		return tool.Errorf(tool.Conflict, "%.60q is %s", req.Ref, kind).Try("fill in the required fields first")
	case kind == "no" && rest == "file":
		return tool.Errorf(tool.Refused, "uploading files is not supported").Try("continue without the file")
	case kind == "no":
		return tool.Errorf(tool.Invalid, "%.60q does not accept text", req.Ref).Try("click it, or use select")
	case kind == "form":
		return tool.Errorf(tool.Invalid, "%.60q does not accept %.60q: its type is %.20s", req.Ref, req.Text, rest).
			Try("write dates as 2026-01-31, times as 13:45, colors as #ff0000")
	case kind == "type" && req.Text == "":
		err = el.target.key(ctx, key{key: "Delete", code: "Delete", number: 46}, 0)
	case kind == "type":
		err = run(ctx, el.target.endpoint, input.InsertText, input.InsertTextParams{Text: req.Text})
	}
	if err == nil && req.Submit {
		err = el.target.key(ctx, keys["enter"], 0)
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

// selectScript selects the options of a list with the given values or labels.
const selectScript = `function(values) {
	if (this.tagName !== 'SELECT') return 'no';
	if (this.disabled) return 'disabled';
	const clean = s => s.trim().replace(/\s+/g, ' ');
	const chosen = new Set();
	for (const v of values) {
		const all = [...this.options];
		const o = all.find(o => o.value === v) || all.find(o => clean(o.label) === clean(v)) ||
			all.find(o => clean(o.label).toLowerCase() === clean(v).toLowerCase());
		if (!o || o.disabled) return 'missing ' + v;
		chosen.add(o);
	}
	if (!this.multiple && chosen.size > 1) return 'one';
	this.focus();
	for (const o of this.options) o.selected = chosen.has(o);
	this.dispatchEvent(new Event('input', {bubbles: true}));
	this.dispatchEvent(new Event('change', {bubbles: true}));
	return '';
}`

// selectOptions selects options of a list.
func (s *session) selectOptions(ctx context.Context, t *tab, req Request) error {
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return err
	}
	how, _, err := el.call(ctx, selectScript, req.Values)
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
