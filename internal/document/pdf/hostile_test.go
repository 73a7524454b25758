package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// objects returns a file of the given objects, without a table of them if there is none to be.
func objects(table bool, bodies ...string) []byte {
	var out bytes.Buffer
	var offsets []int
	out.WriteString("%PDF-1.4\n")
	for i, body := range bodies {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	at := out.Len()
	if table {
		fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(bodies)+1)
		for _, o := range offsets {
			fmt.Fprintf(&out, "%010d 00000 n \n", o)
		}
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(bodies)+1, at)
	return out.Bytes()
}

// TestHostileFiles reads files that were made to break readers. They end with one of the
// errors, or with what can be read of them.
func TestHostileFiles(t *testing.T) {
	catalog := "<< /Type /Catalog /Pages 2 0 R >>"
	cycle := objects(true, catalog, "<< /Type /Pages /Count 2 /Kids [2 0 R 2 0 R] >>")
	million := []string{catalog, ""}
	kids := strings.Repeat("4 0 R ", 1000)
	million[1] = "<< /Type /Pages /Count 1000000 /Kids [" + strings.Repeat("3 0 R ", 1000) + "] >>"
	million = append(million, "<< /Type /Pages /Parent 2 0 R /Count 1000 /Kids ["+kids+"] >>",
		"<< /Type /Page /Parent 3 0 R /MediaBox [0 0 100 100] >>")
	deep := []string{catalog}
	for i := range 5000 {
		deep = append(deep, fmt.Sprintf("<< /Type /Pages /Count 1 /Kids [%d 0 R] >>", i+3))
	}
	good := report()
	tests := map[string]struct {
		data   []byte
		kinds  []document.Kind // one of these, or no error
		broken bool            // there must be an error
	}{
		"cyclic page tree": {data: cycle, kinds: []document.Kind{document.ErrBroken}},
		"a million pages": {data: objects(true, million...),
			kinds: []document.Kind{document.ErrTooBig, document.ErrBroken}, broken: true},
		"deep page tree": {data: objects(true, deep...), kinds: []document.Kind{document.ErrBroken}},
		"no table of objects": {data: bytes.Replace(good, []byte("xref\n0"), []byte("xxxx\n9"), 1),
			kinds: []document.Kind{document.ErrBroken}},
		"wrong offsets": {data: bytes.ReplaceAll(good, []byte(" 00000 n "), []byte(" 00001 n ")),
			kinds: []document.Kind{document.ErrBroken}},
		"cut off":             {data: good[:len(good)/2], kinds: []document.Kind{document.ErrBroken}},
		"only the first line": {data: []byte("%PDF-1.7\n"), kinds: []document.Kind{document.ErrBroken}, broken: true},
		"empty":               {kinds: []document.Kind{document.ErrBroken}, broken: true},
		"no pages": {data: objects(true, catalog, "<< /Type /Pages /Count 0 /Kids [] >>"),
			kinds: []document.Kind{document.ErrBroken}, broken: true},
		"a form in itself": {data: objects(true, catalog, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R /Resources << /XObject << /A 5 0 R >> >> >>",
			"<< /Length 5 >>\nstream\n/A Do\nendstream",
			"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /A 5 0 R >> >> /Length 11 >>\n"+
				"stream\n/A Do /A Do\nendstream"), kinds: []document.Kind{document.ErrBroken}},
		"a huge page": {data: bytes.Replace(good, []byte("[0 0 595 842]"), []byte("[0 0 9e9 9e9]"), 1),
			kinds: []document.Kind{document.ErrBroken}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			open := opener(t)
			src := source(test.data)
			src.Pictures = true
			src.Pages = document.Ranges{{First: 1, Last: 3}}
			_, err := open(src)
			if err == nil && test.broken {
				t.Fatal("no error")
			}
			if err == nil {
				return
			}
			for _, kind := range test.kinds {
				if errors.Is(err, kind) {
					return
				}
			}
			t.Errorf("%v, want one of %v", err, test.kinds)
		})
	}
}

// TestDamagedFiles reads a file with single bytes changed. Only PDFium runs in this process.
func TestDamagedFiles(t *testing.T) {
	good := report()
	for at := 20; at < len(good); at += len(good) / 12 {
		data := bytes.Clone(good)
		data[at] ^= 0x15
		e, err := start(t, source(data))
		if err == nil {
			_, err = read(t.Context(), e, source(data))
			e.close()
		}
		if _, ok := errors.AsType[*document.Error](err); err != nil && !ok {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

func TestTooMuchTextOnAPage(t *testing.T) {
	d := &writer{}
	p := d.page()
	p.content.WriteString("BT /F1 1 Tf ")
	for i := range 120 {
		fmt.Fprintf(&p.content, "1 0 0 1 %d %d Tm (a) Tj ", 5*(i%100), 800-i/100)
	}
	p.content.WriteString("ET")
	e, err := start(t, source(d.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	e.maxRuns = 100
	err = e.pages(t.Context(), 1, 1, func(p page) error {
		if n := len(p.runs); n < 100 || n > 101 || !p.cut {
			t.Errorf("%d runs, cut %v", len(p.runs), p.cut)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// FuzzLayout lays out runs: a line has the place, the size and the text of one.
func FuzzLayout(f *testing.F) {
	f.Add("9 9 90 30 30 Head\n9 60 90 10 10 - x\n9 80 90 10 10 \u00a8o")
	f.Add("-9 1e9 0 9 10 1.\n30 9 0 9 10 \xff\u00a8o\nNaN -1 -1 -1 -1 x")
	var table strings.Builder
	for y := range 12 {
		for x := range 4 {
			fmt.Fprintf(&table, "%d %d 90 30 12 -a %d\n", 150*x, 40*y, x*y)
		}
	}
	f.Add(table.String())
	f.Add(strings.ReplaceAll(table.String(), "-a", "\u05d0\u05d1"))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 20_000 {
			return
		}
		p := page{number: 1, w: 700, h: 1000}
		for line := range strings.Lines(text) {
			var r run
			if n, _ := fmt.Sscan(line, &r.x, &r.y, &r.w, &r.h, &r.size); n < 5 || math.IsNaN(r.x+r.y+r.w+r.h+r.size) ||
				math.Abs(r.x)+math.Abs(r.y)+math.Abs(r.w)+math.Abs(r.h)+math.Abs(r.size) > 1e7 {
				continue
			}
			r.text = strings.Join(strings.Fields(line)[5:], " ")
			r.bold, r.mono = len(r.text)%3 == 0, len(r.text)%5 == 0
			p.runs = append(p.runs, r)
		}
		layOut([]page{p, p, p})
	})
}
