package write

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/util"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// unescape returns text as a reader sees it: without the backslashes and entities of Markdown, unless it is raw.
func unescape(text string, raw bool) string {
	if raw {
		return text
	}
	return string(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences([]byte(text)))))
}

// style is the style sheet of pages.
const style = `body{font:16px/1.55 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#1c1f23}
h1,h2,h3,h4,h5,h6{line-height:1.25;color:#1f3a5f}img{max-width:100%}
table{border-collapse:collapse;margin:1em 0}th,td{border:1px solid #b0b8c0;padding:.3em .6em}th{background:#e8ecf1}
pre{background:#f4f5f7;padding:.8em;overflow:auto}code{font-family:ui-monospace,monospace;font-size:.92em}
blockquote{border-left:4px solid #c0c8d0;margin:1em 0;padding:0 1em;color:#505050}.author{color:#606060}
li:has(>input){list-style:none}li>input{margin:0 .4em 0 -1.3em}
@media print{body{font-size:11pt;max-width:none;margin:0;padding:0}pre{white-space:pre-wrap;overflow:visible}h1,h2,h3,h4,h5,h6{break-after:avoid}
tr,img{break-inside:avoid}p,li{orphans:2;widows:2}a{color:#1f4e9e;text-decoration:none}}`

// HTML makes a page of Markdown: one file, with its pictures, that loads nothing.
func HTML(_ context.Context, src document.Source) (*document.Written, error) {
	s, err := decode(src)
	if err != nil {
		return nil, err
	}
	w, err := s.parse()
	if err != nil {
		return nil, err
	}
	var pictures []*ast.Image
	var bare []*ast.AutoLink // of other schemes
	err = ast.Walk(w.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Image:
			if entering {
				pictures = append(pictures, n)
			}
		case *ast.Link:
			if target := string(n.Destination); !isAddress(target) && !strings.HasPrefix(target, "#") {
				n.Destination = []byte("#")
				w.note("links that lead neither to the web nor to a mail address nor into the document lead nowhere")
			}
		case *ast.AutoLink:
			if entering && n.AutoLinkType == ast.AutoLinkURL && !isAddress(string(n.URL(w.source))) {
				bare = append(bare, n)
			}
		case *ast.RawHTML, *ast.HTMLBlock:
			w.note("raw HTML was left out")
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	title := w.title
	for n := w.root.FirstChild(); n != nil && title == ""; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			title = unescape(w.plain(n), false)
		}
	}
	for _, n := range bare {
		n.Parent().ReplaceChild(n.Parent(), n, ast.NewString([]byte(html.EscapeString(string(n.Label(w.source))))))
	}
	for _, n := range pictures {
		data := w.pictures[string(n.Destination)]
		if kind := http.DetectContentType(data); strings.HasPrefix(kind, "image/") {
			n.Destination = []byte("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data))
			continue
		}
		w.note("the picture %.100q is not a file of the workspace, so only its description was written", n.Destination)
		n.Parent().ReplaceChild(n.Parent(), n, ast.NewString([]byte(w.plain(n))))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "+
		"content=\"width=device-width\">\n<title>%s</title>\n<style>\n%s\n@page{size:%gpt %gpt;margin:20mm}\n</style>\n</head>\n<body>\n",
		html.EscapeString(title), style, float64(w.page.w)/20, float64(w.page.h)/20)
	if w.title != "" {
		fmt.Fprintf(&b, "<h1>%s</h1>\n", html.EscapeString(w.title))
	}
	if w.author != "" {
		fmt.Fprintf(&b, "<p class=\"author\">%s</p>\n", html.EscapeString(w.author))
	}
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Renderer().Render(&b, w.source, w.root); err != nil {
		return nil, err
	}
	b.WriteString("</body>\n</html>\n")
	return &document.Written{Content: b.Bytes(), Notes: w.notes}, nil
}
