package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/tetratelabs/wazero/api"
)

const (
	objectText, objectImage, objectForm = 1, 3, 5

	bitmapGrey, bitmapBGR, bitmapBGRx, bitmapBGRA = 1, 2, 3, 4

	renderAnnotations, renderGrey = 1, 8

	maxObjects = 20_000 // of a page, that are searched for pictures
	maxForms   = 4      // forms within forms
)

// eachImage calls visit for the picture objects of a loaded page until it returns false.
func (p *pdfium) eachImage(handle uint64, visit func(object uint64, scale float64) bool) {
	left := maxObjects
	var walk func(parent uint64, kind string, scale float64, depth int) bool
	walk = func(parent uint64, kind string, scale float64, depth int) bool {
		count := int(int32(p.quick(kind+"_CountObjects", parent)))
		for i := 0; i < count && left > 0 && p.failed == nil; i++ {
			left--
			object := p.quick(kind+"_GetObject", parent, uint64(i))
			switch p.quick("FPDFPageObj_GetType", object) {
			case objectImage:
				if !visit(object, scale) {
					return false
				}
			case objectForm:
				if depth == maxForms {
					continue
				}
				inner := scale
				if p.quick("FPDFPageObj_GetMatrix", object, p.at(0)) != 0 {
					inner *= math.Abs(p.float(0)*p.float(3) - p.float(1)*p.float(2))
				}
				if !walk(object, "FPDFFormObj", inner, depth+1) {
					return false
				}
			}
		}
		return true
	}
	walk(handle, "FPDFPage", 1, 0)
}

// listImages keeps the result of pictures for a page, so that the page is loaded once.
func (p *pdfium) listImages(handle uint64, number int) {
	var all []picture
	p.eachImage(handle, func(object uint64, scale float64) bool {
		one := picture{page: number, index: len(all) + 1}
		if p.quick("FPDFImageObj_GetImagePixelSize", object, p.at(0), p.at(1)) != 0 {
			one.w, one.h = int(int32(p.int(0))), int(int32(p.int(1)))
		}
		one.size = int64(p.quick("FPDFImageObj_GetImageDataRaw", object, 0, 0))
		one.object = fmt.Sprint(one.w, " ", one.h, " ", one.size)
		one.jpeg = p.isJPEG(object)
		if p.quick("FPDFPageObj_GetBounds", object, p.at(0), p.at(1), p.at(2), p.at(3)) != 0 {
			one.share = (p.float(2) - p.float(0)) * (p.float(3) - p.float(1)) * scale
		}
		all = append(all, one)
		return true
	})
	p.images[number] = all
}

// pictures returns the pictures of pages that have been read.
func (p *pdfium) pictures(first, last int) []picture {
	var all []picture
	for n := first; n <= last; n++ {
		all = append(all, p.images[n]...)
	}
	return all
}

func (p *pdfium) isJPEG(object uint64) bool {
	if p.quick("FPDFImageObj_GetImageFilterCount", object) != 1 {
		return false
	}
	n := p.quick("FPDFImageObj_GetImageFilter", object, 0, p.at(0), scratchSize)
	return string(bytes.TrimRight(p.bytes(n), "\x00")) == "DCTDecode"
}

// content returns the content of a picture as PNG, or as JPEG if it is stored so.
func (p *pdfium) content(ctx context.Context, wanted picture) (out []byte, err error) {
	handle := p.call(ctx, "FPDF_LoadPage", p.doc, uint64(wanted.page-1))
	if handle == 0 {
		return nil, errors.Join(p.failure(ctx), errBroken())
	}
	defer p.quick("FPDF_ClosePage", handle)
	index := 0
	p.eachImage(handle, func(object uint64, _ float64) bool {
		if index++; index < wanted.index {
			return true
		}
		if wanted.jpeg {
			n := p.quick("FPDFImageObj_GetImageDataRaw", object, 0, 0)
			buffer := p.quick("malloc", n)
			p.call(ctx, "FPDFImageObj_GetImageDataRaw", object, buffer, n)
			data, _ := p.module.Memory().Read(uint32(buffer), uint32(n))
			out = bytes.Clone(data)
			p.quick("free", buffer)
			return false
		}
		if bitmap := p.call(ctx, "FPDFImageObj_GetBitmap", object); bitmap != 0 {
			out, err = p.encode(bitmap, false)
			p.quick("FPDFBitmap_Destroy", bitmap)
		}
		return false
	})
	return out, errors.Join(err, p.failure(ctx))
}

// draw returns a page as PNG, or, in grey, as PGM: PGM is faster.
func (p *pdfium) draw(ctx context.Context, number int, dpi float64, grey bool) ([]byte, error) {
	handle := p.call(ctx, "FPDF_LoadPage", p.doc, uint64(number-1))
	if handle == 0 {
		return nil, errors.Join(p.failure(ctx), errBroken())
	}
	defer p.quick("FPDF_ClosePage", handle)
	w := float64(api.DecodeF32(p.quick("FPDF_GetPageWidthF", handle)))
	h := float64(api.DecodeF32(p.quick("FPDF_GetPageHeightF", handle)))
	dpi = boundDPI(dpi, w, h)
	width, height := uint64(max(1, w*dpi/pointsPerInch)), uint64(max(1, h*dpi/pointsPerInch))
	bitmap := p.call(ctx, "FPDFBitmap_CreateEx", width, height, bitmapBGRx, 0, 0)
	if bitmap == 0 {
		return nil, errors.Join(p.failure(ctx), errBroken())
	}
	defer p.quick("FPDFBitmap_Destroy", bitmap)
	p.quick("FPDFBitmap_FillRect", bitmap, 0, 0, width, height, 0xFFFFFFFF)
	flags := uint64(renderAnnotations)
	if grey {
		flags |= renderGrey
	}
	p.call(ctx, "FPDF_RenderPageBitmap", bitmap, handle, 0, 0, width, height, 0, flags)
	if err := p.failure(ctx); err != nil {
		return nil, err
	}
	return p.encode(bitmap, grey)
}

// encode returns a bitmap as PNG, or as PGM if it is to be grey.
func (p *pdfium) encode(bitmap uint64, grey bool) ([]byte, error) {
	width, height := int(p.quick("FPDFBitmap_GetWidth", bitmap)), int(p.quick("FPDFBitmap_GetHeight", bitmap))
	stride := int(p.quick("FPDFBitmap_GetStride", bitmap))
	format := p.quick("FPDFBitmap_GetFormat", bitmap)
	step := map[uint64]int{bitmapGrey: 1, bitmapBGR: 3, bitmapBGRx: 4, bitmapBGRA: 4}[format]
	data, ok := p.module.Memory().Read(uint32(p.quick("FPDFBitmap_GetBuffer", bitmap)), uint32(stride*height))
	if p.failed != nil || !ok || step == 0 || width*step > stride {
		return nil, errBroken()
	}
	if grey {
		out := fmt.Appendf(make([]byte, 0, width*height+32), "P5 %d %d 255\n", width, height)
		for y := range height {
			for x := range width {
				out = append(out, data[y*stride+x*step])
			}
		}
		return out, nil
	}
	var img image.Image
	if format == bitmapGrey {
		img = &image.Gray{Pix: data, Stride: stride, Rect: image.Rect(0, 0, width, height)}
	} else {
		to := image.NewNRGBA(image.Rect(0, 0, width, height))
		for y := range height {
			for x := range width {
				b := data[y*stride+x*step:]
				c := color.NRGBA{R: b[2], G: b[1], B: b[0], A: 255}
				if format == bitmapBGRA {
					c.A = b[3]
				}
				to.SetNRGBA(x, y, c)
			}
		}
		img = to
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, img); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// boundDPI lowers the resolution for pages that are large.
func boundDPI(dpi, w, h float64) float64 {
	area := w * h / pointsPerInch / pointsPerInch
	if area*dpi*dpi <= maxPixels {
		return dpi
	}
	return math.Sqrt(maxPixels / area)
}
