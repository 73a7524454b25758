package briefing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// mostBytes bounds what is read of a file. No character has more than four.
const mostBytes = 4 * MostText

// fromDir reads the operator's version of a document.
func (a Agent) fromDir(name string) (Document, bool, error) {
	if a.Dir == "" {
		return Document{}, false, nil
	}
	d, err := readDir(a.Dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Document{}, false, nil
	}
	if err != nil {
		return Document{}, false, tool.Errorf(tool.Unavailable, "the operator's %s cannot be read", name).
			Try("go on without it, and tell the operator").Because(err)
	}
	return d, true, nil
}

// readDir reads a document from a directory that it does not lead out of. A
// directory that is not there is an error of its own.
func readDir(dir, name string) (Document, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Document{}, fmt.Errorf("the directory cannot be opened: %v", err) // not %w: that the directory is gone does not mean that there is no document
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return Document{}, err
	}
	if !info.Mode().IsRegular() { // opening it might wait forever
		return Document{}, errors.New("it is not a file")
	}
	file, err := root.Open(name)
	if err != nil {
		return Document{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil {
		return Document{}, err
	}
	if err := check(name, string(text)); err != nil {
		return Document{}, err
	}
	return Document{Name: name, Text: strings.TrimPrefix(string(text), "\ufeff"), Level: OfDirectory, Modified: info.ModTime()}, nil
}
