package fs

import (
	"context"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// Seen remembers the version of a file that each session knows, and the parts that were
// returned. It evicts the least recently used files: a session may then read a text again or
// miss a warning, but it never gets a wrong one. The zero Seen is empty and ready to use. Its
// methods may be called concurrently.
type Seen struct {
	Secrets *scrub.Scrubber // masks secrets in a way that tools can undo; nil has no known values
	Shared  *SharedSeen     // of the replicas; nil: this process serves its sessions alone

	mu    sync.Mutex
	files *lru.Cache[seenKey, seenFile]
}

const (
	maxSeen      = 4096 // files of all sessions together
	maxSeenParts = 16   // parts of one file
)

type seenKey struct{ session, name string }

type seenFile struct {
	version string   // "" if it is not known any longer
	parts   []string // that were returned, the latest last
}

// sessionOf returns a name of the caller's conversation. A subagent has another one than its
// parent, because it does not see the reads of its parent. "" means that the conversation is
// unknown.
func sessionOf(c tool.Caller) string {
	if c.Session == "" {
		return ""
	}
	return c.Principal() + "/" + strconv.Itoa(c.Depth) + "/" + c.Session
}

// secretsFor returns the finder that masks secrets in results for the caller of ctx.
func (s *Seen) secretsFor(ctx context.Context) *scrub.Scrubber {
	c := tool.CallerFrom(ctx)
	return s.Secrets.For(scrub.Session{Agent: c.Agent, User: c.User, ID: c.Session})
}

// file returns the facts about a file, and a function that changes it.
func (s *Seen) file(c tool.Caller, name string) (f seenFile, put func(seenFile)) {
	if s.files == nil {
		s.files = lru.New[seenKey](maxSeen, func(seenFile) int64 { return 1 })
	}
	key := seenKey{sessionOf(c), name}
	if key.session == "" {
		return seenFile{}, func(seenFile) {}
	}
	f, _ = s.files.Get(key)
	return f, func(f seenFile) { s.files.Put(key, f) }
}

// Version returns the version of the file that the caller's session last read or wrote.
func (s *Seen) Version(c tool.Caller, name string) (version string, ok bool) {
	if key := (seenKey{sessionOf(c), name}); s.Shared != nil && key.session != "" {
		if version, ok = s.Shared.version(key); ok {
			return version, version != ""
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, _ := s.file(c, name)
	return f.version, f.version != ""
}

// Of is [Version].
func (*Seen) Of(content io.ReaderAt, size int64, stamp string) (string, error) {
	return Version(content, size, stamp)
}

// Note records that the caller's session knows this version of the file, because it read or wrote it. An empty version
// removes the file.
func (s *Seen) Note(c tool.Caller, name, version string) {
	s.share(c, name, version)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, put := s.file(c, name); f.version != version {
		put(seenFile{version: version})
	}
}

// share tells the other replicas.
func (s *Seen) share(c tool.Caller, name, version string) {
	if key := (seenKey{sessionOf(c), name}); s.Shared != nil && key.session != "" {
		s.Shared.note(key, version)
	}
}

// wasShown reports whether this part of this version was returned before, so that a note is enough now. After one note
// the part counts as not returned, so that the next call returns it again.
func (s *Seen) wasShown(c tool.Caller, name, version, part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, put := s.file(c, name)
	i := slices.Index(f.parts, part)
	if f.version != version || i < 0 {
		return false
	}
	put(seenFile{version, slices.Delete(slices.Clone(f.parts), i, i+1)})
	return true
}

// noteShown is [Seen.Note] for a part that was returned.
func (s *Seen) noteShown(c tool.Caller, name, version, part string) {
	s.share(c, name, version)
	s.mu.Lock()
	defer s.mu.Unlock()
	f, put := s.file(c, name)
	if f.version != version {
		f.parts = nil
	}
	parts := append(slices.Clone(f.parts), part)
	put(seenFile{version, parts[max(0, len(parts)-maxSeenParts):]})
}
