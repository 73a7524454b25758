package markup

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A reader parses texts. It is used by many goroutines.
type reader struct{ parser.Parser }

// The readers: of documents, of documents whose lines are not looked into, and of the
// lines of one paragraph.
var (
	whole  = sync.OnceValue(func() reader { return newReader(true, true) })
	blocks = sync.OnceValue(func() reader { return newReader(true, false) })
	lines  = sync.OnceValue(func() reader { return newReader(false, true) })
)

func newReader(withBlocks, withInlines bool) reader {
	options := []parser.Option{parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000))}
	if withBlocks {
		options = append(options,
			parser.WithBlockParsers(
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(shallow{parser.NewListParser()}, 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800)),
			parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)))
	}
	if withInlines {
		options = append(options, parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(links{parser.NewLinkParser()}, 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(emphasis{parser.NewEmphasisParser()}, 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(bareURL{extension.NewLinkifyParser()}, 999)))
	}
	return reader{parser.NewParser(options...)}
}

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

// shallow bounds how deep blocks nest: the time of goldmark grows with the square of it.
type shallow struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (s shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if n.Kind() != ast.KindList {
			depth++
		}
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// links bounds how many brackets are no links: goldmark reads all that follows for each.
type links struct{ parser.InlineParser }

// failedLinks is the key of their number in the context of a parser.
var failedLinks = parser.NewContextKey()

// Parse implements [parser.InlineParser].
func (l links) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	const most = 500
	line, _ := block.PeekLine()
	failed, _ := pc.Get(failedLinks).(int)
	if line[0] == ']' && failed > most {
		return nil
	}
	n := l.InlineParser.Parse(parent, block, pc)
	if line[0] == ']' && n == nil {
		pc.Set(failedLinks, failed+1)
	}
	return n
}

// CloseBlock implements [parser.CloseBlocker].
func (l links) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	l.InlineParser.(parser.CloseBlocker).CloseBlock(parent, block, pc)
}

// emphasis lets a * between letters and digits stand: it is a product.
type emphasis struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (e emphasis) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	n := e.InlineParser.Parse(parent, block, pc)
	if run, ok := n.(*parser.Delimiter); ok && run.Char == '*' && isWord(before) {
		if rest, _ := block.PeekLine(); len(rest) > 0 && isWord(rune(rest[0])) {
			run.CanOpen, run.CanClose = false, false
		}
	}
	return n
}

// isWord reports whether r is a letter or a digit of ASCII.
func isWord(r rune) bool { return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// bareURL finds URLs after more characters than GitHub does, such as quotes.
type bareURL struct{ parser.InlineParser }

// Trigger implements [parser.InlineParser].
func (u bareURL) Trigger() []byte { return append(u.InlineParser.Trigger(), `"'[{,;:=|>`...) }

// Parse implements [parser.InlineParser].
func (u bareURL) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	if strings.IndexByte(string(u.InlineParser.Trigger()), line[0]) >= 0 || !util.IsPunct(line[0]) {
		return u.InlineParser.Parse(parent, block, pc)
	}
	block.Advance(1)
	rest, _ := block.PeekLine()
	if !strings.HasPrefix(string(rest[:min(len(rest), 4)]), "http") {
		return nil
	}
	n := u.InlineParser.Parse(parent, block, pc)
	if n != nil {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+1))
	}
	return n
}
