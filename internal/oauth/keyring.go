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

// The age of keys, and how often they are fetched.
const (
	// maxAge is the time that a key is used after the issuer has withdrawn it.
	maxAge = 10 * time.Minute
	// maxStaleAge is the time that keys are used while the issuer cannot be
	// reached.
	maxStaleAge = 6 * time.Hour
	// fetchInterval is the minimum time between fetches, because anybody can
	// send tokens with invented key ids. A new key may have to wait that long.
	fetchInterval = 10 * time.Second
	// fetchTimeout limits one fetch with all its requests.
	fetchTimeout = 5 * time.Second
)

// A keyring has the issuer's keys, and fetches them again when they are old or a
// token names an unknown one.
type keyring struct {
	source *source
	now    func() time.Time
	ctx    context.Context // ends with the keyring: a fetch serves many requests
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu        sync.Mutex
	keys      []jose.JSONWebKey
	fetched   time.Time     // when the keys were fetched; zero means never
	attempted time.Time     // when the last fetch began
	failed    error         // the error of the last fetch
	fetching  chan struct{} // closed when the running fetch ends; nil if none runs
}

func newKeyring(from *source, now func() time.Time) *keyring {
	ctx, cancel := context.WithCancel(context.Background())
	return &keyring{source: from, now: now, ctx: ctx, cancel: cancel}
}

// close stops a running fetch and waits for its end.
func (k *keyring) close() {
	k.mu.Lock()
	k.cancel() // under the lock, so that no fetch begins afterwards
	k.mu.Unlock()
	k.work.Wait()
}

// find returns the keys that may have made a signature. It waits for a fetch if
// one is needed.
func (k *keyring) find(ctx context.Context, kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, error) {
	keys, flight, err := k.lookup(kid, alg)
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
	return k.cached(kid, alg)
}

// lookup returns the keys, or a running fetch to wait for.
func (k *keyring) lookup(kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, <-chan struct{}, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.matching(kid, alg)
	if len(found) > 0 && k.now().Sub(k.fetched) < maxAge {
		return found, nil, nil
	}
	flight := k.startFetch()
	if down := k.failed != nil && len(found) > 0; flight != nil && !down {
		return nil, flight, nil
	}
	// It is too early to fetch again, or the last fetch failed and an old key
	// can be used.
	keys, err := k.cached(kid, alg)
	return keys, nil, err
}

// cached returns the keys at hand, or an error.
func (k *keyring) cached(kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, error) {
	found := k.matching(kid, alg)
	switch {
	case len(found) > 0:
		return found, nil
	case k.outdated() || k.failed != nil: // the key may be new
		return nil, unavailable(k.failed)
	}
	return nil, invalid("the token is signed with a key that the issuer does not have")
}

// matching returns the keys at hand that may have made a signature.
func (k *keyring) matching(kid string, alg jose.SignatureAlgorithm) []jose.JSONWebKey {
	if k.outdated() {
		return nil
	}
	return matchKeys(k.keys, kid, alg)
}

// outdated reports whether there are no keys or they are too old.
func (k *keyring) outdated() bool {
	return k.fetched.IsZero() || k.now().Sub(k.fetched) >= maxStaleAge
}

// startFetch returns the running fetch or begins one. It returns nil if it is too
// early for another one, or if the keyring is closed.
func (k *keyring) startFetch() <-chan struct{} {
	if k.fetching != nil {
		return k.fetching
	}
	now := k.now()
	if since := now.Sub(k.attempted); k.ctx.Err() != nil || !k.attempted.IsZero() && since >= 0 &&
		since < fetchInterval {
		return nil
	}
	k.attempted = now
	k.fetching = make(chan struct{})
	k.work.Go(k.fetch)
	return k.fetching
}

// fetch fetches the keys.
func (k *keyring) fetch() {
	ctx, cancel := context.WithTimeout(k.ctx, fetchTimeout)
	defer cancel()
	keys, err := k.source.keys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.keys, k.fetched = keys, k.now()
	}
	k.failed = err
	close(k.fetching)
	k.fetching = nil
}

// matchKeys returns the keys with an id that fit the algorithm. A token without
// a key id matches only if a single key fits.
func matchKeys(keys []jose.JSONWebKey, kid string, alg jose.SignatureAlgorithm) []jose.JSONWebKey {
	var fit []jose.JSONWebKey
	for _, key := range keys {
		if (kid == "" || key.KeyID == kid) && keyFits(key, alg) {
			fit = append(fit, key)
		}
	}
	if kid == "" && len(fit) > 1 {
		return nil
	}
	return fit
}

// keyFits reports whether the key can verify signatures of the algorithm. A key
// that names an algorithm is used for no other.
func keyFits(key jose.JSONWebKey, alg jose.SignatureAlgorithm) bool {
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

// minRSA is the minimum size of RSA keys in bits.
const minRSA = 2048

// canVerify reports whether a published key may be used. Symmetric and private
// keys may not: they are no longer secret.
func canVerify(key jose.JSONWebKey) bool {
	if !key.Valid() || key.Use != "" && key.Use != "sig" {
		return false
	}
	small := false
	if public, ok := key.Key.(*rsa.PublicKey); ok {
		small = public.N.BitLen() < minRSA
	}
	return !small && slices.ContainsFunc(acceptedAlgorithms(),
		func(alg jose.SignatureAlgorithm) bool { return keyFits(key, alg) })
}
