package contextfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxBytes is the most bytes that are read of a file. A character has at most four bytes.
const maxBytes = 4 * MaxText

// fromDir reads the operator's copy of a file.
func (a Agent) fromDir(name string) (File, bool, error) {
	if a.Dir == "" {
		return File{}, false, nil
	}
	f, err := readDir(a.Dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, false, nil
	}
	if err != nil {
		return File{}, false, tool.Errorf(tool.Unavailable, "the operator's %s cannot be read", name).
			Try("continue without it, and inform the operator").Because(err)
	}
	return f, true, nil
}

// fromDirs returns the operator's copy of a file, followed by the copies for all agents, as far
// as there is room. It leaves out unreadable copies for all agents.
func (f *Files) fromDirs(a Agent, name string) (all File, found bool, err error) {
	if all, found, err = a.fromDir(name); err != nil || f.Shared == nil || !ForAll(name) {
		return all, found, err
	}
	for _, dir := range f.Shared() {
		more, err := readDir(dir, name)
		if err != nil || utf8.RuneCountInString(all.Text)+utf8.RuneCountInString(more.Text)+2 > MaxText {
			continue
		}
		if found {
			more.Text = strings.TrimRight(all.Text, "\n") + "\n\n" + more.Text
		}
		if more.Modified.Before(all.Modified) {
			more.Modified = all.Modified
		}
		all, found = more, true
	}
	return all, found, nil
}

// readDir reads a file from a directory; links that lead out of it are not followed. A missing directory is an error
// other than fs.ErrNotExist.
func readDir(dir, name string) (File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return File{}, fmt.Errorf("the directory cannot be opened: %v", err) // not %w: see above
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() { // opening a pipe could block
		return File{}, errors.New("it is not a file")
	}
	file, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return File{}, err
	}
	if err := check(name, string(text)); err != nil {
		return File{}, err
	}
	return File{
		Name: name, Text: strings.TrimPrefix(string(text), "\ufeff"), Level: DirectoryLevel, Modified: info.ModTime(),
	}, nil
}
