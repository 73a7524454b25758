package markup

import (
	"bytes"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
	goldmark "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/mcp-tools/mcp-tools/internal/markdown/parser"
)

// A reader parses texts. It is used by many goroutines.
type reader struct{ goldmark.Parser }

// The readers: of documents, of documents whose lines are not looked into, and of the
// lines of one paragraph.
var (
	whole  = sync.OnceValue(func() reader { return reader{parser.New(true, true)} })
	blocks = sync.OnceValue(func() reader { return reader{parser.New(true, false)} })
	lines  = sync.OnceValue(func() reader { return reader{parser.New(false, true)} })
)

func (r reader) parse(source []byte) ast.Node { return r.Parse(text.NewReader(source)) }

// clean returns a text with the line breaks of Unix, and without bytes that are in no text.
func clean(markdown string) string {
	markdown = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(markdown)
	return strings.ToValidUTF8(markdown, "\ufffd")
}

// lineOf returns where the first line of a block begins in the source.
func lineOf(n ast.Node, source []byte) int {
	if n.Kind() == table.KindTable { // its own position is the position of the paragraph before it
		n = n.FirstChild()
	}
	return bytes.LastIndexByte(source[:max(n.Pos(), 0)], '\n') + 1
}

// apart reports whether a blank line is before a block.
func apart(n ast.Node, source []byte) bool {
	before := n.PreviousSibling()
	if before == nil || before.Kind() != ast.KindFencedCodeBlock {
		return n.HasBlankPreviousLines()
	}
	until := source[:lineOf(n, source)] // after a fence goldmark always reports one
	return bytes.Count(until[len(bytes.TrimRight(until, "\n\t >")):], []byte("\n")) > 1
}
