// Package fs holds the tools that read, change and search files.
//
// It knows how a model should be told about files and what a change means. It
// does not know where files are or how they are kept: [Files] does, decides
// who sees which, and never lets a path lead out. The work that has nothing to
// do with tools is in the packages below this one: text (encodings and lines),
// edit (finding and replacing), patch (patches) and picture (images).
//
// To see how a tool uses Files read readfile.go; the list is [Tools].
package fs

import (
	"context"
	"io"
	iofs "io/fs"
	"time"
)

// Files are the files of whoever the running call is made for: the caller is
// in the context. A path is what a model writes: relative to the workspace,
// absolute, with ~ or an alias. Errors are fit for the model as they are.
type Files interface {
	// Open opens one regular file for reading.
	Open(ctx context.Context, path string) (*File, error)

	// Change changes files, all or none. plan gets the files as they are, in
	// the order of paths, and says what becomes of them; meanwhile nobody else
	// changes them through us. An error of plan ends it without a change. A
	// file that does not exist is given to plan with Exists false.
	Change(ctx context.Context, paths []string, plan func([]*File) ([]Change, error)) (Receipt, error)

	// List lists a directory.
	List(ctx context.Context, q ListQuery) (Listing, error)
	// Glob finds files by their names.
	Glob(ctx context.Context, q GlobQuery) (Listing, error)
	// Search finds lines in files.
	Search(ctx context.Context, q SearchQuery) (Found, error)

	// History tells what was done to a file, the latest first.
	History(ctx context.Context, path string, limit int) ([]Past, error)
	// Undo takes a change back, if the files are still as it left them.
	Undo(ctx context.Context, id string) (Receipt, error)
}

// A File is a regular file, open for reading. Close it, unless Change gave it.
type File struct {
	Name     string // what the caller should call it
	Exists   bool
	Size     int64
	Modified time.Time
	Mode     iofs.FileMode // the permissions
	// Stamp differs when the file was written to or replaced, as far as can be
	// told without reading it.
	Stamp string
	io.ReaderAt
	io.Closer
}

// A Change is what becomes of one file. The zero Content writes an empty file.
type Change struct {
	Path    string        // one of the paths given to Files.Change
	Content io.Reader     // the whole of it; may read from the File itself
	Remove  bool          // instead of writing
	Mode    iofs.FileMode // permissions; 0 keeps them, or takes the usual ones
}

// A Receipt tells of a change that was made. When Change returns one, the
// change survives a crash.
type Receipt struct {
	ID    string // for Undo; "" when nothing is kept to undo it with
	Files []Changed
}

// Changed is a file after a change.
type Changed struct {
	Name    string
	Created bool
	Removed bool
	Size    int64
	Stamp   string
	Notes   []string // what the caller should know, such as a hard link that was cut
}

// A ListQuery asks for the entries of a directory.
type ListQuery struct {
	Path    string
	Depth   int    // 1 is the directory itself
	Limit   int    // entries
	Pattern string // a glob that names must match; "" for all
	Hidden  bool   // names that begin with a dot, too
	Ignored bool   // what .gitignore names, too
}

// A GlobQuery asks for files by their names.
type GlobQuery struct {
	Pattern string // doublestar, relative to Path
	Path    string
	Limit   int
	Newest  bool // the latest change first, else by name
	Hidden  bool
	Ignored bool
}

// A Listing is what List and Glob find, in order.
type Listing struct {
	Dir      string // what was listed
	Entries  []Entry
	More     int      // entries beyond the limit
	Unlisted []string // directories that could not be read
}

// An Entry is a file, a directory or a link.
type Entry struct {
	Name     string // from the listed directory, with slashes
	Mode     iofs.FileMode
	Size     int64
	Modified time.Time
	Target   string // of a link
}

// SearchMode says what a search returns.
type SearchMode string

// The modes.
const (
	Content SearchMode = "content" // lines
	Names   SearchMode = "files"   // files with a match
	Count   SearchMode = "count"   // files with their number of matches
)

// A SearchQuery asks for text in files.
type SearchQuery struct {
	Pattern    string   // RE2, or plain text when Literal
	Path       string   // directory or file
	Globs      []string // a file must match one; with ! in front, must not
	Types      []string // go, py, js, ...; a file must be of one
	Mode       SearchMode
	Context    int // lines around a match
	Literal    bool
	IgnoreCase bool
	Word       bool
	Multiline  bool // matches may span lines, and . matches newlines
	Hidden     bool
	Ignored    bool
	Limit      int // matching lines, or files when the mode is not Content
	Offset     int // matches or files to leave out first
}

// Found is the answer to a search. Its files are ordered by name.
type Found struct {
	Files   []FileMatches
	Matches int // lines that matched, as far as was looked
	// More says that there is more than was returned; the search stopped when
	// it had enough.
	More     bool
	Unread   int      // files that could not be read
	Searched int      // files that were looked at, or known not to match
	Unlisted []string // directories that could not be read
}

// FileMatches are the matches in one file.
type FileMatches struct {
	Name    string
	Matches int    // lines that matched
	Lines   []Line // in Content mode
	Binary  bool   // it holds a match and is not text
}

// A Line is a matching line, or one around it.
type Line struct {
	Number int
	Text   string
	Match  bool
	Column int // where the text begins when a long line was cut to a window; 0 when whole
	Cut    int // bytes of the line that are not shown
}

// Past is a change that was made earlier.
type Past struct {
	ID       string
	Time     time.Time
	Tool     string
	By       string // agent and user
	Action   string // created, changed, removed
	Before   int64  // size
	After    int64
	Undone   string // the change that took it back, "" for none
	Undoable bool   // the copy is still there
	Others   []string
}
