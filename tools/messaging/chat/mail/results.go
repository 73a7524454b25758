package mail

import (
	"net/textproto"
	"strings"
)

// isVerified reports whether the operator's server has verified that a mail is from a domain.
// Only the topmost field counts: each server adds its field at the top, and removes other
// fields with its own name.
func isVerified(header textproto.MIMEHeader, server, domain string) bool {
	fields := header["Authentication-Results"]
	if server == "" || domain == "" || len(fields) == 0 {
		return false
	}
	name, results := parseResults(fields[0])
	if !strings.EqualFold(name, server) {
		return false
	}
	verified := false
	for _, r := range results {
		switch {
		case r.method == "dmarc" && (r.value == "fail" || r.value == "permerror" || r.value == "temperror"):
			return false
		case r.value != "pass":
		case r.method == "dmarc":
			verified = verified || strings.EqualFold(r.properties["header.from"], domain)
		case r.method == "dkim":
			d := r.properties["header.d"]
			if d == "" {
				_, d, _ = strings.Cut(r.properties["header.i"], "@")
			}
			verified = verified || covers(d, domain)
		case r.method == "spf":
			from := r.properties["smtp.mailfrom"]
			verified = verified || covers(from[strings.LastIndexByte(from, '@')+1:], domain)
		}
	}
	return verified
}

// covers reports whether the owner of a domain speaks for another one: itself, or one
// below it.
func covers(owner, domain string) bool {
	owner, domain = strings.ToLower(owner), strings.ToLower(domain)
	return owner == domain || strings.Contains(owner, ".") && strings.HasSuffix(domain, "."+owner)
}

// A result is one check that a server has made.
type result struct {
	method, value string
	properties    map[string]string
}

// parseResults parses a field Authentication-Results of RFC 8601. Of a field that it
// cannot parse it returns nothing.
func parseResults(field string) (server string, all []result) {
	tokens, ok := tokenize(field)
	if !ok || len(tokens) == 0 || tokens[0] == ";" || tokens[0] == "=" {
		return "", nil
	}
	server = tokens[0]
	var parts [][]string
	for i, t := range tokens {
		if t == ";" {
			parts = append(parts, nil)
		} else if i > 0 && len(parts) > 0 {
			parts[len(parts)-1] = append(parts[len(parts)-1], t)
		} else if i > 1 || i == 1 && t != "1" { // the version
			return "", nil
		}
	}
	for _, part := range parts {
		if len(part) == 0 || len(part) == 1 && strings.EqualFold(part[0], "none") {
			continue
		}
		r := result{properties: map[string]string{}}
		for ; len(part) >= 3 && part[1] == "="; part = part[3:] {
			if name := strings.ToLower(part[0]); r.method == "" {
				r.method, _, _ = strings.Cut(name, "/")
				r.value = strings.ToLower(part[2])
			} else if _, has := r.properties[name]; has {
				return "", nil
			} else {
				r.properties[name] = part[2]
			}
		}
		if len(part) > 0 || r.method == "" {
			return "", nil
		}
		all = append(all, r)
	}
	return server, all
}

// tokenize splits a field into words, the content of quotes, and the marks ; and =. It
// leaves out comments. Each mark within quotes is preceded by a blank, so that it is none.
func tokenize(field string) (tokens []string, ok bool) {
	for i := 0; i < len(field); {
		switch c := field[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == ';' || c == '=':
			tokens = append(tokens, string(c))
			i++
		case c == '(':
			if i = skipComment(field, i); i < 0 {
				return nil, false
			}
		case c == '"':
			end := i + 1
			var b strings.Builder
			for ; end < len(field) && field[end] != '"'; end++ {
				if field[end] == '\\' {
					end++
				}
				if end < len(field) {
					b.WriteByte(field[end])
				}
			}
			if end >= len(field) {
				return nil, false
			}
			quoted := b.String()
			if quoted == ";" || quoted == "=" {
				quoted = " " + quoted
			}
			tokens = append(tokens, quoted)
			i = end + 1
		default:
			end := i
			for end < len(field) && !strings.ContainsRune(" \t\r\n;=(\"", rune(field[end])) {
				end++
			}
			tokens = append(tokens, field[i:end])
			i = end
		}
	}
	return tokens, true
}

// skipComment returns the position after a comment, or -1. Comments may nest.
func skipComment(field string, i int) int {
	for depth := 0; i < len(field); i++ {
		switch field[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
