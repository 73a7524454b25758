package history

import (
	"encoding/json"
	"io/fs"
	"path"
	"time"
	"unicode/utf8"
)

// A Record tells of one change.
type Record struct {
	ID     string       `json:"id"`
	Time   time.Time    `json:"time"`
	By     string       `json:"by,omitempty"` // on whose behalf
	Tool   string       `json:"tool,omitempty"`
	Call   string       `json:"call,omitempty"`
	Undoes string       `json:"undoes,omitempty"` // the change that this one takes back
	Files  []FileRecord `json:"files"`
}

// A FileRecord tells what a change did to one file.
type FileRecord struct {
	Root     Text     `json:"root"` // a directory, past all links
	Name     Text     `json:"name"` // beneath it
	Shown    Text     `json:"shown"`
	Made     []Text   `json:"made,omitempty"`   // directories that were made for it, beneath the root, outermost first
	External bool     `json:"away,omitempty"`   // it is not on the disk, but served to By
	Before   *Content `json:"before,omitempty"` // nil: there was no file
	After    *Content `json:"after,omitempty"`  // nil: there is none
}

// Path is the whole path of the file, past all links.
func (f FileRecord) Path() string { return path.Join(string(f.Root), string(f.Name)) }

// Content is what a file holds, and its permissions.
type Content struct {
	Digest string      `json:"sha256,omitempty"` // "" when it was too large to look at
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"`
	Kept   bool        `json:"kept,omitempty"` // a copy was kept
}

// Text is a name. It may hold any bytes, and survives JSON.
type Text string

type rawText struct {
	Bytes []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object for what is no text.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{[]byte(t)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var raw rawText
		err := json.Unmarshal(b, &raw)
		*t = Text(raw.Bytes)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}
