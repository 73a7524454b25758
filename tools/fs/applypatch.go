package fs

import (
	"context"
	"errors"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/patch"
)

// applyPatch changes, adds, removes and renames several files at once.
type applyPatch struct {
	files workspace.Files
	seen  *Seen
}

type applyPatchArgs struct {
	Patch  string `json:"patch" jsonschema:"*** Begin Patch ... *** End Patch, or a unified diff" alias:"input,diff,patch_text" maxlen:"2097152"`
	Path   string `json:"path,omitempty" jsonschema:"if the diff names no file" alias:"file_path,file"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"only try"`
}

func (applyPatch) Spec() tool.Spec {
	return tool.Spec{
		Name: "apply_patch", Group: group, Title: "Apply patch", Risk: tool.Writes,
		Doc:  "Adds, updates, deletes and renames files: all or nothing.",
		Also: []string{"apply-patch", "ApplyPatch", "tool::apply_patch", "patch"}, Keywords: "diff hunk rename move delete several files",
	}
}

// errDryRun ends a change that was only tried.
var errDryRun = errors.New("the patch fits, and was only to be tried")

func (t applyPatch) Do(ctx context.Context, a applyPatchArgs) (tool.Result, error) {
	sections, err := parsePatch(a)
	if err != nil {
		return tool.Result{}, err
	}
	p := patching{caller: tool.CallerFrom(ctx), seen: t.seen, masked: scrub.HasMask(a.Patch)}
	var paths []string
	for _, f := range sections {
		s := &patched{File: f, from: len(paths)}
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
		return tool.Text(p.reply("the patch fits; nothing was changed", workspace.Receipt{})), nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	if err := p.note(receipt); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(p.reply("applied to "+counted(len(sections), "file", "files")+undoHint(receipt), receipt)), nil
}

// parsePatch reads the patch, and gives the file its name that has none there.
func parsePatch(a applyPatchArgs) ([]patch.File, error) {
	sections, err := patch.Parse(a.Patch)
	if err != nil {
		return nil, patchError(err, "", false)
	}
	switch {
	case a.Path == "" && sections[0].Path == "":
		return nil, tool.Errorf(tool.Invalid, "the patch does not name the file").
			Try("give its path, or begin with --- a/path and +++ b/path")
	case a.Path != "" && len(sections) > 1:
		return nil, tool.Errorf(tool.Invalid, "the patch is for %d files, and path names one", len(sections)).Try("leave path out")
	case a.Path != "":
		sections[0].Path = a.Path
	}
	return sections, nil
}

// patchError tells the model what is wrong with its patch, or with what it
// thinks of a file. Of a mismatch where it wrote a mask it needs to know more.
func patchError(err error, name string, masked bool) error {
	var e *patch.Error
	if !errors.As(err, &e) {
		return err
	}
	kind, what := tool.Invalid, e.What
	if e.Mismatch {
		kind = tool.Conflict
	}
	if name != "" {
		what = name + ": " + what
	}
	known := tool.Errorf(kind, "%s", what)
	switch {
	case masked && scrub.HasMask(e.Wanted):
		return known.Try("text behind a mask such as %s cannot be matched: choose lines around it", scrub.Mask)
	case e.Next != "":
		return known.Try("%s", e.Next)
	}
	return known
}

// reply has a line for each file, and lines below it for what is to be known.
func (p *patching) reply(head string, r workspace.Receipt) string {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range p.sections {
		b.WriteString("\n" + s.line())
		notes := s.result.Notes
		if s.stale {
			notes = append(notes, "the file had changed since you read it")
		}
		notes = append(notes, changedFile(r, s.name).Notes...)
		for _, note := range notes {
			b.WriteString("\n  " + note)
		}
	}
	return b.String()
}
