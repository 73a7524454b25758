package write

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// PDF makes a PDF of Markdown: a Word document that LibreOffice prints, if that is installed.
func PDF(ctx context.Context, src document.Source) (*document.Written, error) {
	office, err := exec.LookPath("soffice")
	if err != nil {
		return nil, document.Errorf(document.ErrNoReader,
			"PDF needs LibreOffice, which is not installed here; write a .docx or .html file, or ask the operator to install libreoffice-writer-nogui")
	}
	made, err := DOCX(ctx, src)
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
