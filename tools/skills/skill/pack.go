package skill

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// How large a skill may be.
const (
	MostFiles = 200
	MostFile  = 8 << 20
	MostBytes = 20 << 20
)

// Pack makes a draft of the files of a directory. Its errors are written for
// the model: they say what is to be mended. Findings are no errors.
func Pack(ctx context.Context, files []Content, g *Guard) (d Draft, err error) {
	d.Files = files
	byPath(d.Files)
	if err := checkFiles(d.Files); err != nil {
		return Draft{}, err
	}
	main := -1
	for i := range d.Files {
		if ctx.Err() != nil {
			return Draft{}, context.Cause(ctx)
		}
		f := &d.Files[i]
		f.Size, f.Digest = int64(len(f.Data)), digest(f.Data)
		if f.Path == Main {
			main = i
		}
		text := IsText(f.Data)
		if !text && (f.Path == Main || !knownBinary(f.Data)) {
			return Draft{}, refuse("%q is neither text in UTF-8 nor a picture, font, sound, PDF or zip", f.Path).
				Try("leave it out, or convert it")
		}
		if text && len(d.Findings) < mostFindings {
			d.Findings = append(d.Findings, g.Look(f.Path, string(f.Data))...)
		}
	}
	if main < 0 {
		return Draft{}, refuse("there is no %s in it", Main).Try("write one: front matter with name and description, then the instructions")
	}
	if d.Meta, d.Slug, err = checkMain(string(d.Files[main].Data)); err != nil {
		return Draft{}, err
	}
	return d, nil
}

func refuse(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.Invalid, format, args...)
}

func checkFiles(files []Content) error {
	if len(files) > MostFiles {
		return tool.Errorf(tool.TooLarge, "a skill has at most %d files", MostFiles).Try("leave out what its instructions do not need")
	}
	var total int64
	folded := map[string]string{}
	for _, f := range files {
		total += int64(len(f.Data))
		if why := badPath(f.Path); why != "" {
			return refuse("the name %q %s", f.Path, why).Try("rename the file")
		}
		if len(f.Data) > MostFile {
			return tool.Errorf(tool.TooLarge, "%q has more than %d bytes", f.Path, MostFile).Try("leave it out, or split it")
		}
		low := strings.ToLower(f.Path)
		if other, twice := folded[low]; twice {
			return refuse("%q and %q are one name on some systems", other, f.Path).Try("rename one")
		}
		folded[low] = f.Path
	}
	if total > MostBytes {
		return tool.Errorf(tool.TooLarge, "a skill has at most %d bytes", MostBytes).Try("leave out what its instructions do not need")
	}
	return nil
}

// checkMain is stricter than Parse: what is published is whole.
func checkMain(text string) (m Meta, slug string, err error) {
	if len(text) > MostMain {
		return m, "", tool.Errorf(tool.TooLarge, "%s has more than %d bytes", Main, MostMain).Try("move parts of it to references/")
	}
	no := 0
	for row := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		no++
		if r, ok := unseen(row); ok {
			return m, "", refuse("%s:%d has the character %U, which is not seen", Main, no, r).
				Try("remove it: whoever reads the skill could not see it")
		}
	}
	m, body, err := Parse(text)
	if err != nil {
		e := tool.AsError(err)
		return m, "", refuse("%s cannot be read: %s", Main, e.What).Try("%s", e.Next)
	}
	if slug = Slug(m.Name); slug == "" {
		return m, "", refuse("the name %q of the skill gives no name such as pdf-forms", m.Name).
			Try("set name: in the front matter of %s to small letters, digits and hyphens, at least two", Main)
	}
	if m.Description == "" {
		return m, "", refuse("%s has no description", Main).Try("add description: to its front matter, and say what the skill is for and when to use it")
	}
	if strings.TrimSpace(body) == "" {
		return m, "", refuse("%s has no instructions beneath its front matter", Main).Try("write them")
	}
	return m, slug, nil
}

// IsText reports whether a file can be read.
func IsText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// knownBinary reports whether a file is of a kind that runs nothing.
func knownBinary(data []byte) bool {
	kind := http.DetectContentType(data)
	for _, known := range []string{"image/", "font/", "audio/", "video/", "application/pdf", "application/zip", "application/vnd.ms-fontobject"} {
		if strings.HasPrefix(kind, known) {
			return true
		}
	}
	return false
}

// What rows of skills can answer.
var (
	ErrFull = errors.New("too many skills") // an owner may have no more
	ErrNone = errors.New("no such skill")
)
