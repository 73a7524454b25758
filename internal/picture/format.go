package picture

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// A format is a file format for images.
type format struct {
	name, mime string
	lossy      bool
	config     func(io.Reader) (image.Config, error)
	decode     func(io.Reader) (image.Image, error)
	// strip removes metadata. It reports false if the file is damaged or has to be
	// rotated. It is nil for formats that clients do not accept.
	strip func([]byte) ([]byte, bool)
}

// formatOf recognises the format from the first bytes.
func formatOf(head []byte) (format, bool) {
	begins := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return format{"PNG", "image/png", false, png.DecodeConfig, png.Decode, stripPNG}, true
	case begins("\xFF\xD8\xFF"):
		return format{"JPEG", "image/jpeg", true, jpeg.DecodeConfig, jpeg.Decode, stripJPEG}, true
	case begins("GIF87a"), begins("GIF89a"):
		return format{"GIF", "image/gif", false, gif.DecodeConfig, gif.Decode, stripGIF}, true
	case begins("RIFF") && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return format{"WebP", "image/webp", true, webp.DecodeConfig, webp.Decode, stripWebP}, true
	case begins("BM"):
		return format{"BMP", "image/bmp", false, bmp.DecodeConfig, bmp.Decode, nil}, true
	case begins("II*\x00"), begins("MM\x00*"):
		return format{"TIFF", "image/tiff", false, tiff.DecodeConfig, tiff.Decode, nil}, true
	}
	return format{}, false
}

// Shows reports whether a file that begins with head has a format that [Load] supports.
func Shows(head []byte) bool {
	_, ok := formatOf(head)
	return ok
}
