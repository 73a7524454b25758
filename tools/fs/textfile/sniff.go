package textfile

import (
	"bytes"
	"path"
	"strings"
)

// A Kind is the type of a binary file. The zero Kind is text.
type Kind struct {
	Name string // such as "PDF document"; "binary data" if unknown
	MIME string // "" if unknown
}

// Binary reports whether the file is not text.
func (k Kind) Binary() bool { return k.Name != "" }

// A signature is the beginning of files of one kind.
type signature struct {
	at    int
	magic string
	kind  Kind
}

// signatures are tried in this order.
var signatures = []signature{
	{0, "%PDF-", Kind{"PDF document", "application/pdf"}},
	{0, "\x89PNG\r\n\x1a\n", Kind{"PNG image", "image/png"}},
	{0, "\xFF\xD8\xFF", Kind{"JPEG image", "image/jpeg"}},
	{0, "GIF87a", Kind{"GIF image", "image/gif"}},
	{0, "GIF89a", Kind{"GIF image", "image/gif"}},
	{0, "BM", Kind{"BMP image", "image/bmp"}},
	{0, "II*\x00", Kind{"TIFF image", "image/tiff"}},
	{0, "MM\x00*", Kind{"TIFF image", "image/tiff"}},
	{0, "\x00\x00\x01\x00", Kind{"Windows icon", "image/x-icon"}},
	{0, "8BPS", Kind{"Photoshop image", "image/vnd.adobe.photoshop"}},
	{4, "ftypavif", Kind{"AVIF image", "image/avif"}},
	{4, "ftypheic", Kind{"HEIC image", "image/heic"}},
	{4, "ftypmif1", Kind{"HEIF image", "image/heif"}},
	{4, "ftypM4A", Kind{"M4A audio", "audio/mp4"}},
	{4, "ftypqt", Kind{"QuickTime video", "video/quicktime"}},
	{4, "ftyp", Kind{"MP4 video", "video/mp4"}},
	{0, "\x1A\x45\xDF\xA3", Kind{"Matroska or WebM video", "video/x-matroska"}},
	{0, "ID3", Kind{"MP3 audio", "audio/mpeg"}},
	{0, "\xFF\xFB", Kind{"MP3 audio", "audio/mpeg"}},
	{0, "OggS", Kind{"Ogg audio or video", "application/ogg"}},
	{0, "fLaC", Kind{"FLAC audio", "audio/flac"}},
	{0, "\x1F\x8B", Kind{"gzip archive", "application/gzip"}},
	{0, "BZh", Kind{"bzip2 archive", "application/x-bzip2"}},
	{0, "\xFD7zXZ\x00", Kind{"xz archive", "application/x-xz"}},
	{0, "\x28\xB5\x2F\xFD", Kind{"zstd archive", "application/zstd"}},
	{0, "7z\xBC\xAF\x27\x1C", Kind{"7z archive", "application/x-7z-compressed"}},
	{0, "Rar!\x1A\x07", Kind{"RAR archive", "application/vnd.rar"}},
	{257, "ustar", Kind{"tar archive", "application/x-tar"}},
	{0, "!<arch>\n", Kind{"static library or Debian package", "application/x-archive"}},
	{0, "\x7FELF", Kind{"ELF program or library", "application/x-elf"}},
	{0, "MZ", Kind{"Windows program or library", "application/vnd.microsoft.portable-executable"}},
	{0, "\xCF\xFA\xED\xFE", Kind{"Mach-O program or library", "application/x-mach-binary"}},
	{0, "\xCE\xFA\xED\xFE", Kind{"Mach-O program or library", "application/x-mach-binary"}},
	{0, "\x00asm", Kind{"WebAssembly module", "application/wasm"}},
	{0, "SQLite format 3\x00", Kind{"SQLite database", "application/vnd.sqlite3"}},
	{0, "wOFF", Kind{"WOFF font", "font/woff"}},
	{0, "wOF2", Kind{"WOFF2 font", "font/woff2"}},
	{0, "\x00\x01\x00\x00\x00", Kind{"TrueType font", "font/ttf"}},
	{0, "OTTO", Kind{"OpenType font", "font/otf"}},
	{0, "PAR1", Kind{"Parquet table", "application/vnd.apache.parquet"}},
	{0, "\x89HDF\r\n\x1a\n", Kind{"HDF5 file", "application/x-hdf5"}},
	{0, "\x93NUMPY", Kind{"NumPy array", "application/octet-stream"}},
	{0, "\x80\x04\x95", Kind{"Python pickle", "application/octet-stream"}},
	{0, "\xFF\xFE\x00\x00", Kind{"text in UTF-32", "text/plain"}},
	{0, "\x00\x00\xFE\xFF", Kind{"text in UTF-32", "text/plain"}},
}

// Sniff detects the kind of a file from its head (1 kB is enough) and its name. A file that begins like a binary
// one but is text counts as text, except for PDF.
func Sniff(head []byte, name string) Kind {
	if !noText(head) && !bytes.HasPrefix(head, []byte("%PDF-")) {
		return Kind{}
	}
	switch {
	case begins(head, 0, "PK\x03\x04") || begins(head, 0, "PK\x05\x06"):
		return sniffZip(head, name)
	case begins(head, 0, "RIFF") && len(head) >= 12:
		return sniffRIFF(string(head[8:12]))
	case begins(head, 0, "\xCA\xFE\xBA\xBE") && len(head) >= 8:
		if head[6] != 0 || head[7] < 45 { // number of architectures in a Mach-O file; Java has its version here
			return Kind{"Mach-O program or library", "application/x-mach-binary"}
		}
		return Kind{"Java class", "application/java-vm"}
	}
	for _, s := range signatures {
		if begins(head, s.at, s.magic) {
			return s.kind
		}
	}
	return Kind{Name: "binary data"}
}

func begins(head []byte, at int, magic string) bool {
	return len(head) >= at && bytes.HasPrefix(head[at:], []byte(magic))
}

// noText reports whether head cannot be text: it has zeros outside of UTF-16, or many control characters.
func noText(head []byte) bool {
	if begins(head, 0, "\xFF\xFE\x00\x00") {
		return true
	}
	if begins(head, 0, "\xFF\xFE") || begins(head, 0, "\xFE\xFF") {
		return false
	}
	control := 0
	for _, c := range head {
		switch {
		case c == 0:
			return true
		case c < ' ' && (c < '\b' || c > '\r') && c != 0x1B, c == 0x7F:
			control++
		}
	}
	return control > 1+len(head)/32
}

func sniffZip(head []byte, name string) Kind {
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == ".apk":
		return Kind{"Android package", "application/vnd.android.package-archive"}
	case ext == ".jar" || ext == ".war" || bytes.Contains(head, []byte("META-INF/")):
		return Kind{"Java archive", "application/java-archive"}
	}
	return Kind{"zip archive", "application/zip"}
}

func sniffRIFF(form string) Kind {
	switch form {
	case "WEBP":
		return Kind{"WebP image", "image/webp"}
	case "WAVE":
		return Kind{"WAV audio", "audio/wav"}
	case "AVI ":
		return Kind{"AVI video", "video/x-msvideo"}
	}
	return Kind{Name: "RIFF file"}
}
