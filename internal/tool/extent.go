package tool

// Extent returns how deep a JSON text is nested and about how many values it
// holds, without decoding it. A value of two bytes takes a hundred when it is
// decoded, so texts from outside are measured first. A text that is not JSON
// has an extent, too.
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

// MaxValues is the max number of values in a message, and so in a text that is
// sent in place of an object or a list. It bounds memory, and is far above the
// limits of arguments.
const MaxValues = 50_000
