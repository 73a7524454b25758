package pdf

import (
	"bytes"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// A writer makes small PDF files, always the same bytes for the same content.
type writer struct {
	title    string
	password string
	pages    []*sheet
}

// A sheet is a page. Heights are counted from the top.
type sheet struct {
	w, h    float64
	rotate  int
	content bytes.Buffer
	links   []string
	images  []bitmap
}

type bitmap struct {
	w, h int
	grey []byte
}

func (d *writer) page() *sheet {
	p := &sheet{w: 595, h: 842}
	d.pages = append(d.pages, p)
	return p
}

// Fonts of the standard 14, which need not be embedded.
const (
	sans, sansBold, mono, serif = "F1", "F2", "F3", "F4"
)

// text writes a line with its baseline at y.
func (p *sheet) text(x, y, size float64, font, text string) {
	var b strings.Builder
	for _, r := range text {
		switch {
		case strings.ContainsRune(`()\`, r):
			b.WriteString(`\` + string(r))
		case r == '•':
			b.WriteString(`\225`)
		case r == '–':
			b.WriteString(`\226`)
		case r < 256:
			b.WriteByte(byte(r))
		}
	}
	fmt.Fprintf(&p.content, "BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", font, size, x, p.h-y, b.String())
}

// advance is the width of text of the standard Helvetica, near enough for breaking lines.
func advance(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("il.,:;'|! ", r):
			w += 0.27
		case strings.ContainsRune("mwMW", r):
			w += 0.8
		case r >= 'A' && r <= 'Z':
			w += 0.68
		default:
			w += 0.53
		}
	}
	return w * size
}

// paragraph writes lines from y on, filling the width, and returns the height after it.
func (p *sheet) paragraph(x, y, width, size float64, font, text string) float64 {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && advance(line+" "+word, size) > width {
			p.text(x, y, size, font, line)
			y, line = y+1.2*size, ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	p.text(x, y, size, font, line)
	return y + 1.2*size
}

func (p *sheet) link(x, y, w, h float64, to string) {
	p.links = append(p.links, fmt.Sprintf(
		"<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [%g %g %g %g] /A << /S /URI /URI (%s) >> >>",
		x, p.h-y, x+w, p.h-y+h, to))
}

func (p *sheet) image(x, y, w, h float64, img bitmap) {
	p.images = append(p.images, img)
	fmt.Fprintf(&p.content, "q %g 0 0 %g %g %g cm /I%d Do Q\n", w, h, x, p.h-y-h, len(p.images))
}

// gradient is a picture.
func gradient(w, h int) bitmap {
	b := bitmap{w, h, make([]byte, w*h)}
	for i := range b.grey {
		b.grey[i] = byte(i % w * 255 / w)
	}
	return b
}

var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// bytes returns the file. With a password its streams are encrypted with RC4 of 40 bits.
func (d *writer) bytes() []byte {
	var out bytes.Buffer
	var offsets []int
	id := []byte("0123456789abcdef")
	var key []byte
	crypt := func(number int, data []byte) []byte {
		if key == nil {
			return data
		}
		sum := md5.Sum(append(bytes.Clone(key), byte(number), byte(number>>8), byte(number>>16), 0, 0))
		c, _ := rc4.NewCipher(sum[:10])
		to := make([]byte, len(data))
		c.XORKeyStream(to, data)
		return to
	}
	object := func(body string) int {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
		return len(offsets)
	}
	stream := func(entries string, data []byte) int {
		n := len(offsets) + 1
		return object(fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), crypt(n, data)))
	}
	out.WriteString("%PDF-1.4\n")
	encrypt := ""
	if d.password != "" {
		padded := append([]byte(d.password), padding...)[:32]
		sum := md5.Sum(padded)
		owner := rc4Of(sum[:5], padded)
		permissions := make([]byte, 4)
		binary.LittleEndian.PutUint32(permissions, 0xFFFFFFFC)
		k := md5.Sum(append(append(append(bytes.Clone(padded), owner...), permissions...), id...))
		n := object(fmt.Sprintf("<< /Filter /Standard /V 1 /R 2 /O <%X> /U <%X> /P -4 >>", owner, rc4Of(k[:5], padding)))
		key = k[:5]
		encrypt = fmt.Sprintf("/Encrypt %d 0 R", n)
	}
	fonts := ""
	for i, name := range []string{"Helvetica", "Helvetica-Bold", "Courier", "Times-Roman"} {
		n := object("<< /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /BaseFont /" + name + " >>")
		fonts += fmt.Sprintf("/F%d %d 0 R ", i+1, n)
	}
	var kids []string
	parent := len(offsets) + 1
	for _, p := range d.pages {
		parent += 2 + len(p.images) + len(p.links)
	}
	for _, p := range d.pages {
		images, links := "", ""
		for i, img := range p.images {
			n := stream(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray "+
				"/BitsPerComponent 8", img.w, img.h), img.grey)
			images += fmt.Sprintf("/I%d %d 0 R ", i+1, n)
		}
		for _, l := range p.links {
			links += fmt.Sprintf("%d 0 R ", object(l))
		}
		content := stream("", p.content.Bytes())
		kids = append(kids, fmt.Sprintf("%d 0 R", object(fmt.Sprintf(
			"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %g %g] /Rotate %d /Contents %d 0 R /Annots [%s] "+
				"/Resources << /Font << %s>> /XObject << %s>> >> >>",
			parent, p.w, p.h, p.rotate, content, links, fonts, images))))
	}
	object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(kids), strings.Join(kids, " ")))
	root := object(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", parent))
	info := object(fmt.Sprintf("<< /Title <%X> >>", crypt(len(offsets)+1, []byte(d.title))))
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R /ID [<%X> <%X>] %s >>\nstartxref\n%d\n%%%%EOF\n",
		len(offsets)+1, root, info, id, id, encrypt, xref)
	return out.Bytes()
}

func rc4Of(key, data []byte) []byte {
	c, _ := rc4.NewCipher(key)
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// source returns a file as a source with the usual limits.
func source(data []byte) document.Source {
	return document.Source{
		Data: bytes.NewReader(data), Size: int64(len(data)), OCR: document.OCRAuto, Limits: document.DefaultLimits(),
	}
}

func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
