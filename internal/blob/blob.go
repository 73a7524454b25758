// Package blob keeps bytes that are too many for a row: long results, pages of documents, downloads, former versions
// of files, and the files of managed workspaces.
//
// A blob is the content of one owner. Its bytes are in a [Place]: files in the data directory, a table of the
// database, or a bucket of an S3 service. A row of the table kept refers to it. The row is written in the transaction
// of the other changes that belong to it, so every process on the store sees the same blobs. A blob without a row is
// removed later: [Blobs.Sweep] is a job, and waits at least a day, so that nothing is removed between the bytes and
// the row.
//
// The name of a blob is DAY/OWNER/DIGEST: the day on which it was stored, a digest of its owner, and the SHA-256 of
// its content. Equal contents that an owner stores on one day are one blob. An equal content of another owner is
// another blob, so that an owner cannot find out the contents of others. The day makes the sweep safe without a
// lock: a new blob never takes the name of one that is old enough to be removed. That is also why there is no
// touching of old blobs.
//
// If there is a [Sealer], contents are encrypted in chunks, so that a part of a content can be read alone. Names,
// sizes and times are not encrypted.
//
// The package does not know the meaning of the bytes, and does not mask secrets in them. Begin with
// [Shelf].
package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// A Place has the bytes of blobs under their names. Its methods may be called concurrently, also by other processes.
type Place interface {
	// Put stores a content, completely or not at all. A name that exists has this content already.
	Put(ctx context.Context, name string, c Content) error
	// Open returns n bytes from offset on, or fewer at the end. The error is fs.ErrNotExist if there is no such name.
	Open(ctx context.Context, name string, offset, n int64) (io.ReadCloser, error)
	// Delete removes contents. Names that do not exist are no error.
	Delete(ctx context.Context, names ...string) error
	// Each calls yield with the names that are less than before, some at a time, until it returns an error.
	Each(ctx context.Context, before string, yield func(names []string) error) error
	// Max returns the maximum size of a content.
	Max() int64
	// String describes the place to an operator.
	String() string
}

// A Sealer encrypts chunks with a key of the operator, as a *vault.Vault does. Sealed chunks are longer by the same
// number of bytes each time. The error of Seal is vault.ErrNone if there is no key. Open fails for another bound than
// the bound of Seal, and with vault.ErrLocked if this process lacks the key.
type Sealer interface {
	Seal(ctx context.Context, bound string, plain []byte) ([]byte, error)
	Open(ctx context.Context, bound string, sealed []byte) ([]byte, error)
}

// Options are the dependencies of Blobs.
type Options struct {
	Store   *store.Store
	Place   Place
	Scratch string // directory for temporary files; made when it is needed
	Sealer  Sealer // nil: nothing is encrypted
	Log     *slog.Logger
	Now     func() time.Time // nil: time.Now
}

// Blobs are all blobs of a store. Its methods may be called concurrently.
type Blobs struct {
	o       Options
	mu      sync.Mutex
	shelves []*Shelf
}

// New returns the blobs of a store. It reads and writes nothing.
func New(o Options) *Blobs {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Blobs{o: o}
}

// Place returns the place of new blobs.
func (b *Blobs) Place() Place { return b.o.Place }

// Store returns the store with the rows that refer to the blobs.
func (b *Blobs) Store() *store.Store { return b.o.Store }

// ErrTooLarge is the error about a content that is larger than the place takes.
var ErrTooLarge = errors.New("the content is too large to keep")

// A Ref is a blob that was stored, for the row that refers to it.
type Ref struct {
	Name   string
	Digest string // SHA-256 of the content, in hexadecimal
	Size   int64  // of the content
}

// Owner returns the digest of an owner that names of blobs have.
func Owner(owner string) string {
	sum := sha256.Sum256([]byte("mcp-tools blob owner\x00" + owner))
	return hex.EncodeToString(sum[:16])
}

const (
	chunkSize   = 512 << 10 // bytes as stored; a chunk is read or encrypted at a time
	sealedMark  = ".sealed-"
	dayDuration = 24 * time.Hour
)

// Day returns the first part of names that are made at a time. Days sort as texts until the year 2243.
func Day(at time.Time) string { return strconv.FormatInt(at.Unix()/int64(dayDuration/time.Second), 10) }

// Put stores the content of r, at most max bytes of it, and calls record in the transaction that writes the row about
// it. With a place in the database the bytes are in that transaction too; otherwise they are stored before it. record
// may run several times. own makes a blob that is not shared with an equal content, and can be removed with its row.
func (b *Blobs) Put(ctx context.Context, owner string, r io.Reader, max int64, own bool,
	record func(*store.Tx, Ref) error) (Ref, error) {
	ref, content, discard, err := b.ready(ctx, owner, r, max, own)
	if err != nil {
		return Ref{}, err
	}
	defer discard()
	if b.shareTransactions() {
		return ref, b.o.Store.Update(ctx, func(t *store.Tx) error {
			if err := putRows(t, ref.Name, content); err != nil {
				return err
			}
			return record(t, ref)
		})
	}
	if err := b.o.Place.Put(ctx, ref.Name, content); err != nil {
		return Ref{}, logFailure(b.o.Log, err)
	}
	return ref, b.o.Store.Update(ctx, func(t *store.Tx) error { return record(t, ref) })
}

// shareTransactions reports whether the bytes are stored in the transactions of the store.
func (b *Blobs) shareTransactions() bool {
	db, ok := b.o.Place.(*Database)
	return ok && db.store == b.o.Store
}

// ready reads r, and returns the blob and its content as it is stored. discard removes temporary files.
func (b *Blobs) ready(ctx context.Context, owner string, r io.Reader, max int64, own bool) (
	ref Ref, content Content, discard func(), err error) {
	s, err := b.spool(r, min(max, b.o.Place.Max()))
	if err != nil {
		return ref, content, nil, logFailure(b.o.Log, err)
	}
	ref = Ref{Digest: s.digest, Size: s.Size}
	ref.Name = strings.Join([]string{Day(b.o.Now()), Owner(owner), s.digest}, "/")
	if own {
		ref.Name += ownMark + strings.ToLower(rand.Text())
	}
	sealed, err := b.seal(ctx, ref.Name, s.Content)
	if err != nil {
		s.discard()
		return ref, content, nil, logFailure(b.o.Log, err)
	}
	if sealed == nil {
		return ref, s.Content, s.discard, nil
	}
	ref.Name += sealedMark + strconv.Itoa(sealed.overhead)
	return ref, sealed.Content, func() { sealed.discard(); s.discard() }, nil
}

// The bounds of one step of PutAll.
const (
	groupCount = 64
	groupBytes = 8 << 20
	groupPuts  = 8 // at the same time, in other places than the database
)

// PutAll stores contents that are shared with equal ones of the owner, and then calls record in a transaction. The
// transaction may run several times. next returns the contents one after the other, and io.EOF after the last; put
// gets the blob of each.
func (b *Blobs) PutAll(ctx context.Context, owner string, next func() (io.ReadCloser, error), put func(Ref) error,
	record func(*store.Tx) error) error {
	type one struct {
		name    string
		content Content
		discard func()
	}
	var group []one
	clear := func() {
		for _, g := range group {
			g.discard()
		}
		group = nil
	}
	defer func() { clear() }()
	flush := func(record func(*store.Tx) error) error {
		defer clear()
		if b.shareTransactions() {
			return b.o.Store.Update(ctx, func(t *store.Tx) error {
				for _, g := range group {
					if err := putRows(t, g.name, g.content); err != nil {
						return err
					}
				}
				return record(t)
			})
		}
		errs := make([]error, len(group))
		var putting sync.WaitGroup
		slots := make(chan struct{}, groupPuts)
		for i, g := range group {
			slots <- struct{}{}
			putting.Go(func() {
				errs[i] = b.o.Place.Put(ctx, g.name, g.content)
				<-slots
			})
		}
		putting.Wait()
		return logFailure(b.o.Log, errors.Join(errs...))
	}
	none := func(*store.Tx) error { return nil }
	var bytes int64
	for {
		r, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(group) == groupCount || bytes >= groupBytes {
			if err := flush(none); err != nil {
				return errors.Join(err, r.Close())
			}
			bytes = 0
		}
		ref, content, discard, err := b.ready(ctx, owner, r, b.o.Place.Max(), false)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		group = append(group, one{ref.Name, content, discard})
		bytes += ref.Size
		if err := put(ref); err != nil {
			return err
		}
	}
	if err := flush(record); err != nil || b.shareTransactions() {
		return err
	}
	return b.o.Store.Update(ctx, record)
}

// ownMark is in the name of a blob of one row.
const ownMark = "_"

func isOwn(name string) bool {
	return strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ownMark)
}

// An Item is a content that can be read. Reading stops with an error when the context of the Open ends.
type Item struct {
	*io.SectionReader
	About string    // the text about the content in the row
	At    time.Time // when it was stored or last used
	file  io.Closer
}

// Close releases the resources of the item.
func (i *Item) Close() error {
	if i.file == nil {
		return nil
	}
	return i.file.Close()
}

// Open opens a blob. Missing bytes are found by the first read, whose error is fs.ErrNotExist.
func (b *Blobs) Open(ctx context.Context, ref Ref) (*Item, error) {
	c := &chunks{ctx: ctx, place: b.o.Place, log: b.o.Log, name: ref.Name, size: ref.Size, at: -1, plain: chunkSize}
	if plain, overhead, ok := strings.Cut(ref.Name, sealedMark); ok {
		n, err := strconv.Atoi(overhead)
		if err != nil || n < 0 || n >= chunkSize {
			return nil, fmt.Errorf("%q is not the name of a blob", ref.Name)
		}
		if b.o.Sealer == nil {
			return nil, withoutKey(vault.ErrNone)
		}
		c.sealer, c.bound, c.plain = b.o.Sealer, plain, chunkSize-int64(n)
	}
	return &Item{SectionReader: io.NewSectionReader(c, 0, ref.Size)}, nil
}

// chunks reads a blob chunk by chunk, and keeps the last one.
type chunks struct {
	ctx    context.Context
	place  Place
	log    *slog.Logger
	name   string
	bound  string // of a sealed blob: its name when it was sealed
	size   int64
	plain  int64  // bytes of content in a chunk
	sealer Sealer // nil: the content is not encrypted

	mu   sync.Mutex
	at   int64 // number of the chunk in data; -1: none
	data []byte
}

func (c *chunks) ReadAt(p []byte, offset int64) (n int, err error) {
	if c.sealer == nil && len(p) < smallRead && offset < c.size {
		return c.readPart(p[:min(int64(len(p)), c.size-offset)], len(p), offset)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for n < len(p) && offset < c.size {
		if err := c.load(offset / c.plain); err != nil {
			return n, err
		}
		got := copy(p[n:], c.data[offset%c.plain:])
		n += got
		offset += int64(got)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// smallRead is the maximum size of a read, in bytes, that reads only a part of a chunk.
const smallRead = 64 << 10

// readPart fills p from offset on. wanted bytes were asked for.
func (c *chunks) readPart(p []byte, wanted int, offset int64) (n int, err error) {
	r, err := c.place.Open(c.ctx, c.name, offset, int64(len(p)))
	if err != nil {
		return 0, logFailure(c.log, err)
	}
	n, err = io.ReadFull(r, p)
	if err = c.whole(errors.Join(err, r.Close())); err == nil && n < wanted {
		err = io.EOF
	}
	return n, err
}

// whole returns err, or the error about lost bytes for an early end.
func (c *chunks) whole(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the blob %s in %s is shorter than it was: %w", c.name, c.place, fs.ErrNotExist)
	}
	return logFailure(c.log, err)
}

// load makes data the chunk with a number.
func (c *chunks) load(number int64) error {
	if c.at == number {
		return nil
	}
	want := min(c.plain, c.size-number*c.plain)
	stored := want
	if c.sealer != nil {
		stored += chunkSize - c.plain
	}
	r, err := c.place.Open(c.ctx, c.name, number*chunkSize, stored)
	if err != nil {
		return logFailure(c.log, err)
	}
	data := make([]byte, stored)
	_, err = io.ReadFull(r, data)
	if err = c.whole(errors.Join(err, r.Close())); err == nil && c.sealer != nil {
		data, err = c.sealer.Open(c.ctx, bound(c.bound, number), data)
		err = withoutKey(err)
	}
	if err == nil && int64(len(data)) != want {
		err = c.whole(io.ErrUnexpectedEOF)
	}
	if err != nil {
		return err
	}
	c.at, c.data = number, data
	return nil
}

// withoutKey explains the error of a key that this process lacks, and returns other errors as they are.
func withoutKey(err error) error {
	if !errors.Is(err, vault.ErrLocked) && !errors.Is(err, vault.ErrNone) {
		return err
	}
	return tool.Errorf(tool.Unavailable, "large contents are encrypted, and this server does not have the key").
		Try("tell the operator that this server needs the key of the vault").Because(err)
}

func bound(name string, chunk int64) string {
	return "blob " + name + " " + strconv.FormatInt(chunk, 10)
}
