package scrub

import (
	"cmp"
	"slices"
	"strings"
)

// A weight is the likelihood that the value of a name is a secret.
type weight byte

const (
	none     weight = iota // not at all
	weak                   // if the value looks random
	strong                 // unless the value is clearly something else
	password               // the same, and the value need not look random
	header                 // a scheme and a credential: Authorization
	always                 // configured by convention: VIRTUAL_*, DATABASE_URL
)

// A name is an identifier split into words: serverAPIKey is server, api, key.
type name struct {
	words [8][2]int // the last eight words, first to last
	n     int
	s     string
	upper bool // in capitals, as environment variables are
}

// parseName splits s into words. Only the part after the last dot counts.
func parseName(s string) name {
	n := name{s: s, upper: !lower.any(s) && upper.any(s)}
	from := -1
	for i := 0; i <= len(s); i++ {
		ends := i == len(s) || !alnum.has(s[i])
		begins := !ends && i > 0 && upper.has(s[i]) &&
			((lower | digit).has(s[i-1]) || i+1 < len(s) && lower.has(s[i+1]) && upper.has(s[i-1]))
		if from >= 0 && (ends || begins) {
			n.push(from, i)
			from = -1
		}
		if !ends && from < 0 {
			from = i
		}
		if i < len(s) && s[i] == '.' {
			n.n = 0
		}
	}
	return n
}

func (n *name) push(from, to int) {
	if n.n == len(n.words) {
		copy(n.words[:], n.words[1:])
		n.n--
	}
	n.words[n.n] = [2]int{from, to}
	n.n++
}

// word returns the i-th word from the end, or "".
func (n *name) word(i int) string {
	if i >= n.n {
		return ""
	}
	w := n.words[n.n-1-i]
	return n.s[w[0]:w[1]]
}

// weightOfName returns the weight of a name.
func weightOfName(s string) weight {
	n := parseName(s)
	if n.upper && (len(s) > 8 && s[:8] == "VIRTUAL_" || isAddress(s)) {
		return always
	}
	last := n.word(0)
	at := 0
	for at < n.n-1 && (qualifiers.has(last) || len(last) <= 2 && digit.all(last)) {
		at++
		last = n.word(at)
	}
	last = withoutNumber(last)
	if w := weightOfWord(last); w != none {
		return n.context(w, last, at)
	}
	if n.upper && !harmless.has(last) {
		return n.anywhere()
	}
	return none
}

// withoutNumber returns a word without the number at its end. Such a number tells several
// secrets apart: password1, DB_PASSWORD2. Words such as md5 and sha256 are others without it.
func withoutNumber(w string) string {
	for end := len(w) - 1; end > 0 && end >= len(w)-3; end-- {
		if digit.has(w[end]) {
			continue
		}
		if base := w[:end+1]; hasFold(base, "key") || weightOfWord(base) > weak && len(base) > len("pass") {
			return base
		}
		break
	}
	return w
}

// isAddress reports whether a variable is for the URL of a database.
func isAddress(s string) bool {
	for _, end := range []string{"DSN", "DATABASE_URL", "REDIS_URL", "MONGO_URI", "MONGODB_URI", "MONGO_URL",
		"DB_URL"} {
		if len(s) >= len(end) && s[len(s)-len(end):] == end {
			return true
		}
	}
	return false
}

// weightOfWord returns the weight of the last word of a name.
func weightOfWord(w string) weight {
	switch {
	case passwords.has(w) || passwordEnds.ends(w):
		return password
	case secrets.has(w) || secretEnds.ends(w):
		return strong
	case hints.has(w):
		return weak
	case len(w) == len("authorization") && hasFold(w, "authorization"):
		return header
	}
	return none
}

// context corrects a weight by the words around the decisive one.
func (n *name) context(w weight, last string, at int) weight {
	before := n.word(at + 1)
	switch {
	case w == strong && hasFold(last, "token") && counted.has(before):
		return none
	case hasFold(last, "key") && publicKeys.has(before):
		if n.upper && !unsecretKeys.has(before) {
			return weak
		}
		return none
	case hasFold(last, "key") && secretKeys.has(before), hasFold(last, "auth") && before == "" && n.s[0] == '_':
		return strong
	case w == weak && n.upper:
		return strong
	}
	return w
}

// anywhere returns the weight of an environment variable by the words before its
// last one: SECRET_VALUE, KEY_OF_THE_HOUSE.
func (n *name) anywhere() weight {
	for i := range n.n {
		if secretWords.has(n.word(i)) {
			return strong
		}
	}
	return none
}

// A wordSet is a sorted list of words in lower case.
type wordSet []string

// newWordSet returns the words of lists that are separated by blanks.
func newWordSet(lists ...string) wordSet {
	words := strings.Fields(strings.Join(lists, " "))
	slices.Sort(words)
	return words
}

// has reports whether s is in the list, in any case.
func (w wordSet) has(s string) bool {
	_, ok := slices.BinarySearchFunc(w, s, compareFold)
	return ok
}

// ends reports whether s ends with a word of the list, in any case.
func (w wordSet) ends(s string) bool {
	for _, end := range w {
		if len(s) > len(end) && hasFold(s[len(s)-len(end):], end) {
			return true
		}
	}
	return false
}

// compareFold compares a with b in any case. a is in lower case.
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(a[i], fold(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

var (
	passwords = newWordSet("password", "passwd", "passphrase", "pwd", "pass", "passcode", "requirepass", "masterauth",
		"pgpassword",
		"userpass", "psk")
	passwordEnds = newWordSet("password", "passwd", "passphrase")
	secrets      = newWordSet("secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "accountkey",
		"bearer")
	secretEnds = newWordSet("secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "accountkey",
		"signingkey",
		"encryptionkey")
	hints       = newWordSet("key", "auth", "credential", "credentials", "signature", "pat", "sig")
	secretWords = newWordSet("key", "keys", "secret", "secrets", "credential", "credentials", "private", "tokens",
		"passwords")
	// qualifiers may follow the decisive word: SECRET_KEY_BASE.
	qualifiers = newWordSet(`prod production dev development staging test live base value data b64 base64 raw
		plain plaintext text new old current primary secondary default backup main v1 v2 v3 string rw ro root
		admin confirm confirmation`)
	// harmless words end variables that only describe a secret.
	harmless = newWordSet(`id ids name names file files path paths dir url uri urls type types ttl expiry
		expires size len length count algorithm alg host port endpoint region enabled public prefix suffix header
		field arn version mode format ref policy manager store timeout min max bits usage provider backend env var
		ring`)
	// counted words precede a token that is not a credential.
	counted = newWordSet(`next page progress continuation sync max min num total input output prompt completion
		count stop eos bos pad unk mask start end special cancellation cancel prev previous last peek pagination
		cursor resume parser syntax bad unexpected invalid ident expected keyword open close left right first by
		current string comment design delimiter separator cls sep change delta skip public`)
	publicKeys = newWordSet(`public primary foreign sort partition cache hash range map object routing host
		index idempotency row unique lookup group bucket message event pub publishable translation i18n composite
		natural registry hot arrow site config conf store storage session context ctx json yaml env parent child
		dict query param`)
	unsecretKeys = newWordSet("public", "pub", "publishable", "host")
	secretKeys   = newWordSet(`api access secret private signing encryption account master shared service auth
		license licence webhook subscription app application consumer client admin hmac jwt aes deploy integration
		ingest functions decryption crypt wrapping`)
)
