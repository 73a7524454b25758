package scrub

import (
	"fmt"
	"strings"
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

// CheckNoMask returns an error if replacing before by after would destroy a
// secret. For a new file, before is empty.
func CheckNoMask(before, after string) error {
	if !NewMasks(before, after) {
		return nil
	}
	i := 0
	for i < len(after) && maskAt(after[i:]) == 0 {
		i++
	}
	return fmt.Errorf("the text holds the mask %q, which stands for a secret that was hidden from you; "+
		"change only the parts around it, or ask for the value to be set by hand", after[i:i+maskAt(after[i:])])
}
