package judge

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What programs write is worked out where it is text that the command itself
// holds: otherwise a command could hide in it. Where that would be much work,
// the text counts as scrambled, and no program may get it.

func echo(_ *judge, _ *scope, _ *program, c call, _ arguments) stream {
	args, escapes, end := c.rest(), false, "\n"
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' &&
		strings.Trim(args[0].text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].text, "e")
		if strings.Contains(args[0].text, "n") {
			end = ""
		}
		args = args[1:]
	}
	all := joinArgs(args)
	if escapes && strings.Contains(all.text, "\\") {
		all.text = unescape(all.text)
	}
	all.text += end
	return streamOf(all)
}

func printf(_ *judge, s *scope, _ *program, c call, _ arguments) stream {
	args := c.rest()
	if len(args) > 1 && args[0].text == "-v" {
		s.set(args[1].text, value{texts: []string{unknown}})
		return silent()
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return silent()
	}
	all := joinArgs(args)
	if !all.static() {
		return stream{from: anyText, taint: all.taint}
	}
	text, ok := format(args[0].text, args[1:])
	switch {
	case ok:
		return stream{from: exactly, text: text, taint: all.taint}
	case containsAny(args[0].text, "%x", "%X", "%o"):
		all.taint |= scrambled
	}
	return stream{from: anyText, taint: all.taint}
}

// format returns what printf writes, or false when that is not worked out.
func format(layout string, args []arg) (string, bool) {
	var out strings.Builder
	for {
		used := false
		for i := 0; i < len(layout); i++ {
			switch c := layout[i]; {
			case c == '\\':
				n := escapeLength(layout[i:])
				out.WriteString(unescape(layout[i : i+n]))
				i += n - 1
			case c == '%' && i+1 < len(layout):
				i++
				verb := layout[i]
				if verb == '%' {
					out.WriteByte('%')
					continue
				}
				value := ""
				if len(args) > 0 {
					value, args, used = args[0].text, args[1:], true
				}
				switch verb {
				case 's', 'd':
					out.WriteString(value)
				case 'b':
					out.WriteString(unescape(value))
				default:
					return "", false
				}
			default:
				out.WriteByte(c)
			}
			if out.Len() > maxText {
				return "", false
			}
		}
		if len(args) == 0 || !used {
			return out.String(), true
		}
	}
}

// escapeLength returns the length of the escape at the beginning of text.
func escapeLength(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	digits, n := "", 0
	switch c := text[1]; {
	case c == 'x':
		digits, n = "0123456789abcdefABCDEF", 2
	case c == 'u':
		digits, n = "0123456789abcdefABCDEF", 4
	case c == 'U':
		digits, n = "0123456789abcdefABCDEF", 8
	case c == '0':
		digits, n = "01234567", 3
	case c >= '1' && c <= '7':
		digits, n = "01234567", 2
	case c == 'c':
		return min(3, len(text))
	}
	length := 2
	for n > 0 && length < len(text) && strings.IndexByte(digits, text[length]) >= 0 {
		length, n = length+1, n-1
	}
	return length
}

// unescape resolves escapes as in $'...', echo -e and printf.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		n := escapeLength(text[i:])
		out.WriteString(escape(text[i : i+n]))
		i += n - 1
	}
	return out.String()
}

func escape(e string) string {
	c := e[1]
	if at := strings.IndexByte("abfnrtveE", c); at >= 0 {
		return "\a\b\f\n\r\t\v\x1b\x1b"[at : at+1]
	}
	switch {
	case c == 'x' && len(e) > 2:
		n, _ := strconv.ParseUint(e[2:], 16, 8)
		return string([]byte{byte(n)})
	case (c == 'u' || c == 'U') && len(e) > 2:
		n, _ := strconv.ParseUint(e[2:], 16, 32)
		return string(utf8.AppendRune(nil, rune(min(n, utf8.MaxRune))))
	case c >= '0' && c <= '7':
		n, _ := strconv.ParseUint(e[1:], 8, 16)
		return string([]byte{byte(n)})
	case c == 'c' && len(e) > 2:
		return string([]byte{e[2] & 0x1f})
	case strings.IndexByte("\\'\"?", c) >= 0:
		return e[1:]
	}
	return e
}

// cat returns what it reads.
func cat(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	var out stream
	for _, f := range in.operands {
		if f.text == "-" {
			out = out.and(s.in)
		} else {
			out = out.and(j.input(s, f))
		}
	}
	if len(in.operands) == 0 {
		out = s.in
	}
	if out.from == aFile || len(in.opts) > 0 && out.from == exactly {
		out = stream{from: anyText, taint: out.taint}
	}
	return out
}

// filter judges programs that encode, decode or turn around what they read.
func filter(j *judge, s *scope, _ *program, c call, in arguments) stream {
	from := s.in
	if len(in.operands) == 1 && in.operands[0].static() {
		from = j.input(s, in.operands[0])
	}
	decodes := c.name() == "rev" || in.matchesAny("--decode", "-d", "-D", "-r")
	if from.from == exactly {
		if text, ok := filtered(c.name(), from.text, decodes, in); ok && len(text) <= maxText {
			return stream{from: exactly, text: text, taint: from.taint}
		}
		if from.text != "" {
			from.taint |= scrambled
		}
	}
	if decodes {
		from.taint |= fromDecoder
	}
	return stream{from: anyText, taint: from.taint}
}

// filtered returns what a filter makes of a text, or false when that is not
// worked out.
func filtered(name, text string, decodes bool, in arguments) (string, bool) {
	packed := strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	var out []byte
	var err error
	switch {
	case name == "rev":
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			r := []rune(line)
			slices.Reverse(r)
			lines[i] = string(r)
		}
		return strings.Join(lines, "\n"), true
	case strings.HasSuffix(name, "base64") && !decodes:
		return base64.StdEncoding.EncodeToString([]byte(text)) + "\n", true
	case name == "xxd" && in.matches("-r") && in.matches("-p"):
		out, err = hex.DecodeString(packed)
	case name == "base32" && decodes:
		out, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(packed)
	case strings.HasPrefix(strings.TrimPrefix(name, "g"), "base64"):
		out, err = base64.RawStdEncoding.DecodeString(packed)
	default:
		return "", false
	}
	return string(out), err == nil
}

func tr(_ *judge, s *scope, _ *program, c call, _ arguments) stream {
	if s.in.from == exactly {
		if text, ok := translate(c.rest(), s.in.text); ok {
			return stream{from: exactly, text: text, taint: s.in.taint}
		}
	}
	return stream{from: anyText, taint: s.in.taint}
}

// translate returns what tr makes of a text, or false when that is not worked out.
func translate(args []arg, text string) (string, bool) {
	remove := len(args) > 0 && args[0].text == "-d"
	if remove {
		args = args[1:]
	}
	for _, a := range args {
		if !a.static() || strings.Contains(a.text, "[:") {
			return "", false
		}
	}
	if len(args) == 0 || strings.HasPrefix(args[0].text, "-") || !remove && len(args) != 2 {
		return "", false
	}
	from := ranges(args[0].text)
	if remove {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(from, r) {
				return -1
			}
			return r
		}, text), true
	}
	to := ranges(args[1].text)
	if to == "" {
		return "", false
	}
	out := []byte(text)
	for i, c := range out {
		if at := strings.IndexByte(from, c); at >= 0 {
			out[i] = to[min(at, len(to)-1)]
		}
	}
	return string(out), true
}

// ranges writes out ranges such as a-d.
func ranges(set string) string {
	set = unescape(set)
	var out strings.Builder
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' && set[i] <= set[i+2] {
			for c := int(set[i]); c <= int(set[i+2]); c++ {
				out.WriteByte(byte(c))
			}
			i += 2
			continue
		}
		out.WriteByte(set[i])
	}
	return out.String()
}
