package clients

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// line reads a string on one line, in either kind of quotes.
func (s *tomlScanner) line(mark byte) (string, error) {
	start := s.pos
	for s.pos++; s.pos < len(s.src) && s.src[s.pos] != '\n'; s.pos++ {
		switch c := s.src[s.pos]; {
		case c == mark:
			s.pos++
			return s.unescape(span{start + 1, s.pos - 1}, mark == '"')
		case c == '\\' && mark == '"':
			s.pos++
		}
	}
	s.pos = start
	return "", s.fail("this text does not end on its line")
}

// lines reads the rest of a string in triple quotes.
func (s *tomlScanner) lines(mark string) (string, error) {
	start := s.pos
	for ; s.pos < len(s.src); s.pos++ {
		switch {
		case s.src[s.pos] == '\\' && mark == `"""`:
			s.pos++
		case s.take(mark):
			// Up to two more quotes belong to the text.
			for range 2 {
				s.take(mark[:1])
			}
			return s.unescape(span{start, s.pos - len(mark)}, mark == `"""`)
		}
	}
	s.pos = start - len(mark)
	return "", s.fail("this text does not end")
}

// unescape is good enough to compare and to name keys: it knows the escapes
// that stand for one character, and rejects those that do not exist.
func (s *tomlScanner) unescape(text span, basic bool) (string, error) {
	raw := text.of(s.src)
	if !basic || !strings.Contains(raw, `\`) {
		return raw, nil
	}
	var out strings.Builder
	for raw != "" {
		before, rest, found := strings.Cut(raw, `\`)
		out.WriteString(before)
		if !found {
			break
		}
		char, used, err := tomlEscape(rest)
		if err != nil {
			s.pos = text.start
			return "", s.fail("%s", err.Error())
		}
		out.WriteString(char)
		raw = rest[used:]
	}
	return out.String(), nil
}

// tomlEscape resolves what follows a backslash and says how long that is.
func tomlEscape(rest string) (string, int, error) {
	if rest == "" {
		return "", 0, errors.New("a lone backslash; double it, or use single quotes")
	}
	if i := strings.IndexByte(`btnfre"\`, rest[0]); i >= 0 {
		return "\b\t\n\f\r\x1b\"\\"[i : i+1], 1, nil
	}
	if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[0]]; n > 0 && len(rest) > n {
		if code, err := strconv.ParseUint(rest[1:1+n], 16, 32); err == nil && utf8.ValidRune(rune(code)) {
			return string(rune(code)), 1 + n, nil
		}
	}
	if trimmed := strings.TrimLeft(rest, " \t\r\n"); len(trimmed) < len(rest) {
		return "", len(rest) - len(trimmed), nil // the line continues
	}
	return "", 0, fmt.Errorf("\\%c is no escape; double the backslash, or use single quotes", rest[0])
}

// tomlQuote writes a basic string. TOML knows fewer escapes than Go, and text
// that is not UTF-8 cannot be said in it.
func tomlQuote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			out.WriteString(`\u00` + strconv.FormatInt(0x100+int64(r), 16)[1:])
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
