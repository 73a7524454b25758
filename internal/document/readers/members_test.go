package readers

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/mail"
)

// TestAttachments opens attachments by name and by number, and reads one.
func TestAttachments(t *testing.T) {
	for _, test := range []struct{ file, member, want string }{
		{"attachments.eml", "ä.csv", "a,b"}, {"attachments.eml", "1", "a,b"}, {"attachments.eml", "4", "note again"},
		{"attachments.eml", "Inner mail.eml", "Subject: Inner mail"}, {"box.mbox", "2/t.csv", "a,b"},
		{"box.mbox", "2/1", "a,b"}, {"box.mbox", "3", "Subject: Third"},
		{"attachments.eml", "9", ""}, {"plain.eml", "1", ""}, {"box.mbox", "4", ""}, {"box.mbox", "x", ""},
		{"attachments.eml", "../../etc/passwd", ""},
	} {
		_, data := load(t, filepath.Join(corpus, test.file))
		src := document.Source{
			Name: test.file, Data: bytes.NewReader(data), Size: int64(len(data)), Limits: document.DefaultLimits(),
		}
		format, _ := document.Detect(src.Data, src.Size, src.Name)
		got, err := Handlers()[format].Open(t.Context(), src, test.member)
		if test.want == "" {
			if !errors.Is(err, document.ErrNoMember) {
				t.Errorf("%s!/%s: got %v, want %v", test.file, test.member, err, document.ErrNoMember)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Reader())
		if err != nil || !strings.Contains(string(text), test.want) || strings.ContainsAny(got.Name, `/\`) {
			t.Errorf("%s!/%s is %q with the name %q, error %v", test.file, test.member, text, got.Name, err)
		}
	}
}

// TestDamagedMail reads what is left of a mail with a broken header and a broken part.
func TestDamagedMail(t *testing.T) {
	raw := "From: a@example.org\nSubject: Damaged \xe4\nbroken header line without colon\n continued\n" +
		"Content-Type: multipart/mixed; boundary=zz\n\n--zz\nContent-Type: text/plain; charset=nonsense\n" +
		"Content-Transfer-Encoding: base64\n\nSGVs!!bG8g\nd29ybGQ=\n--zz\nContent-Type: application/pdf; name=cut.pdf\n" +
		"Content-Transfer-Encoding: base64\n\nJVBERi0xL"
	doc, err := mail.Read(t.Context(), document.Source{
		Data: strings.NewReader(raw), Size: int64(len(raw)), Limits: document.DefaultLimits(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := doc.Parts[0].Markdown; !strings.Contains(text, "Hello world") || !strings.Contains(text, "cut.pdf") ||
		!strings.Contains(doc.Title, "Damaged ä") {
		t.Errorf("the mail %q is read as %q", doc.Title, text)
	}
}

// TestPasswords reads files with a password, without it and with a wrong one.
func TestPasswords(t *testing.T) {
	for _, name := range []string{"libreoffice-rich.docx", "libreoffice-talk.pptx", "libreoffice-ledger.xlsx"} {
		_, data := load(t, filepath.Join(corpus, name))
		plain, err := read(t, name, data, nil)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := excelize.Encrypt(data, &excelize.Options{Password: "geheim"})
		if err != nil {
			t.Fatal(err)
		}
		passwords := []string{"geheim"}
		if name == "libreoffice-rich.docx" {
			passwords = []string{"", "wrong", "geheim"}
		}
		for _, password := range passwords {
			doc, err := read(t, name, secret, func(s *document.Source) { s.Password = password })
			if password != "geheim" {
				if !errors.Is(err, document.ErrPassword) {
					t.Errorf("%s with the password %q: got %v, want %v", name, password, err, document.ErrPassword)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if shown(doc) != shown(plain) {
				t.Errorf("%s is not the same with a password:\n%s", name, shown(doc))
			}
		}
	}
}

// TestPictures reads the content of pictures, within the limit.
func TestPictures(t *testing.T) {
	for _, name := range []string{"libreoffice-rich.docx", "libreoffice-rich.odt", "libreoffice-rich.epub",
		"libreoffice-talk.pptx", "libreoffice-talk.odp", "python.ipynb"} {
		_, data := load(t, filepath.Join(corpus, name))
		doc, err := read(t, name, data, func(s *document.Source) { s.Pictures = true })
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Pictures) == 0 || !bytes.HasPrefix(doc.Pictures[0].Data, []byte("\x89PNG")) {
			t.Errorf("%s has no picture with its content", name)
		}
		few, err := read(t, name, data, func(s *document.Source) { s.Pictures, s.Limits.Pictures = true, 4 })
		if err != nil {
			t.Fatal(err)
		}
		if few.Pictures[0].Data != nil {
			t.Errorf("%s: the picture is over the limit", name)
		}
	}
}

// TestPages reads only some parts.
func TestPages(t *testing.T) {
	for name, want := range map[string]string{
		"libreoffice-talk.pptx": "Figures", "libreoffice-talk.odp": "Figures", "libreoffice-ledger.xlsx": "hidden key",
		"libreoffice-ledger.ods": "hidden key", "epub2.epub.txtar": "# B", "pages.csv": "| 51 | 2601 |",
		"box.mbox": "Text two",
	} {
		name, data := load(t, filepath.Join(corpus, name))
		doc, err := read(t, name, data, func(s *document.Source) { s.Pages = document.Ranges{{First: 2, Last: 2}} })
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Parts) != 1 || doc.Parts[0].Number != 2 || !strings.Contains(doc.Parts[0].Markdown, want) ||
			doc.Total < 2 {
			t.Errorf("%s: got %+v, want only part 2 with %q", name, doc, want)
		}
	}
}

// TestLongText cuts what is longer than the limit, and says so.
func TestLongText(t *testing.T) {
	for _, path := range files(t) {
		name, data := load(t, path)
		doc, err := read(t, name, data, func(s *document.Source) { s.Limits.Text = 20 })
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, p := range doc.Parts {
			size += len(p.Markdown)
		}
		if size > 20_000 {
			t.Errorf("%s has %d bytes of text", name, size)
		}
	}
}
