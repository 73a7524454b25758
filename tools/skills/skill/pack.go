package skill

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of a skill.
const (
	MaxFiles = 200
	MaxFile  = 8 << 20  // bytes of one file
	MaxBytes = 20 << 20 // bytes of all files
)

// Pack checks the files of a directory and returns a draft of them. Its errors are written for
// the model and name the correction. Findings of the guard are not errors.
func Pack(ctx context.Context, files []Content, g *Guard) (d Draft, err error) {
	d.Files = files
	slices.SortStableFunc(d.Files, func(a, b Content) int { return cmp.Compare(a.Path, b.Path) })
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
			return Draft{}, refuse("%q is not UTF-8 text, an image, font, sound, video, PDF or zip", f.Path).
				Try("remove it, or convert it")
		}
		if text && len(d.Findings) < maxFindings {
			d.Findings = append(d.Findings, g.Check(f.Path, string(f.Data))...)
		}
	}
	if main < 0 {
		return Draft{}, refuse("the directory has no %s", Main).
			Try("write one: front matter with name and description, then the instructions")
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
	if len(files) > MaxFiles {
		return tool.Errorf(tool.TooLarge, "a skill has at most %d files", MaxFiles).
			Try("remove files that its instructions do not need")
	}
	var total int64
	folded := map[string]string{}
	for _, f := range files {
		total += int64(len(f.Data))
		if why := badPath(f.Path); why != "" {
			return refuse("the file name %q %s", f.Path, why).Try("rename the file")
		}
		if len(f.Data) > MaxFile {
			return tool.Errorf(tool.TooLarge, "%q has more than %d bytes", f.Path, MaxFile).
				Try("remove it, or split it")
		}
		low := strings.ToLower(f.Path)
		if other, twice := folded[low]; twice {
			return refuse("%q and %q are the same name on some systems", other, f.Path).Try("rename one of them")
		}
		folded[low] = f.Path
	}
	if total > MaxBytes {
		return tool.Errorf(tool.TooLarge, "a skill has at most %d bytes", MaxBytes).
			Try("remove files that its instructions do not need")
	}
	return nil
}

// checkMain parses SKILL.md more strictly than Parse, for publishing.
func checkMain(text string) (m Meta, slug string, err error) {
	if len(text) > MaxMain {
		return m, "", tool.Errorf(tool.TooLarge, "%s has more than %d bytes", Main, MaxMain).
			Try("move parts of it to files in references/")
	}
	no := 0
	for row := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		no++
		if r, ok := invisible(row); ok {
			return m, "", refuse("%s:%d has the invisible character %U", Main, no, r).
				Try("remove it")
		}
	}
	m, body, err := Parse(text)
	if err != nil {
		e := tool.AsError(err)
		return m, "", refuse("%s cannot be read: %s", Main, e.What).Try("%s", e.Next)
	}
	if slug = Slug(m.Name); slug == "" {
		return m, "", refuse("the skill name %q has no letters a to z or digits", m.Name).
			Try("set name: in the front matter of %s to a name such as pdf-forms", Main)
	}
	if m.Description == "" {
		return m, "", refuse("%s has no description", Main).
			Try("add description: to its front matter: the purpose of the skill, and when to use it")
	}
	if strings.TrimSpace(body) == "" {
		return m, "", refuse("%s has no instructions after its front matter", Main).Try("write them")
	}
	return m, slug, nil
}

// IsText reports whether a file is text.
func IsText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// knownBinary reports whether a file is of a kind that cannot be executed.
func knownBinary(data []byte) bool {
	kind := http.DetectContentType(data)
	for _, known := range []string{
		"image/", "font/", "audio/", "video/", "application/pdf", "application/zip", "application/vnd.ms-fontobject",
	} {
		if strings.HasPrefix(kind, known) {
			return true
		}
	}
	return false
}

const maxSlug = 64

// ValidSlug reports whether a text is a slug: 2 to 64 lower-case letters a to z, digits and hyphens, with no hyphen at
// either end.
func ValidSlug(text string) bool {
	if len(text) < 2 || len(text) > maxSlug || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// Slug returns the slug of a name: letters without their accents, and hyphens for everything else. It returns "" if the
// name has too few letters and digits.
func Slug(name string) string {
	var b strings.Builder
	for _, c := range unaccented(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxSlug {
			break
		}
	}
	slug := strings.Trim(b.String(), "-")
	if !ValidSlug(slug) {
		return ""
	}
	return slug
}

// unaccented returns a name in lower case without accents: Größe becomes grosse.
func unaccented(name string) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(name)))
	special := strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th",
		"ı", "i", "ħ", "h")
	return special.Replace(strings.ToLower(letters))
}

const (
	maxPath    = 240 // bytes
	maxSegment = 100 // bytes
	maxDepth   = 8
)

// isJunk reports whether a name is one that systems and programs leave behind, or hidden.
func isJunk(step string) bool {
	switch strings.ToLower(step) {
	case "__macosx", "thumbs.db", "desktop.ini", "__pycache__", "node_modules":
		return true
	}
	return strings.HasPrefix(step, ".") || strings.HasSuffix(step, ".pyc") || strings.HasSuffix(step, "~")
}

// IsJunk reports whether a path is left out of skills.
func IsJunk(name string) bool {
	for step := range strings.SplitSeq(name, "/") {
		if step != "." && isJunk(step) {
			return true
		}
	}
	return false
}

// badPath returns the reason why a file of a skill cannot have a path, or "". Every system must support the
// path.
func badPath(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case name == "" || len(name) > maxPath:
		return "is too long"
	case path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "is outside of the skill"
	case strings.ContainsFunc(name, tool.Hidden):
		return "has invisible characters"
	case strings.ContainsAny(name, `\:*?"<>|`):
		return "has one of the characters \\ : * ? \" < > |"
	case strings.Count(name, "/") >= maxDepth:
		return "is too deep"
	}
	for step := range strings.SplitSeq(name, "/") {
		switch {
		case len(step) > maxSegment:
			return "is too long"
		case strings.HasSuffix(step, ".") || strings.HasSuffix(step, " ") || strings.HasPrefix(step, " "):
			return "begins or ends with a space or a dot"
		case isDevice(step):
			return "is a device name on some systems"
		}
	}
	return ""
}

// isDevice reports whether Windows reserves a name for a device.
func isDevice(step string) bool {
	name, _, _ := strings.Cut(strings.ToLower(step), ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}
