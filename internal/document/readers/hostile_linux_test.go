package readers_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// A trap is a file that is made to do harm.
type trap struct {
	name    string
	data    func(t testing.TB) []byte
	members []string
	want    document.Format // if not empty, the file is of this format
	kind    document.Kind   // if not empty, reading it fails so
}

const contentTypes = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
	`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
	`<Override PartName="/%s" ContentType="application/vnd.openxmlformats-officedocument.%s.main+xml"/></Types>`

const packageRels = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/` +
	`relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/` +
	`relationships/officeDocument" Target="%s"/></Relationships>`

// office returns a docx, xlsx or pptx with a main part.
func office(t testing.TB, path, kind, main string, more ...string) []byte {
	return zipOf(t, append([]string{
		"[Content_Types].xml", fmt.Sprintf(contentTypes, path, kind), "_rels/.rels", fmt.Sprintf(packageRels, path),
		path, main,
	}, more...)...)
}

func docx(t testing.TB, main string, more ...string) []byte {
	return office(t, "word/document.xml", "wordprocessingml.document", main, more...)
}

const wordBegin = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` +
	`<w:body>`

// xlsx returns a workbook with one sheet.
func xlsx(t testing.TB, rows string) []byte {
	const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	const rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	return office(t, "xl/workbook.xml", "spreadsheetml.sheet",
		`<workbook xmlns="`+main+`" xmlns:r="`+rels+
			`"><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels",
		`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`+
			`<Relationship Id="rId1" Type="`+rels+`/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml", `<worksheet xmlns="`+main+`"><sheetData>`+rows+`</sheetData></worksheet>`)
}

func openDocument(t testing.TB, kind, body string) []byte {
	return zipOf(t, "mimetype", "application/vnd.oasis.opendocument."+kind, "content.xml",
		`<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" `+
			`xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" `+
			`xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>`+body+
			`</office:body></office:document-content>`)
}

// zeros returns a deflated stream of so many megabytes of zeros, made of equal blocks.
func zeros(t testing.TB, megabytes int) []byte {
	t.Helper()
	var one bytes.Buffer
	w, err := flate.NewWriter(&one, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil { // ends at a byte, and is not the last block
		t.Fatal(err)
	}
	all := bytes.Repeat(one.Bytes(), megabytes)
	return append(all, 3, 0) // an empty last block
}

// bombIn returns a ZIP file with members and one that unpacks to zeros.
func bombIn(t testing.TB, name string, megabytes int, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data := zeros(t, megabytes)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Deflate, CompressedSize64: uint64(len(data)),
		UncompressedSize64: uint64(megabytes) << 20,
		CRC32:              1,
	})
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// manyEntries returns a ZIP file whose directory names one member many times.
func manyEntries(testing.TB) []byte {
	const count = 30_000
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	body := []byte("x")
	put(uint32(0x04034b50), uint16(20), uint16(0), uint16(0), uint32(0), crc32.ChecksumIEEE(body), uint32(1), uint32(1),
		uint16(1), uint16(0))
	b.WriteString("a")
	b.Write(body)
	begin := b.Len()
	for range count {
		put(uint32(0x02014b50), uint16(20), uint16(20), uint16(0), uint16(0), uint32(0), crc32.ChecksumIEEE(body),
			uint32(1),
			uint32(1), uint16(1), uint16(0), uint16(0), uint16(0), uint16(0), uint32(0), uint32(0))
		b.WriteString("a")
	}
	size := b.Len() - begin
	end := b.Len()
	put(uint32(0x06064b50), uint64(44), uint16(45), uint16(45), uint32(0), uint32(0), uint64(count), uint64(count),
		uint64(size), uint64(begin))
	put(uint32(0x07064b50), uint32(0), uint64(end), uint32(1))
	put(uint32(0x06054b50), uint16(0), uint16(0), uint16(0xffff), uint16(0xffff), uint32(0xffffffff),
		uint32(0xffffffff),
		uint16(0))
	return b.Bytes()
}

// pdfOf returns a PDF of objects, with a table of where they are.
func pdfOf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, at)
	return b.Bytes()
}

// onePage returns a PDF of one page with this content, and more entries of the stream.
func onePage(entries string, content []byte) []byte {
	return pdfOf("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[3 0 R]>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d%s>>stream\n%s\nendstream", len(content), entries, content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
}

// compound returns a compound file with one stream, whose chain of sectors is a circle.
func compound(stream string) []byte {
	b := make([]byte, 4*512)
	copy(b, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	put16 := func(at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
	put32 := func(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
	put16(24, 0x3e)
	put16(26, 3)
	put16(28, 0xfffe)
	put16(30, 9)
	put16(32, 6)
	put32(44, 1)          // one sector of the allocation table
	put32(48, 1)          // the directory begins in sector 1
	put32(56, 4096)       // streams below are in the mini stream
	put32(60, 0xfffffffe) // no mini table
	put32(68, 0xfffffffe) // no more tables
	put32(76, 0)          // the table is in sector 0
	for at := 80; at < 512; at += 4 {
		put32(at, 0xffffffff)
	}
	for at := 512; at < 1024; at += 4 {
		put32(at, 0xffffffff)
	}
	put32(512, 0xfffffffd)
	put32(516, 1) // the directory leads to itself
	put32(520, 2) // and so does the stream
	entry := func(at int, name string, kind byte, start, size uint32) {
		for i, u := range utf16.Encode([]rune(name)) {
			put16(at+2*i, u)
		}
		put16(at+64, uint16(2*len(name)+2))
		b[at+66] = kind
		for _, link := range []int{68, 72, 76} {
			put32(at+link, 0xffffffff)
		}
		put32(at+116, start)
		put32(at+120, size)
	}
	entry(1024, "Root Entry", 5, 0xfffffffe, 0)
	put32(1024+76, 1)
	entry(1024+128, stream, 2, 2, 1<<30)
	return b
}

func traps(secret string) []trap {
	static := func(data []byte) func(testing.TB) []byte { return func(testing.TB) []byte { return data } }
	doctype := `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file://` + secret + `">` +
		`<!ENTITY a0 "laughs laughs laughs"><!ENTITY a1 "&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;">` +
		`<!ENTITY a2 "&a1;&a1;&a1;&a1;&a1;&a1;&a1;&a1;&a1;&a1;"><!ENTITY a3 "&a2;&a2;&a2;&a2;&a2;&a2;&a2;&a2;&a2;&a2;">` +
		`<!ENTITY a4 "&a3;&a3;&a3;&a3;&a3;&a3;&a3;&a3;&a3;&a3;"><!ENTITY a5 "&a4;&a4;&a4;&a4;&a4;&a4;&a4;&a4;&a4;&a4;">` +
		`<!ENTITY a6 "&a5;&a5;&a5;&a5;&a5;&a5;&a5;&a5;&a5;&a5;"><!ENTITY a7 "&a6;&a6;&a6;&a6;&a6;&a6;&a6;&a6;&a6;&a6;">]>`
	word := strings.TrimPrefix(wordBegin, `<?xml version="1.0"?>`)
	plainPDF := onePage("", []byte("BT /F 12 Tf 50 700 Td (the text of the PDF) Tj ET"))
	return []trap{
		{name: "bomb.zip", data: func(t testing.TB) []byte { return bombIn(t, "zeros", 100) },
			members: []string{"zeros"},
			kind:    document.ErrTooBig},
		{name: "bomb.gz", data: func(t testing.TB) []byte {
			var one bytes.Buffer
			w := gzip.NewWriter(&one)
			if _, err := w.Write(make([]byte, 4<<20)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return bytes.Repeat(one.Bytes(), 30)
		}, kind: document.ErrTooBig},
		{name: "nested.zip", data: func(t testing.TB) []byte {
			data := zipOf(t, "a.txt", "the end")
			for range 30 {
				data = zipOf(t, "a.zip", string(data))
			}
			return data
		}, members: strings.Split(strings.Repeat("a.zip!/", 29)+"a.zip", "!/"), kind: document.ErrTooBig},
		{name: "many.zip", data: manyEntries},
		{name: "names.tar", data: func(t testing.TB) []byte {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, h := range []*tar.Header{
				{Name: "../../etc/cron.d/x", Mode: 0o644, Size: 1, Typeflag: tar.TypeReg},
				{Name: "/etc/shadow", Mode: 0o644, Size: 1, Typeflag: tar.TypeReg},
				{Name: "link", Linkname: secret, Typeflag: tar.TypeSymlink},
				{Name: "hard", Linkname: secret, Typeflag: tar.TypeLink},
			} {
				if err := w.WriteHeader(h); err != nil {
					t.Fatal(err)
				}
				if h.Size > 0 {
					if _, err := w.Write([]byte("x")); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}, want: document.TAR},
		{name: "bomb.docx", data: func(t testing.TB) []byte {
			return bombIn(t, "word/document.xml", 300,
				"[Content_Types].xml", fmt.Sprintf(contentTypes, "word/document.xml", "wordprocessingml.document"),
				"_rels/.rels", fmt.Sprintf(packageRels, "word/document.xml"))
		}, want: document.DOCX, kind: document.ErrTooBig},
		{name: "deep.docx", data: func(t testing.TB) []byte {
			return docx(t, wordBegin+strings.Repeat("<w:tbl><w:tr><w:tc>", 200_000))
		}, want: document.DOCX},
		{name: "wide.docx", data: func(t testing.TB) []byte {
			return docx(t, wordBegin+strings.Repeat("<w:p/>", 500_000))
		}, want: document.DOCX},
		{name: "entities.docx", data: func(t testing.TB) []byte {
			return docx(t, doctype+word+"<w:p><w:r><w:t>&x;&a7;</w:t></w:r></w:p></w:body></w:document>")
		}, want: document.DOCX},
		{name: "entities.odt", data: func(t testing.TB) []byte {
			return zipOf(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", doctype+
				`<a>&x;&a7;</a>`)
		}, want: document.ODT},
		{name: "circle.docx", data: func(t testing.TB) []byte {
			return docx(t, wordBegin+`<w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p></w:body></w:document>`,
				"word/footnotes.xml", strings.Replace(wordBegin, "document", "footnotes", 1)+
					`<w:footnote w:id="1"><w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p></w:footnote>`)
		}, want: document.DOCX},
		{name: "far.xlsx", data: func(t testing.TB) []byte {
			return xlsx(t,
				`<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>`)
		}, want: document.XLSX},
		{name: "farther.xlsx", data: func(t testing.TB) []byte {
			return xlsx(t, `<row r="999999999"><c r="ZZZZZZ999999999"><v>2</v></c></row>`)
		}, want: document.XLSX},
		{name: "corners.xlsx", data: func(t testing.TB) []byte {
			var rows strings.Builder
			for i := 1; i <= 100; i++ {
				fmt.Fprintf(&rows, `<row r="%d"><c r="XFD%d"><v>1</v></c></row>`, i, i)
			}
			return xlsx(t, rows.String())
		}, want: document.XLSX},
		{name: "repeated.ods", data: func(t testing.TB) []byte {
			return openDocument(t, "spreadsheet", `<office:spreadsheet><table:table table:name="A">`+
				`<table:table-row table:number-rows-repeated="1000000000"><table:table-cell `+
				`table:number-columns-repeated="1000000000" office:value-type="string"><text:p>x</text:p></table:table-cell>`+
				`</table:table-row></table:table></office:spreadsheet>`)
		}, want: document.ODS},
		{name: "spaces.odt", data: func(t testing.TB) []byte {
			return openDocument(t, "text", `<office:text><text:p><text:s text:c="2000000000"/></text:p></office:text>`)
		}, want: document.ODT},
		{name: "circle.epub", data: func(t testing.TB) []byte {
			return zipOf(t, "mimetype", "application/epub+zip", "META-INF/container.xml",
				`<container><rootfiles><rootfile full-path="../../`+secret+
					`"/><rootfile full-path="META-INF/container.xml"/>`+
					`</rootfiles></container>`)
		}, want: document.EPUB},
		{name: "deep.html", data: static([]byte("<!doctype html>" + strings.Repeat("<div><b>", 100_000) + "end")),
			want: document.HTML},
		{name: "deep.rtf", data: static([]byte(`{\rtf1 ` + strings.Repeat(`{\b `, 500_000))), want: document.RTF},
		{name: "binary.rtf", data: static([]byte(`{\rtf1 {\pict\bin2147483647 x}}`)), want: document.RTF},
		{name: "line.csv", data: static([]byte(strings.Repeat("a,", 8_000_000))), want: document.CSV},
		{name: "quote.csv", data: static([]byte(`"` + strings.Repeat("a,b\n", 1_000_000))), want: document.CSV},
		{name: "deep.ipynb", data: static([]byte(`{"nbformat":4,"cells":` + strings.Repeat(`[`, 500_000))),
			want: document.Notebook},
		{name: "deep.eml", data: func(testing.TB) []byte {
			var b strings.Builder
			b.WriteString("From: a@example.com\r\nTo: b@example.com\r\nSubject: x\r\nMIME-Version: 1.0\r\n")
			for i := range 20_000 {
				fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
			}
			return []byte(b.String())
		}, want: document.EML},
		{name: "header.eml", data: static([]byte("From: a@example.com\r\nTo: b\r\nSubject: " +
			strings.Repeat("=?utf-8?B?YWFh?= ", 200_000) + "\r\n\r\nx")), want: document.EML},
		{name: "circle.msg", data: static(compound("__properties_version1.0")), want: document.MSG},
		{name: "circle.doc", data: static(compound("WordDocument")), want: document.DOC},
		{name: "million.pdf", data: func(testing.TB) []byte {
			return pdfOf("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1000000/Kids["+
				strings.Repeat("3 0 R ", 1_000_000)+"]>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>")
		}, want: document.PDF},
		{name: "claims.pdf", data: static(pdfOf("<</Type/Catalog/Pages 2 0 R>>",
			"<</Type/Pages/Count 2000000000/Kids[3 0 R]>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>")),
			want: document.PDF},
		{name: "circle.pdf", data: static(pdfOf("<</Type/Catalog/Pages 2 0 R>>",
			"<</Type/Pages/Count 5/Kids[2 0 R 3 0 R]/Parent 3 0 R>>",
			"<</Type/Pages/Count 5/Kids[2 0 R]/Parent 2 0 R>>")),
			want: document.PDF},
		{name: "broken.pdf", data: static(append(plainPDF[:len(plainPDF)/2:len(plainPDF)/2],
			[]byte("\nstartxref\n99999999999\n%%EOF")...)), want: document.PDF},
		{name: "bomb.pdf", data: func(t testing.TB) []byte {
			z := append([]byte{0x78, 0xda}, zeros(t, 1500)...)
			return onePage("/Filter/FlateDecode", z)
		}, want: document.PDF},
		{name: "huge.pdf", data: static(bytes.Replace(plainPDF, []byte("0 0 600 800"), []byte("0 0 9e9 9e9"), 1)),
			want: document.PDF},
		{name: "deep.pdf", data: static(onePage("/A "+strings.Repeat("[", 1_000_000), []byte("x"))),
			want: document.PDF},
		// What the first bytes say counts, not the name and not what follows.
		{name: "pdf-then-zip.zip", data: func(t testing.TB) []byte {
			return append(plainPDF,
				zipOf(t, "a.txt", "x")...)
		},
			want: document.PDF},
		{name: "zip-then-pdf.pdf", data: func(t testing.TB) []byte {
			return append(zipOf(t, "a.txt", "x"),
				plainPDF...)
		},
			want: document.ZIP},
		{name: "page.docx", data: static([]byte("<!doctype html><title>x</title><p>not a Word document</p>")),
			want: document.HTML},
		{name: "nothing.pdf", data: static(nil)},
		{name: "random.docx", data: static([]byte("PK\x03\x04" + strings.Repeat("\x00\x01\x02\xff", 10_000))),
			want: document.ZIP, kind: document.ErrBroken},
	}
}

// TestHostileFiles reads files that are made to do harm. Each reading ends with a result or with
// a sentence for the model; none shows a file of this machine, and the process stays within its
// memory.
func TestHostileFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.txt")
	const canary = "the canary of this machine"
	if err := os.WriteFile(secret, []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	l := &kernel.Launcher{}
	needtest.Sandbox(t, l)
	s := document.New(document.Options{Formats: readers.Formats(), Tiers: sandbox.NewTiers(l), Dir: t.TempDir(), Time: 4 * time.Second})
	// The first PDF compiles PDFium, which takes more memory with the race detector than a reading may.
	if _, err := read(t.Context(), s, "plain.pdf", onePage("", []byte("BT /F 12 Tf 50 700 Td (x) Tj ET"))); err != nil {
		t.Fatal(err)
	}
	for _, trap := range traps(secret) {
		t.Run(trap.name, func(t *testing.T) {
			g, begun := newGauge(t), time.Now()
			got, err := read(t.Context(), s, trap.name, trap.data(t), trap.members...)
			text := fmt.Sprint(textOf(got), err)
			if got.Document != nil {
				text += fmt.Sprint(got.Title, got.Notes)
			}
			peak := g.close()
			t.Logf("%d MB, %v, %s, %d bytes, %.100q", peak>>20, time.Since(begun).Round(time.Millisecond), got.Format,
				len(text), fmt.Sprint(err))
			// The process looks at its memory every 25 ms, and later on a busy machine.
			if peak > 640<<20 {
				t.Errorf("the process has used %d MB", peak>>20)
			}
			if strings.Contains(text, canary) {
				t.Error("it shows a file of this machine")
			}
			known, isKnown := errors.AsType[*document.Error](err)
			if err != nil && !isKnown {
				t.Errorf("the error is not for the model: %v", err)
			}
			if trap.kind != "" && !errors.Is(err, trap.kind) {
				t.Errorf("the error is %v, want %v", err, trap.kind)
			}
			if isKnown && known.Text == "" {
				t.Error("the error says nothing")
			}
			if trap.want != "" && (got.Format != "" || err == nil) && got.Format != trap.want {
				t.Errorf("it was read as %q, want %q", got.Format, trap.want)
			}
			if len(text) > document.DefaultLimits().Text+1<<20 {
				t.Errorf("the text has %d bytes", len(text))
			}
		})
	}
}
