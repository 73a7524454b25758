package write

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

const (
	maxInput = 192 << 20 // bytes of all parts of a document that is changed, unpacked
	maxPart  = 48 << 20  // bytes of one of them
)

// An input is an Office document that is changed or filled in.
type input struct {
	*pack.Package
	content []byte
	names   []string // of the parts, as the file writes them
}

// open opens the only document of the source. It refuses a document with macros, with a password, or with parts that
// grow too much when they are unpacked.
func (s Source) open(ctx context.Context, kind string) (*input, error) {
	if len(s.From) != 1 {
		return nil, broken(`"from" names %d documents; a %s document is made from one`, len(s.From), kind)
	}
	limits := document.DefaultLimits()
	limits.Total, limits.Part = maxInput, maxPart
	in := &input{content: s.From[0]}
	var err error
	in.Package, err = pack.Open(ctx, document.Source{Data: bytes.NewReader(in.content), Size: int64(len(in.content)), Limits: limits})
	if err != nil {
		return nil, broken("the document in %q is no %s document, or it has a password; save it again without one", "from", kind)
	}
	z, err := zip.NewReader(bytes.NewReader(in.content), int64(len(in.content)))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, f := range z.File {
		key := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/"))
		if strings.HasSuffix(key, "/") {
			continue
		}
		if seen[key] || path.Clean("/"+key) != "/"+key {
			return nil, broken("the document has two parts of one name, or a part outside of it: it was made to deceive")
		}
		seen[key] = true
		if path.Base(key) == "vbaproject.bin" || strings.Contains(key, "/macrosheets/") {
			return nil, broken("the document has macros, which are never run or passed on here; save it without macros (%s) first", kind)
		}
		if _, err := in.Read(f.Name); err != nil {
			return nil, err
		}
		in.names = append(in.names, f.Name)
	}
	types, err := in.Read("[Content_Types].xml")
	if err != nil {
		return nil, err
	}
	if lower := bytes.ToLower(types); bytes.Contains(lower, []byte("macroenabled")) || bytes.Contains(lower, []byte("vbaproject")) {
		return nil, broken("the document has macros, which are never run or passed on here; save it without macros (%s) first", kind)
	}
	if !in.Has(map[string]string{"xlsx": "xl/workbook.xml", "docx": "word/document.xml", "pptx": "ppt/presentation.xml"}[kind]) {
		return nil, broken("the document in %q is no %s document", "from", kind)
	}
	return in, nil
}

// foreign returns the kinds of relations of the document that lead out of it or into other programs, but for the links
// that a reader follows by hand.
func (in *input) foreign() (kinds []string) {
	for _, name := range in.names {
		dir, file := path.Split(name)
		if !strings.HasSuffix(dir, "_rels/") || !strings.HasSuffix(file, ".rels") {
			continue
		}
		part := strings.TrimSuffix(dir, "_rels/") + strings.TrimSuffix(file, ".rels")
		for _, r := range in.Relations(part) {
			inert := r.Type == "hyperlink" && isAddress(r.Target)
			active := slices.Contains([]string{"oleObject", "control", "activeXControlBinary", "connections", "externalLink",
				"attachedTemplate", "subDocument", "afChunk", "frame"}, r.Type)
			if (r.External && !inert || active) && !slices.Contains(kinds, r.Type) {
				kinds = append(kinds, r.Type)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// repack returns the document with some parts replaced or added. All others stay as they are, byte for byte.
func (in *input) repack(replaced map[string]string) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(in.content), int64(len(in.content)))
	if err != nil {
		return nil, err
	}
	p := newZip()
	for _, f := range z.File {
		text, ok := replaced[f.Name]
		if !ok {
			if err := p.zip.Copy(f); err != nil {
				return nil, fmt.Errorf("copying a part: %w", err)
			}
			continue
		}
		part, err := p.zip.Create(f.Name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(part, text); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(replaced)) {
		if !slices.Contains(in.names, name) {
			if err := p.add(name, replaced[name]); err != nil {
				return nil, err
			}
		}
	}
	return p.bytes()
}
