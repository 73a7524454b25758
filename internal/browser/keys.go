package browser

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A key is a key of a keyboard, with the values of keyboard events.
type key struct {
	key    string // Enter, a
	code   string // Enter, KeyA
	number int64  // Windows virtual key code
	text   string // inserted text
}

// keys are the keys with names, in lower case.
var keys = map[string]key{
	"enter":      {"Enter", "Enter", 13, "\r"},
	"tab":        {"Tab", "Tab", 9, ""},
	"escape":     {"Escape", "Escape", 27, ""},
	"backspace":  {"Backspace", "Backspace", 8, ""},
	"delete":     {"Delete", "Delete", 46, ""},
	"space":      {" ", "Space", 32, " "},
	"arrowup":    {"ArrowUp", "ArrowUp", 38, ""},
	"arrowdown":  {"ArrowDown", "ArrowDown", 40, ""},
	"arrowleft":  {"ArrowLeft", "ArrowLeft", 37, ""},
	"arrowright": {"ArrowRight", "ArrowRight", 39, ""},
	"home":       {"Home", "Home", 36, ""},
	"end":        {"End", "End", 35, ""},
	"pageup":     {"PageUp", "PageUp", 33, ""},
	"pagedown":   {"PageDown", "PageDown", 34, ""},
	"insert":     {"Insert", "Insert", 45, ""},
	"f1":         {"F1", "F1", 112, ""},
	"f2":         {"F2", "F2", 113, ""},
	"f3":         {"F3", "F3", 114, ""},
	"f4":         {"F4", "F4", 115, ""},
	"f5":         {"F5", "F5", 116, ""},
	"f6":         {"F6", "F6", 117, ""},
	"f7":         {"F7", "F7", 118, ""},
	"f8":         {"F8", "F8", 119, ""},
	"f9":         {"F9", "F9", 120, ""},
	"f10":        {"F10", "F10", 121, ""},
	"f11":        {"F11", "F11", 122, ""},
	"f12":        {"F12", "F12", 123, ""},
}

// otherKeys maps other names of keys to those in keys.
var otherKeys = map[string]string{
	"return": "enter", "esc": "escape", "del": "delete", "up": "arrowup", "down": "arrowdown", "left": "arrowleft",
	"right": "arrowright",
	"pgup":  "pageup", "pgdn": "pagedown", " ": "space", "spacebar": "space", "page_up": "pageup",
	"page_down": "pagedown",
}

// Modifiers of the DevTools protocol.
const (
	alt = 1 << iota
	control
	meta
	shift
)

var modifierKeys = map[string]int64{
	"alt": alt, "option": alt, "control": control, "ctrl": control, "c": control, "meta": meta, "cmd": meta,
	"command": meta, "shift": shift,
}

// parseKey parses a key such as Enter, a or Control+Shift+a.
func parseKey(text string) (k key, modifiers int64, err error) {
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
			return key{}, 0, unknown
		}
		modifiers |= m
		rest = rest[at+1:]
	}
	name := strings.ToLower(rest)
	if strings.TrimSpace(name) != "" {
		name = strings.TrimSpace(name)
	}
	if other, ok := otherKeys[name]; ok {
		name = other
	}
	if k, ok := keys[name]; ok {
		return k, modifiers, nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	if rest = strings.TrimSpace(rest); r == utf8.RuneError || size != len(rest) || !unicode.IsPrint(r) {
		return key{}, 0, unknown
	}
	return character(r, modifiers), modifiers, nil
}

// character returns the key for a character.
func character(r rune, modifiers int64) key {
	if modifiers&shift != 0 {
		r = unicode.ToUpper(r)
	}
	k := key{key: string(r), text: string(r)}
	switch upper := unicode.ToUpper(r); {
	case upper >= 'A' && upper <= 'Z':
		k.code, k.number = "Key"+string(upper), int64(upper)
	case r >= '0' && r <= '9':
		k.code, k.number = "Digit"+string(r), int64(r)
	}
	return k
}

// key presses and releases a key.
func (p *pageTarget) key(ctx context.Context, k key, modifiers int64) error {
	e := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Modifiers: modifiers, Key: k.key, Code: k.code,
		WindowsVirtualKeyCode: k.number, NativeVirtualKeyCode: k.number,
	}
	if modifiers&(alt|control|meta) == 0 && k.text != "" {
		e.Type, e.Text = input.DispatchKeyEventTypeKeyDown, k.text
	}
	if modifiers == control && k.key == "a" {
		e.Commands = []string{"selectAll"}
	}
	if err := run(ctx, p.endpoint, input.DispatchKeyEvent, e); err != nil {
		return err
	}
	e.Type, e.Text, e.Commands = input.DispatchKeyEventTypeKeyUp, "", nil
	return run(ctx, p.endpoint, input.DispatchKeyEvent, e)
}
