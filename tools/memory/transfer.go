package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Writer takes the files of an export.
type Writer interface {
	Write(name string, content []byte, modified time.Time) error
}

// A Report is the result of an import.
type Report struct {
	Written   int
	Unchanged int
	Skipped   []string // files, each with the reason
}

// maxFiles is the max number of files in an import.
const maxFiles = 100_000

// A Listed is one line of the list for people.
type Listed struct {
	Path     string    `json:"path"`
	Size     int64     `json:"bytes"`
	Category string    `json:"category"`
	Tags     []string  `json:"tags"`
	Updated  time.Time `json:"updated"`
	Shared   bool      `json:"shared"` // by all users of the agent
}

// List returns all documents that the caller reads, the latest first.
func (m *Memory) List(ctx context.Context) ([]Listed, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := m.o.Rows.List(ctx, o, maxFiles)
	lines := make([]Listed, len(entries))
	for i, e := range entries {
		lines[i] = Listed{e.Path, e.Size, e.Category, append([]string{}, e.Tags...), e.Updated, e.Owner.User == ""}
	}
	return lines, err
}

// Purge removes the caller's own documents that were last written in a session, or all if session is "", and their
// former versions. Unlike forgotten documents they cannot be restored.
func (m *Memory) Purge(ctx context.Context, session string) (int, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return 0, err
	}
	return m.o.Rows.Purge(ctx, o, session)
}

// Export writes all documents of the caller as files. Front matter has the fields that are not in the text:
// [Memory.Import] makes the same documents of the files.
func (m *Memory) Export(ctx context.Context, w Writer) (n int, err error) {
	o, _, err := caller(ctx)
	if err != nil {
		return 0, err
	}
	entries, err := m.o.Rows.List(ctx, o, maxFiles)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	used := map[string]bool{} // names in lower case
	for _, e := range entries {
		if e.Owner != o {
			continue
		}
		d, found, err := m.o.Rows.Get(ctx, o, e.Path)
		if err != nil {
			return n, err
		}
		if !found || d.Owner != o { // removed since it was listed
			continue
		}
		name := d.Path
		for i := 2; used[strings.ToLower(name)]; i++ { // many file systems ignore case
			name = fmt.Sprintf("%s~%d%s", strings.TrimSuffix(d.Path, extension), i, extension)
		}
		used[strings.ToLower(name)] = true
		text, err := withProperties(d, name)
		if err == nil {
			err = w.Write(name, []byte(text), d.Updated)
		}
		if err != nil {
			return n, fmt.Errorf("exporting %s: %w", d.Path, err)
		}
		n++
	}
	return n, nil
}

// Import makes documents of the caller from all Markdown files in a directory, and from files that can be converted
// to Markdown, such as PDF. If a document exists with another text, that text becomes a former version. Files that
// cannot be a memory are skipped and reported. Links are not followed.
func (m *Memory) Import(ctx context.Context, dir fs.FS) (r Report, err error) {
	o, by, err := caller(ctx)
	if err != nil {
		return r, err
	}
	files := 0
	err = fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case name != "." && strings.HasPrefix(e.Name(), "."):
			r.skip(name, "it is hidden")
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		if files++; files > maxFiles {
			return tool.Errorf(tool.TooLarge, "there are more than %d files", maxFiles).Try("import part of them")
		}
		return m.importFile(ctx, dir, name, e, Change{Owner: o, By: by}, &r)
	})
	return r, err
}

func (r *Report) skip(name, why string) {
	const most = 1000
	if len(r.Skipped) < most {
		r.Skipped = append(r.Skipped, name+": "+why)
	}
}

// importFile imports one file, or reports why it does not. It returns errors of the store only.
func (m *Memory) importFile(ctx context.Context, dir fs.FS, name string, e fs.DirEntry, c Change, r *Report) error {
	modified, err := m.readFile(ctx, dir, name, e, &c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.skip(name, tool.AsError(err).What)
		return nil
	}
	if c.Updated.IsZero() && !modified.After(m.o.Now()) && modified.Unix() > 0 {
		c.Updated = modified
	}
	_, unchanged, err := m.o.Rows.Put(ctx, c)
	switch {
	case err != nil:
		return err
	case unchanged:
		r.Unchanged++
	default:
		r.Written++
	}
	return nil
}

// readFile fills a change from a file, and returns when that was modified.
func (m *Memory) readFile(
	ctx context.Context, dir fs.FS, name string, e fs.DirEntry, c *Change,
) (modified time.Time, err error) {
	skip := func(why string) (time.Time, error) { return time.Time{}, tool.Errorf(tool.Invalid, "%s", why) }
	info, err := e.Info()
	switch {
	case err != nil || !e.Type().IsRegular():
		return skip("it is not a file")
	case strings.HasSuffix(name, extension):
	case m.o.Documents == nil:
		return skip("it is not a Markdown file")
	default:
		if c.Text, err = m.convert(ctx, dir, name); err == nil {
			c.Path, err = pathOf(name + extension)
		}
		if err == nil {
			err = checkText(c.Path, c.Text)
		}
		c.Digest = digestOfWords(c.Text)
		return info.ModTime(), err
	}
	text, err := readText(dir, name)
	if err != nil {
		return time.Time{}, err
	}
	text, p, err := readProperties(text)
	if err != nil {
		return skip("its front matter: " + err.Error())
	}
	if c.Path, err = pathOf(p.path(name)); err == nil {
		err = checkText(c.Path, text)
	}
	if err != nil {
		return time.Time{}, err
	}
	c.Text, c.Digest = text, digestOfWords(text)
	if !p.fill(c, m.o.Now()) {
		return skip("it has expired")
	}
	return info.ModTime(), nil
}

// convert returns the text of a document of another format.
func (m *Memory) convert(ctx context.Context, dir fs.FS, name string) (string, error) {
	file, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	content, ok := file.(io.ReaderAt)
	head := make([]byte, 4096)
	if ok {
		n, err := content.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		head = head[:n]
	}
	documents, err := m.o.Documents()
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "%w", err)
	}
	if !ok || !documents.Takes(head) && !documents.TakesName(name) {
		return "", tool.Errorf(tool.Invalid, "it is neither a Markdown file nor a document")
	}
	r := document.Request{Name: info.Name(), Content: content, Size: info.Size(), OCR: document.OCRAuto}
	text, format, err := documents.Markdown(ctx, r, maxText)
	if err != nil {
		return "", err
	}
	switch format {
	case document.Text, document.ZIP, document.TAR, document.Image:
		return "", tool.Errorf(tool.Invalid, "it is neither a Markdown file nor a document")
	}
	return text, nil
}

func readText(dir fs.FS, name string) (string, error) {
	file, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	const matter = 64 << 10
	text, err := io.ReadAll(io.LimitReader(file, maxText+matter+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxText+matter {
		return "", tool.Errorf(tool.TooLarge, "it has more than %d bytes", maxText)
	}
	return string(text), nil
}

// properties are the fields of a document without its text. An export writes them as front matter:
//
//	---
//	memory:
//	  category: core
//	  tags: [...]
//	---
//
// The text follows, and may begin with other front matter. In a file without these properties the same
// keys of its front matter are used, and the text is the whole file.
type properties struct {
	exported bool // by [Memory.Export]
	fields   markdown.Fields
}

const (
	propertiesKey = "memory"
	keyPath       = "path"
	keyCategory   = "category"
	keyTags       = "tags"
	keyCreated    = "created"
	keyUpdated    = "updated"
	keyExpires    = "expires"
	keyAuthor     = "author"
	keySession    = "session"

	exportedTime = "2006-01-02T15:04:05.000Z07:00"
)

// withProperties returns the text of a document that is written to a file, after its properties.
func withProperties(d Document, file string) (string, error) {
	fields := markdown.Fields{{Key: keyCategory, Value: d.Category}}
	add := func(key, value string) {
		if value != "" {
			fields = append(fields, markdown.Field{Key: key, Value: value})
		}
	}
	addTime := func(key string, t time.Time) {
		if !t.IsZero() {
			add(key, t.UTC().Format(exportedTime))
		}
	}
	if file != d.Path {
		add(keyPath, d.Path)
	}
	if len(d.Tags) > 0 {
		tags := make([]any, len(d.Tags))
		for i, tag := range d.Tags {
			tags[i] = tag
		}
		fields = append(fields, markdown.Field{Key: keyTags, Value: tags})
	}
	addTime(keyCreated, d.Created)
	addTime(keyUpdated, d.Updated)
	addTime(keyExpires, d.Expires)
	add(keyAuthor, d.Author.Name)
	add(keySession, d.Author.Session)
	return markdown.WithFrontMatter(markdown.Fields{{Key: propertiesKey, Value: fields}}, d.Text)
}

// Exported reports whether [Memory.Export] has written a file with this content.
func Exported(content []byte) bool {
	_, p, err := readProperties(string(content))
	return err == nil && p.exported
}

// readProperties splits a text into the properties of its front matter and the rest. Front matter that is
// invalid belongs to the rest: a person may have written it.
func readProperties(text string) (rest string, p properties, err error) {
	fields, body, _, err := markdown.FrontMatter(text)
	if err != nil {
		if strings.HasPrefix(text, "---\n"+propertiesKey+":") {
			return "", properties{}, err
		}
		return text, properties{}, nil
	}
	if value, ok := fields.Get(propertiesKey); ok && len(fields) == 1 {
		if inner, ok := value.(markdown.Fields); ok && inner.Text(keyCategory) != "" {
			return body, properties{exported: true, fields: inner}, nil
		}
	}
	return text, properties{fields: fields}, nil
}

// path returns the path that the exported document had, otherwise the name of the file.
func (p properties) path(file string) string {
	if was := p.fields.Text(keyPath); p.exported && was != "" {
		return was
	}
	return file
}

// fill adds the properties to a change. It returns false if the document has expired. Invalid values are left out.
func (p properties) fill(c *Change, now time.Time) bool {
	if category := strings.ToLower(p.fields.Text(keyCategory)); slices.Contains(categories(), category) {
		c.Category = category
	}
	if tags, err := checkTags(p.fields.Texts(keyTags)); err == nil && (tags != nil || p.exported) {
		c.Tags = append([]string{}, tags...)
	}
	expires, has := clock.Parse(p.fields.Text(keyExpires), time.UTC)
	if has && !expires.After(now) {
		return false
	}
	if has || p.exported {
		c.Expires = &expires
	}
	if !p.exported {
		return true
	}
	if at, ok := clock.Parse(p.fields.Text(keyCreated), time.UTC); ok {
		c.Created = at
	}
	if at, ok := clock.Parse(p.fields.Text(keyUpdated), time.UTC); ok {
		c.Updated = at
	}
	if author := p.fields.Text(keyAuthor); author != "" {
		c.By = Author{cleanName(author), cleanName(p.fields.Text(keySession))}
	}
	return true
}

// cleanName bounds a name from a file.
func cleanName(name string) string {
	const most = 200
	name = strings.ReplaceAll(name, "\x00", "")
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}
