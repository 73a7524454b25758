package media

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// film makes a video of two scenes, red then blue, a second each.
func (r *room) film(name string) {
	r.t.Helper()
	r.make(name, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:s=160x90:r=10:d=1", "-f", "lavfi", "-i",
		"color=blue:s=160x90:r=10:d=1", "-f", "lavfi", "-i", "sine=d=2", "-filter_complex", "[0][1]concat=n=2[v]",
		"-map",
		"[v]", "-map", "2:a", "-c:v", "mpeg4", "-metadata", "title=Two scenes")
}

func colourAt(c color.Color) string {
	switch r, _, b, _ := c.RGBA(); {
	case r > 0xC000 && b < 0x4000:
		return "red"
	case b > 0xC000 && r < 0x4000:
		return "blue"
	}
	return fmt.Sprint(c)
}

func TestVideosAreShown(t *testing.T) {
	needtest.Program(t, "ffmpeg")
	r := newRoom(t)
	r.film("a.mp4")
	read := tool.Prepared(readVideo{r.studio})

	res := r.must(read, map[string]any{"path": "a.mp4"})
	text := res.Text()
	if !strings.Contains(text, "video mpeg4 160x90 10 frames/s") || !strings.Contains(text, "title: Two scenes") ||
		!strings.Contains(text, "audio ") || !strings.Contains(text, "0:00 0:00.2") {
		t.Errorf("%q", text)
	}
	sheet := pictures(t, res)
	if len(sheet) != 1 || sheet[0].Bounds().Dx() < 2*cellWidth {
		t.Fatalf("%d pictures", len(sheet))
	}
	if got := colourAt(sheet[0].At(cellWidth/2, cellHeight/2)); got != "red" {
		t.Errorf("the first frame is %s", got)
	}

	res = r.must(read, map[string]any{"path": "a.mp4", "frames": "scenes"})
	sheet = pictures(t, res)
	if !strings.Contains(res.Text(), "0:00 0:01]") || len(sheet) != 1 {
		t.Fatalf("%q", res.Text())
	}
	for i, want := range []string{"red", "blue"} {
		if got := colourAt(sheet[0].At(i*(cellWidth+4)+cellWidth/2, cellHeight/2)); got != want {
			t.Errorf("scene %d is %s", i, got)
		}
	}

	res = r.must(read, map[string]any{"path": "a.mp4", "at": "0.5, 0:01.5"})
	frames := pictures(t, res)
	if len(frames) != 2 || frames[0].Bounds().Dx() != 160 {
		t.Fatalf("%q", res.Text())
	}
	for i, want := range []string{"red", "blue"} {
		if got := colourAt(frames[i].At(80, 45)); got != want {
			t.Errorf("frame %d is %s", i, got)
		}
	}

	res = r.must(read, map[string]any{"path": "a.mp4", "frames": "none", "transcript": true})
	if len(pictures(t, res)) != 0 || !strings.Contains(res.Text(), "no transcript") {
		t.Errorf("%q", res.Text())
	}
	r.Transcribe = []string{"sh", "-c", `echo "$(head -c 4 "$1")"`, "sh", "{file}"}
	res = r.must(tool.Prepared(readVideo{r.studio}),
		map[string]any{"path": "a.mp4", "frames": "none", "transcript": true})
	if !strings.Contains(res.Text(), "[transcript by sh]\nRIFF") {
		t.Errorf("%q", res.Text())
	}
	for _, args := range []map[string]any{
		{"path": "a.mp4", "at": "0:30"}, {"path": "a.mp4", "at": "soon"}, {"path": "a.mp4", "at": "1,1,1,1,1,1,1"},
		{"path": "a.mp4", "frames": "all"},
	} {
		if _, err := r.call(read, args); err == nil || tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// Playlists name other files. None of them is opened, whatever the file is called.
func TestHostileVideos(t *testing.T) {
	needtest.Program(t, "ffmpeg")
	r := newRoom(t)
	r.film("other.mp4")
	other := filepath.Join(r.dir, "other.mp4")
	read := tool.Prepared(readVideo{r.studio})
	for name, content := range map[string]string{
		"hls.mp4":    "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile://" + other + "\n#EXT-X-ENDLIST\n",
		"concat.mp4": "ffconcat version 1.0\nfile '" + other + "'\n",
		"sdp.mp4":    "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
		"dash.mp4": `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>file://` + other +
			`</BaseURL></MPD>`,
		"text.mp4":   "nothing",
		"cut.mp4":    string(first(t, other, 200)),
		"subfile.ts": "subfile,,start,0,end,0,,:" + other,
	} {
		r.write(name, []byte(content))
		res, err := r.call(read, map[string]any{"path": name})
		if known := tool.AsError(err); known == nil || known.Kind != tool.Invalid {
			t.Errorf("%s: %q, %v", name, res.Text(), err)
		}
	}
	if _, err := r.call(read, map[string]any{"path": "other.mp4"}); err != nil {
		t.Error(err)
	}
}

func first(t *testing.T, path string, n int) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data[:n]
}
