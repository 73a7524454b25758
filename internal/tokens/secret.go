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
// 43 characters have 256 bits. People and scrubbers recognise a token by the
// prefix, the checksum detects typing errors without the table, and a double
// click selects the whole token.
const (
	prefix   = "mcpt_"
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	bodyLen  = 43
	sumLen   = 6
	idLen    = 8
	plainLen = len(prefix) + bodyLen + sumLen
)

// mask replaces the text of a Secret when it is printed.
const mask = "[REDACTED]"

// A Secret is a token in plain text. It prints, logs and encodes as a mask; only
// Reveal returns the text. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt prints unexported fields of structs without their
	// methods; it prints an address then.
	text *string
}

// Reveal returns the token.
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

// Format prints the mask for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// hashOf returns the hash of a token in the table. A slow hash is not needed: it protects
// passwords, because they can be guessed, unlike 256 random bits. A fast one keeps requests
// with wrong tokens cheap.
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
			// 248 is the largest multiple of 62 in a byte. Larger bytes would make
			// the first letters of the alphabet more likely.
			if b < 248 && len(body) < bodyLen {
				body = append(body, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	text := prefix + string(body) + checksum(string(body))
	return Secret{&text}
}

// Check returns an error if text does not have the form of a token. The error
// does not contain the text.
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

// checksum returns the CRC-32 of a body in base 62.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, sumLen)
	for i := range out {
		out[sumLen-1-i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out)
}

// idOf returns the public part of a well-formed token for lists and logs. More
// than 200 bits remain secret.
func idOf(plain string) string { return plain[len(prefix):][:idLen] }
