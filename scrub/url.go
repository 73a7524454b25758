package scrub

import "strings"

// urlTriggers returns the triggers of passwords in URLs.
func urlTriggers() []trigger {
	return append(on(userinfo, 0, "?://", `?:\/`), on(dataSource, 0, "@tcp", "@uni")...)
}

// userinfo finds the password of scheme://user:password@host, and a user
// that is a token.
func userinfo(t *text, at int) (span, bool) {
	from := at + 4
	if t.has(at+1, `:\/\/`) { // JSON may escape the slashes
		from += 2
	} else if !t.has(at+1, "://") {
		return span{}, false
	}
	// text before a line is no part of it
	scheme := strings.TrimLeft(t.s[t.back(at+1, alnum|plus|dash|dot, 20):at+1], "0123456789+-.")
	host := t.hostAt(from, scheme)
	if host < 0 {
		return span{}, false
	}
	user := strings.TrimPrefix(t.s[from:host], ":pserver:") // a method of CVS
	from = host - len(user)
	if t.has(host, "@sha256:") {
		return span{}, false // the digest of an image
	}
	i := strings.IndexByte(user, ':')
	if i < 0 {
		return span{from: from, to: host, kind: "url_password"}, len(user) >= 16 && alnum.any(user) &&
			!placeholder(user) && random(user)
	}
	v := user[i+1:]
	// user:password is typical for documentation
	if v == "" || placeholder(v) || webSchemes.has(scheme) && onlyNameWords(v) && onlyNameWords(user[:i]) ||
		user == "user:password" || user == "username:password" || user == "guest:guest" {
		return span{}, false
	}
	return span{from: from + i + 1, to: host, kind: "url_password"}, true
}

// hostAt returns the position of the @ that ends the user of a URL at from, or -1.
// Passwords often contain / ? # and @ without escapes: for schemes of databases,
// the last @ of the word counts.
func (t *text) hostAt(from int, scheme string) int {
	const most = 1024
	web := webSchemes.has(scheme)
	at, colonAt, path := -1, -1, false
	for i := from; i < min(len(t.s), from+most); i++ {
		switch t.s[i] {
		case ' ', '\t', '\r', '\n', '"', '\'', '`', '<', '>', '\\', 0:
			return at
		case ':':
			if colonAt < 0 {
				colonAt = i
			}
			if t.has(i, "://") {
				return at
			}
		case '@':
			if !path || !web && colonAt > 0 && (at > colonAt || !digit.has(t.at(colonAt+1))) {
				at = i
			}
		case '/', '?', '#':
			path = true
			if web || at >= 0 && t.s[i] == '?' {
				return at
			}
		case ',':
			if at >= 0 {
				return at // the next host of a list
			}
		}
	}
	if len(t.s) < from+most {
		t.touched = true
	}
	return at
}

// dataSource finds the password of user:password@tcp(host)/database.
func dataSource(t *text, at int) (span, bool) {
	if !t.has(at, "@tcp(") && !t.has(at, "@unix(") {
		return span{}, false
	}
	from := at
	for from > 0 && at-from < spanLookBack-16 && !(white | quote | equal | backslash | colon).has(t.s[from-1]) {
		from--
	}
	if from == 0 || t.s[from-1] != ':' || from == at || placeholder(t.s[from:at]) {
		return span{}, false
	}
	return span{from: from, to: at, kind: "url_password"}, true
}

// webSchemes are schemes of URLs that often have an @ after the host.
var webSchemes = newWordSet("http", "https", "ws", "wss", "file", "git", "ssh", "git+ssh", "git+https", "ftp", "sftp")
