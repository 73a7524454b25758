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
	"github.com/mcp-tools/mcp-tools/internal/document/write"
)

// Formats returns all formats. The first one that recognizes a file counts.
func Formats() document.Formats {
	const odf = "application/vnd.oasis.opendocument."
	const (
		words   = "headings, lists, tables, notes, comments, links, formulas"
		sheets  = "sheets as tables, values as they are shown"
		slides  = "slides with titles, bullets, tables, charts as tables, notes"
		letters = "header, text, list of attachments"
		members = "the list of members; a member by its name"
	)
	begins := func(text string) []document.Magic { return []document.Magic{{Bytes: text}} }
	return document.Formats{
		{Format: document.PDF, Search: []string{".pdf"}, Kind: "PDF", Kept: "headings, lists, tables, columns, links, values of forms; running heads are left out",
			Needs: "tesseract-ocr for scanned pages",
			Name:  "a PDF document", Types: []string{"/pdf"}, Begins: begins("%PDF-"), Before: 1024,
			Read: pdf.Read, Prepare: pdf.Prepare, Write: write.PDF},
		{Format: document.DOCX, Search: []string{".docx", ".docm", ".dotx"}, Kind: "Word", Kept: words,
			Name: "a Word document", Types: []string{"wordprocessingml.document"},
			Inside: mainParts("wordprocessingml.document", "word.document", "wordprocessingml.template", "word.template"),
			Read:   office.DOCX, Write: write.DOCX},
		{Format: document.XLSX, Search: []string{".xlsx", ".xlsm", ".xltx"}, Kind: "Excel", Kept: sheets,
			Name: "a spreadsheet", Types: []string{"spreadsheetml.sheet"},
			Inside: mainParts("spreadsheetml.sheet", "excel.sheet", "spreadsheetml.template", "excel.template"),
			Read:   office.XLSX, Write: write.XLSX},
		{Format: document.PPTX, Search: []string{".pptx", ".pptm", ".ppsx"}, Kind: "PowerPoint", Kept: slides,
			Name: "a presentation", Types: []string{"presentationml.presentation"},
			Inside: mainParts("presentationml.presentation", "presentationml.slideshow", "powerpoint.presentation",
				"presentationml.template"),
			Read: office.PPTX, Write: write.PPTX},
		{Format: document.Encrypted, Streams: []string{"EncryptedPackage"}, Read: office.Encrypted},
		{Format: document.ODT, Search: []string{".odt"}, Kind: "OpenDocument", Kept: words,
			Name: "an OpenDocument text", Types: []string{"opendocument.text"},
			Inside: []string{odf + "text"}, Read: office.ODT},
		{Format: document.ODP, Search: []string{".odp"}, Kind: "OpenDocument", Kept: slides,
			Name: "a presentation", Types: []string{"opendocument.presentation"},
			Inside: []string{odf + "presentation"}, Read: office.ODP},
		{Format: document.ODS, Search: []string{".ods"}, Kind: "OpenDocument", Kept: sheets,
			Name: "a spreadsheet", Types: []string{"opendocument.spreadsheet"},
			Inside: []string{odf + "spreadsheet"}, Read: office.ODS},
		{Format: document.EPUB, Search: []string{".epub"}, Kind: "EPUB", Kept: "chapters",
			Name: "an e-book", Types: []string{"epub+zip"}, Inside: []string{"application/epub+zip"},
			Read: epub.Read},
		{Format: document.RTF, Search: []string{".rtf"}, Kind: "RTF", Kept: "text, bold and italic, tables",
			Name: "an RTF document", Types: []string{"/rtf"}, Begins: begins("{\\rtf"), Read: rtf.Read},
		{Format: document.MSG, Search: []string{".msg"}, Kind: "mail", Kept: letters,
			Name: "a mail of Outlook", Types: []string{"ms-outlook"},
			Streams: []string{"__properties_version1.0"}, Read: mail.ReadMSG, Open: mail.OpenMSG},
		{Format: document.DOC, Search: []string{".doc"}, Kind: "Word", Kept: "as docx, or text only",
			Needs: "libreoffice-writer-nogui; catdoc or antiword for text only",
			Name:  "a Word document", Types: []string{"msword"}, Streams: []string{"WordDocument"},
			Read: legacy.Reader(document.DOC, document.DOCX, office.DOCX, "libreoffice-writer-nogui or catdoc",
				legacy.Program{"catdoc", "-d", "utf-8"}, legacy.Program{"antiword"})},
		{Format: document.XLS, Search: []string{".xls"}, Kind: "Excel", Kept: "as xlsx, or text only",
			Needs: "libreoffice-calc-nogui; catdoc for text only",
			Name:  "a spreadsheet", Types: []string{"ms-excel"}, Streams: []string{"Workbook", "Book"},
			Read: legacy.Reader(document.XLS, document.XLSX, office.XLSX, "libreoffice-calc-nogui or catdoc",
				legacy.Program{"xls2csv", "-d", "utf-8"})},
		{Format: document.PPT, Search: []string{".ppt"}, Kind: "PowerPoint", Kept: "as pptx, or text only",
			Needs: "libreoffice-impress-nogui; catdoc for text only",
			Name:  "a presentation", Types: []string{"ms-powerpoint"},
			Streams: []string{"PowerPoint Document"},
			Read: legacy.Reader(document.PPT, document.PPTX, office.PPTX, "libreoffice-impress-nogui or catdoc",
				legacy.Program{"catppt", "-d", "utf-8"})},
		{Format: document.TAR, Kind: "archives", Kept: members,
			Begins: []document.Magic{{At: 257, Bytes: "ustar"}}, Read: archive.ReadTAR,
			Open: archive.OpenTAR},
		{Format: document.ZIP, Kind: "archives", Kept: members,
			Name: "an archive", Types: []string{"zip"}, Read: archive.ReadZIP, Open: archive.OpenZIP},
		{Format: document.Notebook, Kind: "notebooks", Kept: "cells in order, outputs as text",
			Endings: []string{".ipynb"}, Looks: notebook.Looks, Read: notebook.Read},
		{Format: document.MBOX, Search: []string{".mbox"}, Kind: "mail", Kept: letters,
			Endings: []string{".mbox"}, Looks: mail.LooksLikeBox, Read: mail.ReadBox,
			Open: mail.OpenBox},
		{Format: document.EML, Search: []string{".eml"}, Kind: "mail", Kept: letters,
			Endings: []string{".eml"}, Looks: mail.Looks, Read: mail.Read, Open: mail.Open},
		{Format: document.HTML, Kind: "HTML", Kept: "the main part of a page",
			Endings: []string{".html", ".htm", ".xhtml"}, Looks: html.Looks, Read: html.Read, Write: write.HTML},
		{Format: document.CSV, Kind: "CSV", Kept: sheets,
			Endings: []string{".csv", ".tsv", ".tab"}, Read: tables.Read},
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
