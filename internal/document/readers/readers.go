// Package readers lists all formats: their names, how their files are recognized, and their readers.
// It reads nothing itself. A new format is a package and one line here; begin with Formats.
package readers

import (
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

// Formats returns all formats. The first one that recognizes a file counts.
func Formats() document.Formats {
	const odf = "application/vnd.oasis.opendocument."
	begins := func(text string) []document.Magic { return []document.Magic{{Bytes: text}} }
	return document.Formats{
		{Format: document.PDF, Name: "a PDF document", Types: []string{"/pdf"}, Begins: begins("%PDF-"), Before: 1024,
			Read: pdf.Read, Warm: pdf.Warm},
		{Format: document.DOCX, Name: "a Word document", Types: []string{"wordprocessingml.document"},
			Inside: mainParts("wordprocessingml.document", "word.document", "wordprocessingml.template", "word.template"),
			Read:   office.DOCX},
		{Format: document.XLSX, Name: "a spreadsheet", Types: []string{"spreadsheetml.sheet"},
			Inside: mainParts("spreadsheetml.sheet", "excel.sheet", "spreadsheetml.template", "excel.template"),
			Read:   office.XLSX},
		{Format: document.PPTX, Name: "a presentation", Types: []string{"presentationml.presentation"},
			Inside: mainParts("presentationml.presentation", "presentationml.slideshow", "powerpoint.presentation",
				"presentationml.template"),
			Read: office.PPTX},
		{Format: document.Encrypted, Streams: []string{"EncryptedPackage"}, Read: office.Encrypted},
		{Format: document.ODT, Name: "an OpenDocument text", Types: []string{"opendocument.text"},
			Inside: []string{odf + "text"}, Read: office.ODT},
		{Format: document.ODP, Name: "a presentation", Types: []string{"opendocument.presentation"},
			Inside: []string{odf + "presentation"}, Read: office.ODP},
		{Format: document.ODS, Name: "a spreadsheet", Types: []string{"opendocument.spreadsheet"},
			Inside: []string{odf + "spreadsheet"}, Read: office.ODS},
		{Format: document.EPUB, Name: "an e-book", Types: []string{"epub+zip"}, Inside: []string{"application/epub+zip"},
			Read: epub.Read},
		{Format: document.RTF, Name: "an RTF document", Types: []string{"/rtf"}, Begins: begins("{\\rtf"), Read: rtf.Read},
		{Format: document.MSG, Name: "a mail of Outlook", Types: []string{"ms-outlook"},
			Streams: []string{"__properties_version1.0"}, Read: mail.ReadMSG, Open: mail.OpenMSG},
		{Format: document.DOC, Name: "a Word document", Types: []string{"msword"}, Streams: []string{"WordDocument"},
			Read: legacy.Reader(document.DOC, document.DOCX, office.DOCX, "libreoffice-writer-nogui or catdoc",
				legacy.Program{"catdoc", "-d", "utf-8"}, legacy.Program{"antiword"})},
		{Format: document.XLS, Name: "a spreadsheet", Types: []string{"ms-excel"}, Streams: []string{"Workbook", "Book"},
			Read: legacy.Reader(document.XLS, document.XLSX, office.XLSX, "libreoffice-calc-nogui or catdoc",
				legacy.Program{"xls2csv", "-d", "utf-8"})},
		{Format: document.PPT, Name: "a presentation", Types: []string{"ms-powerpoint"},
			Streams: []string{"PowerPoint Document"},
			Read: legacy.Reader(document.PPT, document.PPTX, office.PPTX, "libreoffice-impress-nogui or catdoc",
				legacy.Program{"catppt", "-d", "utf-8"})},
		{Format: document.TAR, Begins: []document.Magic{{At: 257, Bytes: "ustar"}}, Read: archive.ReadTAR,
			Open: archive.OpenTAR},
		{Format: document.ZIP, Name: "an archive", Types: []string{"zip"}, Read: archive.ReadZIP, Open: archive.OpenZIP},
		{Format: document.Notebook, Endings: []string{".ipynb"}, Looks: notebook.Looks, Read: notebook.Read},
		{Format: document.MBOX, Endings: []string{".mbox"}, Looks: mail.LooksLikeBox, Read: mail.ReadBox,
			Open: mail.OpenBox},
		{Format: document.EML, Endings: []string{".eml"}, Looks: mail.Looks, Read: mail.Read, Open: mail.Open},
		{Format: document.HTML, Endings: []string{".html", ".htm", ".xhtml"}, Looks: html.Looks, Read: html.Read},
		{Format: document.CSV, Endings: []string{".csv", ".tsv", ".tab"}, Read: tables.Read},
		{Format: document.Text, Read: plain.Read},
	}
}

// mainParts returns the media types of the main part of a document of Office.
func mainParts(kinds ...string) (all []string) {
	for _, k := range kinds {
		all = append(all, k+".main+xml", k+".macroEnabled.main+xml", k+".macroEnabledTemplate.main+xml")
	}
	return all
}

// Main is the main function of the process that reads documents; args come after
// document.ChildArg. It returns the exit code.
func Main(args []string) int { return document.Main(args, Formats()) }
