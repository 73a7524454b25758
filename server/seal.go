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

// A seal encrypts the state of a call that waits for answers. The client sends it
// back with the answers, and can neither read nor change it, pass it to another
// caller, or use it twice.
type seal struct {
	aead cipher.AEAD

	mu   sync.Mutex
	used map[string]time.Time // nonces to their expiry
}

// A callState is the content of a sealed state: the call that the answers are for.
type callState struct {
	For      callKey    `json:"f"`
	Approval bool       `json:"q,omitzero"` // the server asked for an approval
	Approved bool       `json:"a,omitzero"` // a person has approved the call already
	How      string     `json:"h,omitzero"` // the approval for the audit log
	Question string     `json:"d,omitzero"` // id of the stored question
	Page     bool       `json:"p,omitzero"` // the client sends the person to the page of the question
	Basis    string     `json:"b,omitzero"` // digest of the facts that were shown
	Risk     uint8      `json:"r,omitzero"` // highest risk that the approval covers
	State    string     `json:"s,omitzero"` // state of the tool
	Seen     string     `json:"v,omitzero"` // digest of the call that the client shows
	Edited   editedCall `json:"x,omitzero"` // a person's change of the call
	Nonce    string     `json:"n"`
	Expires  time.Time  `json:"e"`
}

// A callKey identifies the caller and the call of a sealed state.
type callKey struct {
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
func (s *seal) close(t callState) (string, error) {
	t.Nonce = rand.Text()
	plain, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, nil)), nil
}

var (
	errForeignState = errors.New("the request state was not made here, or was changed")
	errExpiredState = errors.New("the request state has expired")
	errUsedState    = errors.New("the request state was used before")
)

// open unseals state and uses it up.
func (s *seal) open(state string, now time.Time) (callState, error) {
	var t callState
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil {
		return t, errForeignState
	}
	plain, err := s.aead.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(plain, &t) != nil {
		return t, errForeignState
	}
	if now.After(t.Expires) {
		return t, errExpiredState
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for nonce, expiry := range s.used {
		if now.After(expiry) {
			delete(s.used, nonce)
		}
	}
	if _, used := s.used[t.Nonce]; used {
		return t, errUsedState
	}
	s.used[t.Nonce] = t.Expires
	return t, nil
}
