package pdf

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	name, text             string
	data                   []byte
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

// corpus makes files with the programs that are installed.
func corpus(t *testing.T) []sample {
	dir := t.TempDir()
	report := strings.Repeat(lorem+" ", 2*len(headings[1:])) + strings.Join(slices.Concat(headings, items, rows), " ")
	full := sample{text: report, headings: headings, items: items, cells: rows}
	var all []sample
	add := func(name string, s sample, data []byte) {
		s.name, s.data = name, data
		all = append(all, s)
	}
	has := func(program string) bool { _, err := exec.LookPath(program); return err == nil }
	needtest.Program(t, "gropdf")

	add("groff-report", full, produce(t, groffReport(), "groff", "-t", "-ms", "-Tpdf"))
	add("groff-two-columns", sample{text: strings.Repeat(lorem+" ", 40)},
		produce(t, ".2C\n.LP\n"+strings.Repeat(lorem+"\n.LP\n", 40), "groff", "-ms", "-Tpdf"))
	html := filepath.Join(dir, "report.html")
	if err := os.WriteFile(html, []byte(htmlReport()), 0o644); err != nil {
		t.Fatal(err)
	}
	if raceDetector {
		return all // ten times slower
	}
	if has("ps2pdf") {
		ps := produce(t, groffReport(), "groff", "-t", "-ms", "-Tps")
		add("ghostscript-report", full, produce(t, string(ps), "ps2pdf", "-", "-"))
	}
	if has("chromium") {
		out := filepath.Join(dir, "chromium-out.pdf")
		produce(t, "", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
			"--user-data-dir="+t.TempDir(), "--print-to-pdf="+out, html)
		add("chromium-report", full, readAll(t, open(t, out)))
	}
	if has("soffice") {
		produce(t, "", "soffice", "-env:UserInstallation=file://"+t.TempDir(), "--headless",
			"--convert-to", "pdf:writer_web_pdf_Export", "--outdir", dir, html)
		add("libreoffice-report", full, readAll(t, open(t, filepath.Join(dir, "report.pdf"))))
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

func TestCorpus(t *testing.T) {
	open := opener(t)
	for _, s := range corpus(t) {
		t.Run(s.name, func(t *testing.T) {
			doc, err := open(source(s.data))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, p := range doc.Parts {
				b.WriteString(p.Markdown + "\n")
			}
			text := b.String()
			if share, _, lost := recall(words(s.text), words(text)); share < 0.99 {
				t.Errorf("%.3f of the words, without %q", share, lost)
			}
			h, i, r := s.structure(text)
			if h < len(s.headings) || i < len(s.items) || r < len(s.cells) {
				t.Errorf("%d of %d headings, %d of %d list items, %d of %d rows:\n%s", h, len(s.headings),
					i, len(s.items), r, len(s.cells), text)
			}
		})
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
	for _, columns := range []string{".2C\n", ".MC 225p 10p\n"} {
		var text strings.Builder
		text.WriteString(columns)
		for i := range 30 {
			fmt.Fprintf(&text, ".LP\nParagraph number%d begins here. %s\n", i, lorem)
		}
		data := produce(t, text.String(), "groff", "-ms", "-Tpdf")
		open := opener(t)
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
	}
}
