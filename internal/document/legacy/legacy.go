// Package legacy reads the binary formats of Word, Excel and PowerPoint before 2007 with
// programs that are installed: LibreOffice converts them to the formats that we read, catdoc and
// its like extract the text. It knows how these programs are called, and nothing of the formats.
//
// Begin with Reader.
package legacy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// A Program extracts the text of a file whose name follows its arguments.
type Program []string

// Reader returns a reader that converts a file with LibreOffice to the format of read. Without
// LibreOffice, it takes the text that one of the programs extracts. packages are the Debian
// packages to install if none is there.
func Reader(from, to document.Format, read document.Reader, packages string, programs ...Program) document.Reader {
	return func(ctx context.Context, src document.Source) (*document.Document, error) {
		dir, err := os.MkdirTemp("", "legacy-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "document."+string(from))
		if err := write(path, src.Reader()); err != nil {
			return nil, err
		}
		if office, err := exec.LookPath("soffice"); err == nil {
			return convert(ctx, src, office, path, to, read)
		}
		for _, p := range programs {
			if _, err := exec.LookPath(p[0]); err == nil {
				return extract(ctx, p, path)
			}
		}
		return nil, document.Errorf(document.ErrNoReader,
			"%s files need a program that is not installed here; the operator can install %s", from, packages)
	}
}

func write(path string, content io.Reader) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// convert converts a file with LibreOffice and reads the result.
func convert(
	ctx context.Context, src document.Source, office, path string, to document.Format, read document.Reader,
) (*document.Document, error) {
	dir := filepath.Dir(path)
	cmd := exec.CommandContext(ctx, office, "--headless", "--norestore", "--nologo", "--nolockcheck",
		"-env:UserInstallation=file://"+filepath.ToSlash(filepath.Join(dir, "profile")),
		"--convert-to", string(to), "--outdir", dir, path)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	file, openErr := os.Open(strings.TrimSuffix(path, filepath.Ext(path)) + "." + string(to))
	if openErr != nil {
		return nil, document.Errorf(document.ErrBroken,
			"LibreOffice cannot read the file: it is damaged or encrypted%s",
			lastLine(out, err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	src.Data, src.Size = file, info.Size()
	d, err := read(ctx, src)
	if err == nil {
		d.Notes = append(d.Notes, "converted by LibreOffice")
	}
	return d, err
}

// extract takes the text that a program writes.
func extract(ctx context.Context, p Program, path string) (*document.Document, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, p[0], append(p[1:len(p):len(p)], path)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(out.String(), "\f", "\n\n"), "\ufffd")
	if err != nil && strings.TrimSpace(text) == "" {
		return nil, document.Errorf(document.ErrBroken, "%s cannot read the file: it is damaged or encrypted%s", p[0],
			lastLine(errs.Bytes(), err))
	}
	return &document.Document{
		Parts: []document.Part{{Number: 1, Markdown: text}},
		Notes: []string{fmt.Sprintf(
			"text only, extracted by %s; with LibreOffice installed headings and tables are kept", p[0])},
	}, nil
}

// lastLine returns the last line of a program's output, or its exit state.
func lastLine(out []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	if err != nil {
		return ": " + err.Error()
	}
	return ""
}
