package document

// A Format is a kind of file, by its content.
type Format string

// The formats.
const (
	PDF      Format = "pdf"
	DOCX     Format = "docx"
	PPTX     Format = "pptx"
	XLSX     Format = "xlsx"
	ODT      Format = "odt"
	ODP      Format = "odp"
	ODS      Format = "ods"
	EPUB     Format = "epub"
	RTF      Format = "rtf"
	EML      Format = "eml"
	MBOX     Format = "mbox"
	MSG      Format = "msg"
	CSV      Format = "csv" // or separated by tabs or semicolons
	Notebook Format = "ipynb"
	HTML     Format = "html"
	DOC      Format = "doc"
	XLS      Format = "xls"
	PPT      Format = "ppt"
	ZIP      Format = "zip" // or jar
	TAR      Format = "tar"
	Gzip     Format = "gz"
	Bzip2    Format = "bz2"
	Text     Format = "text" // anything that is UTF-8, UTF-16 or Latin text and nothing above
	Image    Format = "image"
	Sound    Format = "sound"
	Video    Format = "video"
	Unknown  Format = ""
)
