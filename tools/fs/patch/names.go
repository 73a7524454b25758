package patch

import (
	"strings"
)

// headerName parses a name in a line with ---, +++ or rename: in quotes with escapes, or plain up to a tab, which may
// be followed by a time.
func headerName(text string) (string, error) {
	text = strings.TrimRight(text, "\r")
	if strings.HasPrefix(text, `"`) {
		name, _, ok := unquote(text)
		if !ok || name == "" {
			return "", errorf("the file name %.80s in the patch is not quoted correctly", text)
		}
		return name, nil
	}
	text, _, _ = strings.Cut(text, "\t")
	if text = strings.TrimRight(text, " "); text == "" {
		return "", errorf("a line of the patch does not name a file")
	}
	return text, nil
}

// unquote parses a name in quotes with the escapes of C, and returns what follows it.
func unquote(text string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			char, n := escape(text[i+1:])
			if n == 0 {
				return "", "", false
			}
			b.WriteByte(char)
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// escape returns the byte for the escape sequence at the beginning of text, after the backslash, and its length.
func escape(text string) (byte, int) {
	const letters, bytes = `abtnvfr"\`, "\a\b\t\n\v\f\r\"\\"
	if text == "" {
		return 0, 0
	}
	if i := strings.IndexByte(letters, text[0]); i >= 0 {
		return bytes[i], 1
	}
	if len(text) < 3 {
		return 0, 0
	}
	n := 0
	for _, digit := range []byte(text[:3]) {
		if digit < '0' || digit > '7' {
			return 0, 0
		}
		n = n*8 + int(digit-'0')
	}
	return byte(n), 3
}

// stripPrefixes removes a/ and b/ if both names have such a prefix or one is /dev/null. Git uses other letters for some
// comparisons.
func stripPrefixes(from, to string) (string, string) {
	if prefixed(from, "aciwo") && prefixed(to, "bciwo") {
		return unprefixed(from), unprefixed(to)
	}
	return from, to
}

func prefixed(name, letters string) bool {
	return name == nowhere || len(name) > 2 && name[1] == '/' && strings.IndexByte(letters, name[0]) >= 0
}

func unprefixed(name string) string {
	if name == nowhere {
		return name
	}
	return name[2:]
}

// gitName parses the name in the first line that git writes for a file, which has it twice. It returns "" if the two
// differ.
func gitName(text string) string {
	text = strings.TrimRight(text, "\r")
	if strings.HasPrefix(text, `"`) {
		from, rest, ok := unquote(text)
		to, err := headerName(strings.TrimPrefix(rest, " "))
		if !ok || err != nil {
			return ""
		}
		return same(from, to)
	}
	// The names are equal except for the prefix, so the blank is in the middle.
	if half := len(text) / 2; len(text)%2 == 1 && text[half] == ' ' {
		return same(text[:half], text[half+1:])
	}
	if from, to, ok := strings.Cut(text, ` "`); ok {
		to, _, _ = unquote(`"` + to)
		return same(from, to)
	}
	return ""
}

func same(from, to string) string {
	if from, to = stripPrefixes(from, to); from == to {
		return to
	}
	return ""
}
