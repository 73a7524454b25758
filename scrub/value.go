package scrub

import "strings"

// A setting is a value with a name, found in text.
type setting struct {
	weight   weight
	loud     bool // the name is in capitals
	value    string
	quoted   bool
	tight    bool // an = with no blank on either side
	config   bool // stands alone on its line, as in a configuration file
	code     bool // ends as an expression does: , ; ) or a call
	inList   bool // the name is an element of a list before the value, or compared with it
	escorted bool // an HTTP header, or a flag of a command: never code
}

// secret says whether the value is to be hidden.
func (s setting) secret() bool {
	v := s.value
	if s.weight == silent || placeholder(v) {
		return false
	}
	if s.weight == entirely {
		return len(v) >= 4 && !pathLike(v)
	}
	if isNumber(v) {
		return digit.all(v) && (s.weight == password && len(v) >= 6 || len(v) >= 20 && s.weight != weak)
	}
	if s.inList || s.weight == weak {
		return s.likely()
	}
	if len(v) < 6 || s.weight != password && len(v) < 8 {
		return false
	}
	if pathLike(v) || strings.HasPrefix(v, "sha256:") || named(v) {
		return false
	}
	if s.quoted {
		return s.quotedSecret()
	}
	return s.bareSecret()
}

// likely is for names that are no proof: the value must look drawn by lot,
// and not be the digest or the number that such names hold as well.
func (s setting) likely() bool {
	v := strings.TrimRight(s.value, "=")
	if len(v) < 16 || isUUID(v) || anyHex.all(v) || strings.HasPrefix(v, "sha") {
		return len(v) >= 16 && anyHex.all(v) && len(v) < 40 && s.loud && s.tight
	}
	return (base64 | token | dot | percent).all(v) && random(v)
}

// quotedSecret judges what stands in quotes.
func (s setting) quotedSecret() bool {
	v := s.value
	if i := strings.IndexByte(v, ' '); i >= 0 {
		return s.passphrase()
	}
	if !ascii(v) && !digit.any(v) {
		return false // a word of another language
	}
	if (letter | under | dash | dot | colon).all(v) { // letters only: a name more often than a secret
		return !compound(v) && (s.weight == password || s.loud || len(v) >= 14)
	}
	return digit.any(v) || s.weight == password || s.loud || mixedCase(v)
}

// bareSecret judges what stands without quotes, where code stands too.
func (s setting) bareSecret() bool {
	v := s.value
	if s.escorted {
		return true
	}
	if callLike(v) || strings.HasPrefix(v, "!") || strings.HasPrefix(v, "*") || strings.HasPrefix(v, "&") {
		return false
	}
	names := (word | dot | dash).all(v)
	switch {
	case names && !digit.any(v): // letters: a variable, a type, a word of prose
		return s.letters()
	case names && numbered(v): // token2, sha256, process.env.KEY1
		return !s.code && (s.loud && (s.tight || s.config) || s.weight == password && (s.tight || s.config) && !strings.ContainsAny(v, "._"))
	case s.loud && s.tight, s.tight && !s.code, s.config && s.weight == password:
		return true
	}
	return digit.any(v) && (random(v) || !names && !s.code || s.config || len(v) >= 16 && !s.code)
}

// letters judges a value of letters without quotes.
func (s setting) letters() bool {
	v := s.value
	if len(v) >= 20 && random(v) {
		return true
	}
	if s.code || !s.loud && (compound(v) || mixedCase(v)) {
		return false
	}
	return s.tight || s.config && (s.weight == password && !compound(v) || len(v) >= 16 && !compound(v))
}

// passphrase judges words with blanks between: prose says so.
func (s setting) passphrase() bool {
	v := s.value
	for _, scheme := range []string{"bearer ", "basic ", "token ", "bot "} {
		if hasFold(v, scheme) {
			rest := v[len(scheme):]
			return len(rest) >= 8 && !strings.Contains(rest, " ") && !placeholder(rest) && digit.any(rest)
		}
	}
	if s.weight != password && !s.loud || !ascii(v) || len(v) < 12 {
		return false
	}
	words := strings.Fields(v)
	for _, w := range words {
		if prose.has(strings.Trim(w, ".,:;!?")) || named(w) || upper.has(w[0]) {
			return false
		}
	}
	return len(words) >= 3 || s.loud
}

// placeholder says that v stands for a secret and is none.
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
	if stopWords.has(strings.Trim(v, ".,:;!?")) {
		return true
	}
	return strings.Contains(v, "${") || strings.Contains(v, "{{") || strings.Contains(v, "$(") || stand(v)
}

// stand says that v says of itself that it is an example.
func stand(v string) bool {
	for _, head := range []string{"your", "example", "placeholder", "changeme", "change-me", "change_me", "replace", "insert", "enter",
		"<", "todo", "fixme", "dummy", "redacted", "process.env", "os.environ", "os.getenv", "env."} {
		if hasFold(v, head) && (len(head) > 6 || len(v) == len(head) || !alnum.has(v[len(head)]) || upper.has(v[len(head)])) {
			return true
		}
	}
	return false
}

// pathLike says that v is the path of a file or a plain address.
func pathLike(v string) bool {
	for _, head := range []string{"./", "../", "~/", "http://", "https://", "file:", "arn:", "projects/", "vault:", "ssm:", "op://", "secret:"} {
		if strings.HasPrefix(v, head) {
			return true
		}
	}
	if len(v) > 1 && v[0] == '/' {
		return strings.Count(v, "/") >= 2 && (word | dash | dot | plus).all(v) && !random(v)
	}
	return false
}

// named says that v is made of words that name secrets: access_token,
// user-password, secretKey.
func named(v string) bool {
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

// compound says that v is words joined by signs: not-found, user.name. Words
// of a passphrase come in threes and more, but so do names.
func compound(v string) bool {
	return strings.ContainsAny(strings.Trim(v, "_-.:"), "_.:") || strings.Count(v, "-") == 1
}

// numbered says that v is a name with few figures: token2, sha256sum.
func numbered(v string) bool {
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

// isNumber says that v is a number as code or JSON writes it: 0x1f, -12, 1e9.
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

// callLike says that v is an expression: next(), a[i], b->c, x.y.
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

// isUUID says that v has the form 8-4-4-4-12.
func isUUID(v string) bool {
	if len(v) != 36 || !(anyHex | dash).all(v) {
		return false
	}
	return v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' && strings.Count(v, "-") == 4
}

var (
	nameWords = []string{"password", "passwd", "passphrase", "pass", "secret", "token", "apikey", "key", "keys", "auth", "user", "username",
		"my", "the", "new", "old", "access", "refresh", "api", "id", "name", "field", "value", "type", "client", "db", "database",
		"reset", "login", "admin", "service", "account", "private", "public", "bearer", "basic", "session", "csrf", "header", "s",
		"credential", "credentials", "authorization", "default", "master", "root", "file", "path", "env", "var", "confirm", "hash",
		"forgot", "change", "update", "current", "wrong", "test", "tokens", "secrets", "passwords", "config", "is", "has", "get", "set"}
	stopWords = newWordSet("string", "str", "text", "number", "integer", "int", "bool", "boolean", "bytes", "object", "array", "any",
		"none", "null", "nil", "undefined", "true", "false", "required", "optional", "invalid", "expired", "missing", "incorrect",
		"unknown", "default", "hidden", "masked", "disabled", "enabled", "unauthorized", "forbidden", "include", "omit",
		"same-origin", "interface", "function", "identifier", "authentication", "authorization", "credentials", "unsupported",
		"mandatory", "revoked", "rejected", "accepted", "prompt", "generated", "encrypted", "unchanged", "confidential",
		"sensitive", "unspecified", "anonymous", "automatic", "external", "internal", "readonly", "multiple", "malformed",
		"parameter", "argument", "attribute", "property", "whatever", "something", "anything", "everything", "nothing",
		"uint8array", "bytearray", "vec<u8>", "option<string>", "optional[str]", "varchar", "char", "secretstr", "keyboard")
	prose = newWordSet("the", "a", "an", "is", "it", "your", "you", "please", "enter", "must", "for", "to", "of", "in", "and", "or",
		"not", "with", "this", "that", "be", "was", "are", "has", "have", "no", "on", "from", "at", "by", "if", "use", "used",
		"can", "cannot", "could", "should", "will", "when", "which", "invalid", "missing", "wrong", "new", "old", "valid")
)
