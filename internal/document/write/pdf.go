package write

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/pdf"
)

// PDF makes a PDF of other PDF files, or of Markdown: a Word document that LibreOffice prints, if that is installed.
// Where Chromium is installed, it prints the page that HTML makes instead, outside of this process.
func PDF(ctx context.Context, src document.Source) (*document.Written, error) {
	s, err := decode(src)
	if err != nil {
		return nil, err
	}
	if len(s.From) > 0 {
		values, err := s.texts()
		if err != nil {
			return nil, err
		}
		return pdf.Assemble(ctx, src, pdf.Assembly{Files: s.From, Pages: s.Pages, Values: values})
	}
	office, err := exec.LookPath("soffice")
	if err != nil {
		return nil, document.Errorf(document.ErrNoReader,
			"PDF needs Chromium or LibreOffice, and neither can be used here; write a .docx or .html file, or ask the operator to install chromium or libreoffice-writer-nogui")
	}
	made, err := wordOf(ctx, s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "write-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	from := filepath.Join(dir, "document.docx")
	if err := os.WriteFile(from, made.Content, 0o600); err != nil {
		return nil, err
	}
	out, failed := exec.CommandContext(ctx, office, "--headless", "--norestore", "--nologo", "--nolockcheck",
		"-env:UserInstallation=file://"+filepath.ToSlash(filepath.Join(dir, "profile")),
		"--convert-to", "pdf", "--outdir", dir, from).CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	made.Content, err = os.ReadFile(filepath.Join(dir, "document.pdf"))
	if err != nil || !bytes.HasPrefix(made.Content, []byte("%PDF-")) {
		_, _ = os.Stderr.Write(append(out, '\n'))
		if failed != nil {
			_, _ = os.Stderr.WriteString(failed.Error() + "\n")
		}
		return nil, document.Errorf(document.ErrFailed, "LibreOffice could not print the document; write a .docx or .html file")
	}
	return made, nil
}

// texts returns the values of the source as texts.
func (s Source) texts() (map[string]string, error) {
	var all map[string]any
	if len(s.Values) > 0 {
		d := json.NewDecoder(bytes.NewReader(s.Values))
		d.UseNumber()
		if err := d.Decode(&all); err != nil {
			return nil, broken(`the values of a form are an object, such as {"name":"Ann","agree":true}`)
		}
	}
	texts := map[string]string{}
	for name, value := range all {
		switch value := value.(type) {
		case nil:
			texts[name] = ""
		case string:
			texts[name] = readable(value)
		case bool, json.Number:
			texts[name] = fmt.Sprint(value)
		default:
			return nil, broken("the value of the field %.60q is neither text nor a number, true or false", name)
		}
	}
	return texts, nil
}
