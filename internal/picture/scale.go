package picture

import (
	"image"
	"image/draw"
)

// scaled scales an image down to at most side pixels on its longer side.
func scaled(m image.Image, side int) image.Image {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	long := max(w, h)
	if long <= side {
		return m
	}
	target := image.Rect(0, 0, max(w*side/long, 1), max(h*side/long, 1))
	switch m := m.(type) {
	case *image.YCbCr:
		return scaledYCbCr(m, target)
	case *image.Gray:
		to := image.NewGray(target)
		average(to.Pix, to.Stride, target.Dx(), target.Dy(), plane(m.Pix, m.Stride), w, h, 1)
		return to
	}
	to := image.NewRGBA(target)
	average(to.Pix, to.Stride, target.Dx(), target.Dy(), colours(m), w, h, 4)
	return to
}

// plane returns the rows of pix.
func plane(pix []byte, stride int) func(y int) []byte {
	return func(y int) []byte { return pix[y*stride:] }
}

// colours returns the rows of an image in 8-bit colours that are multiplied by their alpha. A row
// is valid until the next one is read.
func colours(m image.Image) func(y int) []byte {
	if m, ok := m.(*image.RGBA); ok {
		return plane(m.Pix, m.Stride)
	}
	b := m.Bounds()
	line := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	return func(y int) []byte {
		draw.Draw(line, line.Rect, m, image.Pt(b.Min.X, b.Min.Y+y), draw.Src)
		return line.Pix
	}
}

// scaledYCbCr scales the planes of a photo. It is several times faster than scaling colours.
func scaledYCbCr(m *image.YCbCr, target image.Rectangle) image.Image {
	to := image.NewYCbCr(target, m.SubsampleRatio)
	w, h := m.Rect.Dx(), m.Rect.Dy()
	average(to.Y, to.YStride, target.Dx(), target.Dy(), plane(m.Y, m.YStride), w, h, 1)
	cw, ch := chroma(m.SubsampleRatio, w, h)
	toW, toH := chroma(m.SubsampleRatio, target.Dx(), target.Dy())
	average(to.Cb, to.CStride, toW, toH, plane(m.Cb, m.CStride), cw, ch, 1)
	average(to.Cr, to.CStride, toW, toH, plane(m.Cr, m.CStride), cw, ch, 1)
	return to
}

// chroma returns the size of the planes of colours of an image.
func chroma(ratio image.YCbCrSubsampleRatio, w, h int) (int, int) {
	m := image.NewYCbCr(image.Rect(0, 0, 4, 4), ratio)
	wide, high := 4/m.CStride, 4*m.CStride/len(m.Cb)
	return (w + wide - 1) / wide, (h + high - 1) / high
}

// A share is the part of a pixel of the source that belongs to a pixel of the target, in units.
// One unit is the need of all others of the row together.
type share struct {
	at     int // of the target
	weight uint32
}

// unit is the sum of the weights of a pixel of the target.
const unit = 1 << 16

// shares returns, for each pixel of a source row, its one or two shares in a target row
// that is not longer.
func shares(from, to int) [][2]share {
	all := make([][2]share, from)
	given := make([]uint32, to)
	// Pixel i of the source covers i*to to (i+1)*to, pixel j of the target j*from to
	// (j+1)*from.
	for i := range all {
		first, last := i*to/from, min((i*to+to-1)/from, to-1)
		whole := uint32(unit * to / from)
		all[i][0] = share{first, whole}
		if last != first {
			part := uint32(((i+1)*to - last*from) * unit / from)
			all[i] = [2]share{{first, whole - part}, {last, part}}
			given[last] += part
		}
		given[first] += all[i][0].weight
	}
	// A pixel in the middle gets the remainder of rounding.
	for j, sum := range given {
		i := min((2*j+1)*from/(2*to), from-1)
		for k := range all[i] {
			if all[i][k].at == j && all[i][k].weight > 0 {
				all[i][k].weight += unit - sum
				break
			}
		}
	}
	return all
}

// average scales an image of h rows, with n bytes for each pixel, down: each pixel of the target
// is the average of the area that it covers.
func average(to []byte, toStride, toW, toH int, row func(y int) []byte, w, h, n int) {
	columns, rows := shares(w, toW), shares(h, toH)
	sums := make([]uint32, 2*toW*n) // of the row that is being filled, and of the next one
	line := make([]uint32, toW*n)
	current := 0
	flush := func() {
		out := to[current*toStride:][:toW*n]
		for i := range out {
			out[i] = byte((sums[i] + unit/2) / unit)
		}
		copy(sums, sums[toW*n:])
		clear(sums[toW*n:])
		current++
	}
	for y := range h {
		clear(line)
		pixels := row(y)[:w*n]
		if n == 1 {
			for x, v := range pixels {
				s := &columns[x]
				line[s[0].at] += uint32(v) * s[0].weight
				line[s[1].at] += uint32(v) * s[1].weight
			}
		} else {
			for x := range w {
				s := &columns[x]
				for k, v := range pixels[x*n:][:n] {
					line[s[0].at*n+k] += uint32(v) * s[0].weight
					line[s[1].at*n+k] += uint32(v) * s[1].weight
				}
			}
		}
		for rows[y][0].at > current {
			flush()
		}
		first := rows[y][0].weight
		for i, v := range line {
			sums[i] += (v + unit/2) / unit * first
		}
		if second := rows[y][1].weight; second > 0 {
			next := sums[toW*n:]
			for i, v := range line {
				next[i] += (v + unit/2) / unit * second
			}
		}
	}
	flush()
}
