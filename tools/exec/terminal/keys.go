package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plainKeys returns the keys that modifiers do not change, in lower case.
func plainKeys() map[string]string {
	return map[string]string{
		"enter": "\r", "return": "\r", "cr": "\r", "tab": "\t", "escape": "\x1b", "esc": "\x1b", "space": " ",
		"backspace": "\x7f", "bspace": "\x7f", "btab": "\x1b[Z", "backtab": "\x1b[Z", "lf": "\n", "newline": "\n",
	}
}

// letterKeys end in a letter: ESC [ A, and ESC [ 1 ; 5 A with Ctrl.
func letterKeys() map[string]byte {
	return map[string]byte{
		"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F',
		"f1": 'P', "f2": 'Q', "f3": 'R', "f4": 'S',
	}
}

// numberKeys have a number: ESC [ 5 ~, and ESC [ 5 ; 5 ~ with Ctrl.
func numberKeys() map[string]int {
	return map[string]int{
		"insert": 2, "ic": 2, "delete": 3, "del": 3, "dc": 3, "pageup": 5, "pgup": 5, "ppage": 5,
		"pagedown": 6, "pgdn": 6, "pgdown": 6, "npage": 6,
		"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
	}
}

// Keys returns the bytes that a terminal sends for keys by their names: Enter, Tab,
// Up, F5, C-c or Ctrl+c or ^C, M-x or Alt-x, S-Tab, C-Left, a character for
// itself, and 0x1b for a byte.
func Keys(names []string) ([]byte, error) {
	var all []byte
	for _, name := range names {
		bytes, err := key(name)
		if err != nil {
			return nil, err
		}
		all = append(all, bytes...)
	}
	return all, nil
}

// modifiers are added up as terminals do.
type modifiers int

const (
	shift modifiers = 1 << iota
	alt
	ctrl
)

func key(name string) (string, error) {
	if utf8.ValidString(name) && utf8.RuneCountInString(name) == 1 {
		return name, nil
	}
	for _, prefix := range []string{"0x", `\x`} {
		if digits, ok := strings.CutPrefix(strings.ToLower(name), prefix); ok {
			if b, err := strconv.ParseUint(digits, 16, 8); err == nil {
				return string([]byte{byte(b)}), nil
			}
		}
	}
	rest, held := modified(strings.Trim(name, "<>"))
	if held == 0 && utf8.RuneCountInString(rest) == 1 {
		return rest, nil
	}
	if bytes, ok := named(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", "arrow", "", "Arrow",
		"").Replace(rest)), held); ok {
		return bytes, nil
	}
	if bytes, ok := char(rest, held); ok {
		return bytes, nil
	}
	return "", fmt.Errorf("there is no key %.40q", name)
}

// modified takes C-, M-, S- and their relatives off a name.
func modified(name string) (rest string, held modifiers) {
	if len(name) == 2 && name[0] == '^' {
		return name[1:], ctrl
	}
	words := map[string]modifiers{
		"c": ctrl, "ctrl": ctrl, "control": ctrl, "m": alt, "a": alt, "alt": alt, "meta": alt, "s": shift,
		"shift": shift,
	}
	for {
		i := strings.IndexAny(name, "-+")
		if i <= 0 || i+1 == len(name) {
			return name, held
		}
		m, ok := words[strings.ToLower(name[:i])]
		if !ok {
			return name, held
		}
		name, held = name[i+1:], held|m
	}
}

// named returns the bytes of a key that has a name.
func named(name string, held modifiers) (string, bool) {
	if bytes, ok := plainKeys()[name]; ok {
		switch {
		case name == "tab" && held&shift != 0:
			bytes = "\x1b[Z"
		case name == "space" && held&ctrl != 0:
			bytes = "\x00"
		}
		if held&alt != 0 {
			bytes = "\x1b" + bytes
		}
		return bytes, true
	}
	if letter, ok := letterKeys()[name]; ok {
		switch {
		case held != 0:
			return fmt.Sprintf("\x1b[1;%d%c", held+1, letter), true
		case letter >= 'P':
			return "\x1bO" + string(rune(letter)), true
		}
		return "\x1b[" + string(rune(letter)), true
	}
	if number, ok := numberKeys()[name]; ok {
		if held != 0 {
			return fmt.Sprintf("\x1b[%d;%d~", number, held+1), true
		}
		return fmt.Sprintf("\x1b[%d~", number), true
	}
	return "", false
}

// char returns a character with modifiers.
func char(text string, held modifiers) (string, bool) {
	if utf8.RuneCountInString(text) != 1 {
		return "", false
	}
	if held&ctrl != 0 {
		b := text[0]
		switch {
		case len(text) == 1 && (b >= '@' && b <= '_' || b >= 'a' && b <= 'z'):
			text = string(rune(b & 0x1F))
		case b == '?':
			text = "\x7f"
		default:
			return "", false
		}
	} else if held&shift != 0 {
		text = strings.ToUpper(text)
	}
	if held&alt != 0 {
		text = "\x1b" + text
	}
	return text, true
}
