package workspace

import (
	"context"
	"time"
)

// A Source serves files that are not on this machine's disk. It knows whom it
// is asked for from the context. Names are relative to the workspace, and no
// step of them is "..".
type Source interface {
	// Read returns a file; an error wraps io/fs.ErrNotExist when there is none.
	Read(ctx context.Context, name string) ([]byte, time.Time, error)
	Write(ctx context.Context, name string, content []byte) error
	// Remove removes a file; an error wraps io/fs.ErrNotExist when there is none.
	Remove(ctx context.Context, name string) error
	// List returns the caller's files that are in a directory or further down, in
	// no order, or the one file of that name; "." is the workspace. What is too
	// much to go through unasked may be left out of directories above it.
	List(ctx context.Context, dir string) ([]SourceEntry, error)
}

// A SourceEntry is one file of a Source.
type SourceEntry struct {
	Name     string
	Size     int64
	Modified time.Time
}

// A Route sends some names of a workspace to a Source. The first one that
// serves a name gets it, also when the disk has such a file.
type Route struct {
	Serves func(ctx context.Context, name string) bool
	Source Source
}

// sourceFor is the Source of a name, or nil. Only the workspace has routes.
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

// servedDir finds a directory that only a Source has files in.
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
