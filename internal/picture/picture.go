// Package picture makes of any image one that a model can be shown: in a format
// that clients take, not larger than helps, turned the right way up, and without
// what cameras and editors write beside the pixels. It refuses images that
// would need too much memory before it decodes them. It knows pixels and bytes,
// and neither files nor tools.
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

// Limits of what is shown as it is, and of what is looked at at all.
const (
	MaxSide  = 1568      // pixels of the longer side; models shrink what is larger
	maxPlain = 1_500_000 // bytes of an image that is handed on as it is

	maxFile   = 64 << 20   // bytes
	maxPixels = 50_000_000 // of the original
	maxMemory = 256 << 20  // bytes of the decoded original
)

// Why an image was not shown.
var (
	ErrFormat   = errors.New("not an image of a known format")
	ErrTooLarge = errors.New("the image is too large")
)

// A Picture is an image ready to be shown.
type Picture struct {
	Data   []byte
	MIME   string
	Width  int
	Height int
	Format string // PNG, JPEG, GIF or WebP

	// What it was made from. The two sizes differ when it was scaled or turned.
	FromFormat string
	FromWidth  int
	FromHeight int
}

// Load makes a picture of the image in the first size bytes of r. An image that
// is small enough keeps its pixels bit by bit. It takes time and memory with the
// number of pixels, so the caller should not load many at once.
func Load(ctx context.Context, r io.ReaderAt, size int64) (p Picture, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("decoding an image: %v", cause) // other people's decoders on strangers' bytes
		}
	}()
	if size > maxFile {
		return p, fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, size, maxFile)
	}
	head := make([]byte, min(size, 16))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	f, ok := formatOf(head)
	if !ok {
		return p, ErrFormat
	}
	file := func() io.Reader { return &reader{io.NewSectionReader(r, 0, size), ctx} }
	config, err := f.config(file())
	if err != nil {
		return p, fmt.Errorf("reading the size of a %s image: %w", f.name, err)
	}
	if err := bearable(config); err != nil {
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
		// What cannot be taken apart is decoded and written anew.
		if plain, ok := f.strip(data); ok {
			p.Data = plain
			return p, nil
		}
	}
	return p.remade(f, file)
}

// bearable refuses images that need too much memory.
func bearable(c image.Config) error {
	each := 4
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		each = 8
	case color.YCbCrModel:
		each = 3
	}
	switch pixels := int64(c.Width) * int64(c.Height); {
	case c.Width <= 0 || c.Height <= 0:
		return ErrFormat
	case c.Width > maxPixels || c.Height > maxPixels || pixels > maxPixels || pixels*int64(each) > maxMemory:
		return fmt.Errorf("%w: %d x %d pixels", ErrTooLarge, c.Width, c.Height)
	}
	return nil
}

// A reader ends with its context, since decoders do not ask it.
type reader struct {
	*io.SectionReader
	ctx context.Context
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.SectionReader.Read(p)
}

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.SectionReader.ReadAt(p, off)
}
