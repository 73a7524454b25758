package fs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// editFile is the tool that replaces text in one file.
type editFile struct {
	files    workspace.Files
	seen     *Seen
	problems Problems
}

type editFileArgs struct {
	Path string `json:"path" jsonschema:"file to edit" alias:"file_path,file,filename,absolute_path,target_file"`
	Replacement
	Edits     []Replacement `json:"edits,omitempty" jsonschema:"several replacements, all or none" maxitems:"100"`
	IfVersion string        `json:"if_version,omitempty" jsonschema:"fail if the version differs" alias:"expected_version,expected_hash,expected_sha256"`
	DryRun    bool          `json:"dry_run,omitempty" jsonschema:"only return the diff"`
}

// A Replacement is one edit as models write it.
type Replacement struct {
	Old string  `json:"old_string,omitempty" jsonschema:"text to replace; unique unless replace_all" alias:"oldText,old_str,old_text,old" maxlen:"1048576"`
	New *string `json:"new_string,omitempty" jsonschema:"text to insert instead" alias:"newText,new_str,new_text,new" maxlen:"1048576"`
	All bool    `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	At  string  `json:"at,omitempty" jsonschema:"lines to replace, by anchors of read_file, 12#a3-15#f1"`
}

func (editFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "edit", Group: group, Title: "Edit file", Risk: tool.Writes, Core: true, Viewed: true, MaxText: 1 << 20,
		Doc: `Replaces text in one file. Returns a diff, the new version and an undo id.
For whole files use write_file, for several files apply_patch.`,
		Also: []string{"Edit", "edit_file", "file_edit", "str_replace", "MultiEdit", "hashline::edit"},
		Keywords: "change replace swap modify update fix correct typo spelling rename remove insert delete line " +
			"sentence paragraph word text document variable value",
	}
}

// parse returns the edits that were asked for.
func (a editFileArgs) parse() ([]edit.Edit, error) {
	isSingle := a.Replacement != (Replacement{})
	switch {
	case isSingle && len(a.Edits) > 0:
		return nil, tool.Errorf(tool.Invalid, "there are both edits and a single edit").
			Try("put all of them into edits")
	case isSingle:
		one, err := a.Replacement.parse("")
		return []edit.Edit{one}, err
	case len(a.Edits) == 0:
		return nil, tool.Errorf(tool.Invalid, "there is nothing to replace").
			Try("send old_string and new_string, or at and new_string, or edits")
	}
	edits := make([]edit.Edit, len(a.Edits))
	for i, r := range a.Edits {
		var err error
		if edits[i], err = r.parse(fmt.Sprintf("edits[%d]: ", i)); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

// parse returns the edit. Where is the beginning of errors.
func (r Replacement) parse(where string) (edit.Edit, error) {
	if r.New == nil {
		return edit.Edit{}, tool.Errorf(tool.Invalid, "%snew_string is missing", where).
			Try(`to remove the text send ""`)
	}
	return edit.Edit{Old: r.Old, New: *r.New, All: r.All, At: strings.TrimSpace(r.At)}, nil
}

func (t editFile) Do(ctx context.Context, a editFileArgs) (tool.Result, error) {
	edits, err := a.parse()
	if err != nil {
		return tool.Result{}, err
	}
	e := editor{seen: t.seen, edits: edits, ifVersion: a.IfVersion}
	caller := tool.CallerFrom(ctx)
	plan := func(f *workspace.File) (workspace.Change, error) {
		e.known, e.wasRead = t.seen.Version(caller, f.Name)
		content, err := e.plan(ctx, f)
		return workspace.Change{Path: a.Path, Content: content}, err
	}
	if a.DryRun {
		f, err := t.files.Open(ctx, a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		defer f.Close()
		_, err = plan(f)
		e.hashing.Wait()
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Textf("would edit %s\n%snothing was written", e.summary(), e.diff()), nil
	}
	receipt, err := t.files.Change(ctx, []string{a.Path}, func(files []*workspace.File) ([]workspace.Change, error) {
		change, err := plan(files[0])
		if err == nil { // compute the version while the file is written
			e.hashing.Go(func() { e.after = versionOfString(e.outcome.Content) })
		}
		return []workspace.Change{change}, err
	})
	e.hashing.Wait()
	if err != nil {
		return tool.Result{}, err
	}
	done := changedFile(receipt, e.name)
	version, err := versionAfter(len(e.outcome.Content), done, func() string { return e.after })
	if err != nil {
		return tool.Result{}, err
	}
	// If the file was stale, the session does not know the changes before the edit.
	if !e.isStale() {
		t.seen.Note(caller, e.name, version)
	}
	res := tool.Text(t.problems.after(ctx, e.format(receipt, done, version), receipt))
	if tool.Viewed(ctx) {
		res = res.Showing(e.view(t.seen.secretsFor(ctx), receipt, done))
	}
	return res, nil
}

// view returns the view for the page of an app.
func (e *editor) view(secrets *scrub.Scrubber, r workspace.Receipt, done workspace.Changed) view.Changes {
	after := e.outcome.After
	if e.created {
		after = e.outcome.Content
	}
	f := view.File{Name: e.name, Action: actionOf(done)}.Of(e.outcome.Before, after, scrubbed(secrets))
	return view.Changes{Kind: "changes", Files: []view.File{f}, Undo: r.ID}
}

// An editor plans one call of edit.
type editor struct {
	edits     []edit.Edit
	ifVersion string

	seen    *Seen
	known   string // the version that the session knows
	wasRead bool   // the session knows a version

	name    string
	created bool
	version string // before the call; "" if it was not needed
	after   string // the version after the call
	outcome edit.Outcome
	// hashing waits for version and after. On a file of 5 MB computing each takes as long as finding the text.
	hashing sync.WaitGroup
}

// sniffSize is how many bytes of a file are read to detect its kind.
const sniffSize = 4 << 10

// plan makes the edits in f and returns the new content.
func (e *editor) plan(ctx context.Context, f *workspace.File) (io.Reader, error) {
	e.name = f.Name
	if !f.Exists {
		return e.create()
	}
	if f.Size > edit.MaxBytes {
		return nil, tool.Errorf(tool.TooLarge, "%q has %s, the maximum for edit is %s", e.name, text.Bytes(f.Size),
			text.Bytes(edit.MaxBytes)).Try("change it with a command such as sed")
	}
	before, err := readString(f)
	if err != nil {
		return nil, err
	}
	if e.ifVersion != "" {
		e.version = versionOfString(before)
	} else if e.wasRead {
		e.hashing.Go(func() { e.version = versionOfString(before) })
	}
	if err := e.checkVersion(); err != nil {
		return nil, err
	}
	kind := textfile.Sniff([]byte(before[:min(len(before), sniffSize)]), e.name)
	if kind.Binary() && (kind.MIME != "" || !utf8.ValidString(before)) {
		return nil, tool.Errorf(tool.Invalid, "%q is not text: %s", e.name, kind.Name).
			Try("change it with a program for such files")
	}
	secrets := e.seen.secretsFor(ctx)
	if e.outcome, err = edit.Apply(ctx, before, e.edits, edit.Hiding{By: secrets, File: e.name}); err != nil {
		return nil, err
	}
	if e.hasMasks() {
		if err := secrets.CheckNoMask(e.outcome.Before, e.outcome.After); err != nil {
			return nil, tool.Errorf(tool.Invalid, "%w", err)
		}
	}
	return strings.NewReader(e.outcome.Content), nil
}

// readString reads the whole of a file.
func readString(f *workspace.File) (string, error) {
	var b strings.Builder
	b.Grow(int(f.Size))
	n, err := io.Copy(&b, io.NewSectionReader(f, 0, f.Size))
	if err == nil && n < f.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("reading the file to edit: %w", err)
	}
	return b.String(), nil
}

// create creates the file if there is one edit without an old text.
func (e *editor) create() (io.Reader, error) {
	first := e.edits[0]
	if len(e.edits) > 1 || first.Old != "" || first.At != "" || first.New == "" || e.ifVersion != "" {
		return nil, tool.Errorf(tool.NotFound, "no file %q", e.name).
			Try("call glob to find it, or write_file to create it")
	}
	e.created = true
	e.outcome.Content = first.New
	return strings.NewReader(first.New), nil
}

// checkVersion refuses to edit another version than if_version.
func (e *editor) checkVersion() error {
	if e.ifVersion == "" || versionFrom(e.ifVersion) == e.version {
		return nil
	}
	return tool.Errorf(tool.Conflict, "%q has version %s, not %s", e.name, e.version, e.ifVersion).
		Try("read it again, then edit")
}

// isStale reports whether the file had another version than the session knew.
func (e *editor) isStale() bool { return e.wasRead && e.version != "" && e.known != e.version }

// hasMasks reports whether a new text contains a mask.
func (e *editor) hasMasks() bool {
	for _, one := range e.edits {
		if scrub.HasMask(one.New) {
			return true
		}
	}
	return false
}

// format describes the edit.
func (e *editor) format(r workspace.Receipt, done workspace.Changed, version string) string {
	var b strings.Builder
	if e.created {
		fmt.Fprintf(&b, "created %s: %s\n", e.name, text.Plural(len(e.outcome.Content), "byte"))
	} else {
		fmt.Fprintf(&b, "edited %s\n%s", e.summary(), e.diff())
	}
	last := undoHint(r)
	if version != "" {
		last = "version " + version + last
	}
	b.WriteString(strings.TrimPrefix(last, "; "))
	notes := done.Notes
	if e.isStale() {
		notes = append([]string{"the file had changed since you read it; read it again before further edits"}, notes...)
	}
	for _, note := range notes {
		b.WriteString("\n" + note)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// summary returns the name of the file, the number of replacements, and how the text was matched if not exactly.
func (e *editor) summary() string {
	summary := e.name + ": " + text.Plural(e.outcome.Replaced, "replacement")
	var how []string
	for _, rung := range e.outcome.Rungs {
		how = append(how, rung.String())
	}
	if how != nil {
		summary += " (matched " + strings.Join(how, ", ") + ")"
	}
	return summary
}

func (e *editor) diff() string {
	const contextLines, maxBytes = 2, 2000
	return e.outcome.Diff(contextLines, maxBytes)
}
