// Package peers lets the replicas that share a store ask each other for things that only one of them has: a command
// in the background, or a browser.
//
// A replica that has such a thing writes a row about it, and keeps a lease on its own row as long as it has any.
// Another replica finds the row and asks over HTTP, at the address of server.internal. Each run of a replica has a
// key of its own, in its row: requests to it and its answers are encrypted and authenticated with it (AES-256-GCM).
// So a process that cannot read the store can neither ask nor answer, and sees nothing; a request has a number and is
// taken once; an answer belongs to one request.
//
// The package does not know the requests: bytes come in and go out. It decides nothing about callers.
//
// Begin with [Peers.Hold] and [Peers.Where], then [Peers.Ask].
package peers

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// The lease of a replica and its renewal. A replica that has nothing has no lease, and writes nothing.
const (
	lease = 20 * time.Second
	beat  = 5 * time.Second

	// writeTimeout is how long a row may take.
	writeTimeout = 3 * time.Second
)

// ErrGone means that a replica has ended, or does not answer. The effect of the request is
// unknown.
var ErrGone = errors.New("the server does not answer")

// ErrKey means that the key of a replica cannot be read here: one of the two lacks the key of the vault.
var ErrKey = errors.New("its key cannot be read: one of the two servers does not have the key of the vault")

// Options configure Peers.
type Options struct {
	Store   *store.Store
	Address string // host:port at which the others reach this replica; "": they do not
	Name    string // of this replica, for people; "": the name of the machine
	// Seal and Open protect the key of this replica in the store. Without them, or if Seal returns nothing, the key is
	// there as it is. If Seal fails the key is not there: other replicas find the things of this one, and cannot ask.
	Seal func(ctx context.Context, bound string, plain []byte) ([]byte, error)
	Open func(ctx context.Context, bound string, sealed []byte) ([]byte, error)
	// Serve answers a request of another replica. Its context ends with the request. Until it returns it may send news.
	Serve func(ctx context.Context, request []byte, news func([]byte)) []byte
	Log   *slog.Logger
}

// Peers is this replica and its view of the others.
type Peers struct {
	o    Options
	id   string
	key  [32]byte
	next atomic.Uint64 // number of the next request

	client   *http.Client // for requests to others
	taken    taken        // requests of others
	unsealed atomic.Bool  // the key of this replica cannot be sealed

	mu      sync.Mutex
	held    map[held]bool
	beats   bool // a goroutine renews the lease
	closed  bool
	beating sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

// held names something that one replica has.
type held struct{ kind, owner, name string }

// A Peer is a replica that has something.
type Peer struct {
	ID, Name, Address string
	Alive             bool          // its lease has not expired
	Patience          time.Duration // how long a request to it waits without a sign of life; 0: a minute
	sealed            []byte
}

// New returns the view of a replica. Nothing is written before Hold.
func New(o Options) *Peers {
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Peers{o: o, id: rand.Text(), client: newClient(), held: map[held]bool{}}
	_, _ = rand.Read(p.key[:]) // never fails
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

func keyBound(id string) string { return "replica " + id }

// row writes the row of this replica.
func (p *Peers) row(t *store.Tx, sealed []byte) error {
	_, err := t.Exec(`INSERT INTO replica (id, name, address, secret, lease) VALUES ($1, $2, $3, $4, {{now}} + $5)
		ON CONFLICT (id) DO UPDATE SET lease = excluded.lease,
			secret = CASE WHEN length(excluded.secret) > 1 THEN excluded.secret ELSE replica.secret END`,
		p.id, p.o.Name, p.o.Address, sealed, lease.Milliseconds())
	return err
}

// sealedKey returns the key of this replica for its row: sealed after a 1, nothing after it if that fails, or as it is
// after a 0.
func (p *Peers) sealedKey(ctx context.Context) []byte {
	var sealed []byte
	var err error
	if p.o.Seal != nil {
		sealed, err = p.o.Seal(ctx, keyBound(p.id), p.key[:])
	}
	if failed := err != nil; p.unsealed.Swap(failed) != failed && failed && ctx.Err() == nil {
		p.o.Log.Warn("other replicas cannot ask this one: its key for them cannot be encrypted", "err", err)
	}
	if err == nil && len(sealed) == 0 {
		return append([]byte{0}, p.key[:]...)
	}
	return append([]byte{1}, sealed...)
}

// Hold tells the other replicas that this one has something. A failure is logged: the others then do not find it.
func (p *Peers) Hold(kind, owner, name string) {
	h := held{kind, owner, name}
	p.mu.Lock()
	if p.closed || p.held[h] {
		p.mu.Unlock()
		return
	}
	p.held[h] = true
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.ctx, writeTimeout)
	defer cancel()
	sealed := p.sealedKey(ctx)
	err := p.o.Store.Update(ctx, func(t *store.Tx) error {
		if err := p.row(t, sealed); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO held (kind, owner, name, replica, at) VALUES ($1, $2, $3, $4, {{now}})
			ON CONFLICT (kind, owner, name) DO UPDATE SET replica = excluded.replica, at = excluded.at`,
			kind, owner, name, p.id)
		return err
	})
	if err != nil && p.ctx.Err() == nil {
		p.o.Log.Warn("other replicas cannot find what this one has", "kind", kind, "err", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.beats && !p.closed {
		p.beats = true
		p.beating.Go(p.beat)
	}
}

// Release withdraws a call of Hold.
func (p *Peers) Release(kind, owner, name string) {
	h := held{kind, owner, name}
	p.mu.Lock()
	had := p.held[h] && !p.closed
	delete(p.held, h)
	p.mu.Unlock()
	if !had {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, writeTimeout)
	defer cancel()
	if err := p.o.Store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM held WHERE kind = $1 AND owner = $2 AND name = $3 AND replica = $4", kind, owner, name,
			p.id)
		return err
	}); err != nil && p.ctx.Err() == nil {
		p.o.Log.Debug("a row about what this replica had stays", "kind", kind, "err", err)
	}
}

// ReleaseSoon is Release in the background.
func (p *Peers) ReleaseSoon(kind, owner, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.beating.Go(func() { p.Release(kind, owner, name) })
	}
}

// keepFor is how long the rows of a replica that has ended stay, to say so to callers.
const keepFor = 24 * time.Hour

// beat renews the lease while this replica has something, and removes old rows of others.
func (p *Peers) beat() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(p.ctx, writeTimeout)
		sealed := p.sealedKey(ctx) // the vault may have another key now
		err := p.o.Store.Update(ctx, func(t *store.Tx) error {
			for _, statement := range []string{
				"DELETE FROM held WHERE replica IN (SELECT id FROM replica WHERE lease < {{now}} - $1)",
				"DELETE FROM replica WHERE lease < {{now}} - $1",
			} {
				if _, err := t.Exec(statement, keepFor.Milliseconds()); err != nil {
					return err
				}
			}
			return p.row(t, sealed)
		})
		cancel()
		if err != nil && p.ctx.Err() == nil {
			p.o.Log.Debug("the lease of this replica was not renewed", "err", err)
		}
		p.mu.Lock()
		if len(p.held) == 0 {
			p.beats = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// Where returns the other replica that has something. found is false if none says so, or this one does.
func (p *Peers) Where(ctx context.Context, kind, owner, name string) (at Peer, found bool, err error) {
	list, err := store.Select(ctx, p.o.Store, `SELECT r.id, r.name, r.address, r.secret,
		CASE WHEN r.lease > {{now}} THEN 1 ELSE 0 END FROM held h JOIN replica r ON r.id = h.replica
		WHERE h.kind = $1 AND h.owner = $2 AND h.name = $3 AND h.replica <> $4`, []any{kind, owner, name, p.id},
		func(scan store.Scan) (at Peer, err error) {
			alive := 0
			err = scan(&at.ID, &at.Name, &at.Address, &at.sealed, &alive)
			at.Alive = alive != 0
			return at, err
		})
	if err != nil || len(list) == 0 {
		return Peer{}, false, err
	}
	return list[0], true, nil
}

// A Holding lists the things of one kind and owner that another replica has.
type Holding struct {
	Peer
	Names []string
}

// All returns the other replicas that have something of a kind of an owner, in the order of their names.
func (p *Peers) All(ctx context.Context, kind, owner string) (all []Holding, err error) {
	_, err = store.Select(ctx, p.o.Store, `SELECT r.id, r.name, r.address, r.secret,
		CASE WHEN r.lease > {{now}} THEN 1 ELSE 0 END, h.name FROM held h JOIN replica r ON r.id = h.replica
		WHERE h.kind = $1 AND h.owner = $2 AND h.replica <> $3 ORDER BY r.name, r.id, h.at, h.name`, []any{kind, owner, p.id},
		func(scan store.Scan) (name string, err error) {
			var at Peer
			alive := 0
			if err := scan(&at.ID, &at.Name, &at.Address, &at.sealed, &alive, &name); err != nil {
				return "", err
			}
			at.Alive = alive != 0
			if n := len(all); n == 0 || all[n-1].ID != at.ID {
				all = append(all, Holding{Peer: at})
			}
			last := &all[len(all)-1]
			last.Names = append(last.Names, name)
			return name, nil
		})
	return all, err
}

// Find returns the replica with an id; found is false if there is none.
func (p *Peers) Find(ctx context.Context, id string) (at Peer, found bool, err error) {
	alive := 0
	err = p.o.Store.Row(ctx, `SELECT id, name, address, secret, CASE WHEN lease > {{now}} THEN 1 ELSE 0 END FROM replica
		WHERE id = $1`, []any{id}, &at.ID, &at.Name, &at.Address, &at.sealed, &alive)
	if errors.Is(err, store.ErrNotFound) {
		return Peer{}, false, nil
	}
	at.Alive = alive != 0
	return at, err == nil, err
}

// ID returns the id of this run of the replica.
func (p *Peers) ID() string { return p.id }

// Name returns the name of the machine of this replica; "" if p is nil.
func (p *Peers) Name() string {
	if p == nil {
		return ""
	}
	return p.o.Name
}

// A Sign is the last sign of life of a replica.
type Sign struct {
	Name, Address string
	Alive         bool // its lease has not expired
	Seen          time.Time
	Holds         int // things of sessions
}

// Signs returns the replicas that had something in the last day, the latest first.
func Signs(ctx context.Context, s *store.Store) ([]Sign, error) {
	return store.Select(ctx, s, `SELECT r.name, r.address, CASE WHEN r.lease > {{now}} THEN 1 ELSE 0 END, r.lease,
		(SELECT count(*) FROM held h WHERE h.replica = r.id) FROM replica r ORDER BY r.lease DESC, r.id LIMIT 100`, nil,
		func(scan store.Scan) (one Sign, err error) {
			alive, until := 0, int64(0)
			err = scan(&one.Name, &one.Address, &alive, &until, &one.Holds)
			one.Alive, one.Seen = alive != 0, time.UnixMilli(until).Add(-lease)
			return one, err
		})
}

// Close ends the lease of this replica and removes its rows.
func (p *Peers) Close() error {
	p.mu.Lock()
	had := len(p.held) > 0 && !p.closed
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.client.CloseIdleConnections()
	p.beating.Wait()
	if !had {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return p.o.Store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE replica SET lease = 0 WHERE id = $1", p.id)
		return err
	})
}

// Reachable returns an address that other machines can use for one without a host: it gets the first address of this
// machine that is not for itself only.
func Reachable(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return net.JoinHostPort(n.IP.String(), port), nil
		}
	}
	return "", errors.New("this machine has no address that others could use; name one")
}
