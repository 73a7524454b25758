package document

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Format is a kind of file, by its content.
type Format string

// Formats that are named in more than one place. A new one needs no line here.
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

// A Handler describes a format: its name, the marks of its files, and their reader. A file has
// the first format of the list that recognizes it.
type Handler struct {
	Format  Format
	Name    string   // as in "it is a PDF document"; empty for formats that need no name
	Types   []string // ends of its media types, such as /pdf
	Begins  []Magic  // the first bytes of its files
	Before  int      // bytes of something else that may come before that
	Inside  []string // words of [Content_Types].xml or of mimetype, for formats that are ZIP files
	Streams []string // names of streams, for formats that are compound files
	Endings []string // of names, for formats that begin like any text
	Looks   func(t Head) bool
	// Search has endings of names whose files are searched by the text that Read returns. Files of a format without
	// any are searched as they are.
	Search []string

	Read  Reader
	Open  Opener // nil for formats without members
	Write Writer // nil for formats that are only read
	// Prepare fills a directory with files that take Read too long to make, such as compiled code; nil for none. It
	// runs once for each version of the program, in a process that gets no document. Read finds
	// the directory in Source.Prepared, and asks for it with ErrNotPrepared.
	Prepare func(ctx context.Context, dir string) error

	// Kind, Kept and Needs describe the format to people and models: the kind of documents, such as Word; the parts
	// that a result has; and the programs that it needs, by their packages in Debian.
	Kind, Kept, Needs string
}

// A Magic is a sequence of bytes at a position of a file.
type Magic struct {
	At    int
	Bytes string
}

// A Head is the beginning of a file that is text.
type Head struct {
	Text   string // without blanks before it
	Raw    string
	Ending string // of the name, in lower case
	Data   io.ReaderAt
	Size   int64
}

// Formats is the list of formats.
type Formats []Handler

// Of returns the handler of a format, the zero Handler for one that is not in the list.
func (l Formats) Of(f Format) Handler {
	for _, h := range l {
		if h.Format == f {
			return h
		}
	}
	return Handler{}
}

// Kinds returns the kinds of documents, each once.
func (l Formats) Kinds() (kinds []string) {
	for _, h := range l {
		if h.Kind != "" && !slices.Contains(kinds, h.Kind) {
			kinds = append(kinds, h.Kind)
		}
	}
	return kinds
}

// Words returns the names of the formats and their kinds in small letters, for searches.
func (l Formats) Words() string {
	words := make([]string, 0, len(l))
	for _, h := range l {
		if h.Kind != "" {
			words = append(words, string(h.Format))
		}
	}
	for _, kind := range l.Kinds() {
		if kind = strings.ToLower(kind); !slices.Contains(words, kind) {
			words = append(words, kind)
		}
	}
	return strings.Join(words, " ")
}

// headSize is how much of a file Detect looks at first.
const headSize = 4096

// ole is the beginning of a compound file, the container of old Office formats and messages.
const ole = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// compound stands for all formats that are compound files.
const compound Format = "ole"

// packed returns the formats that only contain others, and the formats that other tools show.
func packed() Formats {
	return Formats{
		{Format: compound, Begins: []Magic{{0, ole}}}, {Format: ZIP, Begins: []Magic{{0, "PK\x03\x04"}, {0, "PK\x05\x06"}}},
		{Format: Gzip, Begins: []Magic{{0, "\x1f\x8b\x08"}}}, {Format: Bzip2, Begins: []Magic{{0, "BZh"}}},
		{Format: Image, Begins: []Magic{{0, "\x89PNG\r\n\x1a\n"}, {0, "\xff\xd8\xff"}, {0, "GIF8"}, {0, "II*\x00"},
			{0, "MM\x00*"}, {4, "ftypheic"}, {4, "ftypmif1"}, {4, "ftypavif"}, {8, "WEBP"}}},
		{Format: Sound, Begins: []Magic{{4, "ftypM4A"}, {8, "WAVE"}, {0, "ID3"}, {0, "OggS"}, {0, "fLaC"}, {0, "\xff\xfb"}}},
		{Format: Video, Begins: []Magic{{4, "ftyp"}, {0, "\x1aE\xdf\xa3"}, {8, "AVI "}}},
	}
}

// sniff returns the format of a file as far as its first bytes tell it: ZIP stands for all
// formats that are ZIP files, compound for all that are compound files. It is Unknown for text
// that has no format of its own.
func (l Formats) sniff(head []byte) Format {
	all := append(l[:len(l):len(l)], packed()...)
	for _, h := range all {
		for _, m := range h.Begins {
			if len(head) >= m.At && bytes.HasPrefix(head[m.At:], []byte(m.Bytes)) {
				return h.Format
			}
		}
	}
	for _, h := range l { // something else may come before, unless that is a format or text
		for _, m := range h.Begins {
			at := bytes.Index(head[:min(len(head), h.Before)], []byte(m.Bytes))
			if at >= 0 && !isText(head[:at]) {
				return h.Format
			}
		}
	}
	return Unknown
}

// Takes reports whether a file that begins with head is one for [Service.Answer] rather than
// for tools that show text and pictures. A nil Service takes none.
func (s *Service) Takes(head []byte) bool {
	if s == nil {
		return false
	}
	switch s.o.Formats.sniff(head) {
	case Unknown, Image, Sound, Video:
		return false
	}
	return true
}

// TakesName reports whether the name of a file is the name of a document that begins like any
// text.
func (s *Service) TakesName(name string) bool {
	ending := strings.ToLower(path.Ext(name))
	return s != nil && slices.ContainsFunc(s.o.Formats, func(h Handler) bool { return slices.Contains(h.Endings, ending) })
}

// Searched reports whether a file is searched by its text as a document, by its name.
func (s *Service) Searched(name string) bool {
	ending := path.Ext(name)
	if len(ending) < 4 || len(ending) > 5 { // most files, at no cost
		return false
	}
	ending = strings.ToLower(ending)
	return slices.ContainsFunc(s.o.Formats, func(h Handler) bool { return slices.Contains(h.Search, ending) })
}

// TypeName returns the name of the format with a media type, as in "it is a PDF document"; "" for
// types that are no documents.
func (s *Service) TypeName(mediaType string) string {
	if s == nil {
		return ""
	}
	for _, h := range s.o.Formats {
		if slices.ContainsFunc(h.Types, func(end string) bool { return strings.HasSuffix(mediaType, end) }) {
			return h.Name
		}
	}
	return ""
}

// Detect returns the format of a file: by its first bytes, by the parts that a container
// has, and for text by how it looks. The name decides only between formats that look alike.
func (l Formats) Detect(data io.ReaderAt, size int64, name string) (Format, error) {
	head := make([]byte, min(size, headSize))
	if n, err := data.ReadAt(head, 0); err != nil && (err != io.EOF || n < len(head)) {
		return Unknown, err
	}
	switch f := l.sniff(head); f {
	case ZIP:
		return l.inZip(data, size), nil
	case compound:
		return l.inCompound(data, size), nil
	case Unknown:
		return l.ofText(head, data, size, strings.ToLower(path.Ext(name))), nil
	default:
		return f, nil
	}
}

// inZip returns the format of a ZIP file by its parts.
func (l Formats) inZip(data io.ReaderAt, size int64) Format {
	z, err := zip.NewReader(data, size)
	if err != nil {
		return ZIP // its reader reports the error
	}
	var kind, types string
	for _, f := range z.File[:min(len(z.File), 100_000)] {
		switch f.Name {
		case "mimetype":
			kind = string(firstOf(f, 200))
		case "[Content_Types].xml":
			types = string(firstOf(f, 4<<20))
		}
	}
	for _, text := range []string{kind, types} {
		for _, h := range l {
			if slices.ContainsFunc(h.Inside, func(word string) bool { return strings.Contains(text, word) }) {
				return h.Format
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

// inCompound returns the format of a compound file by the names of its streams. The directory
// is made of entries of 128 bytes. Each entry begins with a name in UTF-16.
func (l Formats) inCompound(data io.ReaderAt, size int64) Format {
	found := len(l)
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
			has := func(h Handler) bool { return slices.Contains(h.Streams, name) }
			if k := slices.IndexFunc(l[:found], has); k >= 0 {
				found = k
			}
		}
	}
	if found == len(l) {
		return Unknown
	}
	return l[found].Format
}

// ofText returns the format of a file that is text, and Unknown if it is not.
func (l Formats) ofText(head []byte, data io.ReaderAt, size int64, ending string) Format {
	if !isText(head) {
		return Unknown
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n")
	t := Head{Text: text, Raw: string(head), Ending: ending, Data: data, Size: size}
	for _, h := range l {
		if h.Looks != nil && h.Looks(t) || h.Looks == nil && slices.Contains(h.Endings, ending) {
			return h.Format
		}
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
