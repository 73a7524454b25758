package workspace

import (
	"context"
	"path"
)

// The directories of one caller may lie in each other, as a root in the
// workspace. Patterns are about names beneath a directory, so a name that is in
// several is asked about in each.

// overlaps are the mounts of the caller that m lies in, or that lie in m.
func (w *Workspace) overlaps(ctx context.Context, m *mount) ([]*mount, error) {
	if len(w.o.Roots) == 0 || m.root == nil {
		return nil, nil
	}
	s, err := w.viewFor(ctx)
	if err != nil {
		return nil, err
	}
	return s.overlaps(m), nil
}

func (s *callerView) overlaps(m *mount) (others []*mount) {
	if len(s.w.o.Roots) == 0 || m.callerDir {
		return nil
	}
	for _, o := range s.mounts() {
		_, in := within(o.realPath, m.realPath)
		_, holds := within(m.realPath, o.realPath)
		if o != m && o.root != nil && !o.callerDir && (in || holds) {
			others = append(others, o)
		}
	}
	return others
}

// anyOverlap reports whether one of the mounts around m says so of a name in m.
func (m *mount) anyOverlap(others []*mount, name string, says func(m *mount, name string) bool) bool {
	for _, o := range others {
		if below, ok := within(o.realPath, path.Join(m.realPath, name)); ok && says(o, below) {
			return true
		}
	}
	return false
}
