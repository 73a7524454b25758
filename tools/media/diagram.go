package media

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/mermaid"
)

const (
	maxDrawing = 4 << 20 // bytes of SVG
	maxValue   = 200_000 // characters of a value of a script
)

// isDot recognizes the language of Graphviz. All else is Mermaid: it begins a graph without a
// brace.
var isDot = text.Pattern(`(?i)^(\s|//[^\n]*\n|#[^\n]*\n|/\*[^*]*\*/)*` +
	`(strict\s+)?(di)?graph(\s+("[^"\n]*"|\w+))?\s*\{`)

// diagram draws a diagram as SVG or PNG.
func (s studio) diagram(ctx context.Context, source, format string) ([]byte, error) {
	source = unfenced(source)
	if isDot().MatchString(source) {
		return s.dot(ctx, source, format)
	}
	return s.mermaid(ctx, source, format)
}

// unfenced returns a diagram without the fence that marks it in Markdown.
func unfenced(source string) string {
	source = strings.TrimSpace(source)
	if body, fenced := strings.CutPrefix(source, "```"); fenced {
		_, body, _ = strings.Cut(body, "\n")
		source = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(body), "```"))
	}
	return source
}

// dot draws a diagram with Graphviz.
func (s studio) dot(ctx context.Context, source, format string) ([]byte, error) {
	if err := s.needs("dot", "graphviz"); err != nil {
		return nil, tool.AsError(err).Try("write the diagram in Mermaid, or ask the operator to install graphviz")
	}
	var out bytes.Buffer
	err := s.run(ctx, &out, job{
		argv: []string{"dot", "-T" + format, "-Gdpi=" + dpi(format)}, stdin: strings.NewReader(source),
	})
	var failed *program.ExitError
	switch {
	case errors.As(err, &failed) && !failed.Limit:
		return nil, tool.Errorf(tool.Invalid, "dot cannot draw this: %s", text.Clip(firstLines(failed.Stderr, 3), 500)).
			Try("correct the source")
	case err != nil:
		return nil, explain("the diagram", err)
	}
	return out.Bytes(), nil
}

// dpi returns the resolution of a drawing by dot.
func dpi(format string) string {
	if format == "png" {
		return "144"
	}
	return "72"
}

func firstLines(words string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(words), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "; ")
}

// drawMermaid is a function that draws source and returns the SVG. Labels are text and not
// HTML, so that other programs can show the SVG, too.
const drawMermaid = `async () => {
	mermaid.initialize({startOnLoad: false, securityLevel: 'strict', theme: 'default', suppressErrorRendering: true,
		maxTextSize: 200000, maxEdges: 2000, htmlLabels: false, flowchart: {htmlLabels: false},
		fontFamily: 'Helvetica, Arial, sans-serif'});
	let svg;
	try { svg = (await mermaid.render('drawing', SOURCE)).svg; } catch (e) { return 'error:' + (e.message || e); }
	show('<div id="out" style="display: inline-block; background: white; padding: 8px">' + svg + '</div>');
	const drawn = document.querySelector('#out > svg'), box = drawn.viewBox.baseVal;
	const zoom = Math.max(0.25, Math.min(2, 2000 / box.width, 4000 / box.height));
	drawn.style.maxWidth = 'none';
	drawn.setAttribute('width', box.width * zoom);
	drawn.setAttribute('height', box.height * zoom);
	return svg;
}`

// mermaid draws a diagram with Mermaid in a browser.
func (s studio) mermaid(ctx context.Context, source, format string) ([]byte, error) {
	quoted, err := json.Marshal(source)
	if err != nil {
		return nil, err
	}
	script := strings.Replace(drawMermaid, "SOURCE", string(quoted), 1)
	drawn, image, err := s.inBrowser(ctx, script, mermaid.Script)
	if err != nil {
		return nil, err
	}
	if problem, failed := strings.CutPrefix(drawn, "error:"); failed {
		return nil, tool.Errorf(tool.Invalid, "Mermaid cannot draw this: %s", text.Clip(firstLines(problem, 5), 500)).
			Try("correct the source")
	}
	if format == "png" {
		return image, nil
	}
	if len(drawn) >= maxValue {
		return nil, tool.Errorf(tool.TooLarge, "the diagram has more than %s of SVG", text.Bytes(maxValue)).
			Try("use the format png, or draw less")
	}
	return []byte(drawn), nil
}

// rasterize draws SVG as PNG.
func (s studio) rasterize(ctx context.Context, svg []byte) ([]byte, error) {
	if has("rsvg-convert") {
		var out bytes.Buffer
		err := s.run(ctx, &out, job{
			argv:  []string{"rsvg-convert", "--keep-aspect-ratio", "--width=1568", "--height=1568"},
			stdin: bytes.NewReader(svg),
		})
		if err != nil {
			return nil, explain("the drawing", err)
		}
		return out.Bytes(), nil
	}
	// An image runs no scripts and loads nothing.
	script := `async () => {
	show('<img id="out" style="max-width: 1400px; max-height: 1400px">');
	const image = document.getElementById('out');
	image.src = 'data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString(svg) + `';
	try { await image.decode(); } catch { return 'error'; }
	if (image.naturalWidth > 0 && image.naturalWidth < 400) image.style.width = '800px';
}`
	value, image, err := s.inBrowser(ctx, script, nil)
	if err != nil {
		return nil, err
	}
	if value == "error" {
		return nil, tool.Errorf(tool.Invalid, "the drawing is damaged").Try("correct its source")
	}
	return image, nil
}

// inBrowser calls a function in an empty page, and returns its value and a picture of the
// element with the ID out. The function shows elements with show. library is a script that
// it needs.
func (s studio) inBrowser(
	ctx context.Context, function string, library func() (string, error),
) (value string, image []byte, err error) {
	select {
	case s.drawing <- struct{}{}:
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
	defer func() { <-s.drawing }()
	if s.Browser == nil {
		return "", nil, tool.Errorf(tool.Unavailable, "there is no browser to draw with").
			Try("ask the operator to install Chromium")
	}
	do := func(r browser.Request) (v browser.View) {
		if err == nil {
			v, err = s.Browser.Do(ctx, r)
		}
		return v
	}
	// The page of an earlier drawing of the caller has the library already.
	loaded, failed := s.Browser.Do(ctx, browser.Request{Action: browser.Evaluate, Text: "typeof mermaid"})
	if failed != nil || library == nil {
		do(browser.Request{Action: browser.Open, URL: "about:blank"})
	}
	if library != nil && loaded.Page != "object" && err == nil {
		var code string
		if code, err = library(); err == nil {
			do(browser.Request{Action: browser.Evaluate, Text: code + "\n''"})
		}
	}
	do(browser.Request{Action: browser.Evaluate,
		Text: `globalThis.show = html => { document.body.innerHTML = html; }; ''`})
	value = do(browser.Request{Action: browser.Evaluate, Text: function, MaxChars: maxValue}).Page
	if err != nil || strings.HasPrefix(value, "error") {
		return value, nil, err
	}
	return value, do(browser.Request{Action: browser.Screenshot, Ref: "#out"}).Picture, err
}
