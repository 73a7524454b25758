package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long keys count, and how often the issuer is asked.
const (
	// freshFor is how long a key that the issuer has withdrawn still counts.
	freshFor = 10 * time.Minute
	// keepFor is how long keys count while the issuer cannot be reached.
	keepFor = 6 * time.Hour
	// askEvery bounds what tokens with invented key ids can make us do, and
	// with it how long a key that was just added may have to wait.
	askEvery = 10 * time.Second
	// askTimeout bounds one attempt, with all requests it takes.
	askTimeout = 5 * time.Second
)

// A keyring holds the issuer's keys, and fetches them anew when they are old
// or a token names one that it lacks.
type keyring struct {
	source *source
	now    func() time.Time
	ctx    context.Context // ends with the keyring: fetches serve many requests, so none of theirs would do
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetched time.Time     // when keys came; zero for never
	asked   time.Time     // when the last attempt began
	failed  error         // why the last attempt brought nothing; nil if it did
	flight  chan struct{} // closed when the attempt under way ends; nil if there is none
}

func newKeyring(from *source, now func() time.Time) *keyring {
	ctx, cancel := context.WithCancel(context.Background())
	return &keyring{source: from, now: now, ctx: ctx, cancel: cancel}
}

// close stops an attempt under way and waits for its end.
func (k *keyring) close() {
	k.mu.Lock()
	k.cancel() // under the lock, so that no attempt begins after
	k.mu.Unlock()
	k.work.Wait()
	k.source.close()
}

// find returns the keys that may have made a signature. When it takes a
// fetch to know, find waits for it, or for ctx.
func (k *keyring) find(ctx context.Context, kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, error) {
	keys, flight, err := k.look(kid, alg)
	if flight == nil {
		return keys, err
	}
	select {
	case <-flight:
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.settle(kid, alg)
}

// look answers at once, or returns the attempt that is worth waiting for.
func (k *keyring) look(kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, <-chan struct{}, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.have(kid, alg)
	if len(found) > 0 && k.now().Sub(k.fetched) < freshFor {
		return found, nil, nil
	}
	flight := k.ask()
	if down := k.failed != nil && len(found) > 0; flight != nil && !down {
		return nil, flight, nil
	}
	// Too early to ask again; or the issuer was down when last asked, and
	// nobody who has an old key needs to wait until it is up.
	keys, err := k.settle(kid, alg)
	return keys, nil, err
}

// settle answers with the keys there are.
func (k *keyring) settle(kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, error) {
	found := k.have(kid, alg)
	switch {
	case len(found) > 0:
		return found, nil
	case k.outdated() || k.failed != nil: // the key may be new
		return nil, unavailable(k.failed)
	}
	return nil, invalid("the token is signed with a key that the issuer does not have")
}

// have returns the keys at hand that may have made a signature.
func (k *keyring) have(kid string, alg jose.SignatureAlgorithm) []jose.JSONWebKey {
	if k.outdated() {
		return nil
	}
	return pick(k.keys, kid, alg)
}

// outdated says whether the keys, if there are any, are too old to count.
func (k *keyring) outdated() bool {
	return k.fetched.IsZero() || k.now().Sub(k.fetched) >= keepFor
}

// ask joins the attempt under way or begins one. It returns nil if it is too
// early for another, or too late for any.
func (k *keyring) ask() <-chan struct{} {
	if k.flight != nil {
		return k.flight
	}
	now := k.now()
	if since := now.Sub(k.asked); k.ctx.Err() != nil || !k.asked.IsZero() && since >= 0 && since < askEvery {
		return nil
	}
	k.asked = now
	k.flight = make(chan struct{})
	k.work.Go(k.fetch)
	return k.flight
}

// fetch is the attempt.
func (k *keyring) fetch() {
	ctx, cancel := context.WithTimeout(k.ctx, askTimeout)
	defer cancel()
	keys, err := k.source.keys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.keys, k.fetched = keys, k.now()
	}
	k.failed = err
	close(k.flight)
	k.flight = nil
}

// pick returns the keys with the id that fit the algorithm. A token that
// names no key can be of the only one that fits, but of no other.
func pick(keys []jose.JSONWebKey, kid string, alg jose.SignatureAlgorithm) []jose.JSONWebKey {
	var fit []jose.JSONWebKey
	for _, key := range keys {
		if (kid == "" || key.KeyID == kid) && fits(key, alg) {
			fit = append(fit, key)
		}
	}
	if kid == "" && len(fit) > 1 {
		return nil
	}
	return fit
}

// fits says whether the key may make such signatures. A key that says what
// it is for is for nothing else.
func fits(key jose.JSONWebKey, alg jose.SignatureAlgorithm) bool {
	if key.Algorithm != "" && key.Algorithm != string(alg) {
		return false
	}
	switch key.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(string(alg), "RS") || strings.HasPrefix(string(alg), "PS")
	case *ecdsa.PublicKey:
		return strings.HasPrefix(string(alg), "ES")
	case ed25519.PublicKey:
		return alg == jose.EdDSA
	}
	return false
}

// minRSA is the smallest RSA key that is still safe, in bits.
const minRSA = 2048

// usable says whether a published key can be trusted with a signature.
// Symmetric and private keys are out: once published, they are everybody's.
func usable(key jose.JSONWebKey) bool {
	if !key.Valid() || key.Use != "" && key.Use != "sig" {
		return false
	}
	small := false
	if public, ok := key.Key.(*rsa.PublicKey); ok {
		small = public.N.BitLen() < minRSA
	}
	return !small && slices.ContainsFunc(accepted(), func(alg jose.SignatureAlgorithm) bool { return fits(key, alg) })
}
