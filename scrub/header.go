package scrub

import (
	b64 "encoding/base64"
	"slices"
	"strings"
)

// headerTriggers returns the triggers of credentials that follow a scheme.
func headerTriggers() []trigger {
	return slices.Concat(on(bearer, 1, "eare"), on(assignment, 0, "eare"), on(basic, 1, "asic"), on(cookie, 1, "ooki"))
}

// credentialEnd returns the end of a credential in a header, in code or in JSON.
func (t *text) credentialEnd(i int) int {
	end := t.end()
	for i < end && !(white | quote | backslash | comma).has(t.s[i]) && strings.IndexByte("<>;(){}[]$", t.s[i]) < 0 {
		i++
	}
	return t.noteEnd(i)
}

// credential finds the credential after Authorization: and the scheme.
func (t *text) credential(from int, quoted bool) (span, bool) {
	if quoted && t.at(from) == ' ' {
		return span{}, false
	}
	end := t.run(from, token)
	scheme := t.s[from:end]
	if end-from > 24 || t.at(end) != ' ' {
		return t.withoutScheme(from)
	}
	from = t.run(end, blank)
	if parameters.has(scheme) {
		end = t.listEnd(from)
		return span{from: from, to: end, kind: "authorization", tail: ^eol}, end-from > 16 &&
			strings.ContainsRune(t.s[from:end], '=')
	}
	end = t.credentialEnd(from)
	v := t.s[from:end]
	ok := !placeholder(v) && !onlyNameWords(v) && len(v) >= 6 && (digit.any(v) || len(v) >= 12 && !joinedWords(v)) &&
		schemeLike(scheme)
	return span{from: from, to: end, kind: "authorization", tail: ^(white | quote)}, ok
}

// listEnd returns the end of a list such as username="x", nonce="y".
func (t *text) listEnd(i int) int {
	inside := false
	for ; i < t.end(); i++ {
		switch b := t.s[i]; {
		case eol.has(b), b == '\'' && !inside, b == '\\' && t.at(i+1) != '"':
			return i
		case b == '"' && t.s[i-1] != '\\':
			if !inside && (t.s[i-1] != '=' || t.closes(i)) {
				return i
			}
			inside = !inside
		}
	}
	return t.noteEnd(i)
}

// withoutScheme finds a credential without a scheme.
func (t *text) withoutScheme(from int) (span, bool) {
	end := t.credentialEnd(from)
	v := t.s[from:end]
	if b := t.at(end); placeholder(v) || onlyNameWords(v) || b == '(' || b == '[' || callLike(v) || len(v) < 8 ||
		!digit.any(v) || nameWithDigits(v) {
		return span{}, false
	}
	return span{from: from, to: end, kind: "authorization", tail: ^(white | quote)}, true
}

func schemeLike(s string) bool {
	return schemes.has(s) || upper.has(s[0]) && letter.all(s)
}

// bearer finds tokens after the word anywhere in a text.
func bearer(t *text, at int) (span, bool) {
	if !t.hasFold(at, "bearer") || !t.edge(at) {
		return span{}, false
	}
	from := t.run(at+6, blank|colon|equal|quote|backslash)
	if from == at+6 {
		return span{}, false
	}
	end := t.credentialEnd(from)
	v := t.s[from:end]
	ok := len(v) >= 16 && !placeholder(v) && (random(v) || digit.any(v) && len(v) >= 20 && !callLike(v) &&
		!nameWithDigits(v))
	return span{from: from, to: end, kind: "bearer_token", tail: token | dot | plus | equal}, ok
}

// basic finds the base64 of user:password after the word.
func basic(t *text, at int) (span, bool) {
	if !t.hasFold(at, "basic") || !t.edge(at) || t.at(at+5) != ' ' {
		return span{}, false
	}
	from := t.run(at+5, blank)
	end := t.run(from, base64|token|equal)
	return span{from: from, to: end, kind: "basic_auth", tail: base64 | equal}, end-from >= 8 &&
		mixedCase(t.s[from:end]) && isPair(t.s[from:end])
}

// isPair reports whether s is the base64 of user:password.
func isPair(s string) bool {
	s = strings.TrimRight(s, "=")
	plain, err := b64.RawStdEncoding.DecodeString(s)
	if err != nil {
		plain, err = b64.RawURLEncoding.DecodeString(s)
	}
	if err != nil || !strings.Contains(string(plain), ":") {
		return false
	}
	for _, b := range plain {
		if b < ' ' || b == 0x7f {
			return false
		}
	}
	return true
}

// cookie finds the values of Cookie: and Set-Cookie:. The attributes of the
// latter stay.
func cookie(t *text, at int) (span, bool) {
	if !t.hasFold(at, "cookie") {
		return span{}, false
	}
	i, inQuotes := t.closing(at + 6)
	if sep := t.at(i); sep != ':' && (sep != ',' || !inQuotes) {
		return span{}, false
	}
	v, ok := t.opening(valueSite{}, i+1)
	if !ok || inQuotes && v.quote == 0 {
		return span{}, false
	}
	end := v.from
	for end < t.end() && !(eol | backslash).has(t.s[end]) && t.s[end] != '"' && t.s[end] != '\'' {
		end++
	}
	t.noteEnd(end)
	value := t.s[v.from:end]
	eq := strings.IndexByte(value, '=')
	if eq <= 0 || !(token | dot).all(value[:eq]) || placeholder(value[eq+1:]) {
		return span{}, false
	}
	from := v.from
	if at >= 4 && t.hasFold(at-4, "set-") {
		from += eq + 1
		if semi := strings.IndexByte(value[eq+1:], ';'); semi >= 0 {
			end = from + semi
		}
	}
	hidden := t.s[from:end]
	return span{from: from, to: end, kind: "cookie", tail: ^eol}, len(hidden) >= 8 &&
		(digit.any(hidden) || len(hidden) >= 32)
}

// parameters has the schemes that are followed by a list.
var parameters = newWordSet("digest", "oauth", "hawk", "signature", "aws4-hmac-sha256", "goog4-rsa-sha256", "sharedkey",
	"acs3-hmac-sha256")
