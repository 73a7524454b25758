// Package readers lists the readers of all formats. Only the process that reads documents
// imports it, since readers are large. A new format is one line in Handlers.
package readers

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/archive"
	"github.com/mcp-tools/mcp-tools/internal/document/epub"
	"github.com/mcp-tools/mcp-tools/internal/document/html"
	"github.com/mcp-tools/mcp-tools/internal/document/legacy"
	"github.com/mcp-tools/mcp-tools/internal/document/mail"
	"github.com/mcp-tools/mcp-tools/internal/document/notebook"
	"github.com/mcp-tools/mcp-tools/internal/document/office"
	"github.com/mcp-tools/mcp-tools/internal/document/pdf"
	"github.com/mcp-tools/mcp-tools/internal/document/plain"
	"github.com/mcp-tools/mcp-tools/internal/document/rtf"
	"github.com/mcp-tools/mcp-tools/internal/document/tables"
)

// Handlers returns the handlers of all formats.
func Handlers() map[document.Format]document.Handler {
	return map[document.Format]document.Handler{
		document.PDF:       {Read: pdf.Read},
		document.DOCX:      {Read: office.DOCX},
		document.PPTX:      {Read: office.PPTX},
		document.XLSX:      {Read: office.XLSX},
		document.Encrypted: {Read: office.Encrypted},
		document.ODT:       {Read: office.ODT},
		document.ODP:       {Read: office.ODP},
		document.ODS:       {Read: office.ODS},
		document.EPUB:      {Read: epub.Read},
		document.RTF:       {Read: rtf.Read},
		document.EML:       {Read: mail.Read, Open: mail.Open},
		document.MBOX:      {Read: mail.ReadBox, Open: mail.OpenBox},
		document.MSG:       {Read: mail.ReadMSG, Open: mail.OpenMSG},
		document.CSV:       {Read: tables.Read},
		document.Notebook:  {Read: notebook.Read},
		document.HTML:      {Read: html.Read},
		document.DOC: {Read: legacy.Reader(document.DOC, document.DOCX, office.DOCX,
			"libreoffice-writer-nogui or catdoc", legacy.Program{"catdoc", "-d", "utf-8"}, legacy.Program{"antiword"})},
		document.XLS: {Read: legacy.Reader(document.XLS, document.XLSX, office.XLSX,
			"libreoffice-calc-nogui or catdoc", legacy.Program{"xls2csv", "-d", "utf-8"})},
		document.PPT: {Read: legacy.Reader(document.PPT, document.PPTX, office.PPTX,
			"libreoffice-impress-nogui or catdoc", legacy.Program{"catppt", "-d", "utf-8"})},
		document.ZIP:  {Read: archive.ReadZIP, Open: archive.OpenZIP},
		document.TAR:  {Read: archive.ReadTAR, Open: archive.OpenTAR},
		document.Text: {Read: plain.Read},
	}
}

// Main is the main function of the process that reads documents; args come after
// document.ChildArg. It returns the exit code.
func Main(args []string) int {
	return document.Main(args, document.Readers{Handlers: Handlers(), Compile: Compile})
}

// Compile fills dir with compiled WebAssembly, which Source.Compiled names later. It runs
// once for each version of the program, in a process that gets no document. A new module
// is one line here.
func Compile(ctx context.Context, dir string) error {
	for _, fill := range []func(ctx context.Context, dir string) error{pdf.Warm} {
		if err := fill(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}
