package oauth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// code returns the code of Verify's error, empty for none.
func code(t *testing.T, v *Verifier, token string) Code {
	t.Helper()
	_, err := v.Verify(t.Context(), token)
	if err == nil {
		return ""
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("an error of another kind: %v", err)
	}
	return e.Code
}

func TestKeysRotate(t *testing.T) {
	is, now := newIssuer(t), newClock()
	old, next := newEC(t, "old"), newEC(t, "next")
	is.publish(old.public())
	v := verifier(t, is.config(now))
	oldToken, nextToken := old.sign(t, nil, is.claims(now, nil)), next.sign(t, nil, is.claims(now, nil))
	if got := code(t, v, oldToken); got != "" {
		t.Fatalf("before: %s", got)
	}

	is.publish(old.public(), next.public())
	now.move(fetchInterval)
	if got := code(t, v, nextToken); got != "" {
		t.Errorf("a new key is not found: %s", got)
	}

	is.publish(next.public())
	now.move(maxAge)
	if got := code(t, v, oldToken); got != InvalidToken {
		t.Errorf("a key that was withdrawn still counts: %q", got)
	}
	if got := code(t, v, nextToken); got != "" {
		t.Errorf("after: %s", got)
	}
}

func TestEmptyKeySet(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEC(t, "k")
	is.publish(key.public())
	v := verifier(t, is.config(now))
	token := key.sign(t, nil, is.claims(now, nil))
	if got := code(t, v, token); got != "" {
		t.Fatal(got)
	}
	is.publish([]jose.JSONWebKey{}...) // a list, though an empty one
	now.move(maxAge)
	if got := code(t, v, token); got != InvalidToken {
		t.Errorf("got %q, want %s", got, InvalidToken)
	}
}

func TestUnknownKeysAreRateLimited(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key, thief := newEd(t, "k"), newEd(t, "")
	is.publish(key.public())
	v := verifier(t, is.config(now))
	good := key.sign(t, nil, is.claims(now, nil))
	storm := func() {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 25 {
					thief := pair{fmt.Sprintf("%d-%d", i, n), thief.alg, thief.private}
					if got := code(t, v, thief.sign(t, nil, is.claims(now, nil))); got != InvalidToken {
						t.Errorf("an unknown key: %q", got)
					}
					if got := code(t, v, good); got != "" {
						t.Errorf("a good token in the storm: %s", got)
					}
				}
			})
		}
		all.Wait()
	}
	for round := range 3 {
		storm()
		if n := is.requests(); n != round+1 {
			t.Fatalf("after %d storms the issuer was asked %d times", round+1, n)
		}
		now.move(fetchInterval)
	}
}

func TestConcurrentFetch(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEd(t, "k")
	is.publish(key.public())
	hold := make(chan struct{})
	is.hold = hold
	v := verifier(t, is.config(now))
	token := key.sign(t, nil, is.claims(now, nil))

	// A caller that gives up does not cancel the fetch of other callers.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := v.Verify(gone, token)
	var e *Error
	if !errors.As(err, &e) || e.Code != Unavailable || !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled caller: %v", err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := code(t, v, token); got != "" {
				t.Error(got)
			}
		})
	}
	close(hold)
	all.Wait()
	if n := is.requests(); n != 1 {
		t.Errorf("the keys were fetched %d times, want once", n)
	}
}

func TestIssuerOutage(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEC(t, "k")
	is.publish(key.public())
	v := verifier(t, is.config(now))
	token := func(p pair) string { return p.sign(t, nil, is.claims(now, nil)) }

	is.setDown(true)
	if got := code(t, v, token(key)); got != Unavailable {
		t.Fatalf("before the first key: %q", got)
	}
	is.setDown(false)
	if got := code(t, v, token(key)); got != Unavailable {
		t.Fatalf("asked again at once: %q", got)
	}
	now.move(fetchInterval)
	if got := code(t, v, token(key)); got != "" {
		t.Fatalf("up again: %q", got)
	}

	is.setDown(true)
	for range 5 {
		now.move(maxStaleAge / 6)
		if got := code(t, v, token(key)); got != "" {
			t.Fatalf("while it is down: %q", got)
		}
	}
	if got := code(t, v, token(newEC(t, "new"))); got != Unavailable {
		t.Errorf("an unknown key while it is down: %q", got)
	}
	now.move(maxStaleAge / 6)
	if got := code(t, v, token(key)); got != Unavailable {
		t.Errorf("too long down: %q", got)
	}
	is.setDown(false)
	now.move(fetchInterval)
	if got := code(t, v, token(key)); got != "" {
		t.Errorf("up again: %q", got)
	}
}

// TestHangingIssuer checks that a caller with a cached key waits at most once
// for an issuer that does not respond.
func TestHangingIssuer(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEC(t, "k")
	is.publish(key.public())
	v := verifier(t, is.config(now))
	if got := code(t, v, key.sign(t, nil, is.claims(now, nil))); got != "" {
		t.Fatal(got)
	}
	is.setDown(true)
	now.move(maxAge)
	if got := code(t, v, key.sign(t, nil, is.claims(now, nil))); got != "" {
		t.Fatal(got)
	}
	hold := make(chan struct{})
	defer close(hold)
	is.mu.Lock()
	is.hold = hold
	is.mu.Unlock()
	now.move(fetchInterval)
	if got := code(t, v, key.sign(t, nil, is.claims(now, nil))); got != "" {
		t.Fatal(got)
	}
	if !v.keys.busy() {
		t.Error("the answer came after the attempt, or there was none")
	}
}

func TestClose(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEC(t, "k")
	is.publish(key.public())
	hold := make(chan struct{})
	defer close(hold)
	is.hold = hold
	v := verifier(t, is.config(now))
	token := key.sign(t, nil, is.claims(now, nil))
	got := make(chan error)
	go func() {
		_, err := v.Verify(t.Context(), token)
		got <- err
	}()
	for !v.keys.busy() {
		select {
		case err := <-got:
			t.Fatalf("did not wait for the keys: %v", err)
		default:
		}
	}
	v.Close() // does not wait for an issuer that does not answer
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("a waiting caller: %v", err)
	}
	now.move(time.Hour)
	if c := code(t, v, token); c != Unavailable {
		t.Errorf("after Close: %q", c)
	}
}

// busy says whether an attempt is under way.
func (k *keyring) busy() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fetching != nil
}

func TestMatchingKeys(t *testing.T) {
	is, now := newIssuer(t), newClock()
	good := newEC(t, "k")
	with := func(change func(*jose.JSONWebKey)) jose.JSONWebKey {
		key := good.public()
		change(&key)
		return key
	}
	other := newEC(t, "other").public()
	cases := []struct {
		name string
		keys []jose.JSONWebKey
		kid  string
		want Code
	}{
		{"as it should be", []jose.JSONWebKey{good.public()}, "k", ""},
		{"without details", []jose.JSONWebKey{with(func(k *jose.JSONWebKey) { k.Use, k.Algorithm = "", "" })}, "k", ""},
		{"for encryption", []jose.JSONWebKey{with(func(k *jose.JSONWebKey) { k.Use = "enc" })}, "k", InvalidToken},
		{"for another algorithm", []jose.JSONWebKey{with(func(k *jose.JSONWebKey) { k.Algorithm = "ES384" })}, "k",
			InvalidToken},
		{"another id", []jose.JSONWebKey{with(func(k *jose.JSONWebKey) { k.KeyID = "else" })}, "k", InvalidToken},
		{"the private key", []jose.JSONWebKey{{Key: good.private, KeyID: "k"}}, "k", InvalidToken},
		{"a secret", []jose.JSONWebKey{{Key: []byte("0123456789abcdef"), KeyID: "k"}}, "k", InvalidToken},
		{"the id twice", []jose.JSONWebKey{with(func(k *jose.JSONWebKey) { k.Key = other.Key }), good.public()}, "k",
			""},
		{"no id, one key", []jose.JSONWebKey{good.public(), newEd(t, "ed").public()}, "", ""},
		{"no id, two keys", []jose.JSONWebKey{good.public(), other}, "", InvalidToken},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			is.publish(c.keys...)
			v := verifier(t, is.config(now))
			signer := pair{c.kid, good.alg, good.private}
			if got := code(t, v, signer.sign(t, nil, is.claims(now, nil))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
