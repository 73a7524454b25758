package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"testing"
)

func TestAveragesKeepColours(t *testing.T) {
	for _, size := range [][4]int{{100, 100, 99, 99}, {1000, 10, 16, 1}, {4001, 3, 1568, 1}, {7, 5, 7, 5},
		{3000, 2, 1, 1}} {
		w, h, toW, toH := size[0], size[1], size[2], size[3]
		for _, v := range []byte{0, 1, 100, 255} {
			from := make([]byte, w*h*4)
			for i := range from {
				from[i] = v
			}
			to := make([]byte, toW*toH*4)
			average(to, toW*4, toW, toH, plane(from, w*4), w, h, 4)
			for i, got := range to {
				if got != v {
					t.Fatalf("%v: byte %d is %d, not %d", size, i, got, v)
				}
			}
		}
	}
}

func TestAveragesAreThoseOfTheArea(t *testing.T) {
	const w, toW = 1000, 37
	from, to := make([]byte, w), make([]byte, toW)
	for x := range from {
		from[x] = byte(x * 255 / (w - 1))
	}
	average(to, toW, toW, 1, plane(from, w), w, 1, 1)
	for x, got := range to {
		want := (float64(x) + 0.5) * 255 / toW
		if math.Abs(float64(got)-want) > 1.5 {
			t.Errorf("pixel %d is %d, not %.1f", x, got, want)
		}
	}
}

func TestPhotosOfAllSamplings(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		m := image.NewYCbCr(image.Rect(0, 0, 1999, 77), ratio)
		y, cb, cr := color.RGBToYCbCr(200, 60, 20)
		for _, plane := range []struct {
			pix []byte
			v   byte
		}{{m.Y, y}, {m.Cb, cb}, {m.Cr, cr}} {
			for i := range plane.pix {
				plane.pix[i] = plane.v
			}
		}
		got := scaled(m, 1001)
		if b := got.Bounds(); b.Dx() != 1001 || b.Dy() != 38 {
			t.Errorf("%v: %v", ratio, b)
		}
		for _, at := range []image.Point{{0, 0}, {1000, 0}, {0, 37}, {1000, 37}, {500, 20}} {
			if got.At(at.X, at.Y) != (color.YCbCr{Y: y, Cb: cb, Cr: cr}) {
				t.Errorf("%v: %v is %v", ratio, at, got.At(at.X, at.Y))
			}
		}
	}
}

func TestImagesOfAllKindsKeepTheirColours(t *testing.T) {
	red, clear := color.NRGBA{200, 60, 20, 255}, color.NRGBA{200, 60, 20, 100}
	bounds := image.Rect(3, 5, 3+1999, 5+77) // images need not begin at 0, 0
	for _, c := range []color.NRGBA{red, clear} {
		for _, m := range []draw.Image{
			image.NewRGBA(bounds), image.NewNRGBA(bounds), image.NewRGBA64(bounds), image.NewNRGBA64(bounds),
			image.NewPaletted(bounds, color.Palette{color.Transparent, c}),
		} {
			draw.Draw(m, bounds, image.NewUniform(c), image.Point{}, draw.Src)
			got := scaled(m, 1001)
			if b := got.Bounds(); b != image.Rect(0, 0, 1001, 38) {
				t.Errorf("%T: %v", m, b)
			}
			want := color.RGBAModel.Convert(c).(color.RGBA)
			for _, at := range []image.Point{{0, 0}, {1000, 0}, {0, 37}, {1000, 37}, {500, 20}} {
				if got.At(at.X, at.Y) != want {
					t.Errorf("%T: %v is %v, not %v", m, at, got.At(at.X, at.Y), want)
				}
			}
		}
	}
}

// FuzzOrientation expects an orientation from 1 to 8 of whatever data.
func FuzzOrientation(f *testing.F) {
	f.Add([]byte(exif(6)))
	f.Add([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x03\x00\x00\x00"))
	f.Add([]byte("Exif\x00\x00MM\x00*\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := append([]byte("\xFF\xD8"), jpegSegment(0xE1, string(data[:min(len(data), 65533)]))...)
		if got := jpegOrientation(whole); got < 1 || got > 8 {
			t.Errorf("%d", got)
		}
	})
}
