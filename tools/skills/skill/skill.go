// Package skill defines the format of skills: a directory with a file SKILL.md of front matter and instructions, and
// other files. It parses SKILL.md, checks the files of a skill, and finds content that a person should know of
// before the skill is used.
//
// It knows neither the storage nor the users of skills, and it does not decide whether to trust one. Nothing in a
// skill is run here. Begin with [Parse] for SKILL.md, then [Pack] for a directory.
package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Main is the file that makes a directory a skill.
const Main = "SKILL.md"

// Meta is the front matter of a skill, and the headings of its instructions.
type Meta struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Version     string          `json:"version,omitempty"` // in the words of its author
	Tags        []string        `json:"tags,omitempty"`
	Tools       []string        `json:"tools,omitempty"` // the tools that it was written for
	Arguments   []tool.Argument `json:"arguments,omitempty"`
	Headings    []string        `json:"headings,omitempty"`
}

// A File is one file of a skill.
type File struct {
	Path   string `json:"path"` // from the skill's directory, with slashes
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size"`
}

// A Content is a File with its content.
type Content struct {
	File
	Data []byte
}

// A Draft is the next version of a skill before it is stored.
type Draft struct {
	Owner           tool.Owner
	Slug            string
	Meta            Meta
	Files           []Content // sorted by path
	Findings        []Finding
	Author, Session string
}

// Digest returns a digest of all files and their names.
func (d Draft) Digest() string {
	sum := sha256.New()
	for _, f := range d.Files {
		sum.Write([]byte(strconv.Itoa(len(f.Path)) + " " + f.Path + " " + f.Digest + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Size returns the number of bytes of all files.
func (d Draft) Size() (n int64) {
	for _, f := range d.Files {
		n += f.Size
	}
	return n
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
