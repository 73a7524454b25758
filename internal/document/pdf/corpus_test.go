package pdf

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

var (
	divided = regexp.MustCompile(`[-‐\x{ad}]\s*\n\s*`)
	word    = regexp.MustCompile(`[\p{L}\p{N}]+`)
)

// words counts the words of a text. Words that are divided at the end of a line are joined.
func words(text string) map[string]int {
	text = divided.ReplaceAllString(text, "")
	text = strings.NewReplacer("-", "", "ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl").Replace(text)
	count := map[string]int{}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		count[w]++
	}
	return count
}

// recall returns the share of the wanted words that are there, their number, and the lost ones.
func recall(want, got map[string]int) (share float64, total int, lost []string) {
	found := 0
	for w, n := range want {
		total += n
		found += min(n, got[w])
		if got[w] < n {
			lost = append(lost, fmt.Sprintf("%s (%d)", w, n-got[w]))
		}
	}
	slices.Sort(lost)
	return float64(found) / float64(max(1, total)), total, lost
}

// A sample is a file of the corpus, and what must be found in it.
type sample struct {
	name, path             string
	headings, items, cells []string // texts; cells are rows joined by |
}

var (
	headings = []string{"Annual report", "Results", "Outlook", "Risks and chances", "Details"}
	items    = []string{"more apples than pears", "fewer plums", "the same number of cherries"}
	rows     = []string{
		"Region|2023|2024|2025", "North|10|20|30", "South|11||31", "East|12|22|32", "West|13|23|33",
		"Centre|14|24|34", "Overseas|15|25|35",
	}
)

// htmlReport is the report as HTML.
func htmlReport() string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><meta charset=utf-8><title>Annual report</title><body style="font-family:serif">`)
	// LibreOffice leaves out a heading at the very beginning.
	fmt.Fprintf(&b, "<p>Example Company</p><h1>%s</h1>", headings[0])
	for _, h := range headings[1:] {
		fmt.Fprintf(&b, "<h2>%s</h2><p>%s</p><p>%s</p>", h, lorem, lorem)
		if h == "Outlook" {
			b.WriteString("<ul><li>" + strings.Join(items, "</li><li>") + "</li></ul>")
		}
		if h == "Results" {
			b.WriteString("<table border=1 cellpadding=4>")
			for _, r := range rows {
				b.WriteString("<tr><td>" + strings.ReplaceAll(r, "|", "</td><td>") + "</td></tr>")
			}
			b.WriteString("</table>")
		}
	}
	return b.String()
}

// groffReport is the report for groff with the macros ms.
func groffReport() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".nr PS 11\n.nr GROWPS 3\n.nr PSINCR 2p\n.TL\n%s\n", headings[0])
	for _, h := range headings[1:] {
		fmt.Fprintf(&b, ".NH 1\n%s\n.LP\n%s\n.LP\n%s\n", h, lorem, lorem)
		if h == "Outlook" {
			for _, i := range items {
				fmt.Fprintf(&b, ".IP \\(bu 2\n%s\n", i)
			}
		}
		if h == "Results" {
			b.WriteString(".TS\ntab(|) allbox;\nlw(1.2i) nw(1i) nw(1i) nw(1i).\n" + strings.Join(rows, "\n") + "\n.TE\n")
		}
	}
	return b.String()
}

// produce runs a program of the corpus; what it prints is for the log of a failure.
func produce(t *testing.T, stdin string, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var message bytes.Buffer
	cmd.Stderr = &message
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, message.Bytes())
	}
	return out
}

// corpus makes files with the programs that are installed, and adds files of Debian's packages.
func corpus(t *testing.T) []sample {
	dir := t.TempDir()
	var all []sample
	add := func(name string, data []byte) string {
		if slices.ContainsFunc(all, func(s sample) bool { return s.name == name }) {
			return "" // under two paths
		}
		path := filepath.Join(dir, name+".pdf")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s := sample{name: name, path: path}
		if strings.HasSuffix(name, "-report") {
			s.headings, s.items, s.cells = headings, items, rows
			if name == "ghostscript-report" {
				s.cells = nil // ps2pdf joins cells to one text with wide spaces, which poppler does not measure
			}
			if name == "chromium-report" {
				s.items = nil // its bullets are drawn, not written
			}
		}
		all = append(all, s)
		return path
	}
	has := func(program string) bool { _, err := exec.LookPath(program); return err == nil }
	needtest.Program(t, "pdftotext")
	needtest.Program(t, "gropdf")

	groff := add("groff-report", produce(t, groffReport(), "groff", "-t", "-ms", "-Tpdf"))
	add("groff-two-columns", produce(t, ".2C\n.LP\n"+strings.Repeat(lorem+"\n.LP\n", 40), "groff", "-ms", "-Tpdf"))
	add("cairo-report", produce(t, "", "pdftocairo", "-pdf", groff, "-"))
	html := filepath.Join(dir, "report.html")
	if err := os.WriteFile(html, []byte(htmlReport()), 0o644); err != nil {
		t.Fatal(err)
	}
	if raceDetector {
		return all // ten times slower
	}
	if has("ps2pdf") {
		ps := produce(t, groffReport(), "groff", "-t", "-ms", "-Tps")
		add("ghostscript-report", produce(t, string(ps), "ps2pdf", "-", "-"))
	}
	if has("chromium") {
		out := filepath.Join(dir, "chromium-out.pdf")
		produce(t, "", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
			"--user-data-dir="+t.TempDir(), "--print-to-pdf="+out, html)
		add("chromium-report", readAll(t, open(t, out)))
	}
	if has("soffice") {
		produce(t, "", "soffice", "-env:UserInstallation=file://"+t.TempDir(), "--headless",
			"--convert-to", "pdf:writer_web_pdf_Export", "--outdir", dir, html)
		add("libreoffice-report", readAll(t, open(t, filepath.Join(dir, "report.pdf"))))
	}
	for _, page := range []string{"ls", "tar", "find", "bash"} {
		if zipped, err := os.Open("/usr/share/man/man1/" + page + ".1.gz"); err == nil {
			source, err := gzip.NewReader(zipped)
			if err != nil {
				t.Fatal(err)
			}
			add("man-"+page, produce(t, string(readAll(t, source)), "groff", "-t", "-man", "-Tpdf"))
			zipped.Close()
		}
	}
	for _, pattern := range []string{"*/*.pdf*", "*/*/*.pdf*", "*/*/*/*.pdf*"} {
		found, _ := filepath.Glob("/usr/share/doc/" + pattern)
		for _, path := range found {
			name := "debian-" + strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".pdf")
			f := open(t, path)
			switch {
			case strings.HasSuffix(path, ".pdf"):
				add(name, readAll(t, f))
			case strings.HasSuffix(path, ".pdf.gz"):
				unzipped, err := gzip.NewReader(f)
				if err != nil {
					t.Fatal(err)
				}
				add(name, readAll(t, unzipped))
			}
		}
	}
	return all
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// textOf returns the text of the first pages of a sample, each laid out by itself, so that
// nothing is dropped as a running head.
func textOf(t *testing.T, e engine, path string) (string, int) {
	t.Helper()
	_, total, err := e.info(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var b strings.Builder
	err = e.pages(t.Context(), 1, min(total, corpusPages), func(p page) error {
		b.WriteString(layOut([]page{p})[0] + "\n")
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b.String(), total
}

func TestCorpus(t *testing.T) {
	var wanted, found, agreed, compared float64
	files, tableRows, foundRows := 0, 0, 0
	for _, s := range corpus(t) {
		want := words(string(produce(t, "", "pdftotext", "-l", strconv.Itoa(corpusPages), s.path, "-")))
		data := readAll(t, open(t, s.path))
		var counts []map[string]int
		for _, name := range []string{"poppler", "PDFium"} {
			e, err := engines()[name](t, source(data))
			if err != nil {
				t.Errorf("%s with %s: %v", s.name, name, err)
				continue
			}
			text, _ := textOf(t, e, s.path)
			e.close()
			counts = append(counts, words(text))
			h, i, r := s.structure(text)
			tableRows, foundRows = tableRows+len(s.cells), foundRows+r
			if r < len(s.cells) {
				t.Logf("%s with %s: %d of %d rows:\n%s", s.name, name, r, len(s.cells), text)
			}
			if h < len(s.headings) || i < len(s.items) {
				t.Errorf("%s with %s: %d of %d headings, %d of %d list items:\n%s", s.name, name,
					h, len(s.headings), i, len(s.items), text)
			}
		}
		if len(counts) < 2 {
			continue
		}
		share, total, lost := recall(want, counts[0])
		both, n, _ := recall(counts[0], counts[1])
		if total == 0 {
			continue // a picture
		}
		files++
		wanted, found = wanted+float64(total), found+share*float64(total)
		agreed, compared = agreed+both*float64(n), compared+float64(n)
		t.Logf("%-24s %6d words, recall %.4f, PDFium has %.4f of poppler's", s.name, total, share, both)
		// Formulas are put together in another order than pdftotext's.
		if share < 0.95 || both < 0.9 {
			t.Errorf("%s: without %q", s.name, lost)
		}
	}
	t.Logf("%d files: word recall %.4f, PDFium has %.4f of poppler's words, %d of %d rows of tables",
		files, found/wanted, agreed/compared, foundRows, tableRows)
	if found/wanted < 0.99 {
		t.Errorf("word recall %.4f, want 0.99", found/wanted)
	}
	if agreed/compared < 0.97 {
		t.Errorf("PDFium has %.4f of poppler's words, want 0.97", agreed/compared)
	}
	if foundRows*10 < tableRows*9 {
		t.Errorf("%d of %d rows of tables, want 0.9", foundRows, tableRows)
	}
}

// structure counts the headings, list items and rows of tables that are in a text.
func (s sample) structure(text string) (headings, items, rows int) {
	lines := strings.Split(text, "\n")
	has := func(match func(string) bool) int {
		if slices.ContainsFunc(lines, match) {
			return 1
		}
		return 0
	}
	for _, h := range s.headings {
		headings += has(func(l string) bool {
			return (strings.HasPrefix(l, "#") || strings.HasPrefix(l, "**")) && strings.HasSuffix(strings.Trim(l, "*"), h)
		})
	}
	for _, i := range s.items {
		items += has(func(l string) bool { return strings.TrimSpace(l) == "- "+i })
	}
	for _, r := range s.cells {
		cells := "| " + strings.ReplaceAll(r, "|", " | ") + " |"
		rows += has(func(l string) bool { return l == cells })
	}
	return headings, items, rows
}

// TestTwoColumnsOfGroff checks the order: the left column comes first.
func TestTwoColumnsOfGroff(t *testing.T) {
	needtest.Program(t, "gropdf")
	var text strings.Builder
	text.WriteString(".2C\n")
	for i := range 30 {
		fmt.Fprintf(&text, ".LP\nParagraph number%d begins here. %s\n", i, lorem)
	}
	data := produce(t, text.String(), "groff", "-ms", "-Tpdf")
	eachEngine(t, func(t *testing.T, open func(document.Source) (*document.Document, error)) {
		doc, err := open(source(data))
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for _, p := range doc.Parts {
			for _, n := range regexp.MustCompile(`number(\d+)`).FindAllStringSubmatch(p.Markdown, -1) {
				if n[1] != strconv.Itoa(next) {
					t.Fatalf("paragraph %s comes where %d is expected:\n%s", n[1], next, p.Markdown)
				}
				next++
			}
		}
		if next != 30 {
			t.Errorf("%d of 30 paragraphs", next)
		}
	})
}
