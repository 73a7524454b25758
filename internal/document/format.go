package document

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Format is a kind of file, by its content.
type Format string

// The formats.
const (
	PDF       Format = "pdf"
	DOCX      Format = "docx"
	PPTX      Format = "pptx"
	XLSX      Format = "xlsx"
	ODT       Format = "odt"
	ODP       Format = "odp"
	ODS       Format = "ods"
	EPUB      Format = "epub"
	RTF       Format = "rtf"
	EML       Format = "eml"
	MBOX      Format = "mbox"
	MSG       Format = "msg"
	CSV       Format = "csv" // or separated by tabs or semicolons
	Notebook  Format = "ipynb"
	HTML      Format = "html"
	DOC       Format = "doc"
	XLS       Format = "xls"
	PPT       Format = "ppt"
	Encrypted Format = "encrypted" // a docx, xlsx or pptx with a password
	ZIP       Format = "zip"       // or jar
	TAR       Format = "tar"
	Gzip      Format = "gz"
	Bzip2     Format = "bz2"
	Text      Format = "text" // text of any other kind
	Image     Format = "image"
	Sound     Format = "sound"
	Video     Format = "video"
	Unknown   Format = ""
)

// headSize is how much of a file Detect looks at first.
const headSize = 4096

// A magic is what files of a format begin with.
type magic struct {
	at     int
	bytes  string
	format Format
}

// magics returns the beginnings of binary formats.
func magics() []magic {
	return []magic{
		{0, "%PDF-", PDF}, {0, "{\\rtf", RTF}, {0, ole, "ole"}, {0, "PK\x03\x04", ZIP}, {0, "PK\x05\x06", ZIP},
		{257, "ustar", TAR}, {0, "\x1f\x8b\x08", Gzip}, {0, "BZh", Bzip2},
		{0, "\x89PNG\r\n\x1a\n", Image}, {0, "\xff\xd8\xff", Image}, {0, "GIF8", Image}, {0, "II*\x00", Image},
		{0, "MM\x00*", Image}, {4, "ftypheic", Image}, {4, "ftypmif1", Image}, {4, "ftypavif", Image},
		{8, "WEBP", Image}, {4, "ftypM4A", Sound}, {4, "ftyp", Video}, {0, "\x1aE\xdf\xa3", Video},
		{8, "AVI ", Video}, {8, "WAVE", Sound}, {0, "ID3", Sound}, {0, "OggS", Sound}, {0, "fLaC", Sound},
		{0, "\xff\xfb", Sound},
	}
}

// ole is the beginning of a compound file, in which old Office formats and messages are.
const ole = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// Sniff returns the format of a file as far as its first bytes tell it: ZIP stands for all
// formats that are ZIP files, DOC for all that are compound files. It is Unknown for text
// that has no format of its own.
func Sniff(head []byte) Format {
	for _, m := range magics() {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.bytes)) {
			if m.bytes == ole {
				return DOC
			}
			return m.format
		}
	}
	// A PDF may begin with up to a kilobyte of something else, unless that is a format.
	if at := bytes.Index(head[:min(len(head), 1024)], []byte("%PDF-")); at >= 0 && !isText(head[:at]) {
		return PDF
	}
	return Unknown
}

// Takes reports whether a file that begins with head is one for [Service.Answer] rather than
// for tools that show text and pictures. A nil Service takes none.
func (s *Service) Takes(head []byte) bool {
	if s == nil {
		return false
	}
	switch Sniff(head) {
	case Unknown, Image, Sound, Video:
		return false
	}
	return true
}

// Detect returns the format of a file: by its first bytes, by the parts that a container
// has, and for text by how it looks. The name decides only between formats that look alike.
func Detect(data io.ReaderAt, size int64, name string) (Format, error) {
	head := make([]byte, min(size, headSize))
	if n, err := data.ReadAt(head, 0); err != nil && (err != io.EOF || n < len(head)) {
		return Unknown, err
	}
	switch f := Sniff(head); f {
	case ZIP:
		return inZip(data, size), nil
	case DOC:
		return inCompound(data, size), nil
	case Unknown:
		return ofText(head, data, size, strings.ToLower(path.Ext(name))), nil
	default:
		return f, nil
	}
}

// inZip returns the format of a ZIP file by its parts.
func inZip(data io.ReaderAt, size int64) Format {
	z, err := zip.NewReader(data, size)
	if err != nil {
		return ZIP // its reader says what is wrong
	}
	has := make(map[string]*zip.File, min(len(z.File), 1000))
	for _, f := range z.File[:min(len(z.File), 100_000)] {
		switch f.Name {
		case "[Content_Types].xml", "mimetype":
			has[f.Name] = f
		}
	}
	if f := has["mimetype"]; f != nil {
		switch text := strings.TrimSpace(string(firstOf(f, 200))); {
		case text == "application/epub+zip":
			return EPUB
		case strings.HasPrefix(text, "application/vnd.oasis.opendocument.text"):
			return ODT
		case strings.HasPrefix(text, "application/vnd.oasis.opendocument.presentation"):
			return ODP
		case strings.HasPrefix(text, "application/vnd.oasis.opendocument.spreadsheet"):
			return ODS
		}
	}
	if f := has["[Content_Types].xml"]; f != nil {
		text := firstOf(f, 4<<20)
		for _, t := range []struct {
			word   string
			format Format
		}{
			{"wordprocessingml.document.main+xml", DOCX}, {"word.document.macroEnabled.main+xml", DOCX},
			{"wordprocessingml.template.main+xml", DOCX}, {"word.template.macroEnabledTemplate.main+xml", DOCX},
			{"spreadsheetml.sheet.main+xml", XLSX}, {"excel.sheet.macroEnabled.main+xml", XLSX},
			{"spreadsheetml.template.main+xml", XLSX}, {"excel.template.macroEnabled.main+xml", XLSX},
			{"presentationml.presentation.main+xml", PPTX}, {"presentationml.slideshow.main+xml", PPTX},
			{"powerpoint.presentation.macroEnabled.main+xml", PPTX}, {"presentationml.template.main+xml", PPTX},
		} {
			if bytes.Contains(text, []byte(t.word)) {
				return t.format
			}
		}
	}
	return ZIP
}

// firstOf returns the first bytes of a file in an archive; fewer if it is damaged.
func firstOf(f *zip.File, most int64) []byte {
	r, err := f.Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	text, _ := io.ReadAll(io.LimitReader(r, most))
	return text
}

// maxCompound is how much of a compound file is searched for its directory.
const maxCompound = 64 << 20

// inCompound returns the format of a compound file by the names of its streams. The
// directory is made of entries of 128 bytes, each of which begins with a name in UTF-16.
func inCompound(data io.ReaderAt, size int64) Format {
	names := []struct {
		name   string
		format Format
	}{
		{"EncryptedPackage", Encrypted}, {"__properties_version1.0", MSG}, {"WordDocument", DOC}, {"Workbook", XLS},
		{"Book", XLS}, {"PowerPoint Document", PPT},
	}
	found := len(names)
	buf := make([]byte, 64<<10)
	for at := int64(0); at < min(size, maxCompound); at += int64(len(buf)) {
		n, _ := data.ReadAt(buf, at)
		for i := 0; i+128 <= n; i += 128 {
			entry := buf[i : i+128]
			length := int(binary.LittleEndian.Uint16(entry[64:]))
			if length < 4 || length > 64 || length%2 != 0 || entry[66] != 2 && entry[66] != 5 {
				continue // not a stream
			}
			units := make([]uint16, length/2-1)
			for j := range units {
				units[j] = binary.LittleEndian.Uint16(entry[2*j:])
			}
			name := string(utf16.Decode(units))
			for k, s := range names[:found] {
				if s.name == name {
					found = k
					break
				}
			}
		}
	}
	if found == len(names) {
		return Unknown
	}
	return names[found].format
}

// ofText returns the format of a file that is text, and Unknown if it is not.
func ofText(head []byte, data io.ReaderAt, size int64, extension string) Format {
	if !isText(head) {
		return Unknown
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n")
	lower := strings.ToLower(text[:min(len(text), 1024)])
	html := strings.HasPrefix(lower, "<!doctype html") || strings.HasPrefix(lower, "<html") ||
		strings.HasPrefix(lower, "<head") || strings.HasPrefix(lower, "<body") ||
		strings.HasPrefix(lower, "<?xml") && strings.Contains(lower, "<html")
	switch {
	case html:
		return HTML
	case strings.HasPrefix(text, "{") && isNotebook(data, size):
		return Notebook
	case strings.HasPrefix(string(head), "From ") && isMail(text):
		return MBOX
	case isMail(text):
		return EML
	}
	switch extension {
	case ".html", ".htm", ".xhtml":
		if strings.Contains(lower, "<") {
			return HTML
		}
	case ".csv", ".tsv", ".tab":
		return CSV
	}
	return Text
}

// isText reports whether bytes can be text: UTF-8, UTF-16 with a mark, or bytes of an older
// encoding without control characters.
func isText(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) || r == 0x7f {
			return false
		}
		head = head[n:]
	}
	return true
}

// maxNotebook is the largest JSON file that is searched for what makes it a notebook.
const maxNotebook = 64 << 20

// isNotebook reports whether JSON is an object with the fields of a notebook.
func isNotebook(data io.ReaderAt, size int64) bool {
	if size > maxNotebook {
		return false
	}
	d := json.NewDecoder(io.NewSectionReader(data, 0, size))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	cells, version := false, false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		cells = cells || key == "cells" || key == "worksheets"
		version = version || key == "nbformat"
		if cells && version {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// isMail reports whether a text begins with the header of a mail.
func isMail(text string) bool {
	known, lines := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		lines++
		if lines == 1 && strings.HasPrefix(line, "From ") || line != "" && (line[0] == ' ' || line[0] == '\t') &&
			lines > 1 {
			continue
		}
		name, _, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t<{[(\"'") {
			return line == "" && known >= 2
		}
		if slices.Contains([]string{
			"from", "to", "subject", "date", "message-id", "received", "return-path", "mime-version", "content-type",
			"delivered-to", "reply-to", "cc", "dkim-signature", "x-mailer",
		}, strings.ToLower(name)) {
			known++
		}
	}
	return known >= 3 // the header is longer than what was read
}
