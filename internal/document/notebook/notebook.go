// Package notebook reads Jupyter notebooks: their cells in order, with their output. Pictures
// are named, not included. Begin with Read.
package notebook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

// text is a string, or a list of lines as notebooks have it.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if bytes.HasPrefix(data, []byte("[")) {
		err := json.Unmarshal(data, &lines)
		*t = text(strings.Join(lines, ""))
		return err
	}
	var line string
	if err := json.Unmarshal(data, &line); err == nil { // values other than texts have none
		*t = text(line)
	}
	return nil
}

type file struct {
	Metadata struct {
		Title    string `json:"title"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
	Cells  []cell `json:"cells"`
	Sheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"` // version 3
}

type cell struct {
	Type        string                     `json:"cell_type"`
	Source      text                       `json:"source"`
	Input       text                       `json:"input"` // version 3
	Level       int                        `json:"level"` // of a heading, version 3
	Outputs     []output                   `json:"outputs"`
	Attachments map[string]map[string]text `json:"attachments"`
}

type output struct {
	Type      string          `json:"output_type"`
	Text      text            `json:"text"`
	Data      map[string]text `json:"data"`
	Name      string          `json:"ename"`
	Value     string          `json:"evalue"`
	Traceback text            `json:"traceback"`
	PNG       text            `json:"png"` // version 3
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// reader writes a notebook.
type reader struct {
	ctx      context.Context
	src      document.Source
	out      md.Writer
	language string
	pictures []document.Picture
	bytes    int64
	notes    []string
}

// Read reads a notebook.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	if src.Size > src.Limits.Part {
		return nil, document.Errorf(document.ErrTooBig, "the notebook has over %d MB", src.Limits.Part>>20)
	}
	data, err := io.ReadAll(src.Reader())
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, document.Errorf(document.ErrBroken, "the notebook is damaged: it is not valid JSON")
	}
	for _, sheet := range f.Sheets {
		f.Cells = append(f.Cells, sheet.Cells...)
	}
	r := &reader{ctx: ctx, src: src, out: md.Writer{Limit: src.Limits.Text}, language: f.Metadata.Language.Name}
	r.language = cmp.Or(r.language, f.Metadata.Kernel.Language)
	if strings.Trim(r.language, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#-") != "" {
		r.language = ""
	}
	for i, c := range f.Cells {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.cell(i+1, c)
	}
	if r.out.Full {
		r.notes = append(r.notes, "The notebook exceeds the maximum length; its end is missing.")
	}
	return &document.Document{
		Title: f.Metadata.Title, Total: 1, Parts: []document.Part{{Number: 1, Markdown: r.out.String()}},
		Pictures: r.pictures, Notes: r.notes,
	}, nil
}

func (r *reader) cell(number int, c cell) {
	source := string(c.Source + c.Input)
	switch c.Type {
	case "markdown":
		for name, kinds := range c.Attachments {
			picture := fmt.Sprintf("cell%d-%s", number, name)
			for kind, data := range kinds {
				r.picture(picture, kind, string(data))
			}
			source = strings.ReplaceAll(source, "(attachment:"+name+")", "("+picture+")")
		}
		r.out.Paragraph(source)
	case "heading":
		r.out.Heading(c.Level, source)
	case "code":
		r.out.Fence(r.language, source)
		for i, o := range c.Outputs {
			r.output(fmt.Sprintf("cell%d-%d", number, i+1), o)
		}
	default: // raw
		r.out.Fence("", source)
	}
}

// output writes the output of a cell: a table as one, other things as text.
func (r *reader) output(name string, o output) {
	if o.Type == "error" || o.Type == "pyerr" {
		trace := strings.TrimSpace(escapes.ReplaceAllString(string(o.Traceback), ""))
		if message := o.Name + ": " + o.Value; !strings.Contains(trace, o.Value) {
			trace = strings.TrimSpace(trace + "\n" + message)
		}
		r.code("Error", trace)
		return
	}
	png, jpeg := o.Data["image/png"]+o.PNG, o.Data["image/jpeg"]
	switch {
	case png != "":
		r.picture(name+".png", "image/png", string(png))
		r.out.Paragraph(md.Image(description(o), name+".png"))
		return
	case jpeg != "":
		r.picture(name+".jpg", "image/jpeg", string(jpeg))
		r.out.Paragraph(md.Image(description(o), name+".jpg"))
		return
	}
	if html := o.Data["text/html"]; strings.Contains(string(html), "<table") {
		if p, err := page.Read(r.ctx, []byte(html),
			page.Options{Whole: true, ContentType: "text/html; charset=utf-8"}); err == nil {
			r.out.Paragraph("Output:\n\n" + p.Text)
			return
		}
	}
	if text := o.Data["text/markdown"]; text != "" {
		r.out.Paragraph("Output:\n\n" + string(text))
		return
	}
	r.code("Output", string(o.Text+o.Data["text/plain"]))
}

// description returns the text for a picture, unless it is only the name of an object.
func description(o output) string {
	if text := string(o.Data["text/plain"]); !strings.HasPrefix(text, "<") {
		return text
	}
	return ""
}

// maxOutput limits one output; the rest is rarely of interest.
const maxOutput = 20_000

func (r *reader) code(label, text string) {
	text = strings.Trim(escapes.ReplaceAllString(text, ""), "\n")
	if text == "" {
		return
	}
	if len(text) > maxOutput {
		text = strings.ToValidUTF8(text[:maxOutput], "") + fmt.Sprintf("\n... %d more bytes", len(text)-maxOutput)
	}
	r.out.Paragraph(label + ":")
	r.out.Fence("", text)
}

func (r *reader) picture(name, kind, data string) {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(data), ""))
	if err != nil {
		return
	}
	one := document.Picture{Name: name, Type: kind, Size: int64(len(raw)), Page: 1}
	if r.bytes += one.Size; r.src.Pictures && r.bytes <= r.src.Limits.Pictures {
		one.Data = raw
	}
	r.pictures = append(r.pictures, one)
}

// maxNotebook is the largest JSON file that is searched for the marks of a notebook.
const maxNotebook = 64 << 20

// Looks reports whether a text is JSON with the fields of a notebook.
func Looks(t document.Head) bool {
	if t.Size > maxNotebook || !strings.HasPrefix(t.Text, "{") {
		return false
	}
	d := json.NewDecoder(io.NewSectionReader(t.Data, 0, t.Size))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	cells, version := false, false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		cells = cells || key == "cells" || key == "worksheets"
		version = version || key == "nbformat"
		if cells && version {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}
