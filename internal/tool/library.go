package tool

import "time"

// A Resource is something that clients can read without a tool.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"` // in bytes; 0: unknown
	Notes       Notes  `json:"annotations,omitzero"`
}

// Notes are annotations of a resource.
type Notes struct {
	Modified time.Time `json:"lastModified,omitzero"` // in UTC
}

// ModifiedAt returns the notes of a resource that was last modified at t.
func ModifiedAt(t time.Time) Notes { return Notes{t.UTC().Truncate(time.Second)} }

// A Template is the form of the URIs of resources that are alike.
type Template struct {
	URI         string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType,omitempty"`
}

// A Prompt is a template for the first messages of a conversation.
type Prompt struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// An Argument is a parameter of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// A FilledPrompt is a prompt with its arguments inserted.
type FilledPrompt struct {
	Description string
	Messages    []Message
}

// A Message is one turn of a conversation.
type Message struct {
	Assistant bool // the model's; otherwise it is the user's
	Part      Part
}
