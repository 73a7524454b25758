// Package docs reads the documentation in Markdown, finds its code blocks, links and anchors
// for the tests that keep it true, and builds the static site of make docs. It knows nothing
// about the contents of pages, and the program does not import it. Begin with Load.
package docs

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// A Page is one Markdown file.
type Page struct {
	Path   string // from the root of the repository, with slashes
	Source []byte
	root   ast.Node
}

// Load returns the pages of the documentation: docs and the Markdown files beside it.
func Load(repository fs.FS) ([]Page, error) {
	names, err := fs.Glob(repository, "*.md")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(repository, "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var pages []Page
	for _, name := range names {
		source, err := fs.ReadFile(repository, name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, Parse(name, source))
	}
	return pages, nil
}

// Parse returns the page with a source.
func Parse(name string, source []byte) Page {
	ids := parser.NewContext(parser.WithIDs(&slugs{used: map[string]int{}}))
	return Page{name, source, converter().Parser().Parse(text.NewReader(source), parser.WithContext(ids))}
}

func converter() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithUnsafe())) // the pages are ours
}

// Title returns the text of the first heading.
func (p Page) Title() string {
	title := path.Base(p.Path)
	p.walk(func(n ast.Node) bool {
		h, ok := n.(*ast.Heading)
		if ok {
			title = p.text(h)
		}
		return !ok
	})
	return title
}

// A Block is a block of code.
type Block struct {
	Line     int // of its first line of code
	Language string
	Comment  string // the HTML comment directly before it
	Text     string
	from, to int // in the source
}

var comment = regexp.MustCompile(`(?s)^<!--\s*(.*?)\s*-->\s*$`)

// Blocks returns the blocks of code. A comment that begins with "run" is one too, with
// the language "hidden": its other lines are commands that readers do not see.
func (p Page) Blocks() []Block {
	var blocks []Block
	p.walk(func(n ast.Node) bool {
		b := Block{}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			b.Language = string(n.Language(p.Source))
		case *ast.CodeBlock:
		case *ast.HTMLBlock:
			if hidden, ok := strings.CutPrefix(p.comment(n), "run\n"); ok {
				at := p.line(n.Lines().At(0).Start)
				blocks = append(blocks, Block{Line: at, Language: "hidden", Text: hidden + "\n"})
			}
			return true
		default:
			return true
		}
		if n.Lines().Len() == 0 {
			return true
		}
		b.from, b.to = n.Lines().At(0).Start, n.Lines().At(n.Lines().Len()-1).Stop
		b.Line, b.Text = p.line(b.from), string(n.Lines().Value(p.Source))
		if before, ok := n.PreviousSibling().(*ast.HTMLBlock); ok {
			b.Comment = p.comment(before)
		}
		blocks = append(blocks, b)
		return true
	})
	return blocks
}

func (p Page) comment(n *ast.HTMLBlock) string {
	raw := string(n.Lines().Value(p.Source))
	if n.HasClosure() {
		raw += string(n.ClosureLine.Value(p.Source))
	}
	if m := comment.FindStringSubmatch(raw); m != nil {
		return m[1]
	}
	return ""
}

func (p Page) line(at int) int { return 1 + bytes.Count(p.Source[:at], []byte("\n")) }

// Replace returns the source with other texts of blocks.
func (p Page) Replace(blocks []Block) []byte {
	source := slices.Clone(p.Source)
	for _, b := range slices.Backward(blocks) {
		if b.to > 0 {
			source = slices.Replace(source, b.from, b.to, []byte(b.Text)...)
		}
	}
	return source
}

// Links returns the targets of links and pictures.
func (p Page) Links() []string {
	var links []string
	p.walk(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Link:
			links = append(links, string(n.Destination))
		case *ast.Image:
			links = append(links, string(n.Destination))
		}
		return true
	})
	return links
}

// Anchors returns the names of the headings, as GitHub makes them.
func (p Page) Anchors() []string {
	var anchors []string
	p.walk(func(n ast.Node) bool {
		if h, ok := n.(*ast.Heading); ok {
			if id, ok := h.AttributeString("id"); ok {
				anchors = append(anchors, string(id.([]byte)))
			}
		}
		return true
	})
	return anchors
}

func (p Page) walk(visit func(ast.Node) bool) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // visit does not fail
		if entering && !visit(n) {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
}

// text returns the text of a node without markup.
func (p Page) text(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(p.Source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(p.Source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// slugs makes anchors as GitHub does: letters in lower case, digits, hyphens and
// underscores; spaces are hyphens; a repeated one gets a number.
type slugs struct{ used map[string]int }

func (s *slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, string(value))
	count := s.used[slug]
	s.used[slug]++
	if count > 0 {
		slug += "-" + string(rune('0'+count))
	}
	return []byte(slug)
}

func (s *slugs) Put(value []byte) { s.used[string(value)]++ }
