// Package patch parses patches of several files as models write them, and applies them to texts. There are two forms:
// unified diffs of git and diff, and the envelope that begins with *** Begin Patch. It knows neither tools nor files:
// the caller opens the files and checks the right to change them.
//
// Begin with [Parse]. It returns the changes of each file; call [Apply] for each.
package patch

import (
	iofs "io/fs"
	"path"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of a patch.
const (
	MaxBytes = 2 << 20
	MaxFiles = 500
	maxHunks = 10_000
)

// Op is the change of a file by a patch.
type Op uint8

// The operations.
const (
	Update Op = iota
	Add
	Delete
)

// A File is the part of a patch about one file.
type File struct {
	Path   string // "" if the patch does not name the file
	MoveTo string // "" if the file is not moved
	Op     Op
	Hunks  []Hunk        // in the order of the patch
	Mode   iofs.FileMode // permissions; 0 if the patch has none
}

// A Hunk replaces some lines.
type Hunk struct {
	At       int  // line of the patch where it begins
	Numbered bool // Start is known
	// Start is the first replaced line or, if no line is replaced, the line before the added lines.
	Start   int
	Anchors []string // lines above the place, in order
	AtEnd   bool     // its lines are the last of the file
	Lines   []Line

	loose int // number of lines at the end of Lines that may be missing in the file
}

// A Line is a line of a hunk.
type Line struct {
	Kind  Kind
	Text  string // without the newline
	NoEnd bool   // it is the last line of the file, without a newline
}

// Kind is the role of a line in a hunk.
type Kind byte

// The kinds, by the characters in front of lines.
const (
	Context Kind = ' '
	Added   Kind = '+'
	Removed Kind = '-'
)

func invalid(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.Invalid, format, args...)
}

func conflict(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.Conflict, format, args...)
}

// Parse parses a patch in either form. It refuses a patch that was cut off or that names a file twice. Only a single
// file may have no name. Errors are written for the model.
func Parse(text string) ([]File, error) {
	if len(text) > MaxBytes {
		return nil, invalid("the patch is %d bytes long, the maximum is %d", len(text),
			MaxBytes).Try("send it in parts")
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
		err = invalid("this is neither a unified diff nor a patch between *** Begin Patch and *** End Patch").
			Try(`write "*** Begin Patch", "*** Update File: path", "@@", ` +
				`then lines that begin with a blank, - or +, then "*** End Patch"`)
	}
	if err != nil {
		return nil, err
	}
	return files, check(files)
}

// check refuses patches that are well-formed but contradictory.
func check(files []File) error {
	switch {
	case len(files) == 0:
		return invalid("the patch changes no file")
	case len(files) > MaxFiles:
		return invalid("the patch changes %d files, the maximum is %d", len(files), MaxFiles).Try("send it in parts")
	}
	named := make(map[string]bool, len(files))
	hunks := 0
	for _, f := range files {
		hunks += len(f.Hunks)
		for _, h := range f.Hunks {
			if f.Op == Add && len(without(h.Lines, Added)) > 0 {
				return invalid("the added file %q has lines that do not begin with +, from line %d of the patch",
					f.Path, h.At)
			}
		}
		if f.Path == "" && len(files) > 1 {
			return invalid("one of several files has no name in the patch").
				Try("write *** Update File: path, or --- a/path and +++ b/path")
		}
		for _, name := range []string{f.Path, f.MoveTo} {
			if name == "" {
				continue
			}
			if name = path.Clean(name); named[name] {
				return invalid("%q is in the patch twice", name).Try("put all its changes into one section")
			}
			named[name] = true
		}
	}
	if hunks > maxHunks {
		return invalid("the patch has %d hunks, the maximum is %d", hunks, maxHunks).Try("send it in parts")
	}
	return nil
}

// without returns the lines that are not of one kind. Without the added lines they are the lines of the
// file.
func without(lines []Line, kind Kind) []Line {
	some := make([]Line, 0, len(lines))
	for _, l := range lines {
		if l.Kind != kind {
			some = append(some, l)
		}
	}
	return some
}
