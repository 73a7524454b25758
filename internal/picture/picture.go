// Package picture converts images for models: to a format that clients accept, scaled
// to the size that models use, upright, and without metadata of cameras and editors.
// It refuses images that would need too much memory before it decodes them. It knows
// pixels and bytes, but neither files nor tools.
//
// Begin with [Load].
package picture

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
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
func Load(ctx context.Context, r io.ReaderAt, size int64) (p Picture, err error) {
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
	if f.strip != nil && size <= maxPlain && max(config.Width, config.Height) <= MaxSide {
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
	return p.reencode(f, file)
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

// contextReader returns the error of its context, which decoders do not check.
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

func (r *contextReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.SectionReader.ReadAt(p, off)
}
