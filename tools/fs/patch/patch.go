// Package patch knows how models write down changes to several files at once,
// and what such a patch makes of a file. There are two forms: unified diffs, as
// git and diff write them, and the envelope that begins with *** Begin Patch.
// It works on text that is given to it and knows neither tools nor where files
// are kept: whoever calls it opens the files and decides who may change them.
//
// Begin with [Parse], which says what is to be done to which files, and go on
// with [Apply] for each of them.
package patch

import (
	"fmt"
	iofs "io/fs"
	"path"
)

// The most that a patch may hold.
const (
	MaxBytes = 2 << 20
	MaxFiles = 500
	maxHunks = 10_000
)

// Op is what is to become of a file.
type Op uint8

// The operations.
const (
	Update Op = iota
	Add
	Delete
)

// A File is what a patch says about one file.
type File struct {
	Path   string // "" when the patch names none
	MoveTo string // "" when it stays where it is
	Op     Op
	Hunks  []Hunk        // in the order of the patch
	Mode   iofs.FileMode // permissions; 0 when the patch says nothing
}

// A Hunk replaces some lines.
type Hunk struct {
	At       int  // the line of the patch it begins at
	Numbered bool // Start is known
	// Start is the first line that is replaced, or, when there is none, the
	// line after which others are added.
	Start   int
	Anchors []string // lines that lead to the place
	AtEnd   bool     // its lines are the last of the file
	Lines   []Line

	loose int // of Lines, the last ones, which may stand there for looks only
}

// A Line is a line of a hunk.
type Line struct {
	Kind  Kind
	Text  string // without the line feed
	NoEnd bool   // it is the last of the file, and no line feed follows
}

// Kind is what a line of a hunk stands for.
type Kind byte

// The kinds, as they are written in front of lines.
const (
	Context Kind = ' '
	Added   Kind = '+'
	Removed Kind = '-'
)

// An Error tells whoever wrote a patch what is wrong with it.
type Error struct {
	What, Next string // what is wrong, and what to do; Next may be empty
	// Mismatch says that the patch is well written and the file is not as it
	// says. Wanted are then the lines that it says are there.
	Mismatch bool
	Wanted   string
}

func (e *Error) Error() string {
	if e.Next == "" {
		return e.What
	}
	return e.What + "; " + e.Next
}

func errorf(format string, args ...any) *Error {
	return &Error{What: fmt.Sprintf(format, args...)}
}

func (e *Error) try(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

// Parse reads a patch in either form. A patch that was cut off, or that names
// one file twice, is refused. Only a lone file may have no name.
func Parse(text string) ([]File, error) {
	if len(text) > MaxBytes {
		return nil, errorf("the patch is %d bytes long, the most is %d", len(text), MaxBytes).try("send it in parts")
	}
	r := newReader(text)
	var files []File
	var err error
	switch r.form() {
	case envelopeForm:
		files, err = r.envelope()
	case unifiedForm:
		files, err = r.unified()
	default:
		err = errorf("this is neither a unified diff nor a patch between *** Begin Patch and *** End Patch").
			try(`write "*** Begin Patch", "*** Update File: path", "@@", then lines that begin with a blank, - or +, then "*** End Patch"`)
	}
	if err != nil {
		return nil, err
	}
	return files, check(files)
}

// check refuses what is well written and makes no sense.
func check(files []File) error {
	switch {
	case len(files) == 0:
		return errorf("the patch changes no file")
	case len(files) > MaxFiles:
		return errorf("the patch changes %d files, the most is %d", len(files), MaxFiles).try("send it in parts")
	}
	named := make(map[string]bool, len(files))
	hunks := 0
	for _, f := range files {
		hunks += len(f.Hunks)
		for _, h := range f.Hunks {
			if f.Op == Add && len(old(h.Lines)) > 0 {
				return errorf("the added file %q has lines that do not begin with +, from line %d of the patch", f.Path, h.At)
			}
		}
		if f.Path == "" && len(files) > 1 {
			return errorf("one of several files has no name in the patch").try("write *** Update File: path, or --- a/path and +++ b/path")
		}
		for _, name := range []string{f.Path, f.MoveTo} {
			if name == "" {
				continue
			}
			if name = path.Clean(name); named[name] {
				return errorf("%q is in the patch twice", name).try("put all that happens to it into one section")
			}
			named[name] = true
		}
	}
	if hunks > maxHunks {
		return errorf("the patch has %d hunks, the most is %d", hunks, maxHunks).try("send it in parts")
	}
	return nil
}

// old are the lines that h expects.
func old(lines []Line) []Line { return without(lines, Added) }

func without(lines []Line, kind Kind) []Line {
	some := make([]Line, 0, len(lines))
	for _, l := range lines {
		if l.Kind != kind {
			some = append(some, l)
		}
	}
	return some
}

// changes counts the lines that h adds and removes.
func (h Hunk) changes() (added, removed int) {
	for _, l := range h.Lines {
		switch l.Kind {
		case Added:
			added++
		case Removed:
			removed++
		}
	}
	return added, removed
}
