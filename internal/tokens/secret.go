package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
)

// A token is the prefix, a body of random letters and digits, and a checksum:
//
//	mcpt_ + 43 of 0-9A-Za-z + 6 of 0-9A-Za-z
//
// 43 such characters carry 256 bits. The prefix lets people and scrubbers
// recognise a token, the checksum tells a typo from an unknown token without
// a look into the table, and a double click marks the whole of it.
const (
	prefix   = "mcpt_"
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	bodyLen  = 43
	sumLen   = 6
	idLen    = 8
	plainLen = len(prefix) + bodyLen + sumLen
)

// mask is what a Secret shows of itself.
const mask = "[REDACTED]"

// A Secret is a token in plain text. However it is printed, logged or
// encoded, it shows a mask; only Reveal gives the text. The zero Secret is
// empty.
type Secret struct {
	// A pointer, because fmt prints the unexported fields of a struct
	// without asking their methods: then an address shows and not a token.
	text *string
}

// Reveal returns the token, to be handed to its owner.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

func (s Secret) String() string               { return mask }
func (s Secret) GoString() string             { return mask }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(mask) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// Format answers every verb, %x and %d too, with the mask.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// hashOf is what the table keeps of a token. A plain SHA-256 is right here: slow
// hashes protect passwords, which can be guessed, and nobody guesses one of
// 2^256 random values, however fast the hash. It also keeps the cost of a
// request with a wrong token small.
func hashOf(plain string) string {
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}

// generate returns a new random token.
func generate() Secret {
	body := make([]byte, 0, bodyLen)
	random := make([]byte, bodyLen)
	for len(body) < bodyLen {
		_, _ = rand.Read(random) // never fails
		for _, b := range random {
			// 248 is the largest multiple of 62 in a byte: what is above would
			// make the first letters of the alphabet likelier than the others.
			if b < 248 && len(body) < bodyLen {
				body = append(body, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	text := prefix + string(body) + checksum(string(body))
	return Secret{&text}
}

// Check says whether text has the form of a token, without asking whether
// there is such a token. The error never repeats the text.
func Check(text string) error {
	body, ours := strings.CutPrefix(text, prefix)
	if !ours || len(text) != plainLen {
		return ErrMalformed
	}
	body, sum := body[:bodyLen], body[bodyLen:]
	if strings.Trim(body, alphabet) != "" || checksum(body) != sum {
		return ErrMalformed
	}
	return nil
}

// checksum returns the CRC-32 of a body in letters and digits.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, sumLen)
	for i := range out {
		out[sumLen-1-i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out)
}

// idOf returns the public part of a well-formed token. It is in the table, in
// lists and in logs, and leaves more than 200 bits unknown.
func idOf(plain string) string { return plain[len(prefix):][:idLen] }
