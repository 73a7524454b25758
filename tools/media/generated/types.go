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

// A signature is how files of a type begin.
type signature struct {
	at    int
	magic string
	Type
}

func (t signature) matches(head []byte) bool {
	return len(head) >= t.at && bytes.HasPrefix(head[t.at:], []byte(t.magic))
}

// TypeOf returns the type of a file by its first bytes. HTML is plain text, so that no
// client runs scripts of it.
func TypeOf(head []byte) Type {
	for _, s := range []signature{
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
	} {
		if s.matches(head) {
			return s.Type
		}
	}
	detected, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	switch detected {
	case "image/png":
		return Type{"PNG", detected, ".png"}
	case "image/jpeg":
		return Type{"JPEG", detected, ".jpg"}
	case "image/gif":
		return Type{"GIF", detected, ".gif"}
	case "image/webp":
		return Type{"WebP", detected, ".webp"}
	case "image/bmp":
		return Type{"BMP", detected, ".bmp"}
	case "audio/wave":
		return Type{"WAV", "audio/wav", ".wav"}
	case "audio/mpeg":
		return Type{"MP3", detected, ".mp3"}
	case "audio/aiff":
		return Type{"AIFF", detected, ".aiff"}
	case "application/ogg":
		return Type{"Ogg", "audio/ogg", ".ogg"}
	case "video/webm":
		return Type{"WebM", detected, ".webm"}
	case "video/avi":
		return Type{"AVI", "video/x-msvideo", ".avi"}
	case "application/pdf":
		return Type{"PDF", detected, ".pdf"}
	case "text/plain", "text/xml", "text/html":
		if bytes.Contains(head, []byte("<svg")) {
			return Type{"SVG", SVG, ".svg"}
		}
		return Type{"text", "text/plain", ".txt"}
	}
	return Type{"binary data", "application/octet-stream", ".bin"}
}

// word returns what a file of a type is called if it has no title.
func (t Type) word() string {
	switch class, _, _ := strings.Cut(t.MIME, "/"); class {
	case "image", "audio", "video":
		return class
	}
	return "file"
}
