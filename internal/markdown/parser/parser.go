// Package parser has the parser of Markdown for chats and documents: goldmark, with bounds on what makes it slow. It
// renders nothing. Begin with [New].
package parser

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxDepth is how deep quotes and lists nest. What is deeper is text.
const MaxDepth = 8

// Document returns the parser of whole documents: with headings that are underlined, HTML, and links that are defined
// elsewhere. Headings have ids.
func Document(more ...parser.Option) parser.Parser {
	return New(true, true, append(more,
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(parser.WithAutoHeadingID()), 100),
			util.Prioritized(parser.NewHTMLBlockParser(), 900)),
		parser.WithParagraphTransformers(util.Prioritized(parser.LinkReferenceParagraphTransformer, 100)),
		parser.WithAutoHeadingID())...)
}

// Footnotes returns the options of [Document] for footnotes: a mark [^1] in the text, and a block [^1]: with the note.
func Footnotes() []parser.Option {
	return []parser.Option{
		parser.WithBlockParsers(util.Prioritized(extension.NewFootnoteBlockParser(), 999)),
		parser.WithInlineParsers(util.Prioritized(extension.NewFootnoteParser(), 101)),
		parser.WithASTTransformers(util.Prioritized(extension.NewFootnoteASTTransformer(), 999)),
	}
}

// New returns a parser of blocks, of the texts in them, or of both: CommonMark with tables, strikethrough, tasks and bare
// addresses, as people write it in chats.
func New(withBlocks, withInlines bool, more ...parser.Option) parser.Parser {
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
	return parser.NewParser(append(options, more...)...)
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
	if depth > MaxDepth {
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
