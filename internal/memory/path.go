package memory

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// What is kept of one document, at most.
const (
	mostPath = 200     // characters
	mostText = 1 << 20 // bytes
	mostTags = 20
	mostTag  = 60 // bytes
	mostDeep = 8  // directories
)

const dir = "memory/"

// IsPath reports whether a name relative to a workspace is that of a memory:
// MEMORY.md, memory.md, or a file beneath memory/.
func IsPath(name string) bool {
	return name == "MEMORY.md" || name == "memory.md" || strings.HasPrefix(name, dir) && len(name) > len(dir)
}

// pathOf is the path of a document that somebody names by it or by a key: the
// key k is that of memory/k.md. Names that only look alike are one name.
func pathOf(name string) (string, error) {
	wrong := func(why string) error {
		return tool.Errorf(tool.Invalid, "%q cannot be the name of a memory: %s", shortened(name), why).
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
		return "", wrong("it has characters that are not seen")
	case strings.ContainsAny(clean, "\\:*?\"<>|#"):
		return "", wrong("it has one of \\ : * ? \" < > | #")
	}
	for step := range strings.SplitSeq(clean, "/") {
		if step == ".." {
			return "", wrong("it has a step ..")
		}
	}
	if clean = path.Clean(clean); clean == "." {
		return "", wrong("it is empty")
	}
	if clean == "MEMORY" {
		clean += ".md"
	}
	if !IsPath(clean) {
		clean = dir + clean
	}
	if !isText(clean) {
		clean += ".md"
	}
	switch {
	case utf8.RuneCountInString(clean) > mostPath:
		return "", wrong("it is too long")
	case strings.Count(clean, "/") > mostDeep:
		return "", wrong("it has too many directories")
	}
	return clean, nil
}

// isText tells names of text by their ends; v1.2 has none.
func isText(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".txt", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".xml", ".html", ".org", ".rst", ".adoc", ".log":
		return true
	}
	return false
}

func checkText(path, text string) error {
	switch {
	case len(text) > mostText:
		return tool.Errorf(tool.TooLarge, "%q would have %d bytes, the most is %d", path, len(text), mostText).Try("split it by subject")
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return tool.Errorf(tool.Invalid, "what %q would have is not text", path).Try("memories are UTF-8 text; keep other files in the workspace")
	}
	return nil
}

// checkTags cleans tags: nil stays nil.
func checkTags(tags []string) ([]string, error) {
	if tags == nil {
		return nil, nil
	}
	out := []string{}
	known := map[string]bool{}
	for _, tag := range tags {
		tag = strings.Join(strings.FieldsFunc(norm.NFC.String(strings.ToValidUTF8(tag, "")), func(r rune) bool {
			return unicode.IsSpace(r) || tool.Hidden(r) || r == ','
		}), "-")
		if tag = strings.TrimLeft(tag, "#"); tag == "" || known[strings.ToLower(tag)] {
			continue
		}
		if len(tag) > mostTag {
			return nil, tool.Errorf(tool.Invalid, "a tag has %d bytes, the most is %d", len(tag), mostTag).Try("tags are words; put sentences into the content")
		}
		known[strings.ToLower(tag)] = true
		out = append(out, tag)
	}
	if len(out) > mostTags {
		return nil, tool.Errorf(tool.Invalid, "there are %d tags, the most is %d", len(out), mostTags).Try("choose the best")
	}
	return out, nil
}

// shortened cuts between words: half a secret would not be known as one.
func shortened(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return text[:max(strings.LastIndexAny(text[:most], " /\t\r\n"), 0)] + "..."
}
