package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	keySize  = 32
	overhead = 12 + 16 // nonce and tag
)

// A key seals and opens the secrets of a vault.
type key [keySize]byte

// validKeyID reports whether text has the form of a key's id.
func validKeyID(text string) bool { return len(text) == 16 && only(text, "0123456789abcdef") }

// id returns a name for the key that reveals nothing about it.
func (k *key) id() string {
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte("mcp-tools vault key"))
	return hex.EncodeToString(m.Sum(nil)[:8])
}

// clear overwrites the key in memory.
func (k *key) clear() { clear(k[:]) }

func newKey() *key {
	k := new(key)
	_, _ = rand.Read(k[:]) // never fails
	return k
}

var errBadKey = errors.New("not a key; use 32 bytes in hexadecimal or base64, as openssl rand -base64 32 prints")

// parseKey reads a key of 64 hexadecimal digits or of base64, in either
// alphabet, padded or not. The error does not contain the text.
func parseKey(text []byte) (*key, error) {
	text = bytes.TrimSpace(text)
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	var n int
	var err error
	if len(text) == hex.EncodedLen(keySize) {
		n, err = hex.Decode(raw, text)
	} else {
		text = bytes.TrimRight(text, "=")
		encoding := base64.RawStdEncoding
		if bytes.ContainsAny(text, "-_") {
			encoding = base64.RawURLEncoding
		}
		n, err = encoding.Strict().Decode(raw, text)
	}
	if err != nil || n != keySize {
		clear(raw)
		return nil, errBadKey
	}
	return (*key)(raw[:n]), nil
}

// aead returns the cipher of the key. It puts a random nonce before each sealed
// value; 2^32 values can be sealed before two nonces are likely to be equal.
func (k *key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a value.
func (k *key) seal(e Entry, value []byte) (sealed, error) {
	a, err := k.aead()
	if err != nil {
		return sealed{}, err
	}
	return sealed{e, a.Seal(nil, nil, value, k.bound(e))}, nil
}

// open returns the value of a sealed secret. It fails if the entry was changed.
func (k *key) open(s sealed) ([]byte, error) {
	a, err := k.aead()
	if err == nil {
		var value []byte
		if value, err = a.Open(nil, nil, s.Sealed, k.bound(s.Entry)); err == nil {
			return value, nil
		}
	}
	return nil, fmt.Errorf("cannot decrypt the secret %q", s.Name)
}

// bound returns the data that is authenticated with a value. Zero bytes separate its parts; no
// part can contain one.
func (k *key) bound(e Entry) []byte {
	return []byte(strings.Join([]string{
		"mcp-tools vault 1", k.id(), e.Name, e.Created.UTC().Format(time.RFC3339), e.Changed.UTC().Format(time.RFC3339),
	}, "\x00"))
}
