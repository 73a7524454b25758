package outbound

import (
	"bytes"
	"mime/multipart"
	"strings"
)

// A Form is a body of type multipart/form-data, with fields and files.
type Form struct {
	content bytes.Buffer
	writer  *multipart.Writer
}

// NewForm returns a form without fields.
func NewForm() *Form {
	f := &Form{}
	f.writer = multipart.NewWriter(&f.content)
	return f
}

// Set adds a field, unless its value is "".
func (f *Form) Set(name, value string) {
	if value != "" {
		_ = f.writer.WriteField(name, value) // into memory
	}
}

// Add adds a file. Its name is written as browsers do: servers do not agree on RFC 2231.
func (f *Form) Add(field, name, kind string, data []byte) {
	safe := strings.NewReplacer("\"", "%22", "\r", "%0D", "\n", "%0A", "\x00", "%00")
	part, err := f.writer.CreatePart(map[string][]string{
		"Content-Disposition": {`form-data; name="` + safe.Replace(field) + `"; filename="` + safe.Replace(name) + `"`},
		"Content-Type":        {safe.Replace(kind)},
	})
	if err == nil {
		_, _ = part.Write(data) // into memory
	}
}

// Encode ends the form and returns its type, with the boundary, and its content.
func (f *Form) Encode() (kind string, body []byte) {
	_ = f.writer.Close() // into memory
	return f.writer.FormDataContentType(), f.content.Bytes()
}
