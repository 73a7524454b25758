package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	api "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/zapx/v17"
)

// manifestName is the file that lists the segments of a store. It is replaced
// in one rename, so that a crash leaves the old list or the new one.
const manifestName = "manifest.json"

// A store keeps documents in segments, which are files of Bleve's format that
// never change, and small values beside them. Each change writes a new segment
// and a new manifest; merger joins segments in the background.
//
// It stands in for Bleve's own store, Scorch, because merely linking Scorch
// costs every start of the program several milliseconds.
type store struct {
	dir    string
	plugin zap.ZapPlugin

	changing sync.Mutex // held by the one writer of a new manifest

	mu     sync.Mutex // guards the fields below
	now    *snapshot  // nil after close
	number uint64     // of the latest segment

	wake    chan struct{} // segments have changed
	closing chan struct{}
	merger  sync.WaitGroup
}

// A manifest is the content of manifestName.
type manifest struct {
	Segments []manifestSegment `json:"segments"`
	Values   map[string][]byte `json:"values"`
}

type manifestSegment struct {
	Number  uint64 `json:"number"`
	Deleted []byte `json:"deleted,omitempty"` // a roaring bitmap
}

// An add is the change of one call of apply: Deletes and the IDs of Documents
// are removed first, then Documents are added. A nil value removes its key.
type change struct {
	documents map[string]*entry
	deletes   []string
	values    map[string][]byte
}

func (c *change) empty() bool { return len(c.documents)+len(c.deletes)+len(c.values) == 0 }

// ids returns the IDs of all documents that the change removes or replaces.
func (c *change) ids() []string {
	return append(slices.Clone(c.deletes), slices.Collect(maps.Keys(c.documents))...)
}

// openStore opens the store in dir, or makes an empty one if dir is missing or
// empty. It fails if dir holds anything that is not a complete store.
func openStore(dir string) (*store, error) {
	s := &store{dir: dir, wake: make(chan struct{}, 1), closing: make(chan struct{})}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			return nil, errors.Join(err, errors.New("the directory of the index has files but no manifest"))
		}
		s.now = &snapshot{values: map[string][]byte{}}
	case err != nil:
		return nil, err
	default:
		if s.now, err = s.load(text); err != nil {
			return nil, err
		}
	}
	s.removeUnlisted()
	s.merger.Go(s.mergeAll)
	return s, nil
}

// load opens the segments that a manifest lists.
func (s *store) load(text []byte) (*snapshot, error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	loaded := &snapshot{values: m.Values}
	if loaded.values == nil {
		loaded.values = map[string][]byte{}
	}
	for _, listed := range m.Segments {
		s.number = max(s.number, listed.Number)
		part, err := s.openPart(listed.Number)
		if err != nil {
			return nil, errors.Join(err, loaded.Close())
		}
		loaded.parts = append(loaded.parts, part)
		if len(listed.Deleted) > 0 {
			part.deleted = roaring.New()
			if err := part.deleted.UnmarshalBinary(listed.Deleted); err != nil {
				return nil, errors.Join(err, loaded.Close())
			}
		}
	}
	return loaded, nil
}

// removeUnlisted removes segments that a process wrote and did not live to
// list. What cannot be removed now is removed at the next start.
func (s *store) removeUnlisted() {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.zap"))
	for _, file := range files {
		listed := slices.ContainsFunc(s.now.parts, func(p *part) bool { return p.file.path == file })
		if !listed {
			_ = os.Remove(file)
		}
	}
}

func (s *store) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%08x.zap", number))
}

// nextNumber reserves the number of a new segment.
func (s *store) nextNumber() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return s.number
}

func (s *store) openPart(number uint64) (*part, error) {
	opened, err := s.plugin.Open(s.path(number))
	if err != nil {
		return nil, fmt.Errorf("opening a segment: %w", err)
	}
	file := &segmentFile{Segment: opened, number: number, path: s.path(number)}
	file.users.Store(1)
	return &part{file: file}, nil
}

// view returns the current snapshot. The caller closes it.
func (s *store) view() (*snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return nil, ErrClosed
	}
	for _, p := range s.now.parts {
		p.file.users.Add(1)
	}
	return s.now, nil
}

// apply makes a change and returns when it is on disk.
func (s *store) apply(c change) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	old, err := s.view()
	if err != nil {
		return err
	}
	defer old.Close()
	next := &snapshot{values: maps.Clone(old.values)}
	for key, value := range c.values {
		if value == nil {
			delete(next.values, key)
		} else {
			next.values[key] = value
		}
	}
	if next.parts, err = old.without(c.ids()); err != nil {
		return err
	}
	if len(c.documents) > 0 {
		added, err := s.write(c.documents)
		if err != nil {
			return err
		}
		next.parts = append(next.parts, added)
	}
	return s.commit(next)
}

// write writes documents as a new segment.
func (s *store) write(documents map[string]*entry) (*part, error) {
	entries := make([]api.Document, 0, len(documents))
	for _, e := range documents {
		e.AddIDField()
		entries = append(entries, e)
	}
	made, _, err := s.plugin.New(entries)
	if err != nil {
		return nil, fmt.Errorf("making a segment: %w", err)
	}
	number := s.nextNumber()
	if err := made.(segment.UnpersistedSegment).Persist(s.path(number)); err != nil {
		return nil, fmt.Errorf("writing a segment: %w", err)
	}
	return s.openPart(number)
}

// commit writes the manifest of a snapshot and makes it the current one. Parts
// of next that are not in the current snapshot belong to it; after an error
// they are closed. The caller holds changing.
func (s *store) commit(next *snapshot) error {
	if err := s.writeManifest(next); err != nil {
		for _, p := range next.parts {
			if s.now.find(p.file) == nil {
				p.file.obsolete.Store(true)
				_ = p.file.release()
			}
		}
		return err
	}
	s.mu.Lock()
	old := s.now
	for _, p := range next.parts {
		if old.find(p.file) != nil {
			p.file.users.Add(1)
		}
	}
	for _, p := range old.parts {
		if next.find(p.file) == nil {
			p.file.obsolete.Store(true)
		}
	}
	s.now = next
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return old.Close()
}

func (s *store) writeManifest(v *snapshot) error {
	m := manifest{Values: v.values}
	for _, p := range v.parts {
		listed := manifestSegment{Number: p.file.number}
		if p.deleted != nil {
			var err error
			if listed.Deleted, err = p.deleted.ToBytes(); err != nil {
				return err
			}
		}
		m.Segments = append(m.Segments, listed)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(s.dir, manifestName), text)
}

// replaceFile writes a file beside path, syncs it, and renames it to path.
func replaceFile(path string, content []byte) error {
	temporary := path + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// close stops merging and closes the segments that no view uses.
func (s *store) close() error {
	close(s.closing)
	s.merger.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.now
	s.now = nil
	return last.Close()
}

// A snapshot is the content of a store at one moment. It does not change.
type snapshot struct {
	parts  []*part
	values map[string][]byte
}

// Close releases the segments.
func (v *snapshot) Close() error {
	var failed error
	for _, p := range v.parts {
		failed = errors.Join(failed, p.file.release())
	}
	return failed
}

func (v *snapshot) value(key string) []byte { return v.values[key] }

func (v *snapshot) find(file *segmentFile) *part {
	for _, p := range v.parts {
		if p.file == file {
			return p
		}
	}
	return nil
}

// without returns the parts with the documents of some IDs deleted. Parts
// without any document left are omitted.
func (v *snapshot) without(ids []string) ([]*part, error) {
	var parts []*part
	for _, p := range v.parts {
		numbers, err := p.file.DocNumbers(ids)
		if err != nil {
			return nil, fmt.Errorf("looking up documents: %w", err)
		}
		if !numbers.IsEmpty() {
			if p.deleted != nil {
				numbers.Or(p.deleted)
			}
			p = &part{file: p.file, deleted: numbers}
		}
		if p.live() > 0 {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// A part is a segment with the documents that were deleted from it since it
// was written. It does not change.
type part struct {
	file    *segmentFile
	deleted *roaring.Bitmap // nil means none
}

// live returns the number of documents that are not deleted.
func (p *part) live() int {
	n := int(p.file.Count())
	if p.deleted != nil {
		n -= int(p.deleted.GetCardinality())
	}
	return n
}

// A segmentFile is an open segment, shared by the snapshots that list it.
type segmentFile struct {
	segment.Segment
	number   uint64
	path     string
	users    atomic.Int64 // snapshots and views
	obsolete atomic.Bool  // no manifest lists it: remove it after the last use
}

func (f *segmentFile) release() error {
	if f.users.Add(-1) > 0 {
		return nil
	}
	err := f.Close()
	if f.obsolete.Load() {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}
