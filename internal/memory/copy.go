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

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// A Writer takes the files of an export.
type Writer interface {
	Write(name string, content []byte, modified time.Time) error
}

// A Report says what an import did.
type Report struct {
	Written   int
	Unchanged int
	Skipped   []string // files, each with the reason
}

// mostFiles is how many files an import looks at.
const mostFiles = 100_000

// A Listed is what is told of a document in a list.
type Listed struct {
	Path     string    `json:"path"`
	Size     int64     `json:"bytes"`
	Category string    `json:"category"`
	Tags     []string  `json:"tags"`
	Updated  time.Time `json:"updated"`
	Shared   bool      `json:"shared"` // by all users of the agent
}

// List tells of all documents that the caller reads, the latest first.
func (m *Memory) List(ctx context.Context) ([]Listed, error) {
	o, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := m.o.Rows.Memories(ctx, o, mostFiles)
	list := make([]Listed, len(entries))
	for i, e := range entries {
		list[i] = Listed{e.Path, e.Size, e.Category, append([]string{}, e.Tags...), e.Updated, e.Owner.User == ""}
	}
	return list, err
}

// Export writes all documents of the caller's own as files. Front matter keeps
// what is not in the text: [Memory.Import] makes the same documents of them.
func (m *Memory) Export(ctx context.Context, w Writer) (n int, err error) {
	o, _, err := who(ctx)
	if err != nil {
		return 0, err
	}
	list, err := m.o.Rows.Memories(ctx, o, mostFiles)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(list, func(a, b memory.Entry) int { return strings.Compare(a.Path, b.Path) }) // a file gets its name before a directory
	names := &fileNames{files: map[string]bool{}, dirs: map[string]bool{}}
	for _, e := range list {
		if e.Owner != o {
			continue
		}
		d, found, err := m.o.Rows.Memory(ctx, o, e.Path)
		if err != nil {
			return n, err
		}
		if !found || d.Owner != o { // gone meanwhile
			continue
		}
		if err := export(w, names, d); err != nil {
			return n, fmt.Errorf("exporting %s: %w", d.Path, err)
		}
		n++
	}
	return n, nil
}

func export(w Writer, names *fileNames, d memory.Document) error {
	name := names.of(d.Path)
	if isMarkdown(name) {
		text, err := withCard(d, name, d.Text)
		if err != nil {
			return err
		}
		return w.Write(name, []byte(text), d.Updated)
	}
	text, err := withCard(d, name, "")
	if err != nil {
		return err
	}
	return errors.Join(w.Write(name, []byte(d.Text), d.Updated), w.Write(name+cardFile, []byte(text), d.Updated))
}

// Import makes documents of the caller's own of all texts in a directory. What
// is there already with another text becomes a former version; what is not a
// memory's is skipped and said. Links are not followed.
func (m *Memory) Import(ctx context.Context, dir fs.FS) (r Report, err error) {
	o, by, err := who(ctx)
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
		case e.IsDir(), strings.HasSuffix(name, cardFile) && isFile(dir, strings.TrimSuffix(name, cardFile)):
			return nil
		}
		if files++; files > mostFiles {
			return tool.Errorf(tool.TooLarge, "there are more than %d files", mostFiles).Try("import part of them")
		}
		return m.importFile(ctx, dir, name, e, memory.Change{Owner: o, By: by}, &r)
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

// importFile imports one file, or says in the report why not. Its error is one
// of the store.
func (m *Memory) importFile(ctx context.Context, dir fs.FS, name string, e fs.DirEntry, c memory.Change, r *Report) error {
	info, err := e.Info()
	switch {
	case err != nil || !e.Type().IsRegular():
		r.skip(name, "it is not a file")
		return nil
	case !isText(name):
		r.skip(name, "its name is not that of a text")
		return nil
	}
	text, err := readText(dir, name)
	if err != nil {
		r.skip(name, tool.AsError(err).What)
		return nil
	}
	card := text
	if !isMarkdown(name) {
		card, _ = readText(dir, name+cardFile) // without one there is none
	}
	rest, about, err := readCard(card)
	if err != nil {
		r.skip(name, "its front matter: "+err.Error())
		return nil
	}
	if about.ours && isMarkdown(name) {
		text = rest
	}
	if c.Path, err = pathOf(about.path(name)); err == nil {
		err = checkText(c.Path, text)
	}
	if err != nil {
		r.skip(name, tool.AsError(err).What)
		return nil
	}
	c.Text, c.Digest = text, digest(text)
	c.Updated = info.ModTime()
	if c.Updated.After(m.o.Now()) || c.Updated.Unix() <= 0 {
		c.Updated = time.Time{}
	}
	if !about.fill(&c, m.o.Now()) {
		r.skip(name, "it has expired")
		return nil
	}
	_, unchanged, err := m.o.Rows.PutMemory(ctx, c)
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

func readText(dir fs.FS, name string) (string, error) {
	file, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	const cards = 64 << 10
	text, err := io.ReadAll(io.LimitReader(file, mostText+cards+1))
	if err != nil {
		return "", err
	}
	if len(text) > mostText+cards {
		return "", tool.Errorf(tool.TooLarge, "it has more than %d bytes", mostText)
	}
	return string(text), nil
}
