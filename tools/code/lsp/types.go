package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Position is a place in a text: a line, and the UTF-16 units before it in that line, both counted from 0. A server
// may send any numbers.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// A Range is a part of a text.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// A Location is a part of a file.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Locations are the answer with places, in each of its forms: null, a Location, or a list of Locations or links.
type Locations []Location

// UnmarshalJSON reads any of the forms.
func (l *Locations) UnmarshalJSON(raw []byte) error {
	type link struct {
		Location
		TargetURI string `json:"targetUri"`
		Target    Range  `json:"targetSelectionRange"`
	}
	*l = nil
	var all []link
	switch jsontext.Value(raw).Kind() {
	case 'n':
		return nil
	case '[':
		if err := json.Unmarshal(raw, &all); err != nil {
			return err
		}
	default:
		all = make([]link, 1)
		if err := json.Unmarshal(raw, &all[0]); err != nil {
			return err
		}
	}
	for _, one := range all {
		if one.TargetURI != "" {
			one.Location = Location{URI: one.TargetURI, Range: one.Target}
		}
		*l = append(*l, one.Location)
	}
	return nil
}

// A Symbol is a symbol of a file, as DocumentSymbol or as SymbolInformation, or of the workspace.
type Symbol struct {
	Name      string   `json:"name"`
	Kind      int      `json:"kind"`
	Container string   `json:"containerName"`
	Range     Range    `json:"range"`
	Selection Range    `json:"selectionRange"`
	Location  Location `json:"location"`
	Children  []Symbol `json:"children"`
}

// KindName returns the name of the kind of a symbol.
func KindName(kind int) string {
	names := [...]string{"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor",
		"enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key",
		"null", "enum member", "struct", "event", "operator", "type parameter"}
	if kind < 0 || kind >= len(names) {
		return ""
	}
	return names[kind]
}

// A Diagnostic is a problem that a server reports.
type Diagnostic struct {
	Range    Range          `json:"range"`
	Severity int            `json:"severity"` // 1 error, 2 warning, 3 information, 4 hint
	Code     jsontext.Value `json:"code"`
	Source   string         `json:"source"`
	Message  string         `json:"message"`
}

// SeverityName returns the name of the severity.
func (d Diagnostic) SeverityName() string {
	switch d.Severity {
	case 2:
		return "warning"
	case 3:
		return "information"
	case 4:
		return "hint"
	}
	return "error"
}

// A TextEdit replaces a part of a text.
type TextEdit struct {
	Range Range  `json:"range"`
	New   string `json:"newText"`
}

// A WorkspaceEdit has changes of files. Documents may have other operations, marked by a Kind.
type WorkspaceEdit struct {
	Changes   map[string][]TextEdit `json:"changes"`
	Documents []struct {
		Kind     string `json:"kind"`
		Document struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
		Edits []TextEdit `json:"edits"`
	} `json:"documentChanges"`
}

// A Hover is the text about a symbol.
type Hover struct {
	Contents jsontext.Value `json:"contents"`
}

// Text returns the text, in Markdown.
func (h Hover) Text() string {
	switch h.Contents.Kind() {
	case '"':
		var text string
		_ = json.Unmarshal(h.Contents, &text) // "" if it cannot be read
		return text
	case '{':
		var one struct {
			Language string `json:"language"`
			Value    string `json:"value"`
		}
		_ = json.Unmarshal(h.Contents, &one)
		return one.Value
	case '[':
		var all []jsontext.Value
		_ = json.Unmarshal(h.Contents, &all)
		var parts []string
		for _, one := range all {
			if one.Kind() != '[' {
				parts = append(parts, Hover{Contents: one}.Text())
			}
		}
		return strings.Join(parts, "\n")
	}
	return ""
}

// maxURI bounds the URI of a file.
const maxURI = 8 << 10

// URI returns the URI of a file.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Path returns the absolute path of the file that a URI names; "" if it names none.
func Path(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || len(uri) > maxURI || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" ||
		!strings.HasPrefix(u.Path, "/") || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	if runtime.GOOS == "windows" {
		return filepath.FromSlash(strings.TrimPrefix(u.Path, "/"))
	}
	return u.Path
}
