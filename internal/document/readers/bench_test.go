package readers

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// book returns a workbook with rows of three cells.
func book(t testing.TB, rows int) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter("Sheet1")
	for i := 1; err == nil && i <= rows; i++ {
		err = w.SetRow(fmt.Sprintf("A%d", i), []any{i, fmt.Sprintf("row number %d", i), float64(i) / 7})
	}
	if err == nil {
		err = w.Flush()
	}
	var b bytes.Buffer
	if err == nil {
		err = f.Write(&b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// peak runs f and returns the largest heap that was seen, in MB above the one before.
func peak(f func()) float64 {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most.Store(max(most.Load(), now.HeapInuse))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return float64(int64(most.Load())-int64(before.HeapInuse)) / (1 << 20)
}

// sharedBook returns a workbook as Excel writes it: the cells refer to a list of strings.
func sharedBook(t testing.TB, rows int) []byte {
	t.Helper()
	const (
		main      = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
		relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
		package_  = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
		kind      = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	)
	var sheet, list bytes.Buffer
	for i := 1; i <= rows; i++ {
		fmt.Fprintf(&list, "<si><t>row number %d</t></si>", i)
		fmt.Fprintf(&sheet,
			`<row r="%d"><c r="A%d"><v>%d</v></c><c r="B%d" t="s"><v>%d</v></c><c r="C%d"><v>%v</v></c></row>`,
			i, i, i, i, i-1, i, float64(i)/7)
	}
	return zipped(t, "[Content_Types].xml",
		`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`+
			`<Override PartName="/xl/workbook.xml" ContentType="`+kind+
			`sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" `+
			`ContentType="`+kind+`worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="`+kind+
			`sharedStrings+xml"/></Types>`,
		"_rels/.rels", package_+`<Relationship Id="a" Type="`+relations+
			`/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml", `<workbook `+main+` xmlns:r="`+relations+
			`"><sheets><sheet name="S" sheetId="1" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", package_+`<Relationship Id="a" Type="`+relations+
			`/worksheet" Target="worksheets/sheet1.xml"/>`+
			`<Relationship Id="b" Type="`+relations+`/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml", `<worksheet `+main+`><sheetData>`+sheet.String()+`</sheetData></worksheet>`,
		"xl/sharedStrings.xml", `<sst `+main+`>`+list.String()+`</sst>`)
}

// BenchmarkWorkbook reads 200,000 rows, and reports the peak of the heap.
func BenchmarkWorkbook(b *testing.B) {
	b.Run("inline", func(b *testing.B) { benchmarkWorkbook(b, book(b, 200_000)) })
	b.Run("shared", func(b *testing.B) { benchmarkWorkbook(b, sharedBook(b, 200_000)) })
}

func benchmarkWorkbook(b *testing.B, data []byte) {
	most := 0.0
	for b.Loop() {
		most = max(most, peak(func() {
			if _, err := read(b, "x.xlsx", data, nil); err != nil {
				b.Fatal(err)
			}
		}))
	}
	b.ReportMetric(most, "MB-peak")
}

// BenchmarkCorpus reads one file of each format.
func BenchmarkCorpus(b *testing.B) {
	for _, name := range []string{"libreoffice-rich.docx", "libreoffice-rich.odt", "libreoffice-rich.rtf",
		"libreoffice-rich.epub",
		"libreoffice-talk.pptx", "libreoffice-ledger.xlsx", "libreoffice-ledger.ods", "attachments.eml",
		"python.ipynb"} {
		_, data := load(b, filepath.Join(corpus, name))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := read(b, name, data, func(s *document.Source) { s.Pictures = true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLongDocument reads a docx with 20,000 paragraphs, about 500 pages.
func BenchmarkLongDocument(b *testing.B) {
	var body bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&body,
			"<w:p><w:pPr><w:spacing/></w:pPr><w:r><w:rPr><w:b/></w:rPr><w:t>Paragraph %d</w:t></w:r><w:r><w:t "+
				"xml:space=\"preserve\"> with some words that follow, and more of them.</w:t></w:r></w:p>", i)
	}
	data := wordFile(b, "<w:document "+wordSpace+"><w:body>"+body.String()+"</w:body></w:document>")
	limits := func(s *document.Source) { s.Limits.Ratio = 10_000 }
	for b.Loop() {
		if _, err := read(b, "x.docx", data, limits); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(body.Len()))
}
