package browser

import (
	"cmp"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// namedKeys are the names of keys in lower case, with their keys in kb.Keys.
var namedKeys = map[string]string{
	"enter": kb.Enter, "return": kb.Enter, "tab": kb.Tab, "escape": kb.Escape, "esc": kb.Escape,
	"backspace": kb.Backspace, "delete": kb.Delete, "del": kb.Delete, "insert": kb.Insert, "space": " ", " ": " ",
	"arrowup": kb.ArrowUp, "up": kb.ArrowUp, "arrowdown": kb.ArrowDown, "down": kb.ArrowDown,
	"arrowleft": kb.ArrowLeft, "left": kb.ArrowLeft, "arrowright": kb.ArrowRight, "right": kb.ArrowRight,
	"home": kb.Home, "end": kb.End, "pageup": kb.PageUp, "pagedown": kb.PageDown,
	"f1": kb.F1, "f2": kb.F2, "f3": kb.F3, "f4": kb.F4, "f5": kb.F5, "f6": kb.F6, "f7": kb.F7, "f8": kb.F8,
	"f9": kb.F9, "f10": kb.F10, "f11": kb.F11, "f12": kb.F12,
}

// Modifiers of the DevTools protocol.
const (
	alt = 1 << iota
	control
	meta
	shift
)

var modifierKeys = map[string]int64{
	"alt": alt, "control": control, "ctrl": control, "meta": meta, "cmd": meta, "command": meta, "shift": shift,
}

// parseKey parses a key such as Enter, a or Control+Shift+a.
func parseKey(text string) (k kb.Key, modifiers int64, err error) {
	unknown := tool.Errorf(tool.Invalid, "unknown key %.40q",
		text).Try("use a key such as Enter, Tab, Escape, ArrowDown, a or Control+a")
	rest := text
	for {
		at := strings.IndexByte(rest, '+')
		if at <= 0 || at == len(rest)-1 {
			break
		}
		m, ok := modifierKeys[strings.ToLower(strings.TrimSpace(rest[:at]))]
		if !ok {
			return k, 0, unknown
		}
		modifiers |= m
		rest = rest[at+1:]
	}
	name := cmp.Or(strings.ToLower(strings.TrimSpace(rest)), rest)
	if namedKeys[name] != "" {
		return keyNamed(name), modifiers, nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	if rest = strings.TrimSpace(rest); r == utf8.RuneError || size != len(rest) || !unicode.IsPrint(r) {
		return k, 0, unknown
	}
	if modifiers&shift != 0 {
		r = unicode.ToUpper(r)
	}
	return keyOf(r), modifiers, nil
}

// keyOf returns the key for a character. One that is not on the keyboard is typed all the same: kb.Keys has letters of other
// languages for keys without a character, so only its ASCII is used here.
func keyOf(r rune) kb.Key {
	if k := kb.Keys[r]; k != nil && (r >= ' ' && r <= '~' || r == '\r') {
		return *k
	}
	return kb.Key{Key: string(r), Text: string(r)}
}

// keyNamed returns the key with a name in namedKeys.
func keyNamed(name string) kb.Key {
	r, _ := utf8.DecodeRuneInString(namedKeys[name])
	return *kb.Keys[r]
}

// key presses and releases a key.
func (p *pageTarget) key(ctx context.Context, k kb.Key, modifiers int64) error {
	e := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Modifiers: modifiers, Key: k.Key, Code: k.Code,
		WindowsVirtualKeyCode: k.Windows, NativeVirtualKeyCode: k.Windows,
	}
	if modifiers&(alt|control|meta) == 0 && k.Text != "" {
		e.Type, e.Text = input.DispatchKeyEventTypeKeyDown, k.Text
	}
	if modifiers == control && k.Key == "a" {
		e.Commands = []string{"selectAll"}
	}
	if err := run(ctx, p.endpoint, input.DispatchKeyEvent, e); err != nil {
		return err
	}
	e.Type, e.Text, e.Commands = input.DispatchKeyEventTypeKeyUp, "", nil
	return run(ctx, p.endpoint, input.DispatchKeyEvent, e)
}

// typeKeys presses the key of each character.
func (p *pageTarget) typeKeys(ctx context.Context, text string) error {
	for _, r := range text {
		if r == '\n' {
			r = '\r'
		}
		if err := p.key(ctx, keyOf(r), 0); err != nil {
			return err
		}
	}
	return nil
}
