package fs

import (
	"container/list"
	"slices"
	"strconv"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Seen remembers which version of a file each session knows, and which parts of it were returned. It evicts the least
// recently used files, which makes a session read a text again or miss a warning, but never gives a wrong one. The zero
// Seen is empty and ready to use. Its methods may be called concurrently.
type Seen struct {
	mu       sync.Mutex
	files    map[seenKey]*list.Element
	all      list.List             // of *seenFile, the most recently used first
	sessions map[string]*list.List // the keys of the files of each session, in the same order
}

const (
	maxSeen        = 4096 // files of all sessions together
	maxSeenSession = 256  // files of one session
	maxSeenParts   = 16   // parts of one file
)

type seenKey struct{ session, name string }

type seenFile struct {
	key     seenKey
	own     *list.Element // element in the list of the session
	version string
	parts   []string // that were returned, the latest last
}

// sessionOf returns a name of the caller's conversation. A subagent has another one than its parent, because it does
// not see what its parent has read. "" means that the conversation is unknown.
func sessionOf(c tool.Caller) string {
	if c.Session == "" {
		return ""
	}
	return c.Principal() + "/" + strconv.Itoa(c.Depth) + "/" + c.Session
}

// Version returns the version of the file that the caller's session last read or wrote.
func (s *Seen) Version(c tool.Caller, name string) (version string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[seenKey{sessionOf(c), name}]
	if e == nil {
		return "", false
	}
	return e.Value.(*seenFile).version, true
}

// Note records that the caller's session knows this version of the file, because it read or wrote it. An empty version
// removes the file.
func (s *Seen) Note(c tool.Caller, name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := seenKey{sessionOf(c), name}
	if version == "" {
		s.remove(s.files[key])
		return
	}
	s.touch(key, version)
}

// wasShown reports whether this part of this version was returned before, so that a note is enough now. After one note
// the part counts as not returned, so that the next call returns it again.
func (s *Seen) wasShown(c tool.Caller, name, version, part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := seenKey{sessionOf(c), name}
	e := s.files[key]
	if e == nil || e.Value.(*seenFile).version != version {
		return false
	}
	f := s.touch(key, version)
	i := slices.Index(f.parts, part)
	if i < 0 {
		return false
	}
	f.parts = slices.Delete(f.parts, i, i+1)
	return true
}

// noteShown is [Seen.Note] for a part that was returned.
func (s *Seen) noteShown(c tool.Caller, name, version, part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.touch(seenKey{sessionOf(c), name}, version)
	if f == nil {
		return
	}
	if len(f.parts) >= maxSeenParts {
		f.parts = slices.Delete(f.parts, 0, 1)
	}
	f.parts = append(f.parts, part)
}

// touch makes the entry of a file the most recently used one, and sets its version.
func (s *Seen) touch(key seenKey, version string) *seenFile {
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
		s.remove(s.files[own.Back().Value.(seenKey)])
	}
	if len(s.files) >= maxSeen {
		s.remove(s.all.Back())
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

func (s *Seen) remove(e *list.Element) {
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
