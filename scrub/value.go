package scrub

import (
	"strings"
)

// A valueSite describes where the value of a name is.
type valueSite struct {
	name        int // where the name begins
	from        int // where the value begins, after its quote
	quote       byte
	backslashes int  // backslashes before the quote
	tightEqual  bool // = with no blank
	inList      bool // after a comma, or compared
	notCode     bool // a header or a flag
	flag        bool // after a flag and a blank
	query       bool // in the query of a URL, or in a form
	member      bool // the name is in double quotes, as in JSON
	sameQuotes  bool // in the same quotes as the name: "token: abc"
	sep         byte
	tag         bool // between <name> and </name>
	yamlBlock   bool // in the line after a YAML | or >
	block       bool // the first line between triple quotes
}

// separator reads the text between a name and its value.
func (t *text) separator(from, to int) (valueSite, bool) {
	v := valueSite{name: from}
	before := t.at(from - 1)
	v.query = before == '?' || before == '&' || before == ';'
	i, inQuotes := t.closing(t.skipColour(to))
	v.sameQuotes = !inQuotes && quote.has(before)
	v.member = inQuotes && before == '"'
	j := t.run(i, blank)
	v.sep = t.at(j)
	switch v.sep {
	case '=':
		return t.afterEqual(v, i, j)
	case ':':
		if k := t.runMax(j, colon, 3); k > j+1 { // ::= and :::=
			if t.at(k) != '=' {
				return v, false
			}
			return t.opening(v, k+1)
		}
		if t.at(j+1) == '=' {
			j++
		}
		v.notCode = !inQuotes && t.headerLine(from, i, j)
		if typed, ok := t.afterType(v, j+1); ok {
			return typed, true
		}
		return t.opening(v, j+1)
	case '!', '+', '?', '|', '.':
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
		v.tag, v.sameQuotes = before == '<', before == '<'
		return t.opening(v, t.skipLines(j+1))
	case '{': // variable "password" { default = "..." } of Terraform
		if k := strings.Index(t.s[j:min(len(t.s), j+200)], "default"); k >= 0 && inQuotes {
			if k = t.run(j+k+len("default"), blank); t.at(k) == '=' {
				return t.opening(v, k+1)
			}
		}
		return v, false
	case '\n', '\r', '\\':
		return t.paired(v, j)
	}
	if j > i && !inQuotes {
		return t.afterBlank(v, j)
	}
	if inQuotes && t.has(j, "value=") { // <add key="Password" value="..."/>
		return t.opening(v, j+len("value="))
	}
	return v, false
}

// closing skips the quote and the bracket that end a name such as ["x"].
func (t *text) closing(i int) (int, bool) {
	j := t.runMax(i, backslash, 7)
	if !quote.has(t.at(j)) {
		return i, false
	}
	j++
	if t.at(j) == ']' {
		j++
	}
	return j, true
}

func (t *text) afterEqual(v valueSite, i, j int) (valueSite, bool) {
	switch {
	case t.at(j+1) == '=': // == and ===
		v.inList = true
		return t.opening(v, t.run(j, equal))
	case t.at(j+1) == '>': // a hash of Ruby or PHP
		return t.opening(v, j+2)
	case t.at(j+1) == '~':
		return v, false
	}
	v.tightEqual = i == j && !white.has(t.at(j+1))
	return t.opening(v, j+1)
}

// opening reads the blanks and the quote before a value.
func (t *text) opening(v valueSite, i int) (valueSite, bool) {
	i = t.skipColour(t.run(i, blank))
	if b := t.at(i); b == '|' || b == '>' { // a YAML block
		if k := t.run(t.runMax(i+1, dash|plus|digit, 3), blank); eol.has(t.at(k)) {
			i, v.yamlBlock = t.skipLines(k), true
		}
	}
	if t.at(i) == '(' && eol.has(t.at(t.run(i+1, blank))) { // password = ("..." over lines
		if k := t.skipLines(i + 1); quote.has(t.at(k)) {
			i = k
		}
	}
	j := i
	if letter.has(t.at(i)) && quote.has(t.at(i+1)) || t.at(i) == '@' && t.at(i+1) == '"' || t.at(i) == '$' &&
		t.at(i+1) == '\'' {
		j = i + 1 // b"...", f'...', @"..."
	}
	k := t.runMax(j, backslash, 7)
	v.from = i
	if quote.has(t.at(k)) {
		v.from, v.quote, v.backslashes = k+1, t.s[k], k-j
		if k-j == 0 && t.at(k+1) == v.quote && t.at(k+2) == v.quote { // """..."""
			v.from, v.block = t.skipLines(k+3), true
			return v, v.from > k+3 && v.from < len(t.s)
		}
	}
	return v, v.from < len(t.s)
}

// afterType reads "name: type = value" of typed languages.
func (t *text) afterType(v valueSite, i int) (valueSite, bool) {
	i = t.run(i, blank)
	if t.at(i) == '&' {
		i++
	}
	j := t.runMax(i, word|dot, 24)
	if t.at(j) == '?' || t.at(j) == '>' {
		j++
	}
	if k := t.run(j, blank); j > i && k > j && t.at(k) == '=' && t.at(k+1) != '=' {
		v.tightEqual = false
		return t.opening(v, k+1)
	}
	return v, false
}

// listed reads "name", "value". The value must be in quotes as the name is.
func (t *text) listed(v valueSite, i int, inQuotes bool) (valueSite, bool) {
	if !inQuotes {
		return v, false
	}
	v, ok := t.opening(v, t.skipLines(i))
	if head := t.s[v.name:min(len(t.s), v.name+2)]; head == "--" || t.headerName(v.name) {
		v.inList, v.notCode = false, true
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
func (t *text) paired(v valueSite, i int) (valueSite, bool) {
	k := t.skipLines(i)
	if k == i || !t.has(k, "value:") {
		return v, false
	}
	v.sameQuotes = true
	return t.opening(v, k+len("value:"))
}

// afterBlank reads a value after blanks: of a flag, in a netrc file, in SQL, or
// after a type.
func (t *text) afterBlank(v valueSite, i int) (valueSite, bool) {
	if name := t.skipDiffMark(v.name); name > v.name && (t.inNetrc(name) || isDirective(t.s[name:])) {
		v.notCode = true
		return t.opening(v, i)
	}
	if t.has(v.name, "--") || t.has(v.name, "-") && v.name > 0 && white.has(t.at(v.name-1)) {
		v.notCode, v.flag = true, true
		v, ok := t.opening(v, i)
		return v, ok && t.at(v.from) != '-'
	}
	if t.at(i) == '\'' && hasFold(t.s[v.name:], "password") { // SQL
		return t.opening(v, i)
	}
	if t.inNetrc(v.name) {
		v.notCode = true
		return t.opening(v, i)
	}
	j := t.runMax(i, word|dot, 24)
	if k := t.run(j, blank); j > i && k > j && t.at(k) == '=' && t.at(k+1) != '=' {
		return t.opening(v, k+1)
	}
	if isDirective(t.s[v.name:]) || declares(t.line(v.name)) {
		v.notCode = true
		return t.opening(v, i)
	}
	return v, false
}

// declares reports whether the text before the name of a variable is a command that
// sets it to the next word, of a Dockerfile or a shell.
func declares(before string) bool {
	for _, command := range []string{"ENV ", "setenv ", "set -x ", "set -gx ", "set -Ux "} {
		if strings.HasSuffix(before, command) {
			return true
		}
	}
	return false
}

// isDirective reports whether s begins with a Redis setting. Its value follows a
// blank.
func isDirective(s string) bool { return hasFold(s, "requirepass") || hasFold(s, "masterauth") }

// end returns the end of the value. The value of an environment variable (loud)
// ends at the next blank.
func (v valueSite) end(t *text, loud bool) int {
	if v.quote != 0 {
		return v.endQuoted(t)
	}
	if v.tag {
		i := v.from
		for i < t.end() && t.s[i] != '<' && !(white | quote).has(t.s[i]) {
			i++
		}
		return t.noteEnd(i)
	}
	return t.bare(v.from, loud, v.query)
}

// endQuoted returns the end of a value in quotes: the next quote of the same kind
// with at most as many backslashes before it as the first one had. A " that closes
// a string of JSON ends every value, so that JSON stays JSON.
func (v valueSite) endQuoted(t *text) int {
	for i := v.from; i < t.end(); i++ {
		switch b := t.s[i]; {
		case b == v.quote:
			n := t.backslashes(i)
			if n <= v.backslashes || n%2 == 0 && v.backslashes == 0 {
				return max(v.from, i-min(n, v.backslashes))
			}
		case v.block && eol.has(b):
			return i
		case b == '\n' && v.quote != '`':
			return v.from // not a quote, but an apostrophe
		case b == '"' && t.backslashes(i)%2 == 0 && t.closes(i):
			return i
		}
	}
	return t.noteEnd(max(v.from, t.end()))
}

// closes reports whether the quote at i ends a JSON string, by the text after it.
func (t *text) closes(i int) bool {
	b := t.at(t.run(i+1, white))
	return b == 0 || b == ',' || b == ':' || b == ']' || b == '}'
}

// bare returns the end of a value without quotes. A blank, a quote or an escaped
// line break ends it; outside environment variables, also , ; ) and &.
func (t *text) bare(i int, loud, query bool) int {
	from := i
	for i < t.end() {
		switch b := t.s[i]; {
		case white.has(b), quote.has(b), b == '<', b == '>', b == 0, b == 0x1b, b == ']' && t.at(i+1) == '(':
			return t.trim(from, i) // ]( is in the middle of a link of Markdown
		case b == '\\':
			if n := t.at(i + 1); n == 0 || strings.IndexByte("nrt\"'`\\", n) >= 0 {
				return t.trim(from, i)
			}
			i += escapeLength(t.s[i:])
			continue
		case b == '&', b == '#' && query, !loud && (b == ',' || b == ';'), !loud && !query && (b == ')' || b == '}'):
			return t.trim(from, i)
		}
		i++
	}
	return t.trim(from, min(t.noteEnd(i), len(t.s)))
}

// trim removes signs that end a sentence or an expression.
func (t *text) trim(from, i int) int {
	for i > from && strings.IndexByte(".,;:)]}|", t.s[i-1]) >= 0 {
		if open := strings.IndexByte(")]}", t.s[i-1]); open >= 0 && strings.IndexByte(t.s[from:i], "([{"[open]) >= 0 {
			break
		}
		i--
	}
	return i
}

// headerLine reports whether a name and its colon look like an HTTP header's.
func (t *text) headerLine(from, to, colonAt int) bool {
	return to == colonAt && (t.at(to+1) == ' ' || letter.has(t.at(to+1)) || digit.has(t.at(to+1))) && t.headerName(from)
}

// headerName reports whether the name at i looks like an HTTP header's: X-Api-Key.
func (t *text) headerName(i int) bool {
	for i < len(t.s) && !word.has(t.s[i]) {
		i++
	}
	end := t.runMax(i, token, maxName)
	name := t.s[min(i, end):end]
	return strings.Contains(name, "-") && !strings.Contains(name, "_") && (upper.has(name[0]) || hasFold(name, "x-"))
}

// inNetrc reports whether login is shortly before i.
func (t *text) inNetrc(i int) bool {
	near := t.s[max(0, i-100):max(0, i)]
	return strings.Contains(near, "login ") && hasFold(t.s[i:], "password")
}

// A setting is a value with a name, found in text.
type setting struct {
	weight     weight
	upperName  bool // the name is in capitals
	value      string
	quoted     bool
	tightEqual bool // an = with no blank on either side
	config     bool // alone on its line, as in a configuration file
	code       bool // ends like an expression: with , ; ) or a call
	inList     bool // the name is an element of a list before the value, or compared with it
	option     bool // in a list of options: user=x,password=y,uid=0
	notCode    bool // an HTTP header, or a flag of a command: never code
}

// secret reports whether the value is masked.
func (s setting) secret() bool {
	v := s.value
	if s.weight == none || placeholder(v) {
		return false
	}
	if s.weight == always {
		return len(v) >= 4 && !pathLike(v)
	}
	if isAddressRange(v) {
		return false
	}
	if isNumber(v) {
		return digit.all(v) && (s.weight == password && len(v) >= 6 || len(v) >= 20 && s.weight != weak)
	}
	if s.inList || s.weight == weak {
		return s.looksRandom()
	}
	if len(v) < 6 || s.weight != password && len(v) < 8 {
		return false
	}
	if pathLike(v) || strings.HasPrefix(v, "sha256:") || onlyNameWords(v) {
		return false
	}
	if s.quoted {
		return s.quotedSecret()
	}
	return s.bareSecret()
}

// isAddressRange reports whether v is an IPv4 address, or a range such as 10.0.0.0/8.
func isAddressRange(v string) bool {
	ip, _, _ := strings.Cut(v, "/")
	return strings.Count(ip, ".") == 3 && (digit | dot).all(ip) && len(ip) >= 7 && len(ip) <= 15 && len(v) <= len(ip)+3
}

// looksRandom decides for names that often have harmless values: the value must look
// random, and must not be a digest or a number.
func (s setting) looksRandom() bool {
	v := strings.TrimRight(s.value, "=")
	if len(v) < 16 || isUUID(v) || anyHex.all(v) || strings.HasPrefix(v, "sha") {
		return len(v) >= 16 && anyHex.all(v) && len(v) < 40 && s.upperName && s.tightEqual
	}
	return (base64 | token | dot | percent).all(v) && (random(v) || unpronounceable(v))
}

// quotedSecret decides for a value in quotes.
func (s setting) quotedSecret() bool {
	v := s.value
	if i := strings.IndexByte(v, ' '); i >= 0 {
		return s.passphrase()
	}
	if !ascii(v) && !digit.any(v) {
		return false // a word of another language
	}
	if (letter | under | dash | dot | colon).all(v) { // letters only: more often a name than a secret
		return !joinedWords(v) && (s.weight == password || s.upperName || len(v) >= 14)
	}
	return digit.any(v) || s.weight == password || s.upperName || mixedCase(v)
}

// bareSecret decides for a value without quotes, perhaps code.
func (s setting) bareSecret() bool {
	v := s.value
	if s.notCode {
		return true
	}
	if callLike(v) || strings.HasPrefix(v, "!") || strings.HasPrefix(v, "*") || strings.HasPrefix(v, "&") {
		return false
	}
	names := (word | dot | dash).all(v)
	switch {
	case names && !digit.any(v): // letters: a variable, a type, a word of prose
		return s.lettersSecret()
	case names && unpronounceable(v):
		return !s.code || random(v)
	case names && nameWithDigits(v): // token2, sha256, process.env.KEY1
		return !s.code && (s.upperName && (s.tightEqual || s.config) || s.weight == password &&
			(s.tightEqual || s.config) && !strings.ContainsAny(v, "._"))
	case s.upperName && s.tightEqual, s.tightEqual && !s.code, (s.config || s.option) && s.weight == password:
		return true
	}
	return digit.any(v) && (random(v) || !names && !s.code || s.config || len(v) >= 16 && !s.code)
}

// lettersSecret decides for a value of letters without quotes.
func (s setting) lettersSecret() bool {
	v := s.value
	if len(v) >= 20 && random(v) && !(s.code && camelCase(v)) ||
		!s.code && letter.all(v) && len(v) >= 10 && 3*caseSwitches(v) >= len(v) {
		return true
	}
	if s.code || !s.upperName && (joinedWords(v) || mixedCase(v)) {
		return false
	}
	return s.tightEqual || s.config && (s.weight == password && !joinedWords(v) || len(v) >= 16 && !joinedWords(v))
}

// passphrase decides for words with blanks between, perhaps prose.
func (s setting) passphrase() bool {
	v := s.value
	for _, scheme := range []string{"bearer ", "basic ", "token ", "bot "} {
		if hasFold(v, scheme) {
			rest := v[len(scheme):]
			return len(rest) >= 8 && !strings.Contains(rest, " ") && !placeholder(rest) && digit.any(rest)
		}
	}
	if s.weight != password && !s.upperName || !ascii(v) || len(v) < 12 {
		return false
	}
	words := strings.Fields(v)
	for _, w := range words {
		if prose.has(strings.Trim(w, ".,:;!?")) || onlyNameWords(w) || upper.has(w[0]) {
			return false
		}
	}
	return len(words) >= 3 || s.upperName
}

// placeholder reports whether v is a placeholder for a secret.
func placeholder(v string) bool {
	if v = strings.TrimSpace(v); v == "" {
		return true
	}
	switch v[0] {
	case '$':
		return !strings.HasPrefix(v, "$2") && !(len(v) > 2 && digit.has(v[1]) && v[2] == '$')
	case '<', '{', '[', '(':
		return true
	case '%':
		return len(v) <= 3 || v[len(v)-1] == '%' || v[1] == '(' || v[1] == '{'
	case '#', '@':
		return strings.HasPrefix(v, "#{") || strings.HasPrefix(v, "@{") || v[len(v)-1] == v[0]
	}
	if hasMask(v) || blankedOut(v) || strings.HasPrefix(v, "...") {
		return true
	}
	if stopWords.has(strings.Trim(v, ".,:;!?")) ||
		len(v) > 4 && strings.HasPrefix(v, "__") && strings.HasSuffix(v, "__") ||
		inFold(v, "your-") || inFold(v, "your_") || inFold(v, "abcdefghijklmnopqrstuvwxyz") {
		return true
	}
	return strings.Contains(v, "${") || strings.Contains(v, "{{") || strings.Contains(v, "$(") || isExample(v)
}

// isExample reports whether v is named as an example.
func isExample(v string) bool {
	for _, head := range []string{"your", "example", "placeholder", "changeme", "change-me", "change_me", "replace",
		"insert", "enter",
		"<", "todo", "fixme", "dummy", "redacted", "process.env", "os.environ", "os.getenv", "env."} {
		if hasFold(v, head) && (len(head) > 6 || len(v) == len(head) || !alnum.has(v[len(head)]) ||
			upper.has(v[len(head)])) {
			return true
		}
	}
	return false
}

// pathLike reports whether v is a file path or a URL.
func pathLike(v string) bool {
	for _, head := range []string{"./", "../", "~/", "http://", "https://", "file:", "arn:", "projects/", "vault:",
		"ssm:", "op://", "secret:"} {
		if strings.HasPrefix(v, head) {
			return true
		}
	}
	if len(v) > 1 && v[0] == '/' {
		return strings.Count(v, "/") >= 2 && (word | dash | dot | plus).all(v) && !random(v)
	}
	return false
}

// onlyNameWords reports whether v is made of words that name secrets: access_token,
// user-password, secretKey.
func onlyNameWords(v string) bool {
	rest := v
	for rest != "" {
		cut := 0
		for _, w := range nameWords {
			if len(w) > cut && hasFold(rest, w) {
				cut = len(w)
			}
		}
		if cut == 0 {
			return false
		}
		rest = strings.TrimLeft(rest[cut:], "_-. :")
	}
	return true
}

// joinedWords reports whether v is words joined by signs: not-found, user.name.
func joinedWords(v string) bool {
	return strings.ContainsAny(strings.Trim(v, "_-.:"), "_.:") || strings.Count(v, "-") == 1
}

// nameWithDigits reports whether v is a name with few digits: token2, sha256sum.
func nameWithDigits(v string) bool {
	if camelCase(strings.TrimRight(v, "0123456789")) {
		return true
	}
	if random(v) {
		return false
	}
	figures := 0
	for i := range len(v) {
		if digit.has(v[i]) {
			figures++
		}
	}
	return 4*figures <= len(v) && !digit.has(v[0])
}

// camelCase reports whether v is words of three letters on average, with a capital at
// the beginning of each but the first: ecTestKey.
func camelCase(v string) bool {
	words := 1
	for i := 1; i < len(v); i++ {
		if upper.has(v[i]) {
			words++
			if upper.has(v[i-1]) {
				return false
			}
		}
	}
	return letter.all(v) && words > 1 && len(v) >= 3*words
}

// caseSwitches returns how often v changes between small and capital letters. Names
// change at the beginnings and ends of words.
func caseSwitches(v string) (n int) {
	for i := 1; i < len(v); i++ {
		if upper.has(v[i-1]) != upper.has(v[i]) {
			n++
		}
	}
	return n
}

// unpronounceable reports whether a word of small letters and digits has six
// consonants in a row, as words do not.
func unpronounceable(v string) bool {
	if len(v) < 16 || !(lower | digit).all(v) || anyHex.all(v) {
		return false
	}
	run := 0
	for i := range len(v) {
		if run++; digit.has(v[i]) || strings.IndexByte("aeiouy", v[i]) >= 0 {
			run = 0
		}
		if run == 6 {
			return true
		}
	}
	return false
}

// isNumber reports whether v is a number as code or JSON writes it: 0x1f, -12, 1e9.
func isNumber(v string) bool {
	v = strings.TrimPrefix(v, "-")
	if hex, ok := strings.CutPrefix(v, "0x"); ok {
		return len(hex) <= 16 && (anyHex | under).all(hex)
	}
	if i := strings.IndexAny(v, "eE"); i > 0 && digit.all(strings.TrimLeft(v[i+1:], "+-")) {
		v = v[:i]
	}
	return (digit | under | dot).all(v) && digit.any(v)
}

// callLike reports whether v is an expression: next(), a[i], b->c, x.y.
func callLike(v string) bool {
	if i := strings.IndexAny(v, "(["); i >= 0 {
		return i == 0 || word.has(v[i-1]) && (word|dot).all(v[:i])
	}
	if strings.Contains(v, "->") || strings.Contains(v, "::") {
		return true
	}
	if head, _, ok := strings.Cut(v, "."); ok && (word | dot).all(v) && len(head) > 0 && !digit.has(v[0]) {
		return !random(v)
	}
	return false
}

func mixedCase(v string) bool {
	return lower.any(v) && len(v) > 1 && upper.any(v[1:])
}

func ascii(v string) bool {
	for i := range len(v) {
		if v[i] >= 0x80 {
			return false
		}
	}
	return true
}

// isUUID reports whether v has the form 8-4-4-4-12.
func isUUID(v string) bool {
	if len(v) != 36 || !(anyHex | dash).all(v) {
		return false
	}
	return v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' && strings.Count(v, "-") == 4
}

var (
	nameWords = []string{"password", "passwd", "passphrase", "pass", "secret", "token", "apikey", "key", "keys", "auth",
		"user", "username",
		"my", "the", "new", "old", "access", "refresh", "api", "id", "name", "field", "value", "type", "client", "db",
		"database",
		"reset", "login", "admin", "service", "account", "private", "public", "bearer", "basic", "session", "csrf",
		"header", "s",
		"credential", "credentials", "authorization", "default", "master", "root", "file", "path", "env", "var",
		"confirm", "hash",
		"forgot", "change", "update", "current", "wrong", "test", "tokens", "secrets", "passwords", "config", "is",
		"has", "get", "set"}
	stopWords = newWordSet(`string str text number integer int bool boolean bytes object array any none null
		nil undefined true false required optional invalid expired missing incorrect unknown default hidden masked
		disabled enabled unauthorized forbidden include omit same-origin interface function identifier
		authentication authorization credentials unsupported mandatory revoked rejected accepted prompt generated
		encrypted unchanged confidential sensitive unspecified anonymous automatic external internal readonly
		multiple malformed parameter argument attribute property whatever something anything everything nothing
		passwort kennwort wachtwoord wiederholung senha passord adgangskode salasana heslo parola sandi contrasena
		motdepasse losenord jelszo sifre bestaetigung compat pytest changed
		uint8array bytearray vec<u8> option<string> optional[str] varchar char secretstr keyboard`)
	prose = newWordSet(`the a an is it your you please enter must for to of in and or not with this that be was
		are has have no on from at by if use used can cannot could should will when which invalid missing wrong new
		old valid`)
)
