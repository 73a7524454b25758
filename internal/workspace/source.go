package workspace

import (
	"context"
	"time"
)

// A Source serves files that are not on disk. It takes the caller from the
// context. Names are relative to the workspace and have no step "..".
type Source interface {
	// Read returns a file. If it does not exist, the error wraps io/fs.ErrNotExist.
	Read(ctx context.Context, name string) ([]byte, time.Time, error)
	Write(ctx context.Context, name string, content []byte) error
	// Remove removes a file. If it does not exist, the error wraps io/fs.ErrNotExist.
	Remove(ctx context.Context, name string) error
	// List returns the caller's files below a directory, in any order, or the one
	// file of that name; "." is the workspace. It may leave out files that are too
	// many to list in a directory further up.
	List(ctx context.Context, dir string) ([]SourceEntry, error)
	// Note says where a written file is kept, for the caller.
	Note() string
}

// A SourceEntry is one file of a Source.
type SourceEntry struct {
	Name     string
	Size     int64
	Modified time.Time
}

// A Route assigns names of a workspace to a Source. The first route that serves a
// name is used, even if the file also exists on disk.
type Route struct {
	Serves func(ctx context.Context, name string) bool
	Source Source
	// State says that the files can also be named in file_state_dir.
	State bool
}

// sourceFor returns the Source of a name, or nil. Only the workspace has routes.
func (s *callerView) sourceFor(ctx context.Context, m *mount, name string) Source {
	if m == s.home {
		for _, r := range s.w.o.Routes {
			if r.Serves(ctx, name) {
				return r.Source
			}
		}
	}
	return nil
}

// servedDir finds a directory that exists only in a Source.
func (s *callerView) servedDir(ctx context.Context, p location) (location, bool) {
	if !p.mount.home {
		return p, false
	}
	for _, r := range s.w.o.Routes {
		files, err := r.Source.List(ctx, p.name)
		if err != nil {
			continue
		}
		for _, f := range files {
			below, ok := within(p.name, f.Name)
			if ok && below != "." && r.Serves(ctx, f.Name) && !s.w.denied(p.mount, f.Name) {
				p.source = r.Source
				return p, true
			}
		}
	}
	return p, false
}
