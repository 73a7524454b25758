package browser

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
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

// namedKeys are the names of keys in lower case, with their keys.
var namedKeys = map[string]key{
	"enter": {"Enter", "Enter", 13, "\r"}, "return": {"Enter", "Enter", 13, "\r"},
	"tab":    {"Tab", "Tab", 9, ""},
	"escape": {"Escape", "Escape", 27, ""}, "esc": {"Escape", "Escape", 27, ""},
	"backspace": {"Backspace", "Backspace", 8, ""},
	"delete":    {"Delete", "Delete", 46, ""}, "del": {"Delete", "Delete", 46, ""},
	"space": {" ", "Space", 32, " "}, " ": {" ", "Space", 32, " "},
	"arrowup": {"ArrowUp", "ArrowUp", 38, ""}, "up": {"ArrowUp", "ArrowUp", 38, ""},
	"arrowdown": {"ArrowDown", "ArrowDown", 40, ""}, "down": {"ArrowDown", "ArrowDown", 40, ""},
	"arrowleft": {"ArrowLeft", "ArrowLeft", 37, ""}, "left": {"ArrowLeft", "ArrowLeft", 37, ""},
	"arrowright": {"ArrowRight", "ArrowRight", 39, ""}, "right": {"ArrowRight", "ArrowRight", 39, ""},
	"home": {"Home", "Home", 36, ""}, "end": {"End", "End", 35, ""},
	"pageup": {"PageUp", "PageUp", 33, ""}, "pagedown": {"PageDown", "PageDown", 34, ""},
	"insert": {"Insert", "Insert", 45, ""},
}

var functionKey = regexp.MustCompile(`^[fF](1[0-2]|[1-9])$`)

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
	name := cmp.Or(strings.ToLower(strings.TrimSpace(rest)), rest)
	if k, ok := namedKeys[name]; ok {
		return k, modifiers, nil
	}
	if f := functionKey.FindStringSubmatch(name); f != nil {
		n, _ := strconv.ParseInt(f[1], 10, 64) // it has digits only
		return key{"F" + f[1], "F" + f[1], 111 + n, ""}, modifiers, nil
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

// typeKeys presses the key of each character.
func (p *pageTarget) typeKeys(ctx context.Context, text string) error {
	for _, r := range text {
		k := character(r, 0)
		if r == '\n' {
			k = namedKeys["enter"]
		}
		if err := p.key(ctx, k, 0); err != nil {
			return err
		}
	}
	return nil
}
