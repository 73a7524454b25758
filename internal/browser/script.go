package browser

import (
	"cmp"
	"context"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// toTextScript converts a JavaScript value to text.
const toTextScript = `async function(...args) {
	let v = await this;
	if (typeof v === 'function') v = await v(...args);
	if (v instanceof Node) v = v.outerHTML ?? v.textContent;
	let text;
	try { text = typeof v === 'object' ? JSON.stringify(v) : undefined; } catch {}
	return String(text ?? v).slice(0, 200000);
}`

// evaluate runs a script and returns its value as text. If the value is a function, it
// is called.
func (p *pageTarget) evaluate(ctx context.Context, script string, arguments []*runtime.CallArgument) (string, error) {
	expression := strings.TrimSpace(script)
	if looksLikeFunction(expression) {
		expression = "(" + strings.TrimRight(expression, "; \n") + ")"
	}
	result, err := call(ctx, p.endpoint, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ReplMode: new(true), AwaitPromise: new(true), UserGesture: new(true),
	})
	if err != nil {
		return "", err
	}
	if result.ExceptionDetails != nil {
		return "", scriptError(result.ExceptionDetails)
	}
	if result.Result.ObjectID == "" {
		return primitive(result.Result), nil
	}
	called, err := call(ctx, p.endpoint, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: toTextScript, ObjectID: result.Result.ObjectID, Arguments: arguments,
		AwaitPromise: new(true), UserGesture: new(true),
	})
	if err != nil {
		return "", err
	}
	if called.ExceptionDetails != nil {
		return "", scriptError(called.ExceptionDetails)
	}
	return primitive(called.Result), nil
}

// looksLikeFunction reports whether a script is a function expression. Such an expression needs
// brackets: without them it would be a declaration or a syntax error.
func looksLikeFunction(script string) bool {
	head, _, arrow := strings.Cut(script, "=>")
	head = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(head), "async"))
	return strings.HasPrefix(script, "function") || strings.HasPrefix(script, "async function") ||
		arrow && (strings.HasPrefix(head, "(") && strings.HasSuffix(head, ")") && !strings.ContainsAny(head, ";{") ||
			strings.Trim(head, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") == "")
}

// primitive returns a value that is not an object as text.
func primitive(o *runtime.RemoteObject) string {
	switch {
	case o == nil:
		return "undefined"
	case o.UnserializableValue != "":
		return string(o.UnserializableValue)
	case o.Value.Kind() == '"':
		var text string
		if jsonv2.Unmarshal(o.Value, &text) == nil {
			return text
		}
	case len(o.Value) > 0:
		return string(o.Value)
	}
	return string(o.Type)
}

// exceptionText returns the message of an exception.
func exceptionText(e *runtime.ExceptionDetails) string {
	message := e.Text
	if e.Exception != nil && e.Exception.Description != "" {
		message, _, _ = strings.Cut(e.Exception.Description, "\n")
	}
	return short(message, 300)
}

// scriptError returns the error for an exception of a script. The message is quoted
// because the page can choose it.
func scriptError(e *runtime.ExceptionDetails) error {
	return tool.Errorf(tool.Invalid, "the script threw an exception: %q", exceptionText(e)).
		Try("correct the script; it has to be an expression or a function that returns a value")
}

// evaluate runs the JavaScript of a request in a page.
func (s *session) evaluate(ctx context.Context, t *tab, req Request) (View, error) {
	p := t.main
	var arguments []*runtime.CallArgument
	if req.Ref != "" {
		el, err := s.element(ctx, t, req.Ref)
		if err != nil {
			return View{}, err
		}
		object, err := el.object(ctx)
		if err != nil {
			return View{}, err
		}
		p, arguments = el.target, []*runtime.CallArgument{{ObjectID: object}}
	}
	value, err := p.evaluate(ctx, req.Text, arguments)
	if ctx.Err() != nil {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		_ = run(tidy, p.endpoint, runtime.TerminateExecution, cdp.Empty{})
	}
	if err != nil {
		return View{}, err
	}
	if err := s.waitIdle(ctx, t, idleTimeout); err != nil {
		return View{}, err
	}
	v := s.view(ctx, t)
	most := cmp.Or(req.MaxChars, defaultChars)
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most])
		v.Notes = append(v.Notes, "the value is truncated; increase max_chars to see more")
	}
	add(&v, value)
	return v, nil
}
