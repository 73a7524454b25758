package media

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/chart"
)

// bomb is a PNG file that claims to have 100,000 x 100,000 pixels.
func bomb() []byte {
	chunk := func(kind string, body []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		out = append(append(out, kind...), body...)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 100_000), 100_000)
	return bytes.Join([][]byte{
		[]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(size, 8, 6, 0, 0, 0)), chunk("IDAT", []byte("x\x9c")),
		chunk("IEND", nil),
	}, nil)
}

func TestPicturesAreShown(t *testing.T) {
	r := newRoom(t)
	r.write("small.png", pngOf(t, 300, 200))
	r.write("wide.png", pngOf(t, 3200, 400))
	read := tool.Prepared(readImage{r.studio})
	tests := []struct {
		args map[string]any
		w, h int
		text string
	}{
		{map[string]any{"path": "small.png"}, 300, 200, "[small.png: 300x200 PNG, "},
		{map[string]any{"path": "wide.png"}, 1568, 196, "[wide.png: 1568x196 PNG, scaled from 3200x400 PNG, "},
		{map[string]any{"path": "wide.png", "max_size": 400}, 400, 50, "[wide.png: 400x50 PNG"},
		{map[string]any{"path": "small.png", "prompt": "what is it?"}, 300, 200, "answer it yourself"},
	}
	for _, tt := range tests {
		res := r.must(read, tt.args)
		all := pictures(t, res)
		if len(all) != 1 || all[0].Bounds().Dx() != tt.w || all[0].Bounds().Dy() != tt.h {
			t.Errorf("%v: %d pictures", tt.args, len(all))
		}
		if !strings.Contains(res.Text(), tt.text) {
			t.Errorf("%v: %q", tt.args, res.Text())
		}
	}
	res := r.must(read, map[string]any{"paths": []string{"small.png", "none.png", "wide.png"}})
	if len(pictures(t, res)) != 2 || !strings.Contains(res.Text(), `["none.png": not_found:`) {
		t.Errorf("%q", res.Text())
	}
	for _, args := range []map[string]any{
		{"path": "small.png", "max_size": 5}, {"path": "small.png", "max_size": 100_000},
		{"paths": strings.Split(strings.Repeat("small.png,", 9)+"small.png", ",")},
	} {
		if _, err := r.call(read, args); err == nil || tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestHostilePictures(t *testing.T) {
	r := newRoom(t)
	whole := pngOf(t, 300, 200)
	read := tool.Prepared(readImage{r.studio})
	for _, tt := range []struct {
		name    string
		content []byte
		kind    tool.Kind
		want    string
	}{
		{"bomb.png", bomb(), tool.TooLarge, "100000 x 100000 pixels"},
		{"cut.png", whole[:len(whole)/2], tool.Invalid, "is damaged"},
		{"head.png", whole[:20], tool.Invalid, "is damaged"},
		{"empty.png", nil, tool.Invalid, "not a picture"},
		{"page.png", []byte("<!DOCTYPE html><p>no</p>"), tool.Invalid, "read_file"},
		{"clip.png", []byte("\x00\x00\x00\x18ftypisom\x00\x00"), tool.Invalid, "read_video"},
		{"song.jpg", []byte("ID3\x04\x00"), tool.Invalid, "read_audio"},
		{"fake.gif", []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), tool.TooLarge, "65535 x 65535 pixels"},
	} {
		r.write(tt.name, tt.content)
		res, err := r.call(read, map[string]any{"path": tt.name})
		if known := tool.AsError(err); known == nil || known.Kind != tt.kind ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v", tt.name, res.Text(), err)
		}
	}
}

func TestHEIFIsConverted(t *testing.T) {
	r := newRoom(t)
	needtest.Program(t, "heif-convert")
	r.write("a.png", pngOf(t, 320, 240))
	read := tool.Prepared(readImage{r.studio})
	for _, tt := range []struct{ name, format string }{{"a.heic", "HEIC"}, {"a.avif", "AVIF"}} {
		args := []string{"a.png", "-o"}
		if tt.format == "AVIF" {
			args = []string{"-A", "a.png", "-o"}
		}
		r.make(tt.name, "heif-enc", args...)
		res := r.must(read, map[string]any{"path": tt.name})
		if all := pictures(t, res); len(all) != 1 || all[0].Bounds().Dx() != 320 ||
			!strings.Contains(res.Text(), "converted from "+tt.format) {
			t.Errorf("%s: %q", tt.name, res.Text())
		}
	}
	r.write("cut.heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"))
	if _, err := r.call(read, map[string]any{"path": "cut.heic"}); tool.AsError(err).Kind != tool.Invalid {
		t.Error(err)
	}
}

func TestSVGIsTextFirst(t *testing.T) {
	r := newRoom(t)
	t.Setenv("PATH", t.TempDir()) // no program draws it
	r.write("a.svg", []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><text>Hello</text></svg>`))
	res := r.must(tool.Prepared(readImage{r.studio}), map[string]any{"path": "a.svg"})
	if text := res.Text(); !strings.Contains(text, "<text>Hello</text>") || !strings.Contains(text, "no browser") {
		t.Errorf("%q", text)
	}
}

func TestTextInPicturesIsRecognized(t *testing.T) {
	needtest.Program(t, "tesseract")
	r := newRoom(t)
	c, err := chart.Parse(chart.Bar, "Month,Sales\nJanuary,3")
	if err != nil {
		t.Fatal(err)
	}
	c.Title = "Quarterly report of the harbour"
	data, _, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	r.write("page.png", data)
	r.Client = pages{"https://example.org/page.png": data}
	read := tool.Prepared(readImage{r.studio})
	res := r.must(read, map[string]any{"path": "page.png", "text": true})
	if text := res.Text(); !strings.Contains(text, c.Title) || len(pictures(t, res)) != 0 {
		t.Errorf("%q", text)
	}
	res = r.must(read, map[string]any{"url": "https://example.org/page.png", "text": true})
	if text := res.Text(); !strings.Contains(text, c.Title) || !tool.Quoted(text) {
		t.Errorf("text from the web is not quoted: %q", text)
	}
	r.write("empty.png", pngOf(t, 20, 20))
	if text := r.must(read, map[string]any{"path": "empty.png", "text": true}).Text(); !strings.Contains(text,
		"no text") {
		t.Errorf("%q", text)
	}
}
