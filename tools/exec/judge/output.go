package judge

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// What programs write is worked out where it is text that they were given:
// otherwise a command could hide in it.

func echo(j *judge, s *scope, c call) stream {
	args, escapes, end := c.rest(), false, "\n"
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' && strings.Trim(args[0].text[1:], "neE") == "" {
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

func joinArgs(args []arg) arg {
	var all arg
	for i, a := range args {
		if i > 0 {
			all.text += " "
		}
		all.text += a.text
		all.taint |= a.taint
		if a.glob {
			all.text += unknown
		}
	}
	return all
}

func printf(j *judge, s *scope, c call) stream {
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
	if !ok {
		return stream{from: anyText, taint: all.taint}
	}
	return stream{from: exactly, text: text, taint: all.taint}
}

// format is what printf makes of a format and its arguments.
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
				case 's':
					out.WriteString(value)
				case 'b':
					out.WriteString(unescape(value))
				case 'd':
					out.WriteString(value)
				case 'x', 'o', 'X':
					n, err := strconv.ParseInt(value, 0, 64)
					if err != nil {
						return "", false
					}
					out.WriteString(strconv.FormatInt(n, map[byte]int{'x': 16, 'X': 16, 'o': 8}[verb]))
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

// escapeLength is how long the escape at the beginning of text is.
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

// unescape resolves escapes as in $'…', echo -e and printf.
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

// cat writes what it reads.
func cat(j *judge, s *scope, c call) stream {
	opts, files := flags(c.rest())
	var out stream
	for _, f := range files {
		if f.text == "-" {
			out = out.and(s.in)
		} else {
			out = out.and(j.input(s, f))
		}
	}
	if len(files) == 0 {
		out = s.in
	}
	if out.from == aFile || len(opts) > 0 && out.from == exactly {
		out = stream{from: anyText, taint: out.taint}
	}
	return out
}

// filter judges a program that writes what becomes of its stdin.
func filter(change func(args []arg, text string) (string, bool), decodes func(args []arg) bool) program {
	return func(j *judge, s *scope, c call) stream {
		opts, files := flags(c.rest())
		in := s.in
		if len(files) == 1 && files[0].static() && c.name() != "tr" {
			in = j.input(s, files[0])
		}
		j.raise(tool.Reads, "")
		if in.from == exactly {
			if text, ok := change(c.rest(), in.text); ok && len(text) <= maxText {
				return stream{from: exactly, text: text, taint: in.taint}
			}
		}
		t := in.taint
		if decodes(opts) {
			t |= fromDecoder
		}
		return stream{from: anyText, taint: t}
	}
}

func always([]arg) bool { return true }

func decodesFlag(args []arg) bool {
	return hasFlag(args, "--decode", "--dec", "--d") || hasLetter(args, "d") || hasLetter(args, "D") || hasLetter(args, "r")
}

func base64Text(args []arg, text string) (string, bool) {
	if !decodesFlag(args) {
		return base64.StdEncoding.EncodeToString([]byte(text)) + "\n", true
	}
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	out, err := base64.RawStdEncoding.DecodeString(text)
	return string(out), err == nil
}

func base32Text(args []arg, text string) (string, bool) {
	if !decodesFlag(args) {
		return "", false
	}
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	out, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	return string(out), err == nil
}

func hexText(args []arg, text string) (string, bool) {
	if !hasLetter(args, "r") || !hasLetter(args, "p") {
		return "", false
	}
	out, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	return string(out), err == nil
}

func reversed(_ []arg, text string) (string, bool) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		r := []rune(line)
		for a, b := 0, len(r)-1; a < b; a, b = a+1, b-1 {
			r[a], r[b] = r[b], r[a]
		}
		lines[i] = string(r)
	}
	return strings.Join(lines, "\n"), true
}

// translated is what tr makes of a text.
func translated(args []arg, text string) (string, bool) {
	remove := false
	if len(args) > 0 && args[0].text == "-d" {
		remove, args = true, args[1:]
	}
	if len(args) == 0 || !args[0].static() || strings.HasPrefix(args[0].text, "-") || strings.Contains(args[0].text, "[:") {
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
	if len(args) != 2 || !args[1].static() || strings.Contains(args[1].text, "[:") {
		return "", false
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

// ranges writes a-d out.
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

// decoder judges a program that unpacks what it reads.
func decoder(decodes func([]arg) bool) program {
	return func(j *judge, s *scope, c call) stream {
		opts, files := flags(c.rest())
		for _, f := range files {
			j.read(s, f)
		}
		out := stream{from: anyText, taint: s.in.taint}
		if decodes(opts) {
			out.taint |= fromDecoder
			j.raise(tool.Writes, "unpacks "+joinArgs(files).shown())
		}
		return out
	}
}
