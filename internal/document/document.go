// Package document converts documents to Markdown. It knows the process that reads untrusted
// files, the cache of results, and the way of a file to the format that recognizes it. It knows
// no format but archives: package readers beneath it lists all with their names and readers.
// Begin with Document and Handler; callers begin with Service.
package document

import (
	"context"
	"fmt"
	"io"
)

// A Reader converts one format. It runs in the child process, and so do the programs that
// it starts with ctx.
type Reader func(ctx context.Context, src Source) (*Document, error)

// A Writer makes a document of one format. The source is the content that package write describes; nothing else is read.
type Writer func(ctx context.Context, src Source) (*Written, error)

// Written is a document that was made.
type Written struct {
	Content []byte
	Notes   []string // omitted or changed parts, a sentence each
}

// An Opener returns a member of an archive or an attachment of a mail, by the name that
// Document.Members has. It is an ErrNoMember if there is none.
type Opener func(ctx context.Context, src Source, name string) (Source, error)

// A Source is a document that is to be read.
type Source struct {
	Name     string      // of the file; only its extension matters
	Data     io.ReaderAt `json:"-"`
	Size     int64
	Pages    Ranges // pages, slides or sheets that are wanted; empty for all
	Password string
	OCR      string // one of the constants below
	Language string // of text in pictures, as tesseract names it: eng+deu; empty for its default
	Pictures bool   // the content of pictures is wanted
	Prepared string // the directory that Handler.Prepare has filled, read-only; empty if there is none
	Limits   Limits
}

// Treatments of text in pictures of pages.
const (
	OCRAuto = "auto" // for pages that have a picture and next to no text
	OCROff  = "off"
	OCROn   = "on" // for all pages
)

// Reader returns a reader of the whole document.
func (s Source) Reader() *io.SectionReader { return io.NewSectionReader(s.Data, 0, s.Size) }

// Limits bound the work of a reader with one document.
type Limits struct {
	Part     int64 // bytes of one unpacked part, such as an XML file within a docx
	Total    int64 // bytes of all unpacked parts
	Ratio    int64 // unpacked bytes for each packed byte, for parts over a MB
	Depth    int   // nested elements
	Nodes    int   // elements of one part
	Parts    int   // pages, slides, sheets or chapters in one result
	Text     int   // bytes of Markdown in one result
	Pictures int64 // bytes of the content of all pictures
}

// DefaultLimits are the limits of documents that callers name.
func DefaultLimits() Limits {
	return Limits{
		Part: 64 << 20, Total: 512 << 20, Ratio: 200, Depth: 400, Nodes: 5_000_000,
		Parts: 10_000, Text: 32 << 20, Pictures: 32 << 20,
	}
}

// A Document is the result of a reader for a source.
type Document struct {
	Title    string
	Unit     string // page, slide, sheet, chapter, row; empty for a document without parts
	Total    int    // parts of the whole document
	Parts    []Part // the wanted ones, in order
	Pictures []Picture
	Members  []Member // of archives and mails: each can be read as name!/member
	Notes    []string // omitted or missing parts, a sentence each
}

// A Part is a page, a slide, a sheet or a chapter. A document without parts has one with
// number 1.
type Part struct {
	Number   int
	Name     string // of a sheet or chapter; may be empty
	Markdown string
	OCR      bool // the text comes from a picture
}

// A Picture is a picture within a document. The Markdown names it as ![alt](name).
type Picture struct {
	Name string // unique within the document, with an extension
	Type string // media type
	Size int64
	Page int    // the part that it is on; 0 if unknown
	Data []byte // only if Source.Pictures is set
}

// A Member is a file in an archive or an attachment of a mail.
type Member struct {
	Name string // slash separated, never absolute, never with ..
	Size int64  // unpacked; -1 if unknown
	Type string // media type if the container names it
}

// A Kind is the kind of failure of an Error.
type Kind string

const (
	ErrPassword Kind = "password" // missing or wrong
	ErrBroken   Kind = "broken"   // not a valid file of its format
	ErrFailed   Kind = "failed"   // a reader panicked; the file may be sound
	ErrTooBig   Kind = "too_big"  // over one of the limits
	ErrNoReader Kind = "no_reader"
	ErrNoMember Kind = "no_member" // the archive has no such member
	// ErrNotPrepared asks for the files of Source.Prepared: they are missing. The server has them made, and asks for
	// the document again.
	ErrNotPrepared Kind = "not_prepared"
)

func (k Kind) Error() string { return string(k) }

// An Error is a failure with a sentence for the model. errors.Is(err, ErrBroken) asks for
// its kind.
type Error struct {
	Kind Kind
	Text string // the failure and, where it helps, the next step
}

// Errorf returns an error of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Kind }
