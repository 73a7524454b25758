package tool

// Extent tells how deep a JSON text is nested and how many values it holds,
// about, without decoding it. Decoded, a value of two bytes takes a hundred:
// what comes from strangers is measured before it is decoded. A text that is
// not JSON has some extent, too.
func Extent(raw []byte) (depth, values int) {
	now, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			now++
			depth = max(depth, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return depth, values
}

// MaxValues is how many values one message may hold, and so one text that is
// sent in place of an object or a list. It bounds memory, and is far above
// what the limits of arguments let through unless they are raised.
const MaxValues = 50_000
