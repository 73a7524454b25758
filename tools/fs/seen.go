package fs

import (
	"container/list"
	"slices"
	"strconv"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Seen remembers which version of a file each session knows, and which parts of
// it it was shown. It forgets the oldest when it has too much, which costs its
// sessions a repeated text or a warning, never a wrong one. The zero Seen is
// empty and ready; many goroutines may use one.
type Seen struct {
	mu       sync.Mutex
	files    map[seenKey]*list.Element
	all      list.List             // of *seenFile, the latest first
	sessions map[string]*list.List // the same, of one session; Values are seenKeys
}

const (
	maxSeen        = 4096 // files of all sessions
	maxSeenSession = 256  // of one of them
	maxSeenParts   = 16   // parts of one file
)

type seenKey struct{ session, name string }

type seenFile struct {
	key     seenKey
	own     *list.Element // in the list of the session
	version string
	parts   []string // what was shown of it, the latest last
}

// sessionOf tells conversations apart: a subagent does not see what its parent
// was shown. "" means that nothing is known of the conversation.
func sessionOf(c tool.Caller) string {
	if c.Session == "" {
		return ""
	}
	return c.Principal() + "/" + strconv.Itoa(c.Depth) + "/" + c.Session
}

// Version is the version of the file that the caller's session last read or
// wrote.
func (s *Seen) Version(c tool.Caller, name string) (version string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[seenKey{sessionOf(c), name}]
	if e == nil {
		return "", false
	}
	return e.Value.(*seenFile).version, true
}

// Note remembers that the caller's session knows this version of the file,
// because it read or wrote it. Without a version it forgets the file.
func (s *Seen) Note(c tool.Caller, name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := seenKey{sessionOf(c), name}
	if version == "" {
		s.forget(s.files[key])
		return
	}
	s.file(key, version)
}

// again reports whether this part of this version was just shown: then a word
// suffices instead. Of two such words in a row the second would not help, so
// after one the part counts as not shown.
func (s *Seen) again(c tool.Caller, name, version, part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := seenKey{sessionOf(c), name}
	e := s.files[key]
	if e == nil || e.Value.(*seenFile).version != version {
		return false
	}
	f := s.file(key, version)
	i := slices.Index(f.parts, part)
	if i < 0 {
		return false
	}
	f.parts = slices.Delete(f.parts, i, i+1)
	return true
}

// showed is [Seen.Note] for a part that was shown.
func (s *Seen) showed(c tool.Caller, name, version, part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file(seenKey{sessionOf(c), name}, version)
	if f == nil {
		return
	}
	if len(f.parts) >= maxSeenParts {
		f.parts = slices.Delete(f.parts, 0, 1)
	}
	f.parts = append(f.parts, part)
}

// file makes the entry the latest one, with this version.
func (s *Seen) file(key seenKey, version string) *seenFile {
	if key.session == "" {
		return nil
	}
	e := s.files[key]
	if e == nil {
		e = s.add(key)
	}
	f := e.Value.(*seenFile)
	s.all.MoveToFront(e)
	s.sessions[key.session].MoveToFront(f.own)
	if f.version != version {
		f.version, f.parts = version, nil
	}
	return f
}

func (s *Seen) add(key seenKey) *list.Element {
	if s.files == nil {
		s.files, s.sessions = make(map[seenKey]*list.Element), make(map[string]*list.List)
	}
	if own := s.sessions[key.session]; own != nil && own.Len() >= maxSeenSession {
		s.forget(s.files[own.Back().Value.(seenKey)])
	}
	if len(s.files) >= maxSeen {
		s.forget(s.all.Back())
	}
	own := s.sessions[key.session]
	if own == nil {
		own = list.New()
		s.sessions[key.session] = own
	}
	e := s.all.PushFront(&seenFile{key: key, own: own.PushFront(key)})
	s.files[key] = e
	return e
}

func (s *Seen) forget(e *list.Element) {
	if e == nil {
		return
	}
	f := s.all.Remove(e).(*seenFile)
	delete(s.files, f.key)
	own := s.sessions[f.key.session]
	if own.Remove(f.own); own.Len() == 0 {
		delete(s.sessions, f.key.session)
	}
}
