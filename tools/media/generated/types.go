package generated

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
)

// headSize is the number of bytes that tell the type of a file.
const headSize = 1 << 10

// SVG is the type of vector graphics.
const SVG = "image/svg+xml"

// A Type is a type of files.
type Type struct {
	Name      string // for people, such as PNG
	MIME      string
	Extension string // with its dot
}

// signatures are how files of types begin that package http does not know, or knows by another
// name.
var signatures = []struct {
	at    int
	magic string
	Type
}{
	{4, "ftypavif", Type{"AVIF", "image/avif", ".avif"}},
	{4, "ftypheic", Type{"HEIC", "image/heic", ".heic"}},
	{4, "ftypM4A", Type{"M4A", "audio/mp4", ".m4a"}},
	{4, "ftypqt", Type{"QuickTime", "video/quicktime", ".mov"}},
	{4, "ftyp", Type{"MP4", "video/mp4", ".mp4"}},
	{0, "fLaC", Type{"FLAC", "audio/flac", ".flac"}},
	{0, "\xFF\xFB", Type{"MP3", "audio/mpeg", ".mp3"}},
	{0, "\xFF\xF3", Type{"MP3", "audio/mpeg", ".mp3"}},
	{0, "\xFF\xF2", Type{"MP3", "audio/mpeg", ".mp3"}},
	{0, "\xFF\xF1", Type{"AAC", "audio/aac", ".aac"}},
	{0, "\xFF\xF9", Type{"AAC", "audio/aac", ".aac"}},
	{0, "II*\x00", Type{"TIFF", "image/tiff", ".tiff"}},
	{0, "MM\x00*", Type{"TIFF", "image/tiff", ".tiff"}},
}

// detected are the types by the names that package http has for them.
var detected = map[string]Type{
	"image/png": {"PNG", "image/png", ".png"}, "image/jpeg": {"JPEG", "image/jpeg", ".jpg"},
	"image/gif": {"GIF", "image/gif", ".gif"}, "image/webp": {"WebP", "image/webp", ".webp"},
	"image/bmp": {"BMP", "image/bmp", ".bmp"}, "audio/wave": {"WAV", "audio/wav", ".wav"},
	"audio/mpeg": {"MP3", "audio/mpeg", ".mp3"}, "audio/aiff": {"AIFF", "audio/aiff", ".aiff"},
	"application/ogg": {"Ogg", "audio/ogg", ".ogg"}, "video/webm": {"WebM", "video/webm", ".webm"},
	"video/avi": {"AVI", "video/x-msvideo", ".avi"}, "application/pdf": {"PDF", "application/pdf", ".pdf"},
}

// TypeOf returns the type of a file by its first bytes. HTML is plain text, so that no
// client runs scripts of it.
func TypeOf(head []byte) Type {
	for _, s := range signatures {
		if len(head) >= s.at && bytes.HasPrefix(head[s.at:], []byte(s.magic)) {
			return s.Type
		}
	}
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	known, ok := detected[kind]
	switch {
	case ok:
		return known
	case strings.HasPrefix(kind, "text/") && bytes.Contains(head, []byte("<svg")):
		return Type{"SVG", SVG, ".svg"}
	case strings.HasPrefix(kind, "text/"):
		return Type{"text", "text/plain", ".txt"}
	}
	return Type{"binary data", "application/octet-stream", ".bin"}
}

// word returns the word for a file of a type without a title.
func (t Type) word() string {
	switch class, _, _ := strings.Cut(t.MIME, "/"); class {
	case "image", "audio", "video":
		return class
	}
	return "file"
}
