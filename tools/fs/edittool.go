package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
)

// editFile replaces text in one file.
type editFile struct {
	files workspace.Files
	seen  *Seen
}

type editFileArgs struct {
	Path string `json:"path" jsonschema:"file" alias:"file_path,file,filename,absolute_path,target_file"`
	Replacement
	Edits     []map[string]any `json:"edits,omitempty" jsonschema:"several {old_string, new_string, replace_all, at}, in order, all or none" maxitems:"100"`
	IfVersion string           `json:"if_version,omitempty" jsonschema:"refuse if it has another" alias:"expected_version"`
	DryRun    bool             `json:"dry_run,omitempty" jsonschema:"only show the diff"`
}

// A Replacement is one edit as models write it.
type Replacement struct {
	Old string  `json:"old_string,omitempty" jsonschema:"unique in the file" alias:"oldText,old_str,old_text" maxlen:"1048576"`
	New *string `json:"new_string,omitempty" jsonschema:"literal" alias:"newText,new_str,new_text" maxlen:"1048576"`
	All bool    `json:"replace_all,omitempty" jsonschema:"all places"`
	At  string  `json:"at,omitempty" jsonschema:"lines by anchor: 12#a3-15#f1"`
}

func (editFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "edit", Group: group, Title: "Edit file", Risk: tool.Writes, Core: true, MaxText: 1 << 20,
		Doc:  "Replaces text in a file and shows the diff.",
		Also: []string{"Edit", "edit_file", "file_edit", "str_replace", "MultiEdit"}, Keywords: "change replace modify update file text",
	}
}

// edits are the replacements that were asked for.
func (a editFileArgs) edits(ctx context.Context) ([]edit.Edit, error) {
	single := a.Replacement != (Replacement{})
	switch {
	case single && len(a.Edits) > 0:
		return nil, tool.Errorf(tool.Invalid, "there are edits and a single edit beside them").
			Try("put all of them into edits")
	case single:
		one, err := a.Replacement.edit()
		return []edit.Edit{one}, err
	case len(a.Edits) == 0:
		return nil, tool.Errorf(tool.Invalid, "there is nothing to replace").
			Try("send old_string and new_string, or at and new_string, or edits")
	}
	edits := make([]edit.Edit, len(a.Edits))
	for i, object := range a.Edits {
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if edits[i], err = readReplacement(ctx, i, raw); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

func (r Replacement) edit() (edit.Edit, error) {
	if r.New == nil {
		return edit.Edit{}, tool.Errorf(tool.Invalid, "new_string is missing").Try(`send "" to remove the text`)
	}
	return edit.Edit{Old: r.Old, New: *r.New, All: r.All, At: strings.TrimSpace(r.At)}, nil
}

// readReplacement checks and mends one of edits as the arguments of a call are.
// That it has a schema is not listed: the same four words are there already,
// and lists are paid for in every turn.
func readReplacement(ctx context.Context, i int, raw json.RawMessage) (one edit.Edit, err error) {
	call, err := tool.New(replacementReader{i, &one}).Bind(raw, tool.DefaultLimits())
	if err != nil {
		return one, err
	}
	_, err = call.Run(ctx)
	return one, err
}

type replacementReader struct {
	i    int
	into *edit.Edit
}

func (r replacementReader) Spec() tool.Spec { return tool.Spec{Name: fmt.Sprintf("edits[%d]", r.i)} }

func (r replacementReader) Do(_ context.Context, a Replacement) (tool.Result, error) {
	var err error
	if *r.into, err = a.edit(); err != nil {
		err = tool.Errorf(tool.Invalid, "edits[%d]: %s", r.i, tool.AsError(err).What).Try("%s", tool.AsError(err).Next)
	}
	return tool.Result{}, err
}

func (t editFile) Do(ctx context.Context, a editFileArgs) (tool.Result, error) {
	edits, err := a.edits(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	e := editing{edits: edits, ifVersion: a.IfVersion}
	caller := tool.CallerFrom(ctx)
	look := func(f *workspace.File) (workspace.Change, error) {
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
		_, err = look(f)
		e.hashing.Wait()
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Textf("would edit %s\n%snothing was written", e.summary(), e.diff()), nil
	}
	receipt, err := t.files.Change(ctx, []string{a.Path}, func(files []*workspace.File) ([]workspace.Change, error) {
		change, err := look(files[0])
		if err == nil { // while the file is written
			e.hashing.Go(func() { e.after = versionOf(e.outcome.Content) })
		}
		return []workspace.Change{change}, err
	})
	e.hashing.Wait()
	if err != nil {
		return tool.Result{}, err
	}
	done := changedFile(receipt, e.name)
	version, err := e.versionAfter(done)
	if err != nil {
		return tool.Result{}, err
	}
	// What others wrote since the session read the file it still does not know.
	if !e.stale() {
		t.seen.Note(caller, e.name, version)
	}
	return tool.Text(e.reply(receipt, done, version)), nil
}

// reply says what was done, in as few words as a model can go on with.
func (e *editing) reply(r workspace.Receipt, done workspace.Changed, version string) string {
	var b strings.Builder
	if e.created {
		fmt.Fprintf(&b, "created %s: %s\n", e.name, counted(len(e.outcome.Content), "byte", "bytes"))
	} else {
		fmt.Fprintf(&b, "edited %s\n%s", e.summary(), e.diff())
	}
	last := undoHint(r)
	if version != "" {
		last = "version " + version + last
	}
	b.WriteString(strings.TrimPrefix(last, "; "))
	notes := done.Notes
	if e.stale() {
		notes = append([]string{"the file had changed since you read it; read it again before you rely on the rest"}, notes...)
	}
	for _, note := range notes {
		b.WriteString("\n" + note)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
