package media

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// runner returns what runs programs. It is shared, because it tests once what works here.
var runner = sync.OnceValue(func() *program.Runner {
	return &program.Runner{Tiers: sandbox.NewTiers(&kernel.Launcher{}, &host.Launcher{})}
})

// A room is a studio with a workspace.
type room struct {
	studio
	t   *testing.T
	ctx context.Context
	dir string
}

func newRoom(t *testing.T) *room {
	t.Helper()
	w, ctx, dir := workspacetest.New(t)
	o := Options{
		Files: w, Client: pages{}, Marks: tool.NewMarks(), Programs: runner(), Languages: []string{"eng"},
		Made:    generated.Files{Workspace: w, Now: time.Now},
		Scratch: filepath.Join(workspacetest.Dir(t), "scratch"),
	}
	r := &room{newStudio(o), t, ctx, dir}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(o.Scratch); len(left) > 0 {
			t.Errorf("there are files in the scratch directory: %v", left)
		}
	})
	return r
}

// write writes a file of the workspace.
func (r *room) write(name string, content []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// make makes a file of the workspace with a program, which gets its path after args.
func (r *room) make(name, program string, args ...string) {
	r.t.Helper()
	cmd := exec.Command(needtest.Program(r.t, program), append(args, filepath.Join(r.dir, name))...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// call calls a tool with arguments in JSON.
func (r *room) call(t tool.Tool, args map[string]any) (tool.Result, error) {
	r.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		r.t.Fatal(err)
	}
	call, err := t.Bind(raw, tool.DefaultLimits())
	if err != nil {
		return tool.Result{}, err
	}
	return call.Run(r.ctx)
}

// must is call for calls that succeed.
func (r *room) must(t tool.Tool, args map[string]any) tool.Result {
	r.t.Helper()
	res, err := r.call(t, args)
	if err != nil {
		r.t.Fatalf("%v: %v", args, err)
	}
	return res
}

// pictures returns the pictures of a result.
func pictures(t *testing.T, res tool.Result) (all []image.Image) {
	t.Helper()
	for _, p := range res.Parts {
		if p.Data != nil && strings.HasPrefix(p.MIME, "image/") {
			m, _, err := image.Decode(bytes.NewReader(p.Data))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all
}

// pages are an outbound.Client with what it finds.
type pages map[string][]byte

func (p pages) Do(_ context.Context, r outbound.Request) (*outbound.Answer, error) {
	content, found := p[r.URL]
	if !found {
		return &outbound.Answer{Status: http.StatusNotFound, URL: r.URL, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
	return &outbound.Answer{
		Status: http.StatusOK, URL: r.URL, Length: -1,
		Body: io.NopCloser(io.MultiReader(bytes.NewReader(content[:min(int64(len(content)), r.MaxBytes)]),
			end(int64(len(content)) > r.MaxBytes))),
	}, nil
}

func (pages) Check(context.Context, outbound.Request) error { return nil }

// end is the end of a body: an error if it is too long.
type end bool

func (e end) Read([]byte) (int, error) {
	if e {
		return 0, outbound.ErrTooLong
	}
	return 0, io.EOF
}

func pngOf(t testing.TB, w, h int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := 0; i < len(m.Pix); i += 4 {
		copy(m.Pix[i:], []byte{byte(i), byte(i / m.Stride), 99, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFilesToRead(t *testing.T) {
	r := newRoom(t)
	content := pngOf(t, 30, 20)
	r.write("a.png", content)
	r.Client = pages{"https://example.org/b.png?x=1": content, "https://example.org/big": make([]byte, maxPicture+1)}
	saved, err := r.Made.Save(r.ctx, "made", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	read := tool.Prepared(readImage{r.studio})
	for _, args := range []map[string]any{
		{"path": "a.png"}, {"file_path": "a.png"}, {"image": "a.png"}, {"path": []string{"a.png"}},
		{"path": filepath.Join(r.dir, "a.png")}, {"path": saved.URI}, {"media_id": saved.URI}, {"path": saved.Path},
		{"url": "https://example.org/b.png?x=1"}, {"path": "https://example.org/b.png?x=1"},
		{"image_url": "https://example.org/b.png?x=1"},
	} {
		all := pictures(t, r.must(read, args))
		if len(all) != 1 || all[0].Bounds().Dx() != 30 {
			t.Errorf("%v: %d pictures", args, len(all))
		}
	}
	for _, tt := range []struct {
		args map[string]any
		kind tool.Kind
		want string
	}{
		{map[string]any{}, tool.Invalid, `"path" is missing`},
		{map[string]any{"path": "a.png", "url": "https://example.org/b.png"}, tool.Invalid, "a path and a url"},
		{map[string]any{"path": "none.png"}, tool.NotFound, "none.png"},
		{map[string]any{"path": "../none.png"}, tool.Refused, "outside the workspace"},
		{map[string]any{"path": "generated:///../a.png"}, tool.NotFound, "is not a generated file"},
		{map[string]any{"url": "https://example.org/none"}, tool.Unavailable, "404 Not Found"},
		{map[string]any{"url": "https://example.org/big"}, tool.TooLarge, "the maximum is 67 MB"},
		{map[string]any{"path": "file:///etc/passwd"}, "", ""},
	} {
		res, err := r.call(read, tt.args)
		if known := tool.AsError(err); known == nil || tt.kind != "" && known.Kind != tt.kind ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %s, %v; want %s", tt.args, res.Text(), err, tt.kind)
		}
	}
}

func TestUnusable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := strings.Join(Options{}.Unusable(), " "); got != "read_video read_audio tts" {
		t.Errorf("without programs %q are not listed", got)
	}
	o := Options{Transcribe: []string{"whisper-cli"}, Speak: []string{"piper"}}
	if got := strings.Join(o.Unusable(), " "); got != "read_video" {
		t.Errorf("with programs of the operator %q are not listed", got)
	}
	r := newRoom(t)
	r.write("a.mp4", []byte("\x00\x00\x00\x18ftypisom"))
	_, err := r.call(tool.Prepared(readVideo{r.studio}), map[string]any{"path": "a.mp4"})
	if err == nil || !strings.Contains(err.Error(), "apt install ffmpeg") {
		t.Error(err)
	}
}
