package document

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// MaxSize is the maximum size of a document in bytes.
	MaxSize = 128 << 20
	// readTime is the default time limit of one reading.
	readTime = 45 * time.Second
	// maxReply is the maximum size of the answer of a process in bytes.
	maxReply = 128 << 20
	// maxReaders is the maximum number of processes that read documents at the same time.
	maxReaders = 4
	// chunk is the number of pages that are read at once.
	chunk = 10
	// maxCached is the maximum size of all readings on the store, and of all downloads, in bytes.
	maxCached = 512 << 20
	// maxWhole is the maximum size of the text of a document that is read as a whole, in bytes.
	maxWhole = 8 << 20
)

// Options are the dependencies of a Service.
type Options struct {
	Tiers    sandbox.Tiers
	Formats  Formats
	Dir      string      // for prepared files of formats and temporary files; made when it is needed
	Blobs    *blob.Blobs // has readings and downloads for the next call; nil: each call reads and downloads again
	Log      *slog.Logger
	Marks    tool.Marks
	Language string // of text in scanned pages, as tesseract names it; empty for its default
	// Mask removes secrets from a text that is going to be cut. nil removes nothing.
	Mask func(string) string
	Time time.Duration // the limit of one reading; 0 is 45 s
}

// A Service reads documents in processes of their own, and keeps the results. It is safe for
// concurrent use. It does nothing until a document is read.
type Service struct {
	o        Options
	slots    chan struct{}
	cache    cache
	prepared prepared
	engine   func() string
	tidy     func()
}

// New returns a service. It touches neither files nor processes.
func New(o Options) *Service {
	o.Time = cmp.Or(o.Time, readTime)
	s := &Service{o: o, slots: make(chan struct{}, max(1, min(maxReaders, runtime.NumCPU())))}
	s.cache, s.tidy = newCache(o.Blobs), sync.OnceFunc(s.removeOld)
	s.engine = sync.OnceValue(engine)
	s.prepared.parent = func() (string, error) { return s.sub("compiled") }
	s.prepared.dir = sync.OnceValue(func() string {
		return filepath.Join(o.Dir, "compiled", fileName(s.engine())[:16])
	})
	return s
}

// engine returns a value that changes with the program: a new version of its readers may read
// more.
func engine() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// A Request asks for a document.
type Request struct {
	Name     string // of the file, without directories
	Content  io.ReaderAt
	Size     int64
	Members  []string // the parts after each !/ of the path
	Pages    Ranges   // empty for all
	Password string
	OCR      string
	Pictures bool

	whole *whole // nil: a part is wanted
}

// whole is what differs for a document that is read as a whole.
type whole struct {
	limit time.Duration
	start func() error
}

// NameOf returns the name of the file at a path or URL.
func NameOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme != "" {
		address = u.Path
	}
	return path.Base(filepath.ToSlash(address))
}

// A Reading is a part of a document.
type Reading struct {
	*Document
	Format Format
}

// Read returns the first of the wanted pages, at most 10. If something is wrong with the
// document it returns an Error, and only the format of the document.
func (s *Service) Read(ctx context.Context, r Request) (Reading, error) {
	if r.Size > MaxSize {
		return Reading{}, Errorf(ErrTooBig, "%q has %s, the maximum is %s", r.Name, text.Bytes(r.Size),
			text.Bytes(MaxSize))
	}
	wanted := r.Pages
	r.Pages = wanted.window()
	digest, err := Digest(ctx, r.Content, r.Size)
	if err != nil {
		return Reading{}, err
	}
	key := s.key(r, digest)
	got, ok := Reading{}, false
	if key != "" {
		got, ok = s.cache.reading(ctx, key)
	}
	if !ok {
		if got, err = s.read(ctx, r, digest); err != nil {
			return got, err
		}
		if key != "" {
			s.tidy()
			s.notKept(s.cache.putReading(ctx, key, got))
		}
	}
	parts := got.Parts[:0:0]
	for _, p := range got.Parts {
		if wanted.Has(p.Number) {
			parts = append(parts, p)
		}
	}
	got.Parts = parts
	return got, nil
}

// Whole returns all pages of a document, without the text in pictures and at most 8 MB of it. digest is its [Digest].
// If it was not read before, it is read within a time limit once start has returned nil; an error of start is returned.
func (s *Service) Whole(
	ctx context.Context, r Request, digest string, limit time.Duration, start func() error,
) (Reading, error) {
	r.OCR, r.Pages, r.whole = OCROff, nil, &whole{limit, start}
	key := s.key(r, digest)
	if key != "" {
		if got, ok := s.cache.reading(ctx, key); ok {
			return got, nil
		}
	}
	got, err := s.read(ctx, r, digest)
	if err == nil && key != "" {
		s.tidy()
		s.notKept(s.cache.putReading(ctx, key, got))
	}
	return got, err
}

// Masked returns a text without secrets.
func (s *Service) Masked(text string) string {
	if s.o.Mask == nil {
		return text
	}
	return s.o.Mask(text)
}

// Quote returns the text of documents between marks.
func (s *Service) Quote(source, text string) string { return s.o.Marks.Quote(source, text) }

// key returns the key of a reading in the cache; "" for a reading that is not kept. Documents
// with a password are never stored, and pictures take too much room.
func (s *Service) key(r Request, digest string) string {
	if r.Password != "" || r.Pictures || s.o.Blobs == nil {
		return ""
	}
	text, err := json.Marshal([]any{digest, s.engine(), installed(), filepath.Ext(r.Name), r.Members, r.Pages, r.OCR,
		s.o.Language})
	if err != nil {
		return ""
	}
	return fileName(string(text))
}

// fileName returns the name of a file or a blob for a key.
func fileName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Digest returns the digest of a document.
func Digest(ctx context.Context, content io.ReaderAt, size int64) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, Bounded(ctx, io.NewSectionReader(content, 0, size), -1, Limits{Part: size})); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// read reads in a process. If the process asks for prepared files, they are made and
// the document is read again.
func (s *Service) read(ctx context.Context, r Request, digest string) (Reading, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return Reading{}, ctx.Err()
	}
	if r.whole != nil {
		if err := r.whole.start(); err != nil {
			return Reading{}, err
		}
	}
	dir := s.prepared.complete()
	got, err := s.run(ctx, r, digest, dir)
	if errors.Is(err, ErrNotPrepared) && dir == "" {
		if dir, err = s.prepared.fill(ctx); err != nil {
			return Reading{}, err
		}
		got, err = s.run(ctx, r, digest, dir)
	}
	return got, err
}

// run reads a document in a process.
func (s *Service) run(ctx context.Context, r Request, digest, prepared string) (got Reading, err error) {
	answer, err := s.ask(ctx, r, Unknown, digest, prepared)
	switch {
	case err != nil:
		return Reading{Format: answer.Format}, err
	case answer.Document == nil:
		return got, errors.New("the process that reads documents has sent no document")
	}
	return Reading{answer.Document, answer.Format}, nil
}

// Write makes a document of a format with a [Writer]. Package write describes content. If content is invalid Write
// returns an error for the model.
func (s *Service) Write(ctx context.Context, format Format, content []byte) (*Written, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := Request{Content: bytes.NewReader(content), Size: int64(len(content))}
	sum := sha256.Sum256(content)
	digest, dir := hex.EncodeToString(sum[:]), s.prepared.complete()
	answer, err := s.ask(ctx, r, format, digest, dir)
	if errors.Is(err, ErrNotPrepared) && dir == "" {
		if dir, err = s.prepared.fill(ctx); err != nil {
			return nil, err
		}
		answer, err = s.ask(ctx, r, format, digest, dir)
	}
	if err != nil {
		return nil, explain(err)
	}
	if answer.Written == nil {
		return nil, errors.New("the process that writes documents has sent no document")
	}
	return answer.Written, nil
}

// ask starts a process, sends it the document or the content of one that is to be made, and returns its answer.
func (s *Service) ask(ctx context.Context, r Request, format Format, digest, prepared string) (got reply, err error) {
	limit, limits, grace := s.o.Time, DefaultLimits(), 10*time.Second
	if r.whole != nil {
		limit, grace, limits.Text = r.whole.limit, r.whole.limit, maxWhole
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	var binds []sandbox.Bind
	if prepared != "" {
		binds = append(binds, sandbox.Bind{Host: prepared, Inside: prepared})
	}
	link, err := child.Start(ctx, s.o.Tiers, []string{ChildArg}, memory, binds...)
	if err != nil {
		return got, fmt.Errorf("starting the process that reads documents: %w", err)
	}
	defer link.Close()
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	defer stop()
	o := order{Make: format, Members: r.Members, Time: limit, Source: Source{
		Name: r.Name, Size: r.Size, Pages: r.Pages, Password: r.Password, OCR: r.OCR, Pictures: r.Pictures,
		Language: s.o.Language, Prepared: prepared, Limits: limits,
	}}
	if !slices.Contains(link.Guarantees(), sandbox.Files) {
		if o.Temp, err = s.temp(); err != nil {
			return got, err
		}
		defer os.RemoveAll(o.Temp)
	}
	sum := sha256.New()
	sent := send(link, o, io.NewSectionReader(r.Content, 0, r.Size), sum)
	// A process that ends early has answered why.
	var answer reply
	received := json.NewDecoder(io.LimitReader(link, maxReply)).Decode(&answer)
	switch {
	case ctx.Err() != nil:
		return got, ctx.Err()
	case received != nil:
		if s.o.Log != nil {
			s.o.Log.Warn("a process that read a document has ended without an answer", "err",
				errors.Join(received, sent))
		}
		return got, Errorf(ErrTooBig, "reading it took more than 512 MB of memory, or its reader failed; "+
			"it may be damaged, or be made to do harm")
	case answer.Kind != "":
		return reply{Format: answer.Format}, &Error{Kind: answer.Kind, Text: answer.Error}
	case answer.Error != "":
		return got, fmt.Errorf("the process that reads documents: %s", answer.Error)
	case sent != nil:
		return got, sent
	case hex.EncodeToString(sum.Sum(nil)) != digest:
		return got, Errorf(ErrBroken, "the file has changed while it was read; read it again")
	}
	return answer, nil
}

func send(to io.Writer, o order, content io.Reader, sum hash.Hash) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := to.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, io.TeeReader(content, sum), make([]byte, 256<<10))
	return err
}

// temp makes a directory for the files of one process.
func (s *Service) temp() (string, error) {
	dir, err := s.sub("tmp")
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries { // files of killed servers
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return os.MkdirTemp(dir, "read-")
}

// sub makes a directory in the directory of the service.
func (s *Service) sub(name string) (string, error) {
	if _, err := private.MakeSub(filepath.Dir(s.o.Dir), filepath.Base(s.o.Dir)); err != nil {
		return "", err
	}
	return private.MakeSub(s.o.Dir, name)
}
