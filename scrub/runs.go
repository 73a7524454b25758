package scrub

import "strings"

// longRun finds secrets that are only recognised by their length.
func longRun(t *text, at int) (span, bool) {
	from := t.back(at, inRun, block)
	if from > t.done && inRun.has(t.s[from-1]) {
		return span{}, false // found from the block before
	}
	from = t.start(from)
	if !inRun.has(t.at(from+57)) || !inRun.has(t.at(from+44)) {
		return span{}, false
	}
	if found, ok := dotted(t, from); ok {
		return found, true
	}
	return hexRun(t, from)
}

// dotted finds Discord's bot tokens, of 24 to 28 . 6 . 27 to 40 characters, and
// Airtable's, of pat and 14 characters . 64 hexadecimal digits.
func dotted(t *text, from int) (span, bool) {
	if t.startsLine(from) {
		from = t.skipLineMarks(from)
	}
	first := t.runMax(from, token, 40)
	if t.at(first) != '.' {
		return span{}, false
	}
	second := t.run(first+1, token)
	if t.has(from, "pat") && first-from == 17 && second-first == 65 && anyHex.all(t.s[first+1:second]) {
		return span{from: from, to: second, kind: "airtable_token"}, true
	}
	if first-from < 23 || first-from > 30 || second-first != 7 || t.at(second) != '.' {
		return span{}, false
	}
	end := t.run(second+1, token)
	ok := end-second > 25 && end-second < 45 && upper.has(t.s[from]) && varied(t.s[from:first]) &&
		varied(t.s[second+1:end])
	return span{from: from, to: end, kind: "discord_token", tail: token}, ok
}

// hexRun finds 64 and more hexadecimal digits in the run that begins at from, after
// a word for a key.
func hexRun(t *text, from int) (span, bool) {
	to := from
	for {
		for to < t.end() && inRun.has(t.s[to]) && !anyHex.has(t.s[to]) {
			to++
		}
		from = to
		to = t.run(from, anyHex)
		if t.at(from) == '0' && t.at(to) == 'x' && to-from == 1 {
			from, to = to+1, t.run(to+1, anyHex)
		}
		if to-from >= 64 && !isNumber(t.s[from:to]) {
			break
		}
		if !inRun.has(t.at(to)) || to >= t.end() {
			return span{}, false
		}
	}
	found := span{from: from, to: to, kind: "hex_key", tail: anyHex}
	return found, keyLine(t.line(from), t.at(from-1))
}

// keyLine reports whether the text before a run of digits names a key and no digest.
func keyLine(before string, last byte) bool {
	before = before[max(0, len(before)-64):]
	if last == '~' {
		return false
	}
	spoken := false
	for _, w := range keyWords {
		spoken = spoken || inFold(before, w)
	}
	if !spoken {
		return false
	}
	for _, w := range digestWords {
		if inFold(before, w) {
			return false
		}
	}
	return !strings.HasSuffix(before, "/")
}

var (
	keyWords = []string{"key", "secret", "token", "password", "passwd", "credential", "private", "seed", "auth",
		"signature"}
	digestWords = []string{"sha256", "sha-256", "sha512", "sha1", "blake", "digest", "checksum", "hash", "commit",
		"integrity",
		"fingerprint", "md5", "etag", "public", "monkey", "keyid", "key_id", "key-id", "key id", "revision", "keyring",
		"txid", "cache key", "cache restored", "cache saved", "cache hit", "nodekey"}
)
