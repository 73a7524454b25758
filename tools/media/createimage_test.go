package media

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

func TestCharts(t *testing.T) {
	r := newRoom(t)
	create := tool.Prepared(createImage{r.studio})
	r.write("sales.csv", []byte("Month,Sales\nJan,3\nFeb,5\n"))
	for _, tt := range []struct {
		args map[string]any
		want string // part of the text
	}{
		{map[string]any{"chart": "bar", "data": "Month,Sales\nJan,3", "title": "Sales 2026"}, "/sales-2026.png: PNG"},
		{map[string]any{"data": "sales.csv"}, "/bar-chart.png"},
		{map[string]any{"chart": "pie", "data": map[string]any{"a": 1, "b": 2}}, "/pie-chart.png"},
		{map[string]any{"kind": "chart", "chart": "line", "data": []any{1, 2, 3}, "format": "svg"},
			"/line-chart.svg: SVG"},
	} {
		res := r.must(create, tt.args)
		if !strings.Contains(res.Text(), tt.want) || len(pictures(t, res)) != 1 {
			t.Errorf("%v: %q, %d pictures", tt.args, res.Text(), len(pictures(t, res)))
		}
	}
	for _, tt := range []struct {
		args map[string]any
		kind tool.Kind
		want string
	}{
		{map[string]any{}, tool.Invalid, "send data for a chart, source for a diagram, or prompt for a photo"},
		{map[string]any{"kind": "photo"}, tool.Invalid, `"prompt" is missing`},
		{map[string]any{"kind": "chart"}, tool.Invalid, `"data" is missing`},
		{map[string]any{"kind": "diagram"}, tool.Invalid, `"source" is missing`},
		{map[string]any{"chart": "bar", "data": "none.csv"}, tool.NotFound, "none.csv"},
		{map[string]any{"chart": "bar", "data": "hello"}, tool.Invalid, "no numbers"},
		{map[string]any{"chart": "bar", "data": "a,1", "format": "jpeg"}, tool.Invalid, "cannot be jpeg"},
		{map[string]any{"prompt": "a fox", "format": "svg"}, tool.Invalid, "cannot be SVG"},
		{map[string]any{"prompt": "a fox"}, tool.Unavailable, "no provider"},
	} {
		if _, err := r.call(create, tt.args); err == nil || tool.AsError(err).Kind != tt.kind ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
}

// Characters that the built-in font lacks are drawn by another program, or the result says
// so.
func TestChartsWithOtherCharacters(t *testing.T) {
	r := newRoom(t)
	t.Setenv("PATH", t.TempDir())
	res := r.must(tool.Prepared(createImage{r.studio}), map[string]any{"data": "東京,1"})
	if !strings.Contains(res.Text(), "use the format svg") || len(pictures(t, res)) != 1 {
		t.Errorf("%q", res.Text())
	}
}

func TestLanguagesOfDiagrams(t *testing.T) {
	for source, want := range map[string]bool{
		"digraph { a -> b }": true, "strict graph G {\n a -- b }": true, "// note\ngraph {a}": true,
		`digraph "x y" {`:        true,
		"/* note */ DIGRAPH g{}": true, "graph TD\n A-->B": false, "graph LR; A{choice} --> B": false,
		"flowchart LR":                       false,
		"sequenceDiagram\n A->>B: digraph {": false, "graph TB\nsubgraph one{": false, "": false,
	} {
		if got := isDot().MatchString(source); got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
	if got := unfenced("```mermaid\nflowchart LR\nA-->B\n```\n"); got != "flowchart LR\nA-->B" {
		t.Errorf("%q", got)
	}
}

func TestDiagramsInDot(t *testing.T) {
	needtest.Program(t, "dot")
	r := newRoom(t)
	create := tool.Prepared(createImage{r.studio})
	res := r.must(create, map[string]any{"source": "digraph { a -> b }", "title": "Two"})
	if !strings.Contains(res.Text(), "/two.png") || len(pictures(t, res)) != 1 {
		t.Errorf("%q", res.Text())
	}
	secret := filepath.Join(r.dir, "secret.png")
	r.write("secret.png", pngOf(t, 50, 50))
	res = r.must(create, map[string]any{"source": `digraph { a [image="` + secret + `"] }`, "format": "svg"})
	name := strings.TrimPrefix(res.Parts[1].URI, "generated:///")
	svg, err := os.ReadFile(filepath.Join(r.dir, "generated", name))
	if err != nil || !strings.Contains(string(svg), "<svg") || strings.Contains(string(svg), "<image") {
		t.Errorf("%s, %v", svg, err)
	}
	if _, err := r.call(create, map[string]any{"source": "digraph { a -> "}); tool.AsError(err).Kind != tool.Invalid ||
		!strings.Contains(err.Error(), "syntax error in line 1") {
		t.Error(err)
	}
}

func TestDiagramsInMermaid(t *testing.T) {
	needtest.Program(t, "chromium", "chromium-browser", "google-chrome")
	if err := browser.CheckIsolation(t.Context(), runner().Tiers); err != nil {
		needtest.Lacking(t, "isolation", err.Error())
	}
	r := newRoom(t)
	b, err := browser.New(browser.Options{
		Tiers: runner().Tiers,
		Proxy: func(context.Context, func(string, error)) (browser.Proxy, error) { return closed{t}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	r.Browser = b
	create := tool.Prepared(createImage{r.studio})
	res := r.must(create, map[string]any{"source": "flowchart LR\n A[Start] --> B{Ready?}", "title": "Flow"})
	if all := pictures(t, res); !strings.Contains(res.Text(), "/flow.png") || len(all) != 1 ||
		all[0].Bounds().Dx() < 200 {
		t.Errorf("%q", res.Text())
	}
	// Scripts and links in labels stay text, and nothing is loaded.
	res = r.must(create, map[string]any{
		"source": "flowchart LR\n A[\"<script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(1)'>\"] --> B\n" +
			" click B href \"javascript:alert(1)\"", "format": "svg",
	})
	svg, err := os.ReadFile(filepath.Join(r.dir, "generated", strings.TrimPrefix(res.Parts[1].URI, "generated:///")))
	if err != nil || !strings.Contains(string(svg), "<svg") {
		t.Fatalf("%s, %v", svg, err)
	}
	for _, bad := range []string{"<script", "onerror=", "javascript:", "<foreignObject", "<img"} {
		if strings.Contains(string(svg), bad) {
			t.Errorf("the SVG has %s", bad)
		}
	}
	_, err = r.call(create, map[string]any{"source": "flowchart LR\n A[Start --> B"})
	if known := tool.AsError(err); known == nil || known.Kind != tool.Invalid ||
		!strings.Contains(err.Error(), "line") {
		t.Error(err)
	}
	// SVG files are shown by the same browser, without what they name.
	if !has("rsvg-convert") {
		r.write("a.svg",
			[]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40"><script>alert(1)</script>`+
				`<image href="http://127.0.0.1:9/x"/><rect width="90" height="40" fill="red"/></svg>`))
		res = r.must(tool.Prepared(readImage{r.studio}), map[string]any{"path": "a.svg"})
		if all := pictures(t, res); len(all) != 1 || colourAt(all[0].At(40, 20)) != "red" {
			t.Errorf("%q", res.Text())
		}
	}
}

// closed is a proxy to which nothing may connect.
type closed struct{ t *testing.T }

func (c closed) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		c.t.Errorf("something connects to the network")
		conn.Close()
	}
}

// TestChartsAreViewed: a client with apps gets the numbers beside the picture, the text is that of other clients.
func TestChartsAreViewed(t *testing.T) {
	r := newRoom(t)
	one := createImage{r.studio}
	args := createImageArgs{Data: []byte(`"Month,Sales\nJan,3\nFeb,5"`), Title: "Sales"}
	for _, apps := range []bool{false, true} {
		plan, err := one.Prepare(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		running := tool.RunningFrom(r.ctx)
		running.Apps = apps
		res, err := plan.Run(tool.With(r.ctx, &running))
		shown, ok := res.View.(view.Chart)
		if err != nil || ok != apps || len(pictures(t, res)) != 1 || !one.Spec().Viewed {
			t.Errorf("apps %t: %+v, %v", apps, res.View, err)
		}
		if apps && (shown.Title != "Sales" || !strings.HasPrefix(shown.File, "generated/") || len(shown.Series) != 1) {
			t.Errorf("%+v", shown)
		}
	}
}
