package custom

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A template is a text with placeholders: {{name}} for an argument, {{secret:NAME}} for a
// secret of the vault.
type template []piece

// A piece is literal text, or a placeholder if it has a name.
type piece struct {
	text   string
	name   string
	secret bool
}

// parse reads a template.
func parse(text string) (template, error) {
	var t template
	for {
		before, rest, found := strings.Cut(text, "{{")
		if before != "" {
			t = append(t, piece{text: before})
		}
		if !found {
			return t, nil
		}
		inside, after, closed := strings.Cut(rest, "}}")
		name, secret := strings.CutPrefix(strings.TrimSpace(inside), "secret:")
		if !closed || name == "" || strings.ContainsFunc(name, func(c rune) bool {
			return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) {
			return nil, fmt.Errorf("%q is not a placeholder; write {{name}} or {{secret:NAME}}", "{{"+inside)
		}
		t = append(t, piece{name: name, secret: secret})
		text = after
	}
}

func (t template) hasSecret() bool {
	for _, p := range t {
		if p.secret {
			return true
		}
	}
	return false
}

// values are the arguments of a call, and where secrets are.
type values struct {
	args   map[string]any
	secret func(name string) (string, error) // nil where secrets have no place
}

// of returns the value of a placeholder as text. ok is false if the call has none.
func (v values) of(p piece) (text string, ok bool, err error) {
	if p.secret {
		text, err = v.secret(p.name)
		return text, err == nil, err
	}
	value, ok := v.args[p.name]
	if !ok || value == nil {
		return "", false, nil
	}
	text, err = asText(value)
	if strings.ContainsRune(text, 0) {
		return "", false, tool.Errorf(tool.Invalid, "%s has a zero byte", p.name).Try("send text")
	}
	return text, true, err
}

func asText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// fill replaces the placeholders, with quote applied to each value. complete is false if a
// placeholder has no value; it is then empty.
func (t template) fill(v values, quote func(string) (string, error)) (text string, complete bool, err error) {
	var b strings.Builder
	complete = true
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		value, ok, err := v.of(p)
		if err != nil {
			return "", false, err
		}
		complete = complete && ok
		if ok && quote != nil {
			if value, err = quote(value); err != nil {
				return "", false, err
			}
		}
		b.WriteString(value)
	}
	return b.String(), complete, nil
}

// argv returns the words of a command. Each argument of the call stays within one word,
// except for a list that is a word alone.
func argv(command []Words, v values) ([]string, error) {
	var all []string
	options := true // until a word is --
	for _, words := range command {
		var filled []string
		complete, within := true, options
		for _, word := range words {
			more, ok, err := fillWord(word, v, within)
			if err != nil {
				return nil, err
			}
			complete = complete && ok
			filled = append(filled, more...)
			within = within && word != "--"
		}
		if complete { // else a -- among them is left out, too
			all, options = append(all, filled...), within
		}
	}
	return all, nil
}

// fillWord fills one word. A value at its beginning must not look like an option where the program
// reads options.
func fillWord(word string, v values, options bool) (words []string, ok bool, err error) {
	t, err := parse(word)
	if err != nil {
		return nil, false, err
	}
	list, isList := []any(nil), false
	if len(t) == 1 && t[0].name != "" {
		list, isList = v.args[t[0].name].([]any)
	}
	if isList {
		for _, one := range list {
			text, err := asText(one)
			if err != nil {
				return nil, false, err
			}
			words = append(words, text)
		}
	} else {
		text, complete, err := t.fill(v, nil)
		if err != nil || !complete {
			return nil, false, err
		}
		words = []string{text}
	}
	if len(t) == 0 || t[0].name == "" {
		return words, true, nil
	}
	for _, text := range words {
		_, isNumber := v.args[t[0].name].(json.Number)
		if options && !isNumber && strings.HasPrefix(text, "-") {
			return nil, false, tool.Errorf(tool.Invalid, "%s begins with -, which the program would read as an option",
				t[0].name).Try("send it without, or in another form such as ./-name")
		}
		if strings.ContainsRune(text, 0) {
			return nil, false, tool.Errorf(tool.Invalid, "%s has a zero byte", t[0].name).Try("send text")
		}
	}
	return words, true, nil
}

// address fills a URL: values are escaped, so that none reaches another part of it.
func address(text string, v values) (string, error) {
	path, query, hasQuery := strings.Cut(text, "?")
	inPath, err := parse(path)
	if err != nil {
		return "", err
	}
	out, complete, err := inPath.fill(v, func(value string) (string, error) {
		if value == "" || strings.Trim(value, ".") == "" {
			return "", tool.Errorf(tool.Invalid, "%q cannot be a part of a path", value).Try("send another value")
		}
		return url.PathEscape(value), nil
	})
	if err != nil {
		return "", err
	}
	if !complete {
		return "", tool.Errorf(tool.Invalid, "an argument is missing that the address needs").Try("send all of them")
	}
	if !hasQuery {
		return out, nil
	}
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		t, err := parse(part)
		if err != nil {
			return "", err
		}
		filled, complete, err := t.fill(v, func(value string) (string, error) { return url.QueryEscape(value), nil })
		if err != nil {
			return "", err
		}
		if complete { // a parameter without a value is left out
			parts = append(parts, filled)
		}
	}
	return strings.TrimSuffix(out+"?"+strings.Join(parts, "&"), "?"), nil
}

// body fills a value of JSON. A text that is one placeholder becomes the value of the argument;
// a member without a value is left out.
func body(value any, v values) (filled any, ok bool, err error) {
	switch x := value.(type) {
	case string:
		t, err := parse(x)
		if err != nil {
			return nil, false, err
		}
		if len(t) == 1 && t[0].name != "" {
			arg, ok := v.args[t[0].name]
			return arg, ok && arg != nil, nil
		}
		return t.fill(v, nil)
	case []any:
		all := []any{}
		for _, one := range x {
			filled, ok, err := body(one, v)
			if err != nil {
				return nil, false, err
			}
			if ok {
				all = append(all, filled)
			}
		}
		return all, true, nil
	case map[string]any:
		all := map[string]any{}
		for name, one := range x {
			filled, ok, err := body(one, v)
			if err != nil {
				return nil, false, err
			}
			if ok {
				all[name] = filled
			}
		}
		return all, true, nil
	}
	return value, true, nil
}
