package scrub

// A class is a set of kinds of bytes. Every byte has at most one kind, so a class
// is an OR of kinds, and a membership test is one load and one AND.
type class uint32

const (
	digit class = 1 << iota
	hexLow
	low
	hexUp
	up
	under
	dash
	dot
	plus // + and /
	equal
	tilde
	blank // space and tab
	eol
	quote // " ' `
	percent
	colon
	backslash // \
	dollar
	comma
	atSign // @
)

const (
	lower  = hexLow | low
	upper  = hexUp | up
	letter = lower | upper
	alnum  = letter | digit
	word   = alnum | under
	token  = word | dash
	lowHex = digit | hexLow
	anyHex = lowHex | hexUp
	base64 = alnum | plus
	white  = blank | eol
)

// kinds maps every byte to its kind.
var kinds = tableOfKinds()

func tableOfKinds() (t [256]class) {
	span := func(from, to byte, c class) {
		for b := int(from); b <= int(to); b++ {
			t[b] = c
		}
	}
	span('0', '9', digit)
	span('a', 'f', hexLow)
	span('g', 'z', low)
	span('A', 'F', hexUp)
	span('G', 'Z', up)
	for c, members := range map[class]string{
		under: "_", dash: "-", dot: ".", plus: "+/", equal: "=", tilde: "~", blank: " \t",
		eol: "\r\n", quote: "\"'`", percent: "%", colon: ":", backslash: `\`, dollar: "$", comma: ",", atSign: "@",
	} {
		for _, b := range []byte(members) {
			t[b] = c
		}
	}
	return t
}

func (c class) has(b byte) bool { return kinds[b]&c != 0 }

// all reports whether all bytes of s are in c.
func (c class) all(s string) bool {
	for i := range len(s) {
		if !c.has(s[i]) {
			return false
		}
	}
	return true
}

// any reports whether a byte of s is in c.
func (c class) any(s string) bool {
	for i := range len(s) {
		if c.has(s[i]) {
			return true
		}
	}
	return false
}

func fold(b byte) byte {
	if upper.has(b) {
		return b | 0x20
	}
	return b
}

// hasFold reports whether s begins with prefix, in any case. prefix is lower case.
func hasFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if fold(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}

// inFold reports whether s contains part, in any case. part is lower case.
func inFold(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if hasFold(s[i:], part) {
			return true
		}
	}
	return false
}
