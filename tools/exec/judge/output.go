package judge

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
)

// The output of programs is worked out where the command itself holds the text: otherwise a
// command could hide in it. Where that would be much work, the text counts as scrambled, and no
// program may get it.

func echo(_ *judge, _ *scope, _ *program, c call, _ arguments) stream {
	args, escapes, end := c.rest(), false, "\n"
	for len(args) > 0 && len(args[0].text) > 1 && args[0].starts("-") && strings.Trim(args[0].text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].text, "e")
		if strings.Contains(args[0].text, "n") {
			end = ""
		}
		args = args[1:]
	}
	text := joinArgs(args).text
	if escapes && strings.Contains(text, `\`) {
		return unescaped(text).and(textStream(end))
	}
	return textStream(text + end)
}

// unescaped returns a text without its escapes, as printf and echo -e write it.
func unescaped(text string) stream {
	plain, _, err := expand.Format(nil, text, nil)
	if err != nil || containsAny(text, `\0`, `\c`) {
		return unknownStream(scrambled | taintOf(text))
	}
	return textStream(plain)
}

func printf(_ *judge, s *scope, _ *program, c call, _ arguments) stream {
	args := c.rest()
	if len(args) > 1 && args[0].is("-v") {
		s.set(args[1].text, known(unknown))
		return silent()
	}
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return silent()
	}
	all, layout := joinArgs(args), args[0].text
	out, rest := "", argTexts(args[1:])
	for len(out) < maxText && all.static() {
		text, used, err := expand.Format(nil, layout, rest)
		inner := strings.Contains(layout, "%b") && strings.Contains(all.text, `\0`)
		if err != nil || inner || containsAny(layout, `\0`, `\c`) {
			break
		}
		out, rest = out+text, rest[used:]
		if used == 0 || len(rest) == 0 {
			return textStream(out)
		}
	}
	if containsAny(layout, "%x", "%X", "%o", "%b", `\0`) {
		return unknownStream(all.taint() | scrambled)
	}
	return unknownStream(all.taint())
}

// cat returns its input.
func cat(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	var out stream
	for _, f := range in.operands {
		if f.is("-") {
			out = out.and(s.in)
		} else {
			out = out.and(j.input(s, f))
		}
	}
	if len(in.operands) == 0 {
		out = s.in
	}
	if out.file != "" || len(in.opts) > 0 && out.given {
		out = unknownStream(out.taint())
	}
	return out
}

// filter judges programs that encode, decode or reverse their input.
func filter(j *judge, s *scope, _ *program, c call, in arguments) stream {
	from := s.in
	if len(in.operands) == 1 && in.operands[0].static() {
		from = j.input(s, in.operands[0])
	}
	t := from.taint()
	decodes := c.name() == "rev" || in.matches("--decode", "-d", "-D", "-r")
	if from.known() {
		if text, ok := filtered(c.name(), from.text, decodes); ok && len(text) <= maxText {
			return textStream(text)
		}
		if from.text != "" {
			t |= scrambled
		}
	}
	if decodes {
		t |= fromDecoder
	}
	return unknownStream(t)
}

// filtered returns the output of a filter for a text, or false when that is not worked out.
func filtered(name, text string, decodes bool) (string, bool) {
	switch {
	case name == "rev":
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			r := []rune(line)
			slices.Reverse(r)
			lines[i] = string(r)
		}
		return strings.Join(lines, "\n"), true
	case name != "base64" && name != "gbase64":
		return "", false
	case !decodes:
		return base64.StdEncoding.EncodeToString([]byte(text)) + "\n", true
	}
	packed := strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	out, err := base64.RawStdEncoding.DecodeString(packed)
	return string(out), err == nil && !hasMarks(string(out))
}

// tr returns the output of tr for a known text, if its sets are written out.
func tr(_ *judge, s *scope, _ *program, c call, _ arguments) stream {
	args := c.rest()
	remove := len(args) > 0 && args[0].is("-d")
	if remove {
		args = args[1:]
	}
	if !s.in.known() || len(args) == 0 || len(args) > 2 || len(args) != 2 && !remove || args[0].starts("-") {
		return unknownStream(s.in.taint())
	}
	sets := make([]string, 2)
	for i, a := range args {
		sets[i] = ranges(a.text)
		if !a.static() || sets[i] == "" || strings.Contains(a.text, "[:") || !utf8.ValidString(sets[i]) {
			return unknownStream(s.in.taint())
		}
	}
	return textStream(strings.Map(func(r rune) rune {
		at := strings.IndexRune(sets[0], r)
		switch {
		case at < 0:
			return r
		case remove:
			return -1
		}
		return rune(sets[1][min(at, len(sets[1])-1)])
	}, s.in.text))
}

// ranges writes out ranges such as a-d.
func ranges(set string) string {
	set = unescaped(set).text
	var out strings.Builder
	for i := 0; i < len(set); i++ {
		out.WriteByte(set[i])
		if i+2 < len(set) && set[i+1] == '-' {
			for c := int(set[i]) + 1; c <= int(set[i+2]); c++ {
				out.WriteByte(byte(c))
			}
			i += 2
		}
	}
	return out.String()
}
