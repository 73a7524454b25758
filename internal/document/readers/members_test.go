package readers

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the format prescribes it
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
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
		format, _ := Formats().Detect(src.Data, src.Size, src.Name)
		got, err := Formats().Of(format).Open(t.Context(), src, test.member)
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

// TestPasswordsODF reads OpenDocument files with a password, without it and with a wrong one.
func TestPasswordsODF(t *testing.T) {
	for _, name := range []string{"libreoffice-rich.odt", "libreoffice-ledger.ods"} {
		_, data := load(t, filepath.Join(corpus, name))
		withPictures := func(password string) func(*document.Source) {
			return func(s *document.Source) { s.Password, s.Pictures = password, true }
		}
		plain, err := read(t, name, data, withPictures(""))
		if err != nil {
			t.Fatal(err)
		}
		secret := encryptODF(t, data, "gehéim")
		doc, err := read(t, name, secret, withPictures("gehéim"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if shown(doc) != shown(plain) || !reflect.DeepEqual(doc.Pictures, plain.Pictures) {
			t.Errorf("%s is not the same with a password:\n%s", name, shown(doc))
		}
		for _, password := range []string{"", "wrong"} {
			if _, err := read(t, name, secret, withPictures(password)); !errors.Is(err, document.ErrPassword) {
				t.Errorf("%s with the password %q: got %v, want %v", name, password, err, document.ErrPassword)
			}
		}
	}
}

// encryptODF encrypts the parts of an OpenDocument file as LibreOffice does: ODF 1.2, part 3, section 3.4.
func encryptODF(t testing.TB, data []byte, password string) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	manifest := `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">`
	var parts []string
	for i, f := range in.File {
		if f.Name == "META-INF/manifest.xml" || strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "mimetype" {
			parts = append(parts, f.Name, string(plain))
			continue
		}
		var packed bytes.Buffer
		w, _ := flate.NewWriter(&packed, flate.DefaultCompression)
		_, _ = w.Write(plain) // into memory
		_ = w.Close()
		check := sha256.Sum256(packed.Bytes()[:min(packed.Len(), 1024)])
		start := sha256.Sum256([]byte(password))
		salt, iv := bytes.Repeat([]byte{byte(i)}, 16), make([]byte, aes.BlockSize)
		key, err := pbkdf2.Key(sha1.New, string(start[:]), salt, 1000, 32)
		if err != nil {
			t.Fatal(err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		fill := aes.BlockSize - packed.Len()%aes.BlockSize
		packed.Write(append(bytes.Repeat([]byte{7}, fill-1), byte(fill)))
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(packed.Bytes(), packed.Bytes())
		encode := base64.StdEncoding.EncodeToString
		manifest += fmt.Sprintf(`<manifest:file-entry manifest:full-path=%q manifest:size="%d">`+
			`<manifest:encryption-data manifest:checksum-type="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#sha256-1k" `+
			`manifest:checksum=%q>`+
			`<manifest:algorithm manifest:algorithm-name="http://www.w3.org/2001/04/xmlenc#aes256-cbc" `+
			`manifest:initialisation-vector=%q/><manifest:key-derivation manifest:key-derivation-name="PBKDF2" `+
			`manifest:key-size="32" manifest:iteration-count="1000" manifest:salt=%q/><manifest:start-key-generation `+
			`manifest:start-key-generation-name="http://www.w3.org/2000/09/xmldsig#sha256" manifest:key-size="32"/>`+
			`</manifest:encryption-data></manifest:file-entry>`,
			f.Name, len(plain), encode(check[:]), encode(iv), encode(salt))
		parts = append(parts, f.Name, packed.String())
	}
	return zipped(t, append(parts, "META-INF/manifest.xml", manifest+"</manifest:manifest>")...)
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
