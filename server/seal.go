package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// A seal closes the state that a question leaves with the client, so that the
// client can carry it and can neither read, change, lend nor use it twice.
type seal struct {
	aead cipher.AEAD

	mu   sync.Mutex
	used map[string]time.Time // nonces to their expiry
}

// A ticket is what is sealed: everything the answer will be good for.
type ticket struct {
	For      stub      `json:"f"`
	Approval bool      `json:"q,omitzero"` // the question is ours: may it run?
	Approved bool      `json:"a,omitzero"` // a person has said yes already
	How      string    `json:"h,omitzero"` // and in which way
	Question string    `json:"d,omitzero"` // the question's id on the desk
	Basis    string    `json:"b,omitzero"` // what the word rests on
	Risk     uint8     `json:"r,omitzero"` // the highest that the word is good for
	State    string    `json:"s,omitzero"` // the tool's own
	Nonce    string    `json:"n"`
	Expires  time.Time `json:"e"`
}

// A stub identifies the caller and the call of a ticket.
type stub struct {
	Principal, Profile, Session, Tool string
	Call                              digest // of the tool and its arguments
}

// newSeal returns a seal with a new key: a state that it closed cannot be opened by
// another process or after a restart.
func newSeal() (*seal, error) {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &seal{aead: aead, used: make(map[string]time.Time)}, nil
}

// close seals t.
func (s *seal) close(t ticket) (string, error) {
	t.Nonce = rand.Text()
	plain, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, nil)), nil
}

var (
	errForeignTicket = errors.New("the request state was not made here, or was changed")
	errOldTicket     = errors.New("the request state has expired")
	errUsedTicket    = errors.New("the request state was used before")
)

// open unseals state and uses it up.
func (s *seal) open(state string, now time.Time) (ticket, error) {
	var t ticket
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil {
		return t, errForeignTicket
	}
	plain, err := s.aead.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(plain, &t) != nil {
		return t, errForeignTicket
	}
	if now.After(t.Expires) {
		return t, errOldTicket
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for nonce, expiry := range s.used {
		if now.After(expiry) {
			delete(s.used, nonce)
		}
	}
	if _, used := s.used[t.Nonce]; used {
		return t, errUsedTicket
	}
	s.used[t.Nonce] = t.Expires
	return t, nil
}
