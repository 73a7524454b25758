package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/patch"
)

// applyPatch is the tool that changes, adds, removes and renames several files at once.
type applyPatch struct {
	files    workspace.Files
	seen     *Seen
	problems Problems
}

type applyPatchArgs struct {
	Patch  string `json:"patch" jsonschema:"patch from *** Begin Patch to *** End Patch, or unified diff" alias:"input,diff,patch_text" maxlen:"2097152"`
	Path   string `json:"path,omitempty" jsonschema:"file, if the diff names none" alias:"file_path,file"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"only check whether the patch applies"`
}

func (applyPatch) Spec() tool.Spec {
	return tool.Spec{
		Name: "apply_patch", Group: group, Title: "Apply patch", Risk: tool.Writes, Viewed: true,
		Doc: `Adds, updates, deletes and renames files by a patch, all or none.
Returns a line for each file and an id for undo. For a small change use edit.`,
		Also:     []string{"apply-patch", "ApplyPatch", "tool::apply_patch", "patch"},
		Keywords: "unified diff hunk patch rename move delete add several many files at once refactor",
	}
}

// errDryRun ends a change that was only checked.
var errDryRun = errors.New("dry run")

func (t applyPatch) Do(ctx context.Context, a applyPatchArgs) (tool.Result, error) {
	sections, err := parsePatch(a)
	if err != nil {
		return tool.Result{}, err
	}
	p := patcher{caller: tool.CallerFrom(ctx), seen: t.seen, secrets: t.seen.secretsFor(ctx), sent: a.Patch}
	var paths []string
	for _, f := range sections {
		s := &section{File: f, first: len(paths)}
		paths = append(paths, f.Path)
		if f.MoveTo != "" {
			paths = append(paths, f.MoveTo)
		}
		p.sections = append(p.sections, s)
	}
	receipt, err := t.files.Change(ctx, paths, func(files []*workspace.File) ([]workspace.Change, error) {
		changes, err := p.plan(ctx, files)
		if err == nil && a.DryRun {
			err = errDryRun
		}
		return changes, err
	})
	if errors.Is(err, errDryRun) {
		return tool.Text(p.format("the patch applies; nothing was changed", workspace.Receipt{})), nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	if err := p.noteVersions(receipt); err != nil {
		return tool.Result{}, err
	}
	shown := p.format("applied to "+text.Plural(len(sections), "file")+undoHint(receipt), receipt)
	res := tool.Text(t.problems.after(ctx, shown, receipt))
	if tool.Viewed(ctx) {
		res = res.Showing(p.view(receipt))
	}
	return res, nil
}

// view returns the view for the page of an app.
func (p *patcher) view(r workspace.Receipt) view.Changes {
	shown := view.Changes{Kind: "changes", Undo: r.ID, Files: []view.File{}}
	for _, s := range p.sections[:min(len(p.sections), maxViewed)] {
		f := view.File{Name: s.after, Action: "changed"}
		switch {
		case s.Op == patch.Delete:
			f.Name, f.Action = s.before, "removed"
		case s.Op == patch.Add:
			f.Action = "created"
		case s.MoveTo != "":
			f.Was, f.Action = s.before, "renamed"
		}
		shown.Files = append(shown.Files, f.Of(s.result.Before, s.result.After, scrubbed(p.secrets)))
	}
	return shown
}

// maxViewed bounds the files of one change that a page shows.
const maxViewed = 20

// parsePatch parses the patch, and uses the path for a diff that names no file.
func parsePatch(a applyPatchArgs) ([]patch.File, error) {
	sections, err := patch.Parse(a.Patch)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Path == "" && sections[0].Path == "":
		return nil, tool.Errorf(tool.Invalid, "the patch does not name the file").
			Try("send path, or begin with --- a/path and +++ b/path")
	case a.Path != "" && len(sections) > 1:
		return nil, tool.Errorf(tool.Invalid, "the patch is for %d files, but path names one", len(sections)).
			Try("omit path")
	case a.Path != "":
		sections[0].Path = a.Path
	}
	return sections, nil
}

// maxPatched is how many bytes all files of one patch may have.
const maxPatched = 64 << 20

// A patcher plans one call of apply_patch.
type patcher struct {
	caller   tool.Caller
	seen     *Seen
	secrets  *scrub.Scrubber
	sent     string // the patch
	sections []*section
	total    int64 // bytes that were read
}

// A section is the part of a patch for one file, and its result.
type section struct {
	patch.File
	first   int    // index of its path among those given to Files.Change
	before  string // name before
	after   string // name afterwards
	result  patch.Result
	version string
	isStale bool // the session knew another version
}

// plan applies all sections. If some fail the error names each.
func (p *patcher) plan(ctx context.Context, files []*workspace.File) ([]workspace.Change, error) {
	var changes []workspace.Change
	var failed []*tool.Error
	for _, s := range p.sections {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		target := files[s.first]
		if s.MoveTo != "" {
			target = files[s.first+1]
		}
		more, err := p.planSection(s, files[s.first], target)
		if err != nil {
			failed = append(failed, tool.AsError(err))
			continue
		}
		changes = append(changes, more...)
	}
	return changes, joinErrors(failed)
}

// joinErrors returns one error for all, nil for none.
func joinErrors(failed []*tool.Error) error {
	const maxShown = 4
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	all := tool.Errorf(failed[0].Kind, "the patch does not apply to %d files, and nothing was changed", len(failed)).
		Because(failed[0])
	for _, e := range failed[:min(len(failed), maxShown)] {
		all.What += "\n" + e.What
		if e.Next != "" {
			all.What += "; " + e.Next
		}
	}
	if more := len(failed) - maxShown; more > 0 {
		all.What += fmt.Sprintf("\nand %d more", more)
	}
	return all
}

// planSection returns the changes of one section.
func (p *patcher) planSection(s *section, f, target *workspace.File) ([]workspace.Change, error) {
	s.before, s.after = f.Name, target.Name
	if err := s.check(f, target); err != nil {
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

// check refuses a section that conflicts with the files that exist.
func (s *section) check(f, target *workspace.File) error {
	switch {
	case s.Op == patch.Add && f.Exists:
		return tool.Errorf(tool.Conflict, "%q exists already", f.Name).Try("update it, or replace it with write_file")
	case s.Op == patch.Update && !f.Exists:
		return tool.Errorf(tool.NotFound, "there is no file %q to update", f.Name).Try("add it, or find it with glob")
	case s.Op == patch.Delete && !f.Exists:
		return tool.Errorf(tool.NotFound, "there is no file %q to delete", f.Name).Try("remove that section")
	case s.MoveTo != "" && target.Exists:
		return tool.Errorf(tool.Conflict, "%q exists already", target.Name).
			Try("move %q elsewhere, or delete the other first", f.Name)
	}
	return nil
}

// apply applies the hunks of a section to the content of its file.
func (p *patcher) apply(s *section, f *workspace.File) error {
	before, err := p.read(f)
	if err != nil {
		return err
	}
	if scrub.HasMask(p.sent) {
		p.unmask(s, f.Name, string(before))
	}
	if s.result, err = patch.Apply(before, s.File, p.secrets); err != nil {
		return named(err, f.Name)
	}
	if f.Exists {
		known, ok := p.seen.Version(p.caller, f.Name)
		s.isStale = ok && known != VersionOf(before)
	}
	return named(checkChange(p.secrets, s.result.Before, s.result.After, p.sent), f.Name)
}

// named adds the name of the file to an error for the model.
func named(err error, file string) error {
	var known *tool.Error
	if errors.As(err, &known) {
		known.What = file + ": " + known.What
	}
	return err
}

// unmask writes the secrets of a file back to where their marks stand in the lines of
// a section.
func (p *patcher) unmask(s *section, name, before string) {
	s.Hunks = slices.Clone(s.Hunks)
	for i := range s.Hunks {
		h := &s.Hunks[i]
		h.Lines, h.Anchors = slices.Clone(h.Lines), slices.Clone(h.Anchors)
		for j := range h.Lines {
			h.Lines[j].Text = p.secrets.Unmask(name, before, h.Lines[j].Text)
		}
		for j := range h.Anchors {
			h.Anchors[j] = p.secrets.Unmask(name, before, h.Anchors[j])
		}
	}
}

// read reads a file, within the limits.
func (p *patcher) read(f *workspace.File) ([]byte, error) {
	if !f.Exists {
		return nil, nil
	}
	if f.Size > patch.MaxFileBytes {
		return nil, tool.Errorf(tool.TooLarge, "%q has %s, the maximum for a patch is %s",
			f.Name, text.Bytes(f.Size), text.Bytes(patch.MaxFileBytes)).Try("change it with a command such as sed")
	}
	if p.total += f.Size; p.total > maxPatched {
		return nil, tool.Errorf(tool.TooLarge, "the files of the patch have more than %s together",
			text.Bytes(maxPatched)).
			Try("send the patch in parts")
	}
	before := make([]byte, f.Size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, f.Size), before); err != nil {
		return nil, fmt.Errorf("reading the file to patch: %w", err)
	}
	return before, nil
}

// noteVersions records the new versions for the session, of files that it knew before.
func (p *patcher) noteVersions(r workspace.Receipt) error {
	for _, s := range p.sections {
		if s.Op == patch.Delete || s.MoveTo != "" {
			p.seen.Note(p.caller, s.before, "")
		}
		if s.Op != patch.Add && len(s.Hunks) == 0 || s.Op == patch.Delete {
			continue // the content did not change
		}
		var err error
		after := func() string { return VersionOf(s.result.Content) }
		if s.version, err = versionAfter(len(s.result.Content), changedFile(r, s.after), after); err != nil {
			return err
		}
		if !s.isStale {
			p.seen.Note(p.caller, s.after, s.version)
		}
	}
	return nil
}

// format returns a line for each file, with notes below it.
func (p *patcher) format(head string, r workspace.Receipt) string {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range p.sections {
		b.WriteString("\n" + s.format())
		notes := s.result.Notes
		if s.isStale {
			notes = append(notes, "the file had changed since you read it")
		}
		notes = append(notes, changedFile(r, s.after).Notes...)
		for _, note := range notes {
			b.WriteString("\n  " + note)
		}
	}
	return b.String()
}

// format describes the change of a file, in the way of version control.
func (s *section) format() string {
	counts := fmt.Sprintf(" (+%d -%d)", s.result.Added, s.result.Removed)
	var line string
	switch {
	case s.Op == patch.Delete:
		return "D " + s.before
	case s.Op == patch.Add:
		line = "A " + s.after + " (" + text.Plural(s.result.Added, "line") + ")"
	case s.MoveTo != "" && len(s.Hunks) == 0:
		line = "R " + s.before + " -> " + s.after
	case s.MoveTo != "":
		line = "R " + s.before + " -> " + s.after + counts
	default:
		line = "M " + s.after + counts
	}
	if s.version != "" {
		line += ", version " + s.version
	}
	return line
}
