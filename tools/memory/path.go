package memory

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of one document.
const (
	maxPath  = 200     // characters
	maxText  = 1 << 20 // bytes
	maxTags  = 20
	maxTag   = 60  // bytes
	maxDepth = 8   // directories
	maxStep  = 200 // bytes of a name between slashes, so that it can be the name of a file
)

const (
	dir       = "memory/"
	extension = ".md"
)

// IsPath reports whether a name relative to a workspace is the name of a memory: MEMORY.md,
// memory.md, or a Markdown file below memory/.
func IsPath(name string) bool {
	return name == "MEMORY.md" || name == "memory.md" ||
		strings.HasPrefix(name, dir) && strings.HasSuffix(name, extension) && len(name) > len(dir+extension)
}

// pathOf returns the path of a document for a path or a key: the key k means memory/k.md. Names
// are normalized, so that names that look the same are the same.
func pathOf(name string) (string, error) {
	wrong := func(why string) error {
		return tool.Errorf(tool.Invalid, "%q cannot be the name of a memory: %s", clipBetween(name, " /\t\r\n"), why).
			Try("use a short key such as project/deploy, or MEMORY.md")
	}
	clean := norm.NFC.String(strings.TrimSpace(name))
	clean = strings.TrimLeft(strings.TrimPrefix(clean, "./"), "/")
	switch {
	case !utf8.ValidString(name):
		return "", wrong("it is not UTF-8")
	case clean == "":
		return "", wrong("it is empty")
	case strings.HasSuffix(clean, "/"):
		return "", wrong("it is a directory")
	case strings.ContainsFunc(clean, tool.Hidden):
		return "", wrong("it contains invisible characters")
	case strings.ContainsAny(clean, "\\:*?\"<>|#"):
		return "", wrong("it contains one of \\ : * ? \" < > | #")
	}
	if slices.Contains(strings.Split(clean, "/"), "..") {
		return "", wrong("it contains ..")
	}
	if clean = path.Clean(clean); clean == "." {
		return "", wrong("it is empty")
	}
	if clean == "MEMORY" {
		clean += extension
	}
	if !IsPath(clean) && !strings.HasPrefix(clean, dir) {
		clean = dir + clean
	}
	if !strings.HasSuffix(clean, extension) {
		clean += extension
	}
	for step := range strings.SplitSeq(clean, "/") {
		switch {
		case strings.HasPrefix(step, "."):
			return "", wrong("a name in it begins with a dot")
		case len(step) > maxStep:
			return "", wrong("it is too long")
		}
	}
	switch {
	case utf8.RuneCountInString(clean) > maxPath:
		return "", wrong("it is too long")
	case strings.Count(clean, "/") > maxDepth:
		return "", wrong("it has too many directories")
	case strings.Contains(clean, extension+"/"):
		return "", wrong("a directory in it ends in " + extension)
	}
	return clean, nil
}

func checkText(path, text string) error {
	switch {
	case len(text) > maxText:
		return tool.Errorf(tool.TooLarge, "%q would have %d bytes; the limit is %d", path, len(text), maxText).
			Try("split it by subject")
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return tool.Errorf(tool.Invalid, "the content of %q is not text",
			path).Try("memories are UTF-8 text; keep other files in the workspace")
	}
	return nil
}

// checkTags returns the tags without duplicates, spaces and invisible characters; nil stays nil.
func checkTags(tags []string) ([]string, error) {
	if tags == nil {
		return nil, nil
	}
	out := []string{}
	known := map[string]bool{}
	for _, tag := range tags {
		words := strings.FieldsFunc(norm.NFC.String(strings.ToValidUTF8(tag, "")), func(r rune) bool {
			return unicode.IsSpace(r) || tool.Hidden(r) || r == ','
		})
		tag = strings.Join(words, "-")
		if tag = strings.TrimLeft(tag, "#"); tag == "" || known[strings.ToLower(tag)] {
			continue
		}
		if len(tag) > maxTag {
			return nil, tool.Errorf(tool.Invalid, "a tag has %d bytes; the limit is %d", len(tag), maxTag).
				Try("tags are words; put sentences into the content")
		}
		known[strings.ToLower(tag)] = true
		out = append(out, tag)
	}
	if len(out) > maxTags {
		return nil, tool.Errorf(tool.Invalid, "there are %d tags; the limit is %d", len(out),
			maxTags).Try("choose the best")
	}
	return out, nil
}

// clipBetween shortens a text for a message. It cuts at one of some separators, because half a secret would not be
// recognized and masked.
func clipBetween(text, separators string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return text[:max(strings.LastIndexAny(text[:most], separators), 0)] + "..."
}
