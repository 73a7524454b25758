package readers

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// zipped returns a zip file of names and contents.
func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err == nil {
			_, err = io.WriteString(w, parts[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	wordTypes = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override ` +
		`ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`
	wordSpace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	odtType   = "application/vnd.oasis.opendocument.text"
	odtSpaces = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" ` +
		`xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" ` +
		`xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"`
)

func wordFile(t testing.TB, document string) []byte {
	return zipped(t, "[Content_Types].xml", wordTypes, "word/document.xml", document)
}

func writer(t testing.TB, body string) []byte {
	return zipped(t, "mimetype", odtType, "content.xml",
		"<office:document-content "+odtSpaces+"><office:body><office:text>"+body+
			"</office:text></office:body></office:document-content>")
}

// TestHostile reads files that were made to do harm.
func TestHostile(t *testing.T) {
	paragraph := func(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }
	body := func(inner string) string {
		return "<w:document " + wordSpace + "><w:body>" + inner + "</w:body></w:document>"
	}
	laughs := `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>`
	tests := []struct {
		name, file string
		data       []byte
		want       error  // nil if it is read
		has        string // in the text
	}{
		{"entity of a file", "x.docx", wordFile(t, `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>`+
			body(paragraph("&e;"))), document.ErrBroken, ""},
		{"entities of entities", "x.docx", wordFile(t, laughs+body(paragraph("&c;"))), document.ErrBroken, ""},
		{"external definition", "x.docx", wordFile(t, `<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd">`+
			body(paragraph("kept"))),
			nil, "kept"},
		{"deep", "x.docx", wordFile(t, body(strings.Repeat("<w:p>", 500)+strings.Repeat("</w:p>", 500))),
			document.ErrTooBig, ""},
		{"deep groups", "x.docx", wordFile(t, body(strings.Repeat("<w:ins>", 500)+strings.Repeat("</w:ins>", 500))),
			document.ErrTooBig, ""},
		{"many elements", "x.odt", writer(t, "<text:p>"+strings.Repeat("<text:s/>", 20_001)+"</text:p>"),
			document.ErrTooBig, ""},
		{"many blanks", "x.odt", writer(t, `<text:p>a<text:s text:c="2000000000"/>b</text:p>`), nil, "a"},
		{"many rows", "x.odt", writer(t, `<table:table><table:table-row table:number-rows-repeated="2000000000">`+
			`<table:table-cell table:number-columns-repeated="2000000000"><text:p>x</text:p></table:table-cell>`+
			`</table:table-row></table:table>`), nil, "| x |"},
		{"many columns", "x.docx",
			wordFile(t, body(`<w:tbl><w:tr><w:trPr><w:gridBefore w:val="2000000000"/></w:trPr><w:tc><w:tcPr>`+
				`<w:gridSpan w:val="2000000000"/></w:tcPr>`+paragraph("x")+`</w:tc></w:tr></w:tbl>`)), nil, ""},
		{"bomb", "x.docx", wordFile(t, body(paragraph(strings.Repeat("a", 3<<20)))), document.ErrTooBig, ""},
		{"bomb in a picture", "x.docx", zipped(t, "[Content_Types].xml", wordTypes, "word/document.xml",
			body(paragraph("kept")),
			"word/media/image1.png", strings.Repeat("a", 3<<20)), nil, "kept"},
		{"path names", "x.docx", zipped(t, "[Content_Types].xml", wordTypes, "../../../../tmp/evil.xml", "x",
			`..\..\evil`, "y", "/etc/evil", "z", "word/document.xml", body(paragraph("kept"))), nil, "kept"},
		{"relation outside", "x.docx", zipped(t, "[Content_Types].xml", wordTypes, "_rels/.rels",
			`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" `+
				`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" `+
				`Target="../../../../etc/passwd"/></Relationships>`, "word/document.xml", body(paragraph("kept"))), nil,
			"kept"},
		{"list in itself", "x.docx",
			wordFile(t, body("<w:p><w:pPr><w:numPr><w:ilvl w:val=\"-7\"/><w:numId w:val=\"1\"/></w:numPr>"+
				"</w:pPr></w:p>"+paragraph("kept"))), nil, "kept"},
		{"no end", "x.docx", wordFile(t, "<w:document "+wordSpace+"><w:body>"+paragraph("x")), document.ErrBroken, ""},
		{"no document", "x.docx", zipped(t, "[Content_Types].xml", wordTypes), document.ErrBroken, ""},
		{"groups without end", "x.rtf", []byte(`{\rtf1 ` + strings.Repeat("{", 100_000)), document.ErrTooBig, ""},
		{"binary without end", "x.rtf", []byte(`{\rtf1 a\bin99999999999 b`), nil, ""},
		{"mail in mail", "x.eml", []byte("Subject: x\nFrom: a\nTo: b\n" + nestedMail(200)), document.ErrTooBig, ""},
		{"deep notebook", "x.ipynb", []byte(`{"nbformat":4,"cells":` + strings.Repeat("[", 50_000)), document.ErrBroken,
			""},
		{"html deep", "x.html", []byte("<html>" + strings.Repeat("<div>", 20_000)), errAny, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc, err := read(t, test.file, test.data, func(s *document.Source) { s.Limits.Nodes = 20_000 })
			switch {
			case test.want == errAny:
			case !errors.Is(err, test.want):
				t.Fatalf("got the error %v, want %v", err, test.want)
			case err == nil && !strings.Contains(doc.Parts[0].Markdown, test.has):
				t.Errorf("the text is %.200q, want %q in it", doc.Parts[0].Markdown, test.has)
			case err == nil && strings.Contains(doc.Parts[0].Markdown, "root:"):
				t.Error("a file outside of the document was read")
			}
		})
	}
}

// errAny allows any outcome but a crash.
var errAny = errors.New("any")

func nestedMail(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	return b.String() + "\ntext\n"
}

// TestLyingSizes reads a zip file that declares less than there is.
func TestLyingSizes(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 9) })
	for name, text := range map[string]string{"[Content_Types].xml": wordTypes,
		"word/document.xml": strings.Repeat(" ", 3<<20)} {
		var packed bytes.Buffer
		f, _ := flate.NewWriter(&packed, 9)
		_, _ = io.WriteString(f, text)
		_ = f.Close()
		size := uint64(len(text))
		if name == "word/document.xml" {
			size = 100
		}
		w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CompressedSize64: uint64(packed.Len()),
			UncompressedSize64: size})
		if err == nil {
			_, err = w.Write(packed.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = z.Close()
	_, err := Formats().Of(document.DOCX).Read(t.Context(), document.Source{
		Name: "x.docx", Data: bytes.NewReader(b.Bytes()), Size: int64(b.Len()), Limits: document.DefaultLimits(),
	})
	if !errors.As(err, new(*document.Error)) {
		t.Errorf("got %v, want an error for the model", err)
	}
}

// TestDamaged cuts and changes all files of the corpus: nothing panics, and all errors are
// ones for the model.
func TestDamaged(t *testing.T) {
	for _, path := range files(t) {
		name, data := load(t, path)
		format, err := Formats().Detect(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			t.Fatal(err)
		}
		h := Formats().Of(format)
		for i := range 12 {
			damaged := bytes.Clone(data)
			if at := len(data) * (i + 1) / 13; i%2 == 0 {
				damaged = damaged[:at]
			} else {
				for j := range 20 {
					damaged[(at+j*37)%len(damaged)] ^= byte(i*16 + j)
				}
			}
			_, err := h.Read(t.Context(), document.Source{
				Name: name, Data: bytes.NewReader(damaged), Size: int64(len(damaged)), Limits: document.DefaultLimits(),
			})
			if err != nil && !errors.As(err, new(*document.Error)) {
				t.Errorf("%s, damage %d: %v is no error for the model", filepath.Base(path), i, err)
			}
		}
	}
}

// TestCancelled reads with a context that has ended.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"libreoffice-rich.docx", "libreoffice-rich.odt", "libreoffice-ledger.xlsx",
		"libreoffice-rich.rtf", "libreoffice-ledger.csv", "attachments.eml", "box.mbox"} {
		_, data := load(t, filepath.Join(corpus, name))
		format, _ := Formats().Detect(bytes.NewReader(data), int64(len(data)), name)
		_, err := Formats().Of(format).Read(ctx, document.Source{
			Name: name, Data: bytes.NewReader(data), Size: int64(len(data)), Limits: document.DefaultLimits(),
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the end of the context", name, err)
		}
	}
}
