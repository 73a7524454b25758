package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

var compiledDir = filepath.Join(os.TempDir(), fmt.Sprintf("mcp-tools-test-pdfium-%d", os.Getpid()))

// prepareVar names the directory that this test binary fills instead of running tests.
const prepareVar = "MCP_TOOLS_TEST_PREPARE"

// compiled returns a directory with PDFium in machine code, filled once for all tests. The race detector would make that
// last minutes, so the test binary is built again without it. Another program than the test binary would not do:
// wazero reads only what the same version of itself has written, and in a test binary it does not know its version.
var compiled = sync.OnceValues(func() (string, error) {
	if !raceDetector {
		return compiledDir, Prepare(context.Background(), compiledDir)
	}
	cmd := exec.Command("go", "test", "-race=false", "-vet=off", "-count=1", ".")
	cmd.Env = append(os.Environ(), prepareVar+"="+compiledDir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return compiledDir, nil
})

// shared returns PDFium, loaded once for all tests: with the race detector that takes seconds. Each file has an instance.
var shared = sync.OnceValues(func() (*machine, error) {
	dir, err := compiled()
	if err != nil {
		return nil, err
	}
	return newMachine(context.Background(), dir, 1024) // hostile files use up less memory in less time
})

func TestMain(m *testing.M) {
	if dir := os.Getenv(prepareVar); dir != "" {
		if err := Prepare(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	_ = os.RemoveAll(compiledDir)
	os.Exit(code)
}

// start opens a file.
func start(t testing.TB, src document.Source) (*pdfium, error) {
	t.Helper()
	m, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return m.start(t.Context(), src)
}

// opener returns a function that reads files.
func opener(t *testing.T) func(document.Source) (*document.Document, error) {
	return func(src document.Source) (*document.Document, error) {
		e, err := start(t, src)
		if err != nil {
			return nil, err
		}
		defer e.close()
		return read(t.Context(), e, src)
	}
}

const lorem = `The quick brown fox jumps over the lazy dog while the old clock of the village counts the hours of
the night. Nobody knows who wound it up, because the keeper has moved away many years ago, and his house is
empty. Still it runs, and the people set their watches by it every morning before they go to work.`

// report is a document with everything that layout knows.
func report() []byte {
	d := &writer{title: "Annual report"}
	for n := 1; n <= 4; n++ {
		p := d.page()
		p.text(60, 40, 9, sans, "Example Company - Annual report")
		p.text(290, 815, 9, sans, fmt.Sprintf("%d", n))
		if n > 1 {
			y := p.paragraph(60, 130, 470, 11, sans, lorem)
			p.paragraph(60, y+10, 470, 11, sans, fmt.Sprintf("This is the end of page %d.", n))
			continue
		}
		p.text(60, 90, 24, sansBold, "Annual report")
		p.text(60, 130, 16, sansBold, "1 Results")
		y := p.paragraph(60, 155, 470, 11, sans, lorem)
		y += 12
		p.text(60, y, 11, sans,
			"The second one has a word at the end of its first line that is divided, in the middle of para-")
		p.text(60, y+13.2, 11, sans, "graph, and goes on here.")
		y += 38
		p.text(60, y, 11, sansBold, "A short bold line")
		y += 24
		for _, item := range []string{"First item", "Second item", "Third item"} {
			p.text(70, y, 11, sans, "•")
			p.text(85, y, 11, sans, item)
			y += 14
		}
		p.text(100, y, 11, sans, "–")
		p.text(112, y, 11, sans, "Nested item")
		y += 30
		for i, item := range []string{"Open the box.", "Take it out.", "Close the box."} {
			p.text(70, y, 11, sans, fmt.Sprintf("%d.", i+1))
			p.text(90, y, 11, sans, item)
			y += 14
		}
		y += 16
		for _, row := range [][]string{
			{"Region", "2024", "2025", "Change"}, {"North", "10.5", "", "-"}, {"South", "", "8.1", "+2 %"},
			{"East | West", "7", "9", "+28 %"},
		} {
			for i, cell := range row {
				p.text(60+110*float64(i), y, 11, sans, cell)
			}
			y += 16
		}
		y += 14
		p.text(60, y, 11, sans, "See")
		p.text(83, y, 11, sans, "the web site")
		p.text(147, y, 11, sans, "for more.")
		p.link(82, y+3, 64, 14, "https://example.com/report")
		y += 30
		for _, code := range []string{"func main() {", "    fmt.Println(\"hello\")", "}"} {
			trimmed := strings.TrimLeft(code, " ")
			p.text(60+6*float64(len(code)-len(trimmed)), y, 10, mono, trimmed)
			y += 12
		}
		y += 14
		for _, option := range [][2]string{
			{"-v, --verbose", "prints more about what happens,"}, {"", "and once more if it is repeated"},
			{"-q, --quiet", "prints nothing"}, {"--color=WHEN", "always, never or auto"},
		} {
			if option[0] != "" {
				p.text(60, y, 11, sans, option[0])
			}
			p.text(180, y, 11, sans, option[1])
			y += 13
		}
	}
	return d.bytes()
}

// twoColumns is a paper with a title over two columns.
func twoColumns() []byte {
	d := &writer{}
	p := d.page()
	p.text(150, 80, 20, sansBold, "A paper in two columns")
	y := p.paragraph(60, 120, 235, 10, serif, "LEFT-BEGIN "+strings.Repeat(lorem+" ", 4)+"LEFT-END")
	p.paragraph(315, 120+3, 235, 10, serif, "RIGHT-BEGIN "+strings.Repeat(lorem+" ", 4)+"RIGHT-END")
	p.paragraph(60, y+40, 490, 10, serif, "BELOW "+lorem+lorem)
	return d.bytes()
}

// card is a reference card with three columns of commands and what they do.
func card() []byte {
	d := &writer{}
	p := d.page()
	p.w, p.h = 842, 595
	for c := range 3 {
		y := 50.0
		for group := range 4 {
			p.text(40+265*float64(c), y, 12, sansBold, fmt.Sprintf("Group %c%d", 'A'+c, group))
			y += 16
			for k := range 7 {
				p.text(40+265*float64(c), y, 8, sans, fmt.Sprintf("command-%c%d%d", 'a'+c, group, k))
				p.text(150+265*float64(c), y, 8, sans, "moves the cursor to the right by words")
				y += 10
			}
			y += 12
		}
	}
	return d.bytes()
}

func TestGolden(t *testing.T) {
	for name, data := range map[string][]byte{"report": report(), "columns": twoColumns(), "card": card()} {
		t.Run(name, func(t *testing.T) {
			open := opener(t)
			doc, err := open(source(data))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, p := range doc.Parts {
				fmt.Fprintf(&out, "<!-- page %d of %d -->\n%s\n\n", p.Number, doc.Total, p.Markdown)
			}
			golden.Check(t, filepath.Join("testdata", name+".md"), []byte(out.String()))
		})
	}
}

func TestReadReturnsTheWantedPages(t *testing.T) {
	open := opener(t)
	src := source(report())
	src.Pages = document.Ranges{{First: 2, Last: 2}, {First: 4, Last: 9}}
	doc, err := open(src)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, p := range doc.Parts {
		got = append(got, p.Number)
		if want := fmt.Sprintf("This is the end of page %d.", p.Number); !strings.Contains(p.Markdown, want) {
			t.Errorf("page %d has no %q:\n%s", p.Number, want, p.Markdown)
		}
	}
	if diff := cmp.Diff([]int{2, 4}, got); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Annual report" || doc.Total != 4 || doc.Unit != "page" {
		t.Errorf("title %q, total %d, unit %q", doc.Title, doc.Total, doc.Unit)
	}
}

func TestLimitsOfPagesAndText(t *testing.T) {
	open := opener(t)
	src := source(report())
	src.Limits.Parts = 2
	doc, err := open(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Parts) != 2 || len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "Only 2 pages") {
		t.Errorf("%d parts, notes %q", len(doc.Parts), doc.Notes)
	}
	src = source(report())
	src.Limits.Text = 1800
	doc, err = open(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Parts) == 4 || len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "too much text") {
		t.Errorf("%d parts, notes %q", len(doc.Parts), doc.Notes)
	}
}

func TestPassword(t *testing.T) {
	d := &writer{title: "Secret", password: "pässword"[:1] + "ssword"}
	p := d.page()
	p.paragraph(60, 90, 470, 11, sans, lorem)
	data := d.bytes()
	open := opener(t)
	for _, password := range []string{"", "wrong"} {
		src := source(data)
		src.Password = password
		if _, err := open(src); !errors.Is(err, document.ErrPassword) {
			t.Errorf("with password %q: %v", password, err)
		}
	}
	src := source(data)
	src.Password = d.password
	doc, err := open(src)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(doc.Parts[0].Markdown, "quick brown fox") || doc.Title != "Secret" {
		t.Errorf("title %q, text %q", doc.Title, doc.Parts[0].Markdown)
	}
}

func TestPicturesHaveNamesAndContent(t *testing.T) {
	d := &writer{}
	p := d.page()
	p.paragraph(60, 90, 470, 11, sans, lorem)
	p.image(60, 200, 200, 100, gradient(80, 40))
	p.image(60, 320, 5, 5, gradient(4, 4)) // an ornament
	data := d.bytes()
	open := opener(t)
	doc, err := open(source(data))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Pictures) != 1 || doc.Pictures[0].Name != "page-1-1.png" || doc.Pictures[0].Data != nil {
		t.Fatalf("pictures: %+v", doc.Pictures)
	}
	if !strings.Contains(doc.Parts[0].Markdown, "![](page-1-1.png)") {
		t.Errorf("no picture in the text:\n%s", doc.Parts[0].Markdown)
	}
	src := source(data)
	src.Pictures = true
	if doc, err = open(src); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]image.Point{}
	for _, pic := range doc.Pictures {
		img, err := png.Decode(bytes.NewReader(pic.Data))
		if err != nil {
			t.Fatalf("%s: %v", pic.Name, err)
		}
		if pic.Size != int64(len(pic.Data)) || pic.Page != 1 {
			t.Errorf("%s: size %d, page %d", pic.Name, pic.Size, pic.Page)
		}
		sizes[pic.Name] = img.Bounds().Size()
	}
	if got := sizes["page-1-1.png"]; got != image.Pt(80, 40) {
		t.Errorf("the picture is %v", got)
	}
	if got := sizes["page-1.png"]; got.X < 900 || got.X > 920 || got.Y < 1280 || got.Y > 1295 {
		t.Errorf("the page is %v, want 110 dpi", got)
	}
	src.Limits.Pictures = 100
	if doc, err = open(src); err != nil {
		t.Fatal(err)
	}
	for _, pic := range doc.Pictures {
		if pic.Data != nil {
			t.Errorf("%s has content over the limit", pic.Name)
		}
	}
	if len(doc.Notes) == 0 {
		t.Error("no note says that pictures were left out")
	}
}

func TestTurnedPage(t *testing.T) {
	for _, turn := range []int{90, 180, 270} {
		d := &writer{}
		p := d.page()
		p.rotate = turn
		w, h := p.w, p.h
		// Text that is upright once the page is turned.
		for i, text := range []string{"First line of the text", "Second line of the text"} {
			down := 100 + 14*float64(i)
			m := map[int]string{
				90:  fmt.Sprintf("0 1 -1 0 %g %g", down, 60.0),
				180: fmt.Sprintf("-1 0 0 -1 %g %g", w-60, down),
				270: fmt.Sprintf("0 -1 1 0 %g %g", w-down, h-60),
			}[turn]
			fmt.Fprintf(&p.content, "BT /F1 11 Tf %s Tm (%s) Tj ET\n", m, text)
		}
		data := d.bytes()
		open := opener(t)
		doc, err := open(source(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Parts[0].Markdown; strings.Join(strings.Fields(got), " ") !=
			"First line of the text Second line of the text" {
			t.Errorf("turned by %d: %q", turn, got)
		}
	}
}

// scan returns a file with a page that is only a picture of text.
func scan(t *testing.T) []byte {
	d := &writer{}
	p := d.page()
	y := p.paragraph(60, 90, 470, 14, sans, lorem)
	p.paragraph(60, y+20, 470, 14, sans, "The second paragraph of the scan.")
	e, err := start(t, source(d.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	pgm, err := e.draw(t.Context(), 1, 150, true)
	if err != nil {
		t.Fatal(err)
	}
	var w, h, most int
	if _, err := fmt.Sscanf(string(pgm[:20]), "P5 %d %d %d", &w, &h, &most); err != nil {
		t.Fatal(err)
	}
	to := &writer{}
	to.page().image(0, 0, 595, 842, bitmap{w, h, pgm[len(pgm)-w*h:]})
	return to.bytes()
}

func TestScanIsReadByTesseract(t *testing.T) {
	needtest.Program(t, "tesseract")
	data := scan(t)
	open := opener(t)
	doc, err := open(source(data))
	if err != nil {
		t.Fatal(err)
	}
	part := doc.Parts[0]
	share, _, lost := recall(words(lorem+" The second paragraph of the scan."), words(part.Markdown))
	if !part.OCR || share < 0.95 {
		t.Errorf("OCR %v, %.2f of the words, without %q:\n%s", part.OCR, share, lost, part.Markdown)
	}
	if blocks := strings.Split(part.Markdown, "\n\n"); len(blocks) != 3 || blocks[2] != "![](page-1.png)" {
		t.Errorf("want two paragraphs and the picture of the page:\n%s", part.Markdown)
	}
	src := source(data)
	src.OCR = document.OCROff
	if doc, err = open(src); err != nil {
		t.Fatal(err)
	}
	if part := doc.Parts[0]; part.OCR || part.Markdown != "![](page-1.png)" {
		t.Errorf("without OCR: %+v", part)
	}
}

// TestOCRReadsTenPages uses a program in the place of tesseract.
func TestOCRReadsTenPages(t *testing.T) {
	text := &writer{}
	text.page().paragraph(60, 90, 470, 14, sans, lorem)
	d := &writer{}
	for range 12 {
		p := d.page()
		p.w, p.h = 100, 100 // small, so that it is drawn fast
		p.image(0, 0, 100, 100, gradient(64, 64))
	}
	data := d.bytes()
	dir := t.TempDir()
	program := "#!/bin/sh\ncat >/dev/null\necho threads $OMP_THREAD_LIMIT\n"
	if err := os.WriteFile(filepath.Join(dir, "tesseract"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	open := opener(t)
	doc, err := open(source(data))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range doc.Parts {
		if p.OCR && strings.HasPrefix(p.Markdown, "threads 1\n") {
			count++
		}
	}
	if count != 10 || len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "2 more scanned pages") {
		t.Errorf("%d pages, notes %q", count, doc.Notes)
	}
	// Pages with text are read so on request only.
	src := source(text.bytes())
	src.OCR = document.OCROn
	if doc, err = open(src); err != nil {
		t.Fatal(err)
	}
	if part := doc.Parts[0]; !part.OCR || part.Markdown != "threads 1" {
		t.Errorf("%+v", part)
	}
}

func TestWithoutTesseractANoteNamesThePackage(t *testing.T) {
	data := scan(t)
	t.Setenv("PATH", t.TempDir())
	src := source(data)
	e, err := start(t, src)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	doc, err := read(t.Context(), e, src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "tesseract-ocr") {
		t.Errorf("notes %q", doc.Notes)
	}
}

func TestReadWithoutPrograms(t *testing.T) {
	dir, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	src := source(report())
	src.Prepared = dir
	doc, err := Read(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Parts) != 4 || !strings.HasPrefix(doc.Parts[0].Markdown, "# Annual report") {
		t.Errorf("%+v", doc.Parts)
	}
}

func TestPDFiumAsksForCompiledCode(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Read(t.Context(), source(report())); !errors.Is(err, document.ErrNotPrepared) {
		t.Errorf("%v", err)
	}
}

func TestContextEndsReading(t *testing.T) {
	data := report()
	src := source(data)
	e, err := start(t, src)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err = e.pages(ctx, 1, 4, func(page) error {
		seen++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%v after %d pages", err, seen)
	}
	if _, err := read(ctx, e, src); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestNotesInTheMargin reads lines that have a note right of where nearly all text ends.
func TestNotesInTheMargin(t *testing.T) {
	d := &writer{}
	p := d.page()
	for i := range 50 {
		p.text(60, 60+14*float64(i), 10, sans, "An ordinary line of text up to the usual edge")
	}
	p.text(400, 60, 10, sans, "a note")
	data := d.bytes()
	open := opener(t)
	doc, err := open(source(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Parts[0].Markdown; !strings.Contains(got, "a note") {
		t.Errorf("no note in %q", got)
	}
}

// TestTextFromTheRight has characters in the orders in which files have them. A line of a page is
// read from the right, its numbers and Latin words from the left.
func TestTextFromTheRight(t *testing.T) {
	type glyph struct {
		x, w float64
		text string
	}
	for name, glyphs := range map[string][]glyph{
		"as it is read": {{90, 5, "ש"}, {85, 5, "ל"}, {80, 5, "ו"}, {75, 5, "ם"}, {60, 5, "1"}, {65, 5, "9"},
			{40, 5, "א"}, {35, 5, "ב"}},
		"as it looks": {{35, 5, "ב"}, {40, 5, "א"}, {60, 5, "1"}, {65, 5, "9"}, {75, 5, "ם"}, {80, 5, "ו"}, {85, 5, "ל"},
			{90, 5, "ש"}},
	} {
		to := page{number: 1, w: 100, h: 100}
		all := collectors{page: &to}
		for _, g := range glyphs {
			r, _ := utf8.DecodeRuneInString(g.text)
			all.add(r, g.x, 10, g.w, 10, textObject{font: font{size: 10}})
		}
		all.finish()
		if got := layOut([]page{to})[0]; got != "שלום 19 אב" {
			t.Errorf("%s: %q", name, got)
		}
	}
	lamAlef := []run{{x: 20, w: 5, text: "س"}, {x: 10, w: 8, text: "ا"}, {x: 10, w: 8, text: "ل"}, {x: 13, w: 1, text: "\u064b"}}
	if got := ordered(lamAlef); got != "سلاً" && got != "سلًا" {
		t.Errorf("a ligature: %q", got)
	}
}

// TestFieldsOfForms has a field that is drawn, one that is not, a hidden one and a password.
func TestFieldsOfForms(t *testing.T) {
	widget := "<< /Type /Annot /Subtype /Widget /FT /Tx /T (f%d) /V (%s) /Rect [100 %d 300 %d] /DA (/F1 12 Tf) %s >>"
	page := "BT /F1 12 Tf 1 0 0 1 20 705 Tm (Name:) Tj 1 0 0 1 20 605 Tm (Town:) Tj ET"
	drawn := "BT /F1 12 Tf 1 0 0 1 2 5 Tm (Ada) Tj ET"
	data := objects(true, "<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R 6 0 R 7 0 R 8 0 R] >> >>",
		"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 800] /Contents 4 0 R /Annots [5 0 R 6 0 R 7 0 R 8 0 R] "+
			"/Resources << /Font << /F1 9 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(page), page),
		fmt.Sprintf(widget, 1, "Ada", 700, 720, "/AP << /N 10 0 R >>"),
		fmt.Sprintf(widget, 2, "London", 600, 620, ""),
		fmt.Sprintf(widget, 3, "Unseen", 500, 520, "/F 2"),
		fmt.Sprintf(widget, 4, "Unread", 400, 420, "/Ff 8192"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 9 0 R >> >> "+
			"/Length %d >>\nstream\n%s\nendstream", len(drawn), drawn))
	doc, err := opener(t)(source(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(doc.Parts[0].Markdown), " "); got != "Name: Ada Town: London" {
		t.Errorf("%q", got)
	}
}

// TestTextThatIsDrawnSideways reads a page with text from the bottom to the top, and one with a
// stamp at its side.
func TestTextThatIsDrawnSideways(t *testing.T) {
	d := &writer{}
	p := d.page()
	for i, text := range []string{"First line of the text", "Second line of the text"} {
		fmt.Fprintf(&p.content, "BT /F1 11 Tf 0 1 -1 0 %d 60 Tm (%s) Tj ET\n", 100+14*i, text)
	}
	p = d.page()
	p.text(60, 60, 11, sans, "An upright line of the page")
	p.content.WriteString("BT /F1 20 Tf 0 1 -1 0 30 300 Tm (a stamp) Tj ET\n")
	doc, err := opener(t)(source(d.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"First line of the text Second line of the text", "An upright line of the page # a stamp"} {
		got := strings.Join(strings.Fields(doc.Parts[i].Markdown), " ")
		if got != want && got != strings.ReplaceAll(want, "# ", "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSectionsAtTheTopOfPages has a numbered heading on each page, and a running head.
func TestSectionsAtTheTopOfPages(t *testing.T) {
	d := &writer{}
	titles := []string{"Introduction", "Methods", "Results", "Outlook", "Decision"}
	for i, title := range titles {
		p := d.page()
		p.text(60, 60, 18, sansBold, fmt.Sprintf("%d. %s", i+1, title))
		p.paragraph(60, 100, 470, 11, sans, lorem)
		p.text(290, 815, 9, sans, fmt.Sprintf("Page %d", i+1))
	}
	doc, err := opener(t)(source(d.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for i, title := range titles {
		got := doc.Parts[i].Markdown
		if !strings.HasPrefix(got, fmt.Sprintf("# %d. %s\n", i+1, title)) || strings.Contains(got, "Page ") {
			t.Errorf("page %d: %s", i+1, got)
		}
	}
}

// TestTablesWithNarrowGaps has tables below a paragraph, with gaps of columns that are hardly wider
// than those of words, and cells of several lines.
func TestTablesWithNarrowGaps(t *testing.T) {
	d := &writer{}
	p := d.page()
	y := p.paragraph(60, 60, 470, 11, sans, lorem)
	for _, row := range [][]string{
		{"Code", "Article", "Pieces", "Price"}, {"K1037", "Cactus valley", "668", "543.03"}, {"K1038", "Maple", "5", "1.20"},
		{"K1039", "Needle bridge", "72", "44.00"}, {"K1040", "", "7", "44.10"},
	} {
		for i, x := range []float64{60, 102, 180, 222} {
			p.text(x, y, 11, sans, row[i])
		}
		y += 14
	}
	y += 40
	for _, row := range [][]string{
		{"Risk", "Chance", "Answer"}, {"Supplier", "low", "Two more suppliers are under"}, {"fails", "", "contract"},
		{"", "", ""}, {"Prices rise", "high", "Nothing"},
	} {
		step := 13.0
		if row[0] == "" {
			step = 4
		}
		for i, x := range []float64{60, 140, 220} {
			if row[i] != "" {
				p.text(x, y, 11, sans, row[i])
			}
		}
		y += step
	}
	doc, err := opener(t)(source(d.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| Code | Article | Pieces | Price |", "| K1037 | Cactus valley | 668 | 543.03 |", "| K1038 | Maple | 5 | 1.20 |",
		"| K1040 |  | 7 | 44.10 |", "| Supplier fails | low | Two more suppliers are under contract |",
		"| Prices rise | high | Nothing |",
	} {
		if !strings.Contains(doc.Parts[0].Markdown, want+"\n") && !strings.HasSuffix(doc.Parts[0].Markdown, want) {
			t.Errorf("without %s:\n%s", want, doc.Parts[0].Markdown)
		}
	}
}
