// Package picture converts images for models: to a format that clients accept, scaled
// to the size that models use, upright, and without metadata of cameras and editors.
// It refuses images that would need too much memory before it decodes them. It knows
// pixels and bytes, but neither files nor tools.
//
// Begin with [Load].
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Limits of images.
const (
	MaxSide  = 1568      // pixels of the longer side; models scale larger images down
	maxPlain = 1_500_000 // bytes of an image that is returned as it is

	maxFile   = 64 << 20   // bytes
	maxPixels = 50_000_000 // of the original
	maxMemory = 256 << 20  // bytes of the decoded original
)

// The reasons why an image cannot be shown.
var (
	ErrFormat   = errors.New("not an image of a known format")
	ErrTooLarge = errors.New("the image is too large")
)

// A Picture is an image for a model.
type Picture struct {
	Data   []byte
	MIME   string
	Width  int
	Height int
	Format string // PNG, JPEG, GIF or WebP

	// The original. Its size differs if it was scaled or rotated.
	FromFormat string
	FromWidth  int
	FromHeight int
}

// Load returns a picture of the image in the first size bytes of r. The pixels of a
// small image are not changed. Time and memory grow with the number of pixels, so
// callers should not load many images at the same time.
func Load(ctx context.Context, r io.ReaderAt, size int64) (Picture, error) {
	return Scaled(ctx, r, size, MaxSide)
}

// Scaled is Load with another size: the longer side of the picture has at most side
// pixels.
func Scaled(ctx context.Context, r io.ReaderAt, size int64, side int) (p Picture, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("decoding an image: %v", cause) // a fault in a decoder
		}
	}()
	if size > maxFile {
		return p, fmt.Errorf("%w: %d bytes, the maximum is %d", ErrTooLarge, size, maxFile)
	}
	head := make([]byte, min(size, 16))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	f, ok := formatOf(head)
	if !ok {
		return p, ErrFormat
	}
	file := func() io.Reader { return &contextReader{io.NewSectionReader(r, 0, size), ctx} }
	config, err := f.config(file())
	if err != nil {
		return p, fmt.Errorf("reading the size of a %s image: %w", f.name, err)
	}
	if err := checkMemory(config); err != nil {
		return p, err
	}
	p = Picture{
		MIME: f.mime, Width: config.Width, Height: config.Height, Format: f.name,
		FromFormat: f.name, FromWidth: config.Width, FromHeight: config.Height,
	}
	if f.strip != nil && size <= maxPlain && max(config.Width, config.Height) <= side {
		data, err := io.ReadAll(file())
		if err != nil {
			return p, err
		}
		// A file that cannot be stripped is decoded and encoded again.
		if stripped, ok := f.strip(data); ok {
			p.Data = stripped
			return p, nil
		}
	}
	return p.reencode(f, file, side)
}

// A format is a file format for images.
type format struct {
	name, mime string
	lossy      bool
	config     func(io.Reader) (image.Config, error)
	decode     func(io.Reader) (image.Image, error)
	// strip removes metadata. It reports false if the file is damaged or has to be
	// rotated. It is nil for formats that are always encoded again.
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
		return format{"GIF", "image/gif", false, gif.DecodeConfig, gif.Decode, nil}, true
	case begins("RIFF") && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return format{"WebP", "image/webp", true, webp.DecodeConfig, webp.Decode, nil}, true
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

// checkMemory refuses images that need too much memory.
func checkMemory(c image.Config) error {
	bytesPerPixel := 4
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		bytesPerPixel = 8
	case color.YCbCrModel:
		bytesPerPixel = 3
	}
	switch pixels := int64(c.Width) * int64(c.Height); {
	case c.Width <= 0 || c.Height <= 0:
		return ErrFormat
	case c.Width > maxPixels || c.Height > maxPixels || pixels > maxPixels || pixels*int64(bytesPerPixel) > maxMemory:
		return fmt.Errorf("%w: %d x %d pixels", ErrTooLarge, c.Width, c.Height)
	}
	return nil
}

// contextReader returns the error of its context: decoders do not check it.
type contextReader struct {
	*io.SectionReader
	ctx context.Context
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.SectionReader.Read(p)
}
