package scrub

// A place is where the value of a name stands.
type place struct {
	name     int // where the name begins
	from     int // where the value begins, behind its quote
	quote    byte
	sloshes  int  // backslashes before the quote
	tight    bool // = with no blank
	inList   bool // behind a comma, or compared
	escorted bool // a header or a flag
	flag     bool // behind a flag and a blank
	query    bool // in the query of an address, or in a form
	member   bool // the name is in double quotes, as in JSON
	opened   bool // in the same quotes as the name: "token: abc"
	sep      byte
	tag      bool // between <name> and </name>
	folded   bool // in the line after a YAML | or >
}

// separator reads what stands between a name and its value.
func (t *text) separator(from, to int) (place, bool) {
	v := place{name: from}
	before := t.at(from - 1)
	v.query = before == '?' || before == '&' || before == ';'
	i, inQuotes := t.closing(to)
	v.opened = !inQuotes && quote.has(before)
	v.member = inQuotes && before == '"'
	j := t.run(i, blank)
	v.sep = t.at(j)
	switch v.sep {
	case '=':
		return t.afterEqual(v, i, j)
	case ':':
		if t.at(j+1) == ':' {
			return v, false
		}
		if t.at(j+1) == '=' {
			j++
		}
		v.escorted = !inQuotes && t.headerLine(from, i, j)
		if typed, ok := t.afterType(v, j+1); ok {
			return typed, true
		}
		return t.opening(v, j+1)
	case '!', '+', '?', '|':
		k := j + 1
		if t.has(j, "||=") {
			k++
		}
		v.inList = v.sep == '!'
		if t.at(k) != '=' {
			return v, false
		}
		return t.opening(v, t.run(k, equal))
	case ',':
		v.inList = true
		return t.listed(v, j+1, inQuotes)
	case '>':
		v.tag, v.opened = before == '<', before == '<'
		return t.opening(v, j+1)
	case '\n', '\r', '\\':
		return t.paired(v, j)
	}
	if j > i && !inQuotes {
		return t.afterBlank(v, j)
	}
	return v, false
}

// closing passes the quote and the bracket that end a name such as ["x"].
func (t *text) closing(i int) (int, bool) {
	j := t.runMost(i, slosh, 7)
	if !quote.has(t.at(j)) {
		return i, false
	}
	j++
	if t.at(j) == ']' {
		j++
	}
	return j, true
}

func (t *text) afterEqual(v place, i, j int) (place, bool) {
	switch {
	case t.at(j+1) == '=': // == and ===
		v.inList = true
		return t.opening(v, t.run(j, equal))
	case t.at(j+1) == '>': // a hash of Ruby or PHP
		return t.opening(v, j+2)
	case t.at(j+1) == '~':
		return v, false
	}
	v.tight = i == j && !white.has(t.at(j+1))
	return t.opening(v, j+1)
}

// opening reads the blanks and the quote before a value.
func (t *text) opening(v place, i int) (place, bool) {
	i = t.run(i, blank)
	if b := t.at(i); b == '|' || b == '>' { // a YAML block
		if k := t.run(t.runMost(i+1, dash|plus|digit, 3), blank); eol.has(t.at(k)) {
			i, v.folded = t.over(k), true
		}
	}
	j := i
	if letter.has(t.at(i)) && quote.has(t.at(i+1)) || t.at(i) == '@' && t.at(i+1) == '"' || t.at(i) == '$' && t.at(i+1) == '\'' {
		j = i + 1 // b"...", f'...', @"..."
	}
	k := t.runMost(j, slosh, 7)
	v.from = i
	if quote.has(t.at(k)) {
		v.from, v.quote, v.sloshes = k+1, t.s[k], k-j
		for k-j == 0 && t.at(k+1) == v.quote && t.at(k+2) == v.quote { // """..."""
			return v, false
		}
	}
	return v, v.from < len(t.s)
}

// afterType reads "name: type = value" of typed languages.
func (t *text) afterType(v place, i int) (place, bool) {
	i = t.run(i, blank)
	if t.at(i) == '&' {
		i++
	}
	j := t.runMost(i, word|dot, 24)
	if t.at(j) == '?' || t.at(j) == '>' {
		j++
	}
	if k := t.run(j, blank); j > i && k > j && t.at(k) == '=' && t.at(k+1) != '=' {
		v.tight = false
		return t.opening(v, k+1)
	}
	return v, false
}

// listed reads "name", "value". The value must be in quotes as the name is.
func (t *text) listed(v place, i int, inQuotes bool) (place, bool) {
	if !inQuotes {
		return v, false
	}
	v, ok := t.opening(v, t.over(i))
	if head := t.s[v.name:min(len(t.s), v.name+2)]; head == "--" || t.headerName(v.name) {
		v.inList, v.escorted = false, true
	}
	if t.has(v.from, "value") && v.quote != 0 { // {"name": "X", "value": "Y"}
		if k, ok := t.closing(v.from + len("value")); ok && t.at(t.run(k, blank)) == ':' {
			v.inList = false
			return t.opening(v, t.run(k, blank)+1)
		}
	}
	return v, ok && v.quote != 0
}

// paired reads the line "value: ..." that follows "name: X" in YAML.
func (t *text) paired(v place, i int) (place, bool) {
	k := t.over(i)
	if k == i || !t.has(k, "value:") {
		return v, false
	}
	v.opened = true
	return t.opening(v, k+len("value:"))
}

// afterBlank reads a value with nothing but blanks before it: a flag's, a
// netrc's, SQL's, or one behind a type.
func (t *text) afterBlank(v place, i int) (place, bool) {
	if name := t.undiffed(v.name); name > v.name && (t.inNetrc(name) || isDirective(t.s[name:])) {
		v.escorted = true
		return t.opening(v, i)
	}
	if t.has(v.name, "--") || t.has(v.name, "-") && v.name > 0 && white.has(t.at(v.name-1)) {
		v.escorted, v.flag = true, true
		v, ok := t.opening(v, i)
		return v, ok && t.at(v.from) != '-'
	}
	if t.at(i) == '\'' && hasFold(t.s[v.name:], "password") { // SQL
		return t.opening(v, i)
	}
	if t.inNetrc(v.name) {
		v.escorted = true
		return t.opening(v, i)
	}
	j := t.runMost(i, word|dot, 24)
	if k := t.run(j, blank); j > i && k > j && t.at(k) == '=' && t.at(k+1) != '=' {
		return t.opening(v, k+1)
	}
	if isDirective(t.s[v.name:]) {
		v.escorted = true
		return t.opening(v, i)
	}
	return v, false
}

// isDirective says that s begins with a setting of Redis, whose value stands
// behind a blank.
func isDirective(s string) bool { return hasFold(s, "requirepass") || hasFold(s, "masterauth") }

// end is where the value ends. A loud value is one of the environment and
// goes on to the next blank.
func (v place) end(t *text, loud bool) int {
	if v.quote != 0 {
		return v.endQuoted(t)
	}
	if v.tag {
		i := v.from
		for i < t.end() && t.s[i] != '<' && !(white | quote).has(t.s[i]) {
			i++
		}
		return t.reached(i)
	}
	return t.bare(v.from, loud, v.query)
}
