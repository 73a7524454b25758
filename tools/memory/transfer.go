package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
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

// Export writes all documents of the caller's own as files. Front matter has what is not in the text: [Memory.Import]
// makes the same documents of them.
func (m *Memory) Export(ctx context.Context, w Writer) (n int, err error) {
	o, _, err := caller(ctx)
	if err != nil {
		return 0, err
	}
	entries, err := m.o.Rows.List(ctx, o, maxFiles)
	if err != nil {
		return 0, err
	}
	// In the order of paths a file is named before the directory that begins with its name.
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	names := &fileNames{files: map[string]bool{}, dirs: map[string]bool{}}
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
		if err := export(w, names, d); err != nil {
			return n, fmt.Errorf("exporting %s: %w", d.Path, err)
		}
		n++
	}
	return n, nil
}

func export(w Writer, names *fileNames, d Document) error {
	name := names.of(d.Path)
	if isMarkdown(name) {
		text, err := withProperties(d, name, d.Text)
		if err != nil {
			return err
		}
		return w.Write(name, []byte(text), d.Updated)
	}
	text, err := withProperties(d, name, "")
	if err != nil {
		return err
	}
	return errors.Join(w.Write(name, []byte(d.Text), d.Updated), w.Write(name+propertiesFile, []byte(text), d.Updated))
}

// Import makes documents of the caller's own of all texts in a directory. A document that exists with another text
// becomes a former version; what cannot be a memory is skipped and reported. Links are not followed.
func (m *Memory) Import(ctx context.Context, dir fs.FS) (r Report, err error) {
	o, by, err := caller(ctx)
	if err != nil {
		return r, err
	}
	files := 0
	err = fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		base := name[strings.LastIndexByte(name, '/')+1:]
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case name != "." && strings.HasPrefix(base, "."):
			r.skip(name, "it is hidden")
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir(), strings.HasSuffix(name, propertiesFile) &&
			isFile(dir, strings.TrimSuffix(name, propertiesFile)):
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

func isFile(dir fs.FS, name string) bool {
	info, err := fs.Stat(dir, name)
	return err == nil && info.Mode().IsRegular()
}

// importFile imports one file, or reports why it does not. It returns errors of the store only.
func (m *Memory) importFile(ctx context.Context, dir fs.FS, name string, e fs.DirEntry, c Change, r *Report) error {
	modified, err := m.readFile(dir, name, e, &c)
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
func (m *Memory) readFile(dir fs.FS, name string, e fs.DirEntry, c *Change) (modified time.Time, err error) {
	skip := func(why string) (time.Time, error) { return time.Time{}, tool.Errorf(tool.Invalid, "%s", why) }
	info, err := e.Info()
	switch {
	case err != nil || !e.Type().IsRegular():
		return skip("it is not a file")
	case !isText(name):
		return skip("its name is not that of a text")
	}
	text, err := readText(dir, name)
	if err != nil {
		return time.Time{}, err
	}
	matter := text
	if !isMarkdown(name) {
		matter, _ = readText(dir, name+propertiesFile) // an export of another program has none
	}
	body, p, err := readProperties(matter)
	if err != nil {
		return skip("its front matter: " + err.Error())
	}
	if p.exported && isMarkdown(name) {
		text = body
	}
	if c.Path, err = pathOf(p.path(name)); err == nil {
		err = checkText(c.Path, text)
	}
	if err != nil {
		return time.Time{}, err
	}
	c.Text, c.Digest = text, digest(text)
	if !p.fill(c, m.o.Now()) {
		return skip("it has expired")
	}
	return info.ModTime(), nil
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
	// propertiesFile is the end of the name of a file with the properties of another, which is not Markdown.
	propertiesFile = ".memory.md"

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

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

// withProperties puts the properties of a document that is written to a file before a text.
func withProperties(d Document, file, text string) (string, error) {
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
	return markdown.WithFrontMatter(markdown.Fields{{Key: propertiesKey, Value: fields}}, text)
}

// Exported reports whether [Memory.Export] has written a file, by its content or the file of properties beside it.
func Exported(file string, content []byte) bool {
	if !isMarkdown(file) {
		_, err := os.Stat(file + propertiesFile)
		return err == nil
	}
	_, p, err := readProperties(string(content))
	return err == nil && p.exported
}

// readProperties splits a text into properties and the rest. Front matter that no export has written may be
// invalid: then it is part of the text.
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

// fileNames gives documents names that files can have: different also if case is ignored, not hidden, not too
// long, and never that of a directory or of a file with properties. The properties have the path of the
// document.
type fileNames struct{ files, dirs map[string]bool } // in lower case

func (f *fileNames) of(name string) string {
	steps := strings.Split(name, "/")
	last := len(steps) - 1
	dir := ""
	for _, step := range steps[:last] {
		dir = unused(dir, fileStep(step), func(name string) bool { return f.files[name] })
		f.dirs[strings.ToLower(dir)] = true
		dir += "/"
	}
	file := unused(dir, fileStep(steps[last]), func(name string) bool {
		return f.files[name] || f.dirs[name] || strings.HasSuffix(name, propertiesFile)
	})
	f.files[strings.ToLower(file)] = true
	return file
}

// unused returns a name in a directory that is not used.
func unused(dir, step string, used func(string) bool) string {
	name, ext := dir+step, path.Ext(step)
	for n := 2; used(strings.ToLower(name)); n++ {
		name = fmt.Sprintf("%s%s~%d%s", dir, strings.TrimSuffix(step, ext), n, ext)
	}
	return name
}

// fileStep returns a step of a path that is neither hidden nor too long for a file.
func fileStep(step string) string {
	const most, longestExt = 200, 20
	if strings.HasPrefix(step, ".") {
		step = "~" + step
	}
	if len(step) <= most {
		return step
	}
	ext := path.Ext(step)
	if len(ext) > longestExt {
		ext = ""
	}
	return strings.ToValidUTF8(step[:most-len(ext)], "") + ext
}
