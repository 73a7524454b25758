package workspace

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// Files are the files of the caller of the running call; the caller is in the
// context. [Workspace] implements it. A path has the form that a model writes:
// relative to the workspace, absolute, or beginning with ~ or an alias. Errors
// can be returned to the model as they are.
type Files interface {
	// Open opens one regular file for reading.
	Open(ctx context.Context, path string) (*File, error)

	// Change changes all of the files, or none. It calls plan with the current
	// files, in the order of paths; a file that does not exist has Exists false.
	// plan returns the changes to make. Until Change returns, no other call of
	// this server changes these files. An error of plan ends the call without a
	// change.
	Change(ctx context.Context, paths []string, plan func([]*File) ([]Change, error)) (Receipt, error)

	// List lists a directory.
	List(ctx context.Context, q ListQuery) (Listing, error)
	// Glob finds files by their names.
	Glob(ctx context.Context, q GlobQuery) (Listing, error)
	// Search finds lines in files.
	Search(ctx context.Context, q search.Query) (search.Found, error)

	// History returns the earlier changes of a file, the latest first; with path "" the changes
	// of all files.
	History(ctx context.Context, path string, limit int) ([]PastChange, error)
	// Undo reverts a change, or all changes of a script, unless its files have changed since.
	Undo(ctx context.Context, id string) (Receipt, error)
}

// A File is a regular file, open for reading. The caller closes it, except for
// files that Change passes to plan.
type File struct {
	Name     string // the path to show to the caller
	Exists   bool
	Size     int64
	Modified time.Time
	Mode     fs.FileMode // the permissions
	// Stamp changes when the file is written to or replaced, as far as this
	// shows without reading the file.
	Stamp string
	io.ReaderAt
	io.Closer
}

// A Change is the new state of one file. A nil Content writes an empty file.
type Change struct {
	Path    string      // one of the paths given to Files.Change
	Content io.Reader   // the whole new content; it may read from the File itself
	Remove  bool        // remove the file instead of writing it
	Mode    fs.FileMode // permissions; 0 keeps them, or takes the default for a new file
}

// A Receipt describes a change that was made. When Change returns one, the
// change survives a crash.
type Receipt struct {
	ID    string // for Undo; "" if the change cannot be undone
	Files []Changed
	Left  []string // files that an undone command changed, and that were not restored
}

// Changed is one file after a change.
type Changed struct {
	Name    string
	Created bool
	Removed bool
	Size    int64
	Stamp   string
	Notes   []string // for the caller, such as that another hard link keeps the old content
}

// A ListQuery asks for the entries of a directory.
type ListQuery struct {
	Path    string
	Depth   int    // 1 is the directory itself
	Limit   int    // maximum number of entries
	Pattern string // a glob that names must match; "" for all
	Hidden  bool   // include names that begin with a dot
	Ignored bool   // include files that .gitignore excludes
}

// A GlobQuery asks for files by their names.
type GlobQuery struct {
	Pattern string // relative to Path; ** matches any number of directories
	Path    string
	Limit   int
	Newest  bool // order by time of change, the latest first, instead of by name
	Hidden  bool
	Ignored bool
}

// A Listing is the ordered result of List and Glob.
type Listing struct {
	Dir      string // the directory that was listed
	Entries  []Entry
	More     int      // number of entries beyond the limit
	Unlisted []string // directories that could not be read
}

// An Entry is a file, a directory or a symbolic link.
type Entry struct {
	Name     string // relative to the listed directory, with slashes
	Mode     fs.FileMode
	Size     int64
	Modified time.Time
	Target   string // get a link
}

// A PastChange is an earlier change of one file. Its JSON is for programs.
type PastChange struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Tool     string    `json:"tool"`
	Command  string    `json:"command,omitempty"` // that made the change; "" for other tools
	By       string    `json:"by,omitempty"`      // agent and user
	File     string    `json:"file"`              // the file, or the first of them
	Others   []string  `json:"others,omitempty"`  // files of the same change
	Action   string    `json:"action"`            // created, changed, removed
	Before   int64     `json:"before"`            // size in bytes
	After    int64     `json:"after"`
	Undoable bool      `json:"undoable"`         // it is not undone, and the old content is still kept
	Undone   string    `json:"undone,omitempty"` // the change that reverted this one; "" if none did
	UndoneBy string    `json:"-"`                // the operator who reverted it, "" for a call
	Script   string    `json:"script,omitempty"` // whose changes can be undone as one, by this id; "" for none
	// Created, Changed and Removed are the numbers of files of the whole change, and Left
	// the names of some that cannot be restored.
	Created int      `json:"-"`
	Changed int      `json:"-"`
	Removed int      `json:"-"`
	Left    []string `json:"-"`
}
