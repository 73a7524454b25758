// Package skill says what a skill is: a directory with instructions in a file
// SKILL.md, what that file says about itself, which files may go with it, and
// what in them a person would want to hear of before it is used.
//
// It knows texts and names, and decides nothing: not where skills are kept, who
// sees which, nor whether one is to be trusted. Nothing in a skill is run here.
//
// Begin with [Parse] for SKILL.md, then [Pack] for a whole directory.
package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// Main is the file that makes a directory a skill.
const Main = "SKILL.md"

// An Owner is whose a published skill is. Those without a user are shared by
// all users of the agent.
type Owner struct{ Agent, User string }

// Shared is the owner of what all users of the agent share.
func (o Owner) Shared() Owner { return Owner{Agent: o.Agent} }

// Meta is what a skill says about itself.
type Meta struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     string     `json:"version,omitempty"` // as its author counts
	Tags        []string   `json:"tags,omitempty"`
	Tools       []string   `json:"tools,omitempty"` // that it was written for
	Arguments   []Argument `json:"arguments,omitempty"`
	Headings    []string   `json:"headings,omitempty"` // of its instructions
}

// An Argument is something that a skill wants to be told when it is used.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// A File is one file of a skill.
type File struct {
	Path   string `json:"path"` // from the skill's directory, with slashes
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size"`
}

// A Content is a File with what is in it.
type Content struct {
	File
	Data []byte
}

// A Draft is what is to become a version of a skill.
type Draft struct {
	Owner           Owner
	Slug            string
	Meta            Meta
	Files           []Content // by their paths
	Findings        []Finding
	Author, Session string
}

// Digest is that of all files and their names.
func (d Draft) Digest() string {
	sum := sha256.New()
	for _, f := range d.Files {
		sum.Write([]byte(strconv.Itoa(len(f.Path)) + " " + f.Path + " " + f.Digest + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Size is how many bytes all files have.
func (d Draft) Size() (n int64) {
	for _, f := range d.Files {
		n += f.Size
	}
	return n
}

// A Row is a version of a published skill.
type Row struct {
	ID              string // of the skill, whatever its version
	Owner           Owner
	Slug            string
	Number          int64 // of the version: 1, 2, ...
	Latest          bool
	Digest          string
	Meta            Meta
	Files           []File
	Findings        []Finding
	Size            int64
	Author, Session string
	Created         int64 // in milliseconds since 1970
}

// A Use says that a skill was used.
type Use struct {
	Owner   Owner // who used it
	Slug    string
	Source  string // where it was found
	Number  int64  // its version; 0 for none
	Session string
}

// Uses are how often somebody has used a skill, wherever it was found.
type Uses struct {
	Slug   string
	Count  int64
	Latest int64 // in milliseconds since 1970
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func byPath(files []Content) {
	slices.SortFunc(files, func(a, b Content) int { return cmp.Compare(a.Path, b.Path) })
}
