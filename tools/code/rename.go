package code

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

// rename renames a symbol in all files, as one change.
func (q *question) rename(sp spot) (string, error) {
	if sp.server == nil {
		return "", q.needsServer()
	}
	if err := q.prepareWhole(sp); err != nil {
		return "", err
	}
	params, answer := sp.params(), lsp.WorkspaceEdit{}
	params["newName"] = q.args.NewName
	if err := sp.server.call(q.ctx, "textDocument/rename", params, &answer); err != nil {
		return "", err
	}
	edits, names, err := q.renames(sp.server, answer)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", tool.Errorf(tool.Invalid, "%s renames nothing for %q", sp.server.program, q.args.Name).
			Try("check that the name can be changed, and that new_name differs")
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = "./" + name
	}
	receipt, err := q.room.o.Files.Change(q.ctx, paths, func(files []*workspace.File) ([]workspace.Change, error) {
		changes := make([]workspace.Change, len(files))
		for i, f := range files {
			after, err := q.renamed(f, names[i], edits[names[i]])
			if err != nil {
				return nil, err
			}
			changes[i] = workspace.Change{Path: paths[i], Content: strings.NewReader(after)}
		}
		return changes, nil
	})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	places := 0
	for _, name := range names {
		places += len(edits[name])
		fmt.Fprintf(&b, "\n%s: %s", name, text.Plural(len(edits[name]), "place"))
	}
	head := fmt.Sprintf("renamed %s to %s: %s in %s", q.args.Name, q.args.NewName, text.Plural(places, "place"), text.Plural(len(names), "file"))
	if receipt.ID != "" {
		head += "; to undo it use undo " + receipt.ID
	}
	q.noteLeft(names, sp.language)
	return head + b.String(), nil
}

// noteLeft notes the other files that still have the word: in comments, as another symbol, or because the server does
// not know them.
func (q *question) noteLeft(changed []string, l *language) {
	word := lastPart(plainName(q.args.Name))
	files, err := q.mentions(word, l)
	if err != nil {
		return // it was renamed
	}
	var left []string
	for _, f := range files {
		if !slices.Contains(changed, f.Name) {
			left = append(left, f.Name)
		}
	}
	if len(left) > 0 {
		const shown = 5
		more := ""
		if len(left) > shown {
			more = fmt.Sprintf(" and %d more", len(left)-shown)
		}
		q.note("the word %s is still in %s%s: check that it means something else there", word,
			strings.Join(left[:min(len(left), shown)], ", "), more)
	}
}

// renames returns the edits of a rename by file. It refuses the whole rename if one edit is not allowed.
func (q *question) renames(s *server, answer lsp.WorkspaceEdit) (map[string][]lsp.TextEdit, []string, error) {
	edits := make(map[string][]lsp.TextEdit)
	add := func(uri string, list []lsp.TextEdit) error {
		name := s.nameOf(uri)
		if name == "" {
			return tool.Errorf(tool.Refused, "the rename would change a file outside of the workspace; nothing was changed").
				Try("rename it by hand with apply_patch")
		}
		for _, e := range list {
			if !strings.Contains(e.New, q.args.NewName) || len(e.New) > 4*len(q.args.NewName)+200 || strings.ContainsAny(e.New, "\r\n") {
				return tool.Errorf(tool.Refused, "%s wants to change more in %s than the name; nothing was changed", s.program, name).
					Try("rename it by hand with apply_patch")
			}
		}
		if len(list) > 0 {
			edits[name] = append(edits[name], list...)
		}
		return nil
	}
	for uri, list := range answer.Changes {
		if len(answer.Documents) > 0 {
			break // the newer form counts
		}
		if err := add(uri, list); err != nil {
			return nil, nil, err
		}
	}
	for _, d := range answer.Documents {
		if d.Kind != "" {
			return nil, nil, tool.Errorf(tool.Refused, "the rename would also %s files, which this tool does not; nothing was changed",
				text.Clip(tool.Line(d.Kind), 20)).Try("rename it by hand with apply_patch")
		}
		if err := add(d.Document.URI, d.Edits); err != nil {
			return nil, nil, err
		}
	}
	names := make([]string, 0, len(edits))
	for name := range edits {
		names = append(names, name)
	}
	slices.Sort(names)
	return edits, names, nil
}

// renamed returns the text of a file after the rename.
func (q *question) renamed(f *workspace.File, name string, edits []lsp.TextEdit) (string, error) {
	if !f.Exists || f.Size > maxFile {
		return "", tool.Errorf(tool.Invalid, "%q cannot be changed by a rename; nothing was changed", name).Try("rename it by hand")
	}
	all, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		return "", fmt.Errorf("reading a file to rename in: %w", err)
	}
	before := string(all)
	if !utf8.ValidString(before) {
		return "", tool.Errorf(tool.Invalid, "%q is not UTF-8; nothing was changed", name).Try("rename it by hand")
	}
	// The server may know another text than the file has now. The edits of a rename all replace the same word.
	t, word := lsp.NewText(before), lastPart(plainName(q.args.Name))
	for _, e := range edits {
		from, ok := t.Offset(e.Range.Start)
		to, also := t.Offset(e.Range.End)
		if !ok || !also || to < from || from < to && !strings.Contains(before[from:to], word) && !strings.Contains(word, before[from:to]) {
			return "", tool.Errorf(tool.Conflict, "%s has no %q where the server wants to rename it; nothing was changed", name, word).
				Try("call again; the file may have changed meanwhile")
		}
	}
	after, err := t.Apply(edits)
	if err != nil {
		return "", tool.Errorf(tool.Conflict, "%s: %w; nothing was changed", name, err).Try("rename it by hand with apply_patch")
	}
	return after, nil
}
