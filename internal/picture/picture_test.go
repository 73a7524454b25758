package picture

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// corners is an image with different colours in its four corners.
func corners(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		row := m.Pix[y*m.Stride:][:m.Stride]
		if y != 0 && y != h/2 {
			copy(row, m.Pix[(y-1)*m.Stride:])
			continue
		}
		for x := range w {
			c := row[4*x:][:4]
			c[3] = 255
			if x < w/2 {
				c[0] = 255
			}
			if y < h/2 {
				c[2] = 255
			}
		}
	}
	return m
}

func encodePNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(t testing.TB, data []byte) Picture {
	t.Helper()
	p, err := Load(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decoded(t *testing.T, p Picture) image.Image {
	t.Helper()
	f, ok := formatOf(p.Data)
	if !ok || f.mime != p.MIME || f.name != p.Format {
		t.Fatalf("%s, %s: the data begins with %q", p.Format, p.MIME, p.Data[:min(12, len(p.Data))])
	}
	m, err := f.decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	if m.Bounds().Dx() != p.Width || m.Bounds().Dy() != p.Height {
		t.Fatalf("it is %v, not %d x %d", m.Bounds(), p.Width, p.Height)
	}
	return m
}

// pngChunk is a chunk of a PNG file.
func pngChunk(kind, body string) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

func insert(data []byte, at int, more ...[]byte) []byte {
	out := bytes.Clone(data[:at])
	for _, m := range more {
		out = append(out, m...)
	}
	return append(out, data[at:]...)
}

func jpegSegment(marker byte, body string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xFF, marker}, uint16(len(body)+2)), body...)
}

func exif(side byte) string {
	return "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(side) +
		"\x00\x00\x00\x00\x00\x00"
}

const secret = "taken at 52.5 N 13.4 E"

// webpPixel is one pixel of WebP, lossless.
func webpPixel(t *testing.T) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSmallImagesAreOnlyStripped(t *testing.T) {
	m := corners(40, 30)
	small := encodePNG(t, m)
	photo := encodeJPEG(t, m)
	tests := []struct {
		name       string
		data, want []byte
	}{
		{"PNG", small, small},
		{"PNG with words", insert(small, 33, pngChunk("tEXt", "Comment\x00"+secret), pngChunk("eXIf", secret)), small},
		{"PNG with more behind it", append(bytes.Clone(small), secret...), small},
		{"JPEG", photo, photo},
		{"JPEG with words", insert(photo, 2, jpegSegment(0xE1, exif(1)+secret), jpegSegment(0xFE, secret),
			jpegSegment(0xED, secret)), photo},
		{"JPEG with another behind it", append(bytes.Clone(photo), photo...), photo},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := load(t, tt.data)
			if !bytes.Equal(p.Data, tt.want) {
				t.Errorf("%d bytes became %d, not %d", len(tt.data), len(p.Data), len(tt.want))
			}
			if bytes.Contains(p.Data, []byte(secret)) {
				t.Error("the words are still there")
			}
			decoded(t, p)
		})
	}
}

func TestLargeImagesAreScaled(t *testing.T) {
	m := corners(2000, 100)
	clear := corners(1600, 100)
	clear.SetNRGBA(0, 0, color.NRGBA{})
	var tif, bitmap bytes.Buffer
	if err := errors.Join(tiff.Encode(&tif, m, nil), bmp.Encode(&bitmap, corners(20, 10))); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		data   []byte
		format string
		w, h   int
	}{
		{"PNG", encodePNG(t, m), "PNG", 1568, 78},
		{"JPEG", encodeJPEG(t, m), "JPEG", 1568, 78},
		{"JPEG, much larger", encodeJPEG(t, corners(4800, 100)), "JPEG", 1568, 32},
		{"PNG that lets shine through", encodePNG(t, clear), "PNG", 1568, 98},
		{"TIFF", tif.Bytes(), "PNG", 1568, 78},
		{"BMP", bitmap.Bytes(), "PNG", 20, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := load(t, tt.data)
			if p.Format != tt.format || p.Width != tt.w || p.Height != tt.h {
				t.Fatalf("%s, %d x %d", p.Format, p.Width, p.Height)
			}
			shows(t, decoded(t, p), [4]string{"RB", "B", "R", ""})
		})
	}
}

// shows checks the colours in the corners, clockwise from the top left but for
// the last two.
func shows(t *testing.T, m image.Image, want [4]string) {
	t.Helper()
	b := m.Bounds()
	for i, want := range want {
		x, y := b.Min.X+b.Dx()/8, b.Min.Y+b.Dy()/8
		if i&1 == 1 {
			x = b.Max.X - 1 - b.Dx()/8
		}
		if i&2 == 2 {
			y = b.Max.Y - 1 - b.Dy()/8
		}
		r, _, bl, _ := m.At(x, y).RGBA()
		got := ""
		if r > 0x8000 {
			got += "R"
		}
		if bl > 0x8000 {
			got += "B"
		}
		if got != want {
			t.Errorf("corner %d is %q, want %q", i, got, want)
		}
	}
}

func TestPhotosAreTurned(t *testing.T) {
	photo := encodeJPEG(t, corners(64, 32))
	for side, want := range map[byte][4]string{
		2: {"B", "RB", "", "R"},
		3: {"", "R", "B", "RB"},
		4: {"R", "", "RB", "B"},
		5: {"RB", "R", "B", ""},
		6: {"R", "RB", "", "B"},
		7: {"", "B", "R", "RB"},
		8: {"B", "", "RB", "R"},
	} {
		p := load(t, insert(photo, 2, jpegSegment(0xE1, exif(side))))
		if wide := p.Width > p.Height; wide != (side < 5) {
			t.Errorf("side %d: %d x %d", side, p.Width, p.Height)
		}
		shows(t, decoded(t, p), want)
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	bomb := []byte("\x89PNG\r\n\x1a\n")
	bomb = append(bomb, pngChunk("IHDR", "\x00\x01\x00\x00\x00\x01\x00\x00\x08\x06\x00\x00\x00")...)
	deep := []byte("\x89PNG\r\n\x1a\n")
	deep = append(deep, pngChunk("IHDR", "\x00\x00\x19\x00\x00\x00\x19\x00\x10\x06\x00\x00\x00")...)
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"65536 x 65536", bomb, ErrTooLarge},
		{"6400 x 6400 with 16 bits", deep, ErrTooLarge},
		{"no image", []byte("hello"), ErrFormat},
		{"nothing", nil, ErrFormat},
	}
	for _, tt := range tests {
		if _, err := Load(t.Context(), bytes.NewReader(tt.data), int64(len(tt.data))); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	whole := encodePNG(t, corners(30, 30))
	if _, err := Load(t.Context(), bytes.NewReader(whole[:60]), 60); err == nil {
		t.Error("half an image was taken")
	}
	if _, err := Load(t.Context(), bytes.NewReader(whole), maxFile+1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a huge file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, bytes.NewReader(whole), int64(len(whole))); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ended: %v", err)
	}
}

// FuzzLoad expects an image that can be decoded, or an error.
func FuzzLoad(f *testing.F) {
	m := corners(5, 4)
	photo := encodeJPEG(f, m)
	f.Add(encodePNG(f, m))
	f.Add(photo)
	f.Add(insert(photo, 2, jpegSegment(0xE1, exif(6))))
	var b, c, d bytes.Buffer
	if err := errors.Join(gif.Encode(&b, m, nil), tiff.Encode(&c, m, nil), bmp.Encode(&d, m)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(c.Bytes())
	f.Add(d.Bytes())
	f.Add([]byte("RIFF\x24\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if config, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil &&
			config.Width*config.Height > 1<<20 {
			return // slow, and nothing else happens
		}
		p, err := Load(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if len(p.Data) == 0 || p.Width < 1 || p.Height < 1 || p.MIME == "" {
			t.Fatalf("%+v", p)
		}
	})
}

// TestGIFAndWebPAreConverted checks that they become PNG images without their metadata.
func TestGIFAndWebPAreConverted(t *testing.T) {
	m := corners(40, 30)
	frame := image.NewPaletted(m.Bounds(), palette.Plan9)
	draw.Draw(frame, frame.Bounds(), m, image.Point{}, draw.Src)
	var moving bytes.Buffer
	if err := gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	pixel := webpPixel(t)
	extended := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0A\x00\x00\x00\x0C\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		pixel[12:]...)
	extended = append(extended, "EXIF\x17\x00\x00\x00"+secret+"!\x00"...)
	binary.LittleEndian.PutUint32(extended[4:], uint32(len(extended)-8))
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"GIF with words", insert(moving.Bytes(), 13, []byte("\x21\xFE\x16"+secret+"\x00"))},
		{"WebP", pixel},
		{"WebP with words", extended},
	} {
		p := load(t, tt.data)
		decoded(t, p)
		if bytes.Contains(p.Data, []byte(secret)) || p.Format != "PNG" && p.Format != "JPEG" {
			t.Errorf("%s: it is %s: %q", tt.name, p.Format, p.Data)
		}
	}
}
