package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
)

// reencode decodes the image, scales and rotates it, and encodes it again.
func (p Picture) reencode(f format, file func() io.Reader, side int) (Picture, error) {
	m, err := f.decode(file())
	if err != nil {
		return p, fmt.Errorf("decoding a %s image: %w", f.name, err)
	}
	m = scaled(m, side)
	if f.mime == "image/jpeg" {
		head, err := io.ReadAll(io.LimitReader(file(), 128<<10)) // Exif comes first and has at most 64 kB
		if err != nil {
			return p, err
		}
		m = upright(m, jpegOrientation(head))
	}
	p.Width, p.Height = m.Bounds().Dx(), m.Bounds().Dy()
	if !f.lossy || !opaque(m) {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			return p, fmt.Errorf("encoding a PNG image: %w", err)
		}
		if b.Len() <= maxPlain {
			p.Data, p.MIME, p.Format = b.Bytes(), "image/png", "PNG"
			return p, nil
		}
	}
	p.MIME, p.Format = "image/jpeg", "JPEG"
	m = onWhite(m)
	for _, quality := range []int{85, 60, 30} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
			return p, fmt.Errorf("encoding a JPEG image: %w", err)
		}
		if p.Data = b.Bytes(); len(p.Data) <= maxPlain {
			break
		}
	}
	return p, nil
}

// opaque reports whether an image has no transparent pixels.
func opaque(m image.Image) bool {
	o, ok := m.(interface{ Opaque() bool })
	return ok && o.Opaque()
}

// onWhite draws an image on a white background.
func onWhite(m image.Image) image.Image {
	if opaque(m) {
		return m
	}
	to := image.NewRGBA(image.Rect(0, 0, m.Bounds().Dx(), m.Bounds().Dy()))
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), m, m.Bounds().Min, draw.Over)
	return to
}

// upright rotates and mirrors an image with an Exif orientation.
func upright(m image.Image, direction int) image.Image {
	if direction <= 1 || direction > 8 {
		return m
	}
	b := m.Bounds()
	w, h := b.Dx(), b.Dy()
	if direction >= 5 {
		w, h = h, w
	}
	from := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(from, from.Rect, m, b.Min, draw.Src)
	to := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			fromX, fromY := x, y
			if direction >= 5 {
				fromX, fromY = y, x
			}
			if direction == 2 || direction == 3 || direction == 7 || direction == 8 {
				fromX = b.Dx() - 1 - fromX
			}
			if direction == 3 || direction == 4 || direction == 6 || direction == 7 {
				fromY = b.Dy() - 1 - fromY
			}
			copy(to.Pix[4*(y*w+x):][:4], from.Pix[4*(fromY*b.Dx()+fromX):][:4])
		}
	}
	return to
}
