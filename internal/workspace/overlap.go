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
	s, err := w.space(ctx)
	if err != nil {
		return nil, err
	}
	return s.overlaps(m), nil
}

func (s *space) overlaps(m *mount) (others []*mount) {
	if len(s.w.o.Roots) == 0 || m.ours {
		return nil
	}
	for _, o := range s.mounts() {
		_, in := within(o.real, m.real)
		_, holds := within(m.real, o.real)
		if o != m && o.root != nil && !o.ours && (in || holds) {
			others = append(others, o)
		}
	}
	return others
}

// anySays reports whether one of the mounts around m says so of a name in m.
func (m *mount) anySays(others []*mount, name string, says func(m *mount, name string) bool) bool {
	for _, o := range others {
		if below, ok := within(o.real, path.Join(m.real, name)); ok && says(o, below) {
			return true
		}
	}
	return false
}
