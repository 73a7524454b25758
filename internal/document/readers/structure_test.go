package readers

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// structure is what documents that were made from one source have in common.
type structure struct {
	Headings, Items, Rows int
	Words                 []string
}

var (
	heading = regexp.MustCompile(`(?m)^#+ `)
	listed  = regexp.MustCompile(`(?m)^ *(-|\d+\.) `)
	row     = regexp.MustCompile(`(?m)^\|[^-]`)
	rule    = regexp.MustCompile(`(?m)^\|( *-+ *\|)+$`)
	word    = regexp.MustCompile(`[\p{L}\p{N}]+`)
	markup  = regexp.MustCompile(`</?(sup|sub)>|\]\([^)]*\)|\[\^\d+\]:?|\*\*|~~`)
)

func structureOf(markdown string) structure {
	rows := len(row.FindAllString(rule.ReplaceAllString(markdown, ""), -1))
	words := word.FindAllString(markup.ReplaceAllString(strings.ReplaceAll(markdown, "<br>", " "), ""), -1)
	slices.Sort(words)
	return structure{
		Headings: len(heading.FindAllString(markdown, -1)), Items: len(listed.FindAllString(markdown, -1)), Rows: rows,
		Words: slices.Compact(words),
	}
}

// missing returns the words of want that got does not have.
func missing(want, got []string) []string {
	var lost []string
	for _, w := range want {
		if _, ok := slices.BinarySearch(got, w); !ok {
			lost = append(lost, w)
		}
	}
	return lost
}

var tag = regexp.MustCompile(`<[^>]*>`)

// sourceOf returns the structure of the flat file that LibreOffice converted.
func sourceOf(t *testing.T, path string) structure {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "<office:body>")
	body = regexp.MustCompile(`(?s)<office:change-info>.*?</office:change-info>|<text:deletion>.*?</text:deletion>|<office:binary-data>.*?</office:binary-data>|`+
		`<dc:date>.*?</dc:date>|<draw:object>.*?</draw:object>|<text:note-citation>.*?</text:note-citation>`).
		ReplaceAllString(body, "")
	s := structure{
		Headings: strings.Count(body, "<text:h ") + strings.Count(body, `style-name="Title"`),
		Items:    strings.Count(body, "<text:list-item"), Rows: strings.Count(body, "<table:table-row"),
	}
	body = regexp.MustCompile(`</?text:(span|a|change[a-z-]*|s)\b[^>]*>`).ReplaceAllString(body, "")
	body = strings.NewReplacer("&lt;", "<", "&amp;", "&").Replace(tag.ReplaceAllString(body, " "))
	s.Words = word.FindAllString(body, -1)
	slices.Sort(s.Words)
	s.Words = slices.Compact(s.Words)
	return s
}

func textOf(t *testing.T, name string, data []byte) string {
	t.Helper()
	doc, err := read(t, name, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range doc.Parts {
		all = append(all, p.Markdown)
	}
	return strings.Join(all, "\n\n")
}

// TestSameStructure compares what LibreOffice made of one source with that source.
func TestSameStructure(t *testing.T) {
	want := sourceOf(t, "testdata/rich.fodt")
	for _, name := range []string{"libreoffice-rich.docx", "libreoffice-rich.odt", "libreoffice-rich.rtf"} {
		_, data := load(t, filepath.Join(corpus, name))
		compare(t, name, want, textOf(t, name, data))
	}
}

func compare(t *testing.T, name string, want structure, markdown string) {
	t.Helper()
	got := structureOf(markdown)
	if got.Headings != want.Headings || got.Items != want.Items || got.Rows != want.Rows {
		t.Errorf("%s has %d headings, %d items and %d rows, its source has %d, %d and %d", name,
			got.Headings, got.Items, got.Rows, want.Headings, want.Items, want.Rows)
	}
	lost := missing(want.Words, got.Words)
	if strings.HasSuffix(name, ".rtf") { // comments are left out, and pictures have no description
		lost = slices.DeleteFunc(lost, func(w string) bool {
			return strings.Contains(" An orange square Grace Please check this ", " "+w+" ")
		})
	}
	if len(lost) > 0 {
		t.Errorf("%s has lost the words %q", name, lost)
	}
}

// TestLibreOffice converts the source with the LibreOffice that is installed, which may be
// newer than the one that made the corpus. Few machines have it.
func TestLibreOffice(t *testing.T) {
	soffice, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	want := sourceOf(t, "testdata/rich.fodt")
	cmd := exec.CommandContext(ctx, soffice, "-env:UserInstallation=file://"+dir+"/profile", "--headless",
		"--convert-to", "docx", "--outdir", dir, "testdata/rich.fodt")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("LibreOffice does not run here: %v: %s", err, bytes.TrimSpace(out))
	}
	data, err := os.ReadFile(filepath.Join(dir, "rich.docx"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "rich.docx", want, textOf(t, "rich.docx", data))
}
