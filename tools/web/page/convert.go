package page

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// markdown converts drafts. It is made once, when it is needed: what is registered
// never changes, and what belongs to one conversion is in its context.
var markdown = sync.OnceValue(newMarkdown)

// newMarkdown puts the converter together. One renderer of ours stands before
// those of the library, since it sorts all that are registered for each node.
func newMarkdown() *converter.Converter {
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithHorizontalRule("---"), commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	c.Register.TagType(asIs, converter.TagTypeInline, converter.PriorityStandard)
	c.Register.PreRenderer(shelter, 0)
	c.Register.PreRenderer(unshelter, 2*converter.PriorityLate)
	c.Register.Renderer(renderElement, converter.PriorityEarly)
	c.Register.TextTransformer(hold, converter.PriorityEarly)
	c.Register.TextTransformer(release, converter.PriorityLate+1)
	c.Register.UnEscaper(opensLine, converter.PriorityStandard)
	c.Register.PostRenderer(trimLines, converter.PriorityLate-1)
	return c
}

// codeLine is what the library ends a line of code with until all is done.
const codeLine = string(marker.MarkerCodeBlockNewline)

// conversion is what one conversion needs to know.
type conversion struct {
	plain     bool
	text      string       // that the library is not shown
	sheltered []*html.Node // blocks, and what stands for each
}

type conversionKey struct{}

func conversionOf(ctx context.Context) *conversion {
	c, _ := ctx.Value(conversionKey{}).(*conversion)
	return c
}

const (
	// blocksAtOnce is how many blocks are converted before it is seen whether
	// time or room is up.
	blocksAtOnce = 64
	// mostHands is how many conversions of one draft run at a time.
	mostHands = 4
)

// convert makes text of a draft, at most so many bytes of it. Its blocks do not
// depend on each other, so that all processors can be at work.
func (d *draft) convert(ctx context.Context, limit int) (string, error) {
	parts := d.parts()
	texts, failures := make([][]byte, len(parts)), make([]error, len(parts))
	var next, size atomic.Int64
	var hands sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mostHands, len(parts)) {
		hands.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(parts) && int(size.Load()) <= limit; i = int(next.Add(1)) - 1 {
				texts[i], failures[i] = d.convertPart(ctx, parts[i])
				size.Add(int64(len(texts[i])))
			}
		})
	}
	hands.Wait()
	var b strings.Builder
	b.Grow(int(size.Load()) + 2*len(parts))
	for i, text := range texts {
		if failures[i] != nil {
			return "", failures[i]
		}
		if len(text) > 0 && b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.Write(text)
	}
	all := b.String()
	if len(all) > limit {
		d.full = true
		for all = all[:limit]; !utf8.ValidString(all[max(0, len(all)-utf8.UTFMax):]) && len(all) > 0; {
			all = all[:len(all)-1]
		}
	}
	return strings.TrimRight(all, " \n"), ctx.Err()
}

// parts takes the draft apart into documents of a few blocks.
func (d *draft) parts() (all []*html.Node) {
	for root := d.tree(); root.FirstChild != nil; {
		part := &html.Node{Type: html.DocumentNode}
		for i := 0; i < blocksAtOnce && root.FirstChild != nil; i++ {
			block := root.FirstChild
			root.RemoveChild(block)
			part.AppendChild(block)
		}
		all = append(all, part)
	}
	return all
}

func (d *draft) convertPart(ctx context.Context, part *html.Node) (text []byte, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("convert a page: %v", failed)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, conversionKey{}, &conversion{plain: d.plain})
	text, err = markdown().ConvertNode(part, converter.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("convert a page: %w", err)
	}
	return text, nil
}

// renderElement writes the elements that the library has no form for, or one that loses
// something: it encodes addresses again, pads the numbers of lists, sets nested
// lists apart and looks at the beginnings of lines in quotes too late.
func renderElement(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	if ctx.Err() != nil {
		return converter.RenderSuccess
	}
	switch n.Data {
	case "", "td", "th": // the document, and the cells of tables
		renderLine(ctx, w, n)
	case "p":
		w.WriteString("\n\n")
		renderLine(ctx, w, n)
		w.WriteString("\n\n")
	case asIs:
		w.WriteString(attr(n, "text"))
	case "a":
		var text bytes.Buffer
		renderLine(ctx, &text, n)
		w.WriteString("[" + strings.TrimSpace(text.String()) + "](" + attr(n, "href") + ")")
	case "img":
		w.WriteString("![" + attr(n, "alt") + "](" + attr(n, "src") + ")")
	case "br":
		w.WriteString("\n")
	case "li":
		w.Write(flow(ctx, n))
	case "ol":
		signed(ctx, w, n)
	case "blockquote":
		sign := attr(n, "sign")
		w.WriteString("\n\n")
		w.Write(indent(flow(ctx, n), indented(sign), sign))
		w.WriteString("\n\n")
	case "pre":
		if !conversionOf(ctx).plain {
			return converter.RenderTryNext
		}
		w.WriteString("\n\n" + indented(strings.ReplaceAll(rawTextOf(n), "\n", codeLine)) + "\n\n")
	default:
		return converter.RenderTryNext
	}
	return converter.RenderSuccess
}

// renderLine writes what is in an element. Its text does not go through the
// library, which would sort all that it does with text for each piece of it.
func renderLine(ctx converter.Context, w converter.Writer, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			w.WriteString(conversionOf(ctx).written(c.Data))
		} else {
			renderOne(ctx, w, c)
		}
	}
}

// renderOne writes an element. What we write the library does not have to look
// for among all that it can.
func renderOne(ctx converter.Context, w converter.Writer, n *html.Node) {
	if renderElement(ctx, w, n) == converter.RenderTryNext {
		ctx.RenderNodes(ctx, w, n)
	}
}

// indented keeps the blanks that a block begins with from being trimmed: a mark of
// the library stands before them until all is done.
func indented(text string) string {
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") {
		return string(marker.MarkerEscaping) + text
	}
	return text
}

// flow is the blocks in an element, with a list right below what it belongs to.
func flow(ctx converter.Context, n *html.Node) []byte {
	var all []byte
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		var block bytes.Buffer
		renderOne(ctx, &block, c)
		text := bytes.Trim(block.Bytes(), "\n")
		if len(text) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, '\n')
			if n.Data != "li" || c.Data != "ul" && c.Data != "ol" {
				all = append(all, '\n')
			}
		}
		all = append(all, text...)
	}
	if bytes.IndexByte(all, byte(marker.MarkerEscaping)) < 0 {
		return all
	}
	return ctx.UnEscapeContent(all)
}

// signed writes a list each of whose items has a sign of its own: a number, that
// of a note, or what stands before the meaning of a term.
func signed(ctx converter.Context, w converter.Writer, n *html.Node) {
	w.WriteString("\n\n")
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		var item bytes.Buffer
		renderOne(ctx, &item, c)
		if sign := attr(c, "sign"); item.Len() > 0 {
			w.Write(indent(item.Bytes(), sign, strings.Repeat(" ", min(len(sign), 4))))
			w.WriteString("\n")
		}
	}
	w.WriteString("\n")
}

// indent puts something before the first line of a text, and before the others,
// those of code among them, which the library ends with a sign of its own.
func indent(text []byte, first, rest string) []byte {
	for _, end := range []string{"\n", codeLine} {
		if bytes.Contains(text, []byte(end)) {
			text = bytes.ReplaceAll(text, []byte(end), []byte(end+rest))
		}
	}
	return append([]byte(first), text...)
}

// trimLines takes the blanks off the ends of lines that are no code: the indents
// of empty ones.
func trimLines(_ converter.Context, text []byte) []byte {
	for bytes.Contains(text, []byte(" \n")) {
		text = bytes.ReplaceAll(text, []byte(" \n"), []byte("\n"))
	}
	return text
}
