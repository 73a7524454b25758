package skill

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const longestSlug = 64

// ValidSlug reports whether a text is what skills are called: two or more small
// letters, digits and hyphens, with no hyphen at either end.
func ValidSlug(text string) bool {
	if len(text) < 2 || len(text) > longestSlug || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// Slug is what a skill of a name is called: letters lose their accents, and
// what is no letter then is a hyphen. It is "" where nothing of the name can stay.
func Slug(name string) string {
	var b strings.Builder
	for _, c := range unaccented(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == longestSlug {
			break
		}
	}
	slug := strings.Trim(b.String(), "-")
	if !ValidSlug(slug) {
		return ""
	}
	return slug
}

// unaccented is a name in small letters without their accents: Größe is grosse.
func unaccented(name string) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(name)))
	whole := strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i", "ħ", "h")
	return whole.Replace(strings.ToLower(letters))
}

const (
	longestPath = 240
	longestStep = 100
	mostSteps   = 8
)

// junk are names that systems and programs leave behind.
func junk(step string) bool {
	switch strings.ToLower(step) {
	case "__macosx", "thumbs.db", "desktop.ini", "__pycache__", "node_modules":
		return true
	}
	return strings.HasPrefix(step, ".") || strings.HasSuffix(step, ".pyc") || strings.HasSuffix(step, "~")
}

// Junk reports whether a path leads to something that is left out of a skill.
func Junk(name string) bool {
	for step := range strings.SplitSeq(name, "/") {
		if step != "." && junk(step) {
			return true
		}
	}
	return false
}

// badPath says what is wrong with the path of a file in a skill: it has to be
// one that every system can have. "" means nothing.
func badPath(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case name == "" || len(name) > longestPath:
		return "is too long"
	case path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "leads out of the skill"
	case strings.ContainsFunc(name, tool.Hidden):
		return "has characters that are not seen"
	case strings.ContainsAny(name, `\:*?"<>|`):
		return "has one of the characters \\ : * ? \" < > |"
	case strings.Count(name, "/") >= mostSteps:
		return "is too deep"
	}
	for step := range strings.SplitSeq(name, "/") {
		switch {
		case len(step) > longestStep:
			return "is too long"
		case strings.HasSuffix(step, ".") || strings.HasSuffix(step, " ") || strings.HasPrefix(step, " "):
			return "begins or ends with a blank or a dot"
		case device(step):
			return "is the name of a device on some systems"
		}
	}
	return ""
}

// device tells the names that Windows keeps for devices.
func device(step string) bool {
	name, _, _ := strings.Cut(strings.ToLower(step), ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}
