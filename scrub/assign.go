package scrub

import "strings"

// assignTriggers returns the windows of names that hold secrets.
func assignTriggers() []trigger {
	var all []trigger
	for _, group := range [][]trigger{
		on(assignment, 0, "assw", "assp", "oken", "secr", "pike", "cred", "gnat"),
		on(afterWord("key"), 0, "key=", "key:", `key"`, "key'", "key ", "key_", "key-", "key>", "key\t", "key,",
			"key\\", "key2", "key1", "keyb"),
		on(afterWord("pwd"), 0, "pwd=", "pwd:", `pwd"`, "pwd'", "pwd ", "pwd_", "pwd>", "pwd\\"),
		on(afterLetter('p'), 0, "ass=", "ass:", `ass"`, "ass'", "ass>", "ass ", "ass\\", "ass_"),
		on(afterLetter('a'), 0, "uth=", "uth:", `uth"`, "uth'", "uth ", "uth\\"),
		on(assignment, 0, "psk=", "sig=", "dsn=", "dsn ", "oriz"),
		on(inUpperVariable("PRIVATE", 3), 0, "vate"),
		on(inUpperVariable("KEYS", 0), 0, "keys"),
		on(inUpperVariable("VIRTUAL_", 4), 0, "ual_"),
		on(urlVariable, 0, "_url", "_uri"),
		on(patVariable, 0, "_pat"),
	} {
		all = append(all, group...)
	}
	return all
}

// afterWord finds names with the word w as trigger: key_id, but not donkey or
// keyboard.
func afterWord(w string) finder {
	return func(t *text, at int) (span, bool) {
		if len(w) == 3 && t.at(at+3) == 'b' {
			return span{}, false
		}
		return assignment(t, at)
	}
}

// afterLetter finds names with a trigger that begins at their second letter.
func afterLetter(first byte) finder {
	return func(t *text, at int) (span, bool) {
		if at == 0 || fold(t.s[at-1]) != first {
			return span{}, false
		}
		return assignment(t, at-1)
	}
}

// inUpperVariable finds environment variables with w in their name.
func inUpperVariable(w string, back int) finder {
	return func(t *text, at int) (span, bool) {
		if !t.has(at-back, w) {
			return span{}, false
		}
		return assignment(t, at)
	}
}

// urlVariable finds variables for the URL of a database.
func urlVariable(t *text, at int) (span, bool) {
	if word.has(t.at(at+4)) || !isAddress(t.s[t.back(at, word, 40):min(len(t.s), at+4)]) {
		return span{}, false
	}
	return assignment(t, at)
}

// patVariable finds names that end in _PAT.
func patVariable(t *text, at int) (span, bool) {
	if word.has(t.at(at + 4)) {
		return span{}, false
	}
	return assignment(t, at)
}

const (
	maxName   = 64
	maxJudged = 512 // bytes of a value that decide whether it is a secret
	inName    = word | dash | dot
)

// assignment finds the value assigned to the name around at: name=value,
// "name": "value", --name value, <name>value</name> and similar forms.
func assignment(t *text, at int) (span, bool) {
	from := t.skipLineNumber(t.back(at, inName, maxName), at)
	to := t.runMax(at, inName, maxName)
	for to > at && (dash | dot).has(t.s[to-1]) {
		to--
	}
	v, ok := t.separator(from, to)
	if !ok {
		return span{}, false
	}
	from = t.afterEscape(from, at)
	if i := strings.LastIndex(t.s[from:to], "-VIRTUAL_"); i >= 0 { // in a sentence: no-such-VIRTUAL_HOST
		from += i + 1
	}
	name := t.s[from:to]
	w := weightOfName(name)
	if w == none || name == "PASS" && v.sep == ':' && v.quote == 0 { // PASS: TestSomething
		return span{}, false
	}
	if v.sep == ':' && v.quote == 0 && declaresType(t.line(from)) || strings.HasSuffix(name, "debug-pass") ||
		name == "key" && inFold(t.line(from), "cache") { // of a CI job
		return span{}, false
	}
	if v.inList && sets(t.line(from)) {
		v.inList = false
	}
	if w == header {
		return t.credential(v.from, v.quote != 0)
	}
	return t.decide(name, w, v)
}

// declaresType reports whether the name after before is the one of a type: class
// ForwardPass: ...
func declaresType(before string) bool {
	for _, word := range []string{"struct ", "class ", "interface ", "protocol ", "trait ", "record ", "enum "} {
		if strings.HasSuffix(before, word) {
			return true
		}
	}
	return false
}

// sets reports whether before ends with a call that sets the variable whose name
// follows in quotes: os.Setenv("X", "..."), System.setProperty("X", "...").
func sets(before string) bool {
	before = strings.TrimRight(before, "\"'` \\")
	for _, call := range []string{"etenv(", "etEnv(", "etProperty(", "utenv(", "etEnvironmentVariable("} {
		if strings.HasSuffix(before, call) {
			return true
		}
	}
	return false
}

// afterEscape moves the start of a name after the letter of an escape, such as
// the n of \n, after a colour, and after --.
func (t *text) afterEscape(from, at int) int {
	if from > 0 && t.s[from-1] == '\\' && from < at && t.backslashes(from)%2 == 1 {
		from++
	}
	if colour := t.runMax(from, digit, 4) + 1; colour > from+1 && colour <= at && t.afterColour(colour) {
		from = colour
	}
	for from < at && !word.has(t.s[from]) {
		from++
	}
	return from
}

// decide returns the span of the value at v if it is a secret.
func (t *text) decide(name string, w weight, v valueSite) (span, bool) {
	loud := !lower.any(name)
	if t.limit < len(t.s) {
		t.limit = min(t.limit, v.from+maxJudged)
	}
	to := v.end(t, loud && v.tightEqual)
	value := t.s[v.from:to]
	if w == always && strings.Contains(value, "://") {
		return span{}, false // userinfo finds passwords in URLs
	}
	if (name == "PWD" || name == "OLDPWD") && strings.HasPrefix(value, "/") &&
		(word | dash | dot | plus).all(strings.ReplaceAll(value, "/", "")) && !random(value) {
		return span{}, false // the working directory of a shell
	}
	// prose: the --password option
	if v.tag && t.at(t.run(to, white)) != '<' || v.flag && lower.all(value) && len(value) < 10 {
		return span{}, false
	}
	s := setting{
		weight: w, upperName: loud, value: value, quoted: v.quote != 0, tightEqual: v.tightEqual, inList: v.inList,
		notCode: v.notCode,
	}
	if repeats(name, value) || v.quote == 0 && identifier(value) && s.ends(t, to) {
		return span{}, false
	}
	if v.quote == 0 && v.member && isNumber(value) {
		return span{}, false // a mask in place of a number would break the JSON
	}
	if v.quote == 0 {
		s.code = (t.at(to) != 0 && strings.IndexByte(",;)}]", t.s[to]) >= 0 || t.at(to) == '(' || t.at(to) == '[') &&
			!v.query && !v.sameQuotes && !t.has(to, "](")
		s.option = v.tightEqual && t.at(to) == ',' && t.at(v.name-1) == ','
		s.config = v.sameQuotes && !(v.sep == ':' && letter.all(value)) || t.aloneOnLine(v.name, to)
	}
	if !s.secret() {
		return span{}, false
	}
	from := v.from
	if i := strings.IndexByte(value, ' '); i > 0 && schemes.has(value[:i]) {
		from += i + 1
	}
	return span{from: from, to: to, kind: kindOf(w, name), tail: ^(white | quote)}, true
}

// ends reports whether an expression ends at a position.
func (s setting) ends(t *text, to int) bool {
	b := t.at(to)
	return b != 0 && strings.IndexByte(",;)}]", b) >= 0 && !s.upperName
}

// identifier reports whether v is a name in code for a holder of a secret: its last word says
// so, as in hexTestECKey.
func identifier(v string) bool {
	if !word.all(v) || len(v) < 5 {
		return false
	}
	for _, end := range []string{"Key", "Keys", "Token", "Secret", "Password", "Pass", "Credentials", "_key", "_token",
		"_secret", "_password"} {
		if strings.HasSuffix(v, end) {
			return true
		}
	}
	return false
}

// repeats reports whether a value only repeats its name, or words of it: authKey =
// authKey, DESCRIPTOR_KEY = "DESCRIPTOR", private_key: "_RSAPrivateKey".
func repeats(name, value string) bool {
	const shortest = 4
	if len(value) < shortest || len(value) > maxName || !(letter | under | dash | dot).all(value) {
		return false
	}
	a, b := letters(name), letters(value)
	return len(b) >= shortest && (strings.Contains(a, b) || strings.HasSuffix(b, a) && strings.ContainsAny(value, "_-.") &&
		len(a) > 3 || a == b)
}

// letters returns the letters of a name in lower case.
func letters(s string) string {
	b := make([]byte, 0, maxName)
	for i := range len(s) {
		if letter.has(s[i]) {
			b = append(b, fold(s[i]))
		}
	}
	return string(b)
}

// aloneOnLine reports whether name and value are all there is on their line.
func (t *text) aloneOnLine(name, to int) bool {
	to = t.run(t.skipColour(to), blank)
	if b := t.at(to); b != 0 && b != '\n' && b != '\r' && b != '#' && b != '\\' {
		return false
	}
	start := name - len(t.line(name))
	head := strings.TrimLeft(t.s[min(t.skipLineMarks(start), name):name], " \t")
	for _, lead := range []string{"\x1b[", "- ", "export ", "set ", "ENV ", "ARG "} {
		head = strings.TrimPrefix(head, lead)
	}
	return inName.all(strings.TrimLeft(head, `"'`))
}

func kindOf(w weight, name string) string {
	switch {
	case w == password:
		return "password"
	case inFold(name, "token"):
		return "token"
	case inFold(name, "key"):
		return "api_key"
	}
	return "secret"
}

var schemes = newWordSet("bearer", "basic", "token", "bot", "apikey", "digest", "negotiate", "key")
