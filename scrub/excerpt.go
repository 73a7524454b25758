package scrub

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// The functions in this file are for callers that return an excerpt of a text.
// Patterns find only whole credentials, and half of one is still a secret. So an
// excerpt is masked with the text around it, and begins and ends between words.

// longestWord is the longest run of bytes that counts as a word, in bytes.
const longestWord = 256

// WordStart returns where the word at position at begins, or at itself if at is
// not within a word.
func WordStart[T string | []byte](s T, at int) int {
	for i := at; i >= 0 && at-i <= longestWord; i-- {
		if i == 0 || !inWord(s[i-1]) {
			return i
		}
	}
	return at
}

// WordEnd returns where the word at position at ends, or at itself if at is not
// within a word.
func WordEnd[T string | []byte](s T, at int) int {
	for i := at; i <= len(s) && i-at <= longestWord; i++ {
		if i == len(s) || !inWord(s[i]) {
			return i
		}
	}
	return at
}

// inWord reports whether credentials, and addresses that contain them, may
// contain c.
func inWord(c byte) bool {
	switch c {
	case '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '&', '|', '\\':
		return false
	}
	return c > ' '
}

// LongestKey is the max distance in bytes between the beginning of a private
// key and an excerpt with a part of it.
const LongestKey = 16 << 10

// Secrets are the secrets of a text, for callers that show, search or change a part of it. They
// are found with the text around the part: the name of a password may stand on the line before,
// and a private key may begin further up. All positions are positions in the whole text. The
// zero Secrets has none.
type Secrets struct {
	text  string
	spans []span
}

// Secrets finds the secrets of text that touch the part between two positions.
func (s *Scrubber) Secrets(text string, from, to int) Secrets {
	lo, hi := max(0, from-LongestKey), min(len(text), to+LongestKey)
	if i := strings.IndexByte(text[lo:from], '\n'); lo > 0 && i >= 0 {
		lo += i + 1 // a part of a line looks like another line
	}
	spans := s.find(text[lo:hi])
	for i := range spans {
		spans[i].from, spans[i].to = spans[i].from+lo, spans[i].to+lo
	}
	return Secrets{text, spans}
}

// Any reports whether there is a secret.
func (x Secrets) Any() bool { return len(x.spans) > 0 }

// Marked returns the secrets with masks that have a mark of the secret, [REDACTED:0a1b2c].
// Unmask finds the secret by its mark in the same file.
func (x Secrets) Marked(file string) Secrets {
	spans := slices.Clone(x.spans)
	for i, f := range spans {
		if f.mask == "" {
			spans[i].mask = markedMask(file, x.text[f.from:f.to])
		}
	}
	return Secrets{x.text, spans}
}

// Framed returns the secrets without the first and the last line of private keys: these lines
// only say that there is a key.
func (x Secrets) Framed() Secrets {
	const line = "-----"
	spans := slices.Clone(x.spans)
	for i, f := range spans {
		key := x.text[f.from:f.to]
		if f.kind != "private_key" || !strings.HasPrefix(key, pemBegin) {
			continue
		}
		if head := strings.Index(key[len(pemBegin):], line); head >= 0 {
			spans[i].from += len(pemBegin) + head + len(line)
		}
		if foot := strings.LastIndex(key, "-----END "); foot > spans[i].from-f.from {
			spans[i].to = f.from + foot
			if line := strings.LastIndexByte(x.text[spans[i].from:spans[i].to], '\n'); line > 0 {
				spans[i].to = spans[i].from + line
			}
		}
		for spans[i].from < spans[i].to && eol.has(x.text[spans[i].from]) {
			spans[i].from++
		}
	}
	return Secrets{x.text, spans}
}

// touching returns the spans with a byte between two positions.
func (x Secrets) touching(from, to int) []span {
	if from >= to {
		return nil
	}
	i, _ := slices.BinarySearchFunc(x.spans, from, func(f span, at int) int {
		return cmp.Compare(f.to, at+1)
	})
	n := i
	for n < len(x.spans) && x.spans[n].from < to {
		n++
	}
	return x.spans[i:n]
}

// Touch reports whether a byte between two positions belongs to a secret.
func (x Secrets) Touch(from, to int) bool { return len(x.touching(from, to)) > 0 }

// After returns the end of the secret that begins before a position and goes on
// there, or the position itself.
func (x Secrets) After(at int) int {
	if all := x.touching(at, at+1); len(all) > 0 && all[0].from < at {
		return all[0].to
	}
	return at
}

// Show returns the text between two positions with a mask for each secret, and for
// each part of one.
func (x Secrets) Show(from, to int) string {
	all := x.touching(from, to)
	if len(all) == 0 {
		return x.text[from:to]
	}
	var b strings.Builder
	for _, f := range all {
		if f.from > from {
			b.WriteString(x.text[from:f.from])
		}
		b.WriteString((*program)(nil).mask(f))
		from = min(f.to, to)
	}
	b.WriteString(x.text[from:to])
	return b.String()
}

// Lines is like Show and keeps the line breaks of secrets, so that lines keep their
// numbers.
func (x Secrets) Lines(from, to int) string {
	var b strings.Builder
	for line := range strings.Lines(x.text[from:to]) {
		end := from + len(strings.TrimSuffix(line, "\n"))
		b.WriteString(x.Show(from, end))
		b.WriteString(x.text[end : from+len(line)])
		from += len(line)
	}
	return b.String()
}

// Opaque is the byte of [Secrets.Blank]. It is in no valid UTF-8.
const Opaque = 0xFF

// Blank returns the text between two positions with Opaque in place of the bytes of
// secrets, except line breaks.
func (x Secrets) Blank(from, to int) []byte {
	out := []byte(x.text[from:to])
	for _, f := range x.touching(from, to) {
		for i := max(f.from, from); i < min(f.to, to); i++ {
			if !eol.has(x.text[i]) {
				out[i-from] = Opaque
			}
		}
	}
	return out
}

// Cut reports whether the part between two positions ends or begins within a secret.
// Whole lines of a private key count as secrets of their own.
func (x Secrets) Cut(from, to int) bool {
	const keyLine = 20
	for _, f := range x.touching(from, to) {
		if f.kind == "private_key" && min(to, f.to)-max(from, f.from) >= keyLine {
			continue
		}
		if f.from < from || f.to > to {
			return true
		}
	}
	return false
}

// Hide masks the values of the secrets in another text.
func (x Secrets) Hide(other string) string {
	for _, f := range x.spans {
		for line := range strings.Lines(x.text[f.from:f.to]) {
			if line = strings.TrimSpace(line); len(line) >= minShown {
				other = strings.ReplaceAll(other, line, (*program)(nil).mask(f))
			}
		}
	}
	return other
}

// minShown is the length of a part of a secret that counts as shown.
const minShown = 4

// CheckShown returns an error if replacing before by after would show a secret of before: it is
// in after, and not masked there, also not in other sessions. typed is the text of the caller:
// the caller already knows a value in it.
func (s *Scrubber) CheckShown(before, after, typed string) error {
	if s != nil && s.parent != nil {
		s = s.parent
	}
	old := s.Secrets(before, 0, len(before))
	if !old.Any() {
		return nil
	}
	return old.checkShown(s.Secrets(after, 0, len(after)), typed)
}

// checkShown is CheckShown if now replaces the text of x.
func (x Secrets) checkShown(now Secrets, typed string) error {
	masked := make(map[string]int)
	for _, f := range now.spans {
		masked[now.text[f.from:f.to]]--
	}
	for _, f := range x.spans {
		masked[x.text[f.from:f.to]]++
	}
	marked := strings.Contains(typed, maskHead+":")
	for _, f := range x.spans {
		v := x.text[f.from:f.to]
		fewer, ok := masked[v]
		delete(masked, v) // once is enough
		if !ok || fewer <= 0 && !marked || strings.Contains(typed, v) {
			continue
		}
		if now.shows(v) > x.shows(v) {
			return errShown
		}
	}
	return nil
}

var errShown = errors.New("the change would show a secret of the file that is masked now")

// shows counts the places with v that are at least partly unmasked.
func (x Secrets) shows(v string) (n int) {
	for at := 0; ; {
		i := strings.Index(x.text[at:], v)
		if i < 0 {
			return n
		}
		at += i
		seen := len(v)
		for _, f := range x.touching(at, at+len(v)) {
			seen -= min(f.to, at+len(v)) - max(f.from, at)
		}
		if seen >= min(minShown, len(v)) {
			n++
		}
		at += len(v)
	}
}
