package scrub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
)

// Mask replaces a secret.
const Mask = "[REDACTED]"

// ServerIP is the default mask of the addresses of this machine.
const ServerIP = "[SERVER_IP]"

const (
	maskHead   = "[REDACTED"
	serverHead = "[SERVER_"
	maxMask    = 80
	inMask     = token | dot | atSign // of the kind in a mask
)

// maskAt returns the length of the mask that s begins with: [REDACTED],
// [REDACTED:some_kind] or [SERVER_SOMETHING].
func maskAt(s string) int {
	i := 0
	switch {
	case strings.HasPrefix(s, Mask):
		return len(Mask)
	case strings.HasPrefix(s, maskHead+":"):
		i = len(maskHead) + 1
	case strings.HasPrefix(s, serverHead):
		i = len(serverHead)
	default:
		return 0
	}
	from := i
	for i < len(s) && i < maxMask && inMask.has(s[i]) {
		i++
	}
	if i == from || i == len(s) || s[i] != ']' {
		return 0
	}
	return i + 1
}

// countMasks counts the masks in s.
func countMasks(s string) (n int) {
	for {
		i := strings.IndexByte(s, '[')
		if i < 0 {
			return n
		}
		s = s[i:]
		if k := maskAt(s); k > 0 {
			n++
			s = s[k:]
		} else {
			s = s[1:]
		}
	}
}

func hasMask(s string) bool { return countMasks(s) > 0 }

// HasMask reports whether s has a mask of any kind, so that it was probably
// scrubbed before.
func HasMask(s string) bool { return hasMask(s) }

// NewMasks reports whether after has more masks than before: writing it would
// replace a secret by a mask. A file that mentions masks can still be edited.
func NewMasks(before, after string) bool { return countMasks(after) > countMasks(before) }

// CheckNoMask returns an error if replacing before by after would put a mask in the
// place of a secret: after has a mask more, and a secret of before is gone. For a
// new file, before is empty.
func (s *Scrubber) CheckNoMask(before, after string) error {
	if !NewMasks(before, after) {
		return nil
	}
	for _, f := range s.find(before) {
		if strings.Contains(after, before[f.from:f.to]) {
			continue
		}
		i := 0
		for i < len(after) && maskAt(after[i:]) == 0 {
			i++
		}
		return fmt.Errorf("the text has the mask %q where the file has a secret; keep masks with their marks "+
			"([REDACTED:0a1b2c]) as read_file shows them now, or change only the parts around them",
			after[i:i+maskAt(after[i:])])
	}
	return nil
}

// Unmask returns text with the secrets of a file, whose content is given, in place
// of masks that [Secrets.Marked] has made for this file. Other masks stay.
func (s *Scrubber) Unmask(file, content, text string) string {
	if !strings.Contains(text, maskHead+":") {
		return text
	}
	var pairs []string
	for _, f := range s.find(content) {
		secret := content[f.from:f.to]
		pairs = append(pairs, markedMask(file, secret), secret)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// marksKey makes marks meaningless to others and in other processes.
var marksKey = sync.OnceValue(func() (key [32]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
})

// markLen is the number of digits of a mark.
const markLen = 6

// markedMask returns the mask of a secret of a file.
func markedMask(file, secret string) string {
	key := marksKey()
	m := hmac.New(sha256.New, key[:])
	m.Write([]byte(file + "\x00" + secret))
	return maskHead + ":" + hex.EncodeToString(m.Sum(nil))[:markLen] + "]"
}

// countMarked returns the number of masks in s that [Secrets.Marked] has made, by their form.
func countMarked(s string) (n int) {
	for {
		_, rest, found := strings.Cut(s, maskHead+":")
		if !found {
			return n
		}
		if len(rest) > markLen && rest[markLen] == ']' && lowHex.all(rest[:markLen]) {
			n++
		}
		s = rest
	}
}
