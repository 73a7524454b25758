package scrub

import "strings"

// assignTriggers are the windows of names that hold secrets.
func assignTriggers() []trigger {
	var all []trigger
	for _, group := range [][]trigger{
		on(assignment, 0, "assw", "assp", "oken", "secr", "pike", "cred", "gnat"),
		on(ended("key"), 0, "key=", "key:", `key"`, "key'", "key ", "key_", "key-", "key>", "key\t", "key,", "key\\", "key2", "key1", "keyb"),
		on(ended("pwd"), 0, "pwd=", "pwd:", `pwd"`, "pwd'", "pwd ", "pwd_", "pwd>", "pwd\\"),
		on(preceded('p'), 0, "ass=", "ass:", `ass"`, "ass'", "ass>", "ass ", "ass\\", "ass_"),
		on(preceded('a'), 0, "uth=", "uth:", `uth"`, "uth'", "uth ", "uth\\"),
		on(assignment, 0, "psk=", "sig=", "dsn=", "dsn ", "oriz"),
		on(shouted("PRIVATE", 3), 0, "vate"),
		on(shouted("KEYS", 0), 0, "keys"),
		on(shouted("VIRTUAL_", 4), 0, "ual_"),
		on(address, 0, "_url", "_uri"),
		on(personal, 0, "_pat"),
	} {
		all = append(all, group...)
	}
	return all
}

// ended looks at names whose trigger is the word itself: donkey is none, and
// neither is keyboard, but key_id is looked at.
func ended(w string) finder {
	return func(t *text, at int) (span, bool) {
		if len(w) == 3 && t.at(at+3) == 'b' {
			return span{}, false
		}
		return assignment(t, at)
	}
}

// preceded looks at names whose trigger leaves the first letter out.
func preceded(first byte) finder {
	return func(t *text, at int) (span, bool) {
		if at == 0 || fold(t.s[at-1]) != first {
			return span{}, false
		}
		return assignment(t, at-1)
	}
}

// shouted looks at environment variables that hold w.
func shouted(w string, back int) finder {
	return func(t *text, at int) (span, bool) {
		if !t.has(at-back, w) {
			return span{}, false
		}
		return assignment(t, at)
	}
}

// address looks at variables that hold the address of a database.
func address(t *text, at int) (span, bool) {
	if word.has(t.at(at+4)) || !isAddress(t.s[t.back(at, word, 40):min(len(t.s), at+4)]) {
		return span{}, false
	}
	return assignment(t, at)
}

// personal looks at names that end in _PAT.
func personal(t *text, at int) (span, bool) {
	if word.has(t.at(at + 4)) {
		return span{}, false
	}
	return assignment(t, at)
}

const (
	nameMost = 64
	judged   = 512 // of a value, to say whether it is a secret
	inName   = word | dash | dot
)

// assignment finds the value that the name around at is given: name=value,
// "name": "value", --name value, <name>value</name> and their relatives.
func assignment(t *text, at int) (span, bool) {
	from := t.unnumbered(t.back(at, inName, nameMost), at)
	to := t.runMost(at, inName, nameMost)
	for to > at && (dash | dot).has(t.s[to-1]) {
		to--
	}
	v, ok := t.separator(from, to)
	if !ok {
		return span{}, false
	}
	from = t.afterEscape(from, at)
	name := t.s[from:to]
	w := weigh(name)
	if w == silent || len(name) == 4 && v.sep == ':' && v.quote == 0 { // PASS: TestSomething
		return span{}, false
	}
	if w == header {
		return t.credential(v.from, v.quote != 0)
	}
	return t.judge(name, w, v)
}

// afterEscape moves the start of a name behind the letter of an escape such
// as the n of \n, and behind --.
func (t *text) afterEscape(from, at int) int {
	if from > 0 && t.s[from-1] == '\\' && from < at && t.sloshes(from)%2 == 1 {
		from++
	}
	for from < at && !word.has(t.s[from]) {
		from++
	}
	return from
}

// judge decides about the value at v.
func (t *text) judge(name string, w weight, v place) (span, bool) {
	loud := !lower.any(name)
	if t.limit < len(t.s) {
		t.limit = min(t.limit, v.from+judged)
	}
	to := v.end(t, loud && v.tight)
	value := t.s[v.from:to]
	if w == entirely && strings.Contains(value, "://") {
		return span{}, false // the password in an address is found on its own
	}
	if (name == "PWD" || name == "OLDPWD") && strings.HasPrefix(value, "/") && (word | dash | dot | plus).all(strings.ReplaceAll(value, "/", "")) && !random(value) {
		return span{}, false // where a shell is
	}
	if v.tag && t.at(to) != '<' || v.flag && lower.all(value) && len(value) < 10 { // prose: the --password option
		return span{}, false
	}
	s := setting{
		weight: w, loud: loud, value: value, quoted: v.quote != 0, tight: v.tight, inList: v.inList, escorted: v.escorted,
	}
	if v.quote == 0 && v.member && isNumber(value) {
		return span{}, false // a mask is no number, and JSON must stay JSON
	}
	if v.quote == 0 {
		s.code = (t.at(to) != 0 && strings.IndexByte(",;)}]", t.s[to]) >= 0 || t.at(to) == '(' || t.at(to) == '[') && !v.query && !v.opened
		s.config = v.opened && !(v.sep == ':' && letter.all(value)) || t.alone(v.name, to)
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

// alone says that name and value are all there is on their line.
func (t *text) alone(name, to int) bool {
	to = t.run(to, blank)
	if b := t.at(to); b != 0 && b != '\n' && b != '\r' && b != '#' && b != '\\' {
		return false
	}
	start := name - len(t.line(name))
	head := strings.TrimLeft(t.s[min(t.lead(start), name):name], " \t")
	for _, lead := range []string{"- ", "export ", "set ", "ENV ", "ARG "} {
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
