package fs

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/patch"
)

// maxPatched bounds what all files of one patch hold together.
const maxPatched = 64 << 20

// A patching is one call of apply_patch.
type patching struct {
	caller   tool.Caller
	seen     *Seen
	masked   bool // the patch holds masks
	sections []*patched
	total    int64 // bytes that were read
}

// A patched is a section of a patch, and what became of it.
type patched struct {
	patch.File
	from    int    // index of its path among those given to Files.Change
	name    string // where it is afterwards
	was     string // and before
	result  patch.Result
	version string
	stale   bool // the session knew another version
}

// plan applies all sections. When some do not fit it tells of each.
func (p *patching) plan(ctx context.Context, files []*workspace.File) ([]workspace.Change, error) {
	var changes []workspace.Change
	var failed []*tool.Error
	for _, s := range p.sections {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := files[s.from]
		if s.MoveTo != "" {
			to = files[s.from+1]
		}
		more, err := p.section(s, files[s.from], to)
		if err != nil {
			failed = append(failed, tool.AsError(err))
			continue
		}
		changes = append(changes, more...)
	}
	return changes, together(failed)
}

// together is one error for all that failed, nil for none.
func together(failed []*tool.Error) error {
	const most = 4
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	all := tool.Errorf(failed[0].Kind, "%d files do not fit, and nothing was changed", len(failed)).Because(failed[0])
	for _, e := range failed[:min(len(failed), most)] {
		all.What += "\n" + e.What
		if e.Next != "" {
			all.What += "; " + e.Next
		}
	}
	if more := len(failed) - most; more > 0 {
		all.What += fmt.Sprintf("\nand %d more", more)
	}
	return all
}

// section says what becomes of the files of one section.
func (p *patching) section(s *patched, f, to *workspace.File) ([]workspace.Change, error) {
	s.was, s.name = f.Name, to.Name
	if err := s.fits(f, to); err != nil {
		return nil, err
	}
	change := workspace.Change{Path: s.Path, Content: io.NewSectionReader(f, 0, f.Size), Mode: s.Mode}
	if len(s.Hunks) > 0 || s.Op == patch.Add {
		if err := p.apply(s, f); err != nil {
			return nil, err
		}
		change.Content = bytes.NewReader(s.result.Content)
	}
	if s.Op == patch.Delete {
		return []workspace.Change{{Path: s.Path, Remove: true}}, nil
	}
	if s.MoveTo == "" {
		return []workspace.Change{change}, nil
	}
	if change.Path = s.MoveTo; change.Mode == 0 {
		change.Mode = f.Mode.Perm()
	}
	return []workspace.Change{{Path: s.Path, Remove: true}, change}, nil
}

// apply works out what the file is to hold.
func (p *patching) apply(s *patched, f *workspace.File) error {
	before, err := p.read(f)
	if err != nil {
		return err
	}
	if s.result, err = patch.Apply(before, s.File); err != nil {
		return keyless(patchError(err, f.Name, p.masked), string(before))
	}
	if f.Exists {
		known, ok := p.seen.Version(p.caller, f.Name)
		s.stale = ok && known != VersionOf(before)
	}
	if !p.masked {
		return nil
	}
	if err := scrub.CheckNoMask(s.result.Before, s.result.After); err != nil {
		return tool.Errorf(tool.Invalid, "%s: %w", f.Name, err)
	}
	return nil
}

// fits refuses what the files that exist do not allow.
func (s *patched) fits(f, to *workspace.File) error {
	switch {
	case s.Op == patch.Add && f.Exists:
		return tool.Errorf(tool.Conflict, "%q exists already", f.Name).Try("update it, or replace it with write_file")
	case s.Op == patch.Update && !f.Exists:
		return tool.Errorf(tool.NotFound, "there is no file %q to update", f.Name).Try("add it, or look for it with glob")
	case s.Op == patch.Delete && !f.Exists:
		return tool.Errorf(tool.NotFound, "there is no file %q to delete", f.Name).Try("leave it out")
	case s.MoveTo != "" && to.Exists:
		return tool.Errorf(tool.Conflict, "%q exists already", to.Name).Try("move %q elsewhere, or delete the other first", f.Name)
	}
	return nil
}

// read reads what is there, within bounds.
func (p *patching) read(f *workspace.File) ([]byte, error) {
	if !f.Exists {
		return nil, nil
	}
	if f.Size > patch.MaxFileBytes {
		return nil, tool.Errorf(tool.TooLarge, "%q is %s, the most that can be patched is %s", f.Name, size(f.Size), size(patch.MaxFileBytes)).
			Try("change it with edit")
	}
	if p.total += f.Size; p.total > maxPatched {
		return nil, tool.Errorf(tool.TooLarge, "the files of the patch hold more than %s", size(maxPatched)).Try("send it in parts")
	}
	before := make([]byte, f.Size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, f.Size), before); err != nil {
		return nil, fmt.Errorf("reading what is patched: %w", err)
	}
	return before, nil
}

// note remembers what the session knows now: as much as before, of the new
// version.
func (p *patching) note(r workspace.Receipt) error {
	for _, s := range p.sections {
		if s.Op == patch.Delete || s.MoveTo != "" {
			p.seen.Note(p.caller, s.was, "")
		}
		if s.Op != patch.Add && len(s.Hunks) == 0 || s.Op == patch.Delete {
			continue // what the session knew stays right
		}
		var err error
		if s.version, err = versionAfter(s.result.Content, changedFile(r, s.name)); err != nil {
			return err
		}
		if !s.stale {
			p.seen.Note(p.caller, s.name, s.version)
		}
	}
	return nil
}

// line tells what was done to the file, as version control does.
func (s *patched) line() string {
	counts := fmt.Sprintf(" (+%d -%d)", s.result.Added, s.result.Removed)
	var line string
	switch {
	case s.Op == patch.Delete:
		return "D " + s.was
	case s.Op == patch.Add:
		line = "A " + s.name + " (" + counted(s.result.Added, "line", "lines") + ")"
	case s.MoveTo != "" && len(s.Hunks) == 0:
		line = "R " + s.was + " -> " + s.name
	case s.MoveTo != "":
		line = "R " + s.was + " -> " + s.name + counts
	default:
		line = "M " + s.name + counts
	}
	if s.version != "" {
		line += ", version " + s.version
	}
	return line
}
