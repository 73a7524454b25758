package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// counted returns a file whose pages have a word and their number.
func counted(word string, pages int) []byte {
	d := &writer{title: word}
	for n := 1; n <= pages; n++ {
		d.page().text(60, float64(200+100*n), 20, sans, fmt.Sprintf("%s %d", word, n))
	}
	return d.bytes()
}

// form returns a form with a text, a text of at most three letters, a box, two choices, a list and a field that is only read.
func form() []byte {
	on := `/AP<</N<</Yes 20 0 R/Off 20 0 R>>>>`
	return []byte(`%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[4 0 R 5 0 R 6 0 R 7 0 R 10 0 R 11 0 R]/DA(/Helv 10 Tf 0 g)/DR<</Font<</Helv 12 0 R>>>>>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Annots[4 0 R 5 0 R 6 0 R 8 0 R 9 0 R 10 0 R 11 0 R]>>endobj
4 0 obj<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/F 4/Rect[50 340 250 360]/DA(/Helv 10 Tf 0 g)/P 3 0 R>>endobj
5 0 obj<</Type/Annot/Subtype/Widget/FT/Tx/T(code)/F 4/MaxLen 3/Rect[50 310 250 330]/DA(/Helv 10 Tf 0 g)/P 3 0 R>>endobj
6 0 obj<</Type/Annot/Subtype/Widget/FT/Btn/T(agree)/F 4/Rect[50 280 70 300]/AS/Off` + on + `/P 3 0 R>>endobj
7 0 obj<</FT/Btn/Ff 49152/T(size)/Kids[8 0 R 9 0 R]/V/Off>>endobj
8 0 obj<</Type/Annot/Subtype/Widget/Parent 7 0 R/F 4/Rect[50 250 70 270]/AS/Off` + strings.ReplaceAll(on, "Yes", "small") + `/P 3 0 R>>endobj
9 0 obj<</Type/Annot/Subtype/Widget/Parent 7 0 R/F 4/Rect[90 250 110 270]/AS/Off` + strings.ReplaceAll(on, "Yes", "large") + `/P 3 0 R>>endobj
10 0 obj<</Type/Annot/Subtype/Widget/FT/Ch/Ff 131072/T(town)/F 4/Opt[(Bonn)(Ulm)]/Rect[50 220 250 240]/DA(/Helv 10 Tf 0 g)/P 3 0 R>>endobj
11 0 obj<</Type/Annot/Subtype/Widget/FT/Tx/Ff 1/T(number)/V(77)/F 4/Rect[50 190 250 210]/DA(/Helv 10 Tf 0 g)/P 3 0 R>>endobj
12 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj
20 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 20 20]/Length 0>>stream
endstream
endobj
trailer<</Root 1 0 R/Size 21>>
%%EOF
`)
}

// assembled returns the file that is made, and the text of its pages.
func assembled(t *testing.T, a Assembly) (made *document.Written, pages []string, err error) {
	t.Helper()
	p, err := start(t, source(a.Files[0]))
	if err != nil {
		return nil, nil, err
	}
	defer p.close()
	if made, err = p.make(t.Context(), a); err != nil {
		return nil, nil, err
	}
	doc, err := opener(t)(source(made.Content))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range doc.Parts {
		pages = append(pages, strings.TrimSpace(strings.TrimLeft(p.Markdown, "# ")))
	}
	return made, pages, nil
}

func TestPagesAreSelectedAndJoined(t *testing.T) {
	a, b := counted("Alpha", 3), counted("Beta", 2)
	for _, test := range []struct {
		pages string
		files [][]byte
		want  string // or the error
	}{
		{"2", [][]byte{a}, "Alpha 2"},
		{"3,1-2", [][]byte{a}, "Alpha 3|Alpha 1|Alpha 2"},
		{"2-", [][]byte{a}, "Alpha 2|Alpha 3"},
		{"1@90,1@-90", [][]byte{a}, "Alpha 1|Alpha 1"},
		{"", [][]byte{a, b}, "Alpha 1|Alpha 2|Alpha 3|Beta 1|Beta 2"},
		{"5,1", [][]byte{a, b}, "Beta 2|Alpha 1"},
		{"4", [][]byte{a}, "no page 4"},
		{"0", [][]byte{a}, "names no pages"},
		{"1@45", [][]byte{a}, "names no pages"},
		{"x", [][]byte{a}, "names no pages"},
		{"", [][]byte{a}, "nothing is to be done"},
		{"", [][]byte{a, []byte("no PDF")}, "file 2"},
		{"1", [][]byte{[]byte("no PDF")}, "damaged"},
		{strings.Repeat("1-,", 2000) + "1", [][]byte{a}, "at most"},
	} {
		t.Run(test.pages, func(t *testing.T) {
			_, pages, err := assembled(t, Assembly{Files: test.files, Pages: test.pages})
			if got := strings.Join(pages, "|"); err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestPagesThatWereLeftOutAreGone looks for the text of a page that was not selected.
func TestPagesThatWereLeftOutAreGone(t *testing.T) {
	d := &writer{title: "x"}
	d.page().text(60, 100, 20, sans, "public")
	d.page().text(60, 100, 20, sans, "secret")
	from := d.bytes()
	made, _, err := assembled(t, Assembly{Files: [][]byte{from}, Pages: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(unpacked(from), "secret") || strings.Contains(unpacked(made.Content), "secret") || !strings.Contains(unpacked(made.Content), "public") {
		t.Errorf("the file has\n%q", unpacked(made.Content))
	}
}

// unpacked returns a file with the content of its streams.
func unpacked(file []byte) string {
	all := string(file)
	for _, part := range bytes.Split(file, []byte("stream"))[1:] {
		if z, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(part, "\r\n"))); err == nil {
			text, _ := io.ReadAll(z)
			all += string(text)
		}
	}
	return all
}

func TestPagesAreTurned(t *testing.T) {
	made, _, err := assembled(t, Assembly{Files: [][]byte{counted("Alpha", 1)}, Pages: "1@90"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(made.Content), "/Rotate 90") {
		t.Errorf("the page is not turned:\n%q", made.Content)
	}
}

func TestFormsAreFilledIn(t *testing.T) {
	for _, test := range []struct {
		name   string
		values map[string]string
		has    string // in the file
		text   string // on the page
		failed string
		notes  int
	}{
		{"a text", map[string]string{"name": "Ann (Bonn)"}, "", "Ann (Bonn)", "", 0},
		{"a text that is too long", map[string]string{"code": "abcdef"}, "", "abc", "", 1},
		{"a box", map[string]string{"agree": "true"}, "/V/Yes", "", "", 0},
		{"a box that stays empty", map[string]string{"agree": "false"}, "", "", "", 0},
		{"a choice", map[string]string{"size": "large"}, "/V/large", "", "", 0},
		{"a list", map[string]string{"town": "Ulm"}, "", "Ulm", "", 0},
		{"characters of other scripts", map[string]string{"name": "Größe"}, "", "Größe", "", 0},
		{"no field", map[string]string{"colour": "x"}, "", "", `"agree" "code" "name"`, 0},
		{"no option", map[string]string{"town": "Rome"}, "", "", `"Bonn" "Ulm"`, 0},
		{"no choice", map[string]string{"size": "huge"}, "", "", "no option", 0},
		{"only read", map[string]string{"number": "78"}, "", "", "read-only", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, pages, err := assembled(t, Assembly{Files: [][]byte{form()}, Values: test.values})
			if test.failed != "" || err != nil {
				if err == nil || test.failed == "" || !strings.Contains(err.Error(), test.failed) {
					t.Errorf("got %v, want %q", err, test.failed)
				}
				return
			}
			if len(pages) != 1 || !strings.Contains(pages[0], test.text) || len(made.Notes) != test.notes {
				t.Errorf("pages %q, notes %q", pages, made.Notes)
			}
			if file := strings.ReplaceAll(string(made.Content), "/V /", "/V/"); !strings.Contains(file, test.has) {
				t.Errorf("the file has no %q:\n%s", test.has, file)
			}
		})
	}
	_, pages, err := assembled(t, Assembly{Files: [][]byte{form(), counted("Alpha", 1)}, Values: map[string]string{"name": "Ann"}, Pages: "2,1"})
	if err != nil || len(pages) != 2 || !strings.Contains(pages[1], "Ann") {
		t.Errorf("joined: %q, %v", pages, err)
	}
}
