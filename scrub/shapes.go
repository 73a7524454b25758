package scrub

import "strings"

// shapeTriggers returns the triggers of secrets without a fixed prefix.
func shapeTriggers() []trigger {
	var all []trigger
	for _, group := range [][]trigger{
		on(jwt, 0, "eyj?"),
		on(pem, 4, "-beg"),
		on(putty, 0, "putt"),
		on(telegram, -3, "###:"),
		on(telegramBot, 0, "bot#"),
		on(crypt, 0, "$2a$", "$2b$", "$2y$", "$2x$", "$1$?", "$5$?", "$6$?", "$y$?", "$apr", "$arg", "$7$?"),
		on(mailchimp, 0, "-us#"),
		on(azureSecret, 3, "#q~?"),
		on(terraform, 0, ".atl"),
		on(maxmind, 0, "_mmk"),
		on(slackHook, 2, "ks.s"),
		on(webhook, 0, "hook"),
		on(docker, 0, "swmt"),
		on(identifiedBy, 4, "tifi"),
		on(pgpass, 0, ":543"),
		on(oracle, 3, "cle:"),
		on(privateLines, 7, "-lin"),
		on(ssh2Key, 2, "-- b"),
		on(webKey, 0, `"d":`),
	} {
		all = append(all, group...)
	}
	return all
}

// jwt finds JSON web tokens, signed (three parts) and encrypted (five).
func jwt(t *text, at int) (span, bool) {
	if !t.has(at, "eyJ") || !t.edge(at) {
		return span{}, false
	}
	first := t.tokenRun(at, token|equal)
	if first-at < 10 || t.at(first) != '.' {
		return span{}, false
	}
	second := t.tokenRun(first+1, token|equal)
	if t.at(second) != '.' && (!t.has(first+1, "eyJ") || second-first < 16) {
		return span{}, false // a third part may be truncated if the second one is valid
	}
	end := t.withoutStops(second, t.tokenRun(second, token|equal|dot))
	return span{from: at, to: end, kind: "jwt", tail: token | equal | dot}, true
}

const (
	pemBegin   = "-----BEGIN "
	maxPEM     = 1 << 20
	maxHeaders = 2 << 10
	pemBody    = base64 | equal | white | backslash | dash | colon | dot
)

// pem finds private keys from BEGIN to END. A key without END is masked as far as
// it looks like one.
func pem(t *text, at int) (span, bool) {
	if !t.has(at, pemBegin) {
		return span{}, false
	}
	label := t.runMax(at+len(pemBegin), upper|digit|blank, 60)
	if !t.has(label, "-----") || !strings.Contains(t.s[at:label], "PRIVATE KEY") {
		return span{}, false
	}
	found := span{from: at, kind: "private_key", tail: pemBody}
	const end = "-----END "
	rest := t.s[label:min(len(t.s), label+maxPEM)]
	next := strings.Index(rest, pemBegin) // a key does not contain another one
	if next >= 0 {
		rest = rest[:next]
	}
	if i := strings.Index(rest, end); i >= 0 {
		foot := t.runMax(label+i+len(end), upper|digit|blank, 60)
		found.to = t.run(foot, dash)
		return found, keyMaterial(rest[:i])
	}
	if next < 0 && len(rest) < maxPEM {
		t.touched = true
	}
	found.to = t.keyBody(label+5, label+len(rest))
	for found.to > label+5 && !(base64 | equal).has(t.s[found.to-1]) {
		found.to--
	}
	return found, longest(t.s[label+5:found.to], base64) >= 20
}

// keyMaterial reports whether the text between the first and the last line of a key may
// be one.
func keyMaterial(s string) bool {
	n := 0
	for i := range len(s) {
		if base64.has(s[i]) {
			n++
		}
	}
	return n >= 32 && strings.Trim(s, "xX*.-_= \\nr\n\r\t\"'") != ""
}

// keyBody returns the end of the lines of a key that begin at i, at most stop: key
// material, the marks that tools put before lines, and headers of the key.
func (t *text) keyBody(i, stop int) int {
	first := i
	for {
		end := t.runMax(i, pemBody, stop-i)
		line := end
		for line > first && !eol.has(t.s[line-1]) && line > end-maxPath {
			line--
		}
		if end >= stop || line == first || !eol.has(t.s[line-1]) {
			return end
		}
		i = t.runMax(t.skipLineMarks(line), blank, 40)
		if name := t.runMax(i, letter|dash, 24); line < first+maxHeaders && name > i && t.at(name) == ':' &&
			longest(t.s[first:line], base64) < 20 {
			for i = end; i < stop && !eol.has(t.s[i]); i++ {
			}
		}
		if i <= end {
			return end
		}
	}
}

// putty finds the private half of a PuTTY key file.
func putty(t *text, at int) (span, bool) {
	if !t.has(at, "PuTTY-User-Key-File-") {
		return span{}, false
	}
	const head = "Private-Lines:"
	const headMost = 4 << 10
	i := strings.Index(t.s[at:min(len(t.s), at+headMost)], head)
	if i < 0 {
		t.touched = t.touched || len(t.s) < at+headMost
		return span{}, false
	}
	return t.puttyKey(at + i + len(head))
}

// puttyKey returns the lines of a key after the number of lines at i.
func (t *text) puttyKey(i int) (span, bool) {
	from := t.skipLines(t.run(i, blank|digit|backslash))
	to := t.keyBody(from, min(len(t.s), from+maxPEM))
	if mac := strings.Index(t.s[from:to], "Private-MAC"); mac >= 0 {
		to = from + mac
	}
	for to > from && (white | backslash).has(t.s[to-1]) {
		to--
	}
	return span{from: from, to: to, kind: "private_key", tail: base64 | equal | white}, to-from >= 20
}

// telegram finds bot tokens: digits, a colon, and 35 characters that begin with AA.
func telegram(t *text, at int) (span, bool) {
	from := t.start(t.back(at, digit, 14))
	if at-from < 6 || !t.edge(from) || t.at(at) != ':' {
		return span{}, false
	}
	end := t.tokenRun(at+1, token)
	ok := t.has(at+1, "AA") && end-at > 30 || end-at == 36 && random(t.s[at+1:end])
	return span{from: from, to: end, kind: "telegram_token", tail: token}, ok
}

// telegramBot finds the token in the path of a call: /bot123456:...
func telegramBot(t *text, at int) (span, bool) {
	mid := t.runMax(at+3, digit, 14)
	if !t.hasFold(at, "bot") || mid-at-3 < 6 || t.at(mid) != ':' {
		return span{}, false
	}
	end := t.run(mid+1, token)
	return span{from: at + 3, to: end, kind: "telegram_token", tail: token}, end-mid > 20
}

// crypt finds password hashes: $2y$10$..., $6$salt$..., $argon2id$v=19$...
func crypt(t *text, at int) (span, bool) {
	if at > 0 && (word | dollar).has(t.s[at-1]) && !t.edge(at) {
		return span{}, false
	}
	end := t.withoutStops(at, t.run(at, alnum|plus|dot|dollar|equal|comma))
	hash := t.s[at:end]
	last := hash[strings.LastIndexByte(hash, '$')+1:]
	if strings.Count(hash, "$") < 3 || len(hash) < 30 {
		return span{}, false
	}
	return span{from: at, to: end, kind: "password_hash", tail: base64 | dot}, len(last) >= 22 && random(last)
}

// mailchimp finds 32 hex digits and a data centre: ...-us12.
func mailchimp(t *text, at int) (span, bool) {
	from := t.back(at, lowHex, 33)
	end := t.run(at+3, digit)
	if at-from != 32 || !t.has(at, "-us") || end-at > 5 || word.has(t.at(end)) {
		return span{}, false
	}
	return span{from: from, to: end, kind: "mailchimp_key"}, true
}

// azureSecret finds client secrets of Entra ID: abc8Q~ and 31 or more.
func azureSecret(t *text, at int) (span, bool) {
	const chars = token | dot | tilde
	end := t.withoutStops(at, t.run(at, chars))
	if !t.has(at+4, "Q~") || end-at < 36 || end-at > 42 || !t.edge(at) {
		return span{}, false
	}
	return span{from: at, to: end, kind: "azure_secret", tail: chars}, true
}

// terraform finds tokens of Terraform Cloud: 14 letters, .atlasv1., 60 more.
func terraform(t *text, at int) (span, bool) {
	from := t.start(t.back(at, alnum, 20))
	if !t.has(at, ".atlasv1.") || at-from < 10 {
		return span{}, false
	}
	end := t.tokenRun(at+9, token|equal)
	return span{from: from, to: end, kind: "terraform_token", tail: token | equal}, end-at-9 >= 40
}

// maxmind finds licence keys that end in _mmk.
func maxmind(t *text, at int) (span, bool) {
	from := t.start(t.back(at, word, 44))
	if at-from < 30 || !t.has(at, "_mmk") || word.has(t.at(at+4)) {
		return span{}, false
	}
	return span{from: from, to: at + 4, kind: "maxmind_key"}, true
}

// docker finds the tokens of machines that join a swarm.
func docker(t *text, at int) (span, bool) {
	if !t.has(at, "SWMTKN-1-") {
		return span{}, false
	}
	end := t.run(at, alnum|dash)
	return span{from: at, to: end, kind: "docker_token", tail: alnum | dash}, end-at > 40
}

// slackHook finds the path of an incoming webhook: hooks.slack.com/services/T/B/X.
func slackHook(t *text, at int) (span, bool) {
	if !t.hasFold(at, "ooks.slack.com/") {
		return span{}, false
	}
	from := t.run(at+len("ooks.slack.com/"), lower) + 1
	end := t.run(from, alnum|plus|under)
	return span{from: from, to: end, kind: "webhook", tail: alnum | plus}, t.at(from-1) == '/' && end-from >= 20
}

// webhook finds the secret path of other services' incoming webhooks.
func webhook(t *text, at int) (span, bool) {
	if t.has(at, "hooks.zapier.com") {
		return zapier(t, at)
	}
	if !t.has(at-3, "webhook") {
		return span{}, false
	}
	from := t.run(at+4, lower|digit)
	if t.has(at, "hook.office.com/webhookb2") {
		from = at + len("hook.office.com/webhookb2")
	}
	if t.at(from) != '/' {
		return span{}, false
	}
	end := t.run(from+1, token|plus|dot|atSign)
	secret := t.s[from+1 : end]
	ok := len(secret) >= 60 && strings.Contains(secret, "/")
	return span{from: from + 1, to: end, kind: "webhook", tail: token | plus}, ok
}

func zapier(t *text, at int) (span, bool) {
	const path = "hooks.zapier.com/hooks/catch/"
	if !t.has(at, path) {
		return span{}, false
	}
	from := at + len(path)
	end := t.run(from, alnum|plus)
	return span{from: from, to: end, kind: "webhook", tail: alnum}, end-from > 8
}

// identifiedBy finds the password in SQL: IDENTIFIED BY '...'.
func identifiedBy(t *text, at int) (span, bool) {
	if !t.hasFold(at, "identified ") {
		return span{}, false
	}
	from := at + len("identified ")
	if t.hasFold(from, "with ") {
		from = t.run(t.run(from+len("with "), word), blank)
	}
	if !t.hasFold(from, "by ") {
		return span{}, false
	}
	from = t.run(from+len("by "), blank)
	if t.hasFold(from, "password ") {
		from = t.run(from+len("password "), blank)
	}
	v, ok := t.opening(valueSite{}, from)
	if !ok || v.quote == 0 || !t.inSQL(at) {
		return span{}, false
	}
	to := v.end(t, false)
	return span{from: v.from, to: to, kind: "password"}, to-v.from >= 3 && !placeholder(t.s[v.from:to])
}

// inSQL reports whether the words at i are SQL and no prose: they are in capitals, or
// follow CREATE USER and the like.
func (t *text) inSQL(i int) bool {
	if upper.has(t.s[i+1]) {
		return true
	}
	before := t.line(i)
	for _, word := range []string{"create user", "alter user", "create role", "alter role", "grant ", "set password"} {
		if inFold(before, word) {
			return true
		}
	}
	return false
}

// oracle finds the password of jdbc:oracle:thin:user/password@host.
func oracle(t *text, at int) (span, bool) {
	if !t.hasFold(at, "oracle:thin:") && !t.hasFold(at, "oracle:oci:") {
		return span{}, false
	}
	user := t.run(at+len("oracle:"), alnum) + 1
	slash := t.run(user, word|dot|dash|dollar)
	if t.at(slash) != '/' {
		return span{}, false
	}
	to := slash + 1
	for to < t.end() && t.s[to] != '@' && !(white | quote).has(t.s[to]) {
		to++
	}
	t.noteEnd(to)
	return span{from: slash + 1, to: to, kind: "url_password"}, t.at(to) == '@' && to > slash+1 &&
		!placeholder(t.s[slash+1:to])
}

// pgpass finds the password in a line of .pgpass: host:5432:database:user:password.
func pgpass(t *text, at int) (span, bool) {
	port := t.run(at+1, digit)
	database := t.run(port+1, token|dot|atSign)
	user := t.run(database+1, token|dot|atSign)
	if t.at(port) != ':' || t.at(database) != ':' && !t.has(port, ":*:") {
		return span{}, false
	}
	if t.has(port, ":*:") {
		user = t.run(port+3, token|dot|atSign)
	}
	if t.at(user) != ':' || user == database+1 {
		return span{}, false
	}
	from := user + 1
	to := from
	for to < t.end() && !white.has(t.s[to]) {
		to++
	}
	to = t.noteEnd(to)
	return span{from: from, to: to, kind: "password"}, to-from >= 4 && eol.has(t.at(to)) || to >= len(t.s) &&
		to-from >= 4
}

// privateLines finds the private half of a PuTTY key file that begins elsewhere.
func privateLines(t *text, at int) (span, bool) {
	const head = "Private-Lines:"
	if !t.has(at, head) {
		return span{}, false
	}
	return t.puttyKey(at + len(head))
}

// ssh2Key finds private keys in the format of RFC 4716's authors.
func ssh2Key(t *text, at int) (span, bool) {
	const head, foot = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", "---- END SSH2 ENCRYPTED PRIVATE KEY ----"
	if !t.has(at, head) {
		return span{}, false
	}
	rest := t.s[at:min(len(t.s), at+maxPEM)]
	if i := strings.Index(rest, foot); i >= 0 {
		return span{from: at, to: at + i + len(foot), kind: "private_key"}, true
	}
	t.touched = true
	return span{from: at, to: t.keyBody(at+len(head), at+len(rest)), kind: "private_key"}, true
}

// webKey finds the private number of a JSON Web Key.
func webKey(t *text, at int) (span, bool) {
	from := t.run(at+len(`"d":`), blank|quote)
	to := t.run(from, token)
	const near = 2 << 10
	ok := to-from >= 40 && t.at(to) == '"' &&
		strings.Contains(t.s[max(0, at-near):min(len(t.s), to+near)], `"kty"`)
	t.touched = t.touched || to+near > len(t.s)
	return span{from: from, to: to, kind: "private_key"}, ok
}

// besideAKIA finds a key id of AWS with the secret behind it, as in a CSV file.
func besideAKIA(t *text, at int) (span, bool) {
	id := t.run(at, upper|digit)
	from := t.runMax(id, blank|comma|quote|colon, 4)
	to := t.run(from, base64)
	return span{from: at, to: to, kind: "aws_key"}, t.has(at, "AKIA") && id-at == 20 && from > id && to-from == 40 &&
		varied(t.s[from:to])
}
