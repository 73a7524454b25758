package generated_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
)

func newFiles(t *testing.T) (generated.Files, context.Context, string) {
	w, ctx, dir := workspacetest.New(t)
	return generated.Files{
		Workspace: w,
		Scrub:     func(text string) string { return strings.ReplaceAll(text, "sk-secret", "[redacted]") },
		Now:       func() time.Time { return time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC) },
	}, ctx, dir
}

func picture(t *testing.T, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNamesComeFromTitleAndContent(t *testing.T) {
	f, ctx, dir := newFiles(t)
	tests := []struct {
		title, content, want, mime string
	}{
		{"A red fox, at night!", picture(t, 3, 3), "a-red-fox-at-night.png", "image/png"},
		{"A red fox, at night!", picture(t, 3, 3), "a-red-fox-at-night-2.png", "image/png"},
		{"../../etc/passwd", picture(t, 3, 3), "etc-passwd.png", "image/png"},
		{"key sk-secret", picture(t, 3, 3), "key-redacted.png", "image/png"},
		{"Grüße 東京", "\xFF\xFBtone", "grüße-東京.mp3", "audio/mpeg"},
		{"", "ID3 tone", "audio.mp3", "audio/mpeg"},
		{"…", "RIFF\x00\x00\x00\x00WAVEfmt ", "audio.wav", "audio/wav"},
		{"a clip", "\x00\x00\x00\x18ftypisom", "a-clip.mp4", "video/mp4"},
		{"bars", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "bars.svg", "image/svg+xml"},
		{"page.html", "<!DOCTYPE html><script>1</script>", "page-html.txt", "text/plain"},
		{strings.Repeat("long ", 100), "OggS\x00", strings.Repeat("long-", 12)[:59] + ".ogg", "audio/ogg"},
		{"id_rsa", "%PDF-1.7", "id-rsa.pdf", "application/pdf"},
		{"?", "\x00\x01\x02", "file.bin", "application/octet-stream"},
	}
	for _, tt := range tests {
		saved, err := f.Save(ctx, tt.title, strings.NewReader(tt.content))
		if err != nil {
			t.Errorf("%q: %v", tt.title, err)
			continue
		}
		want := "generated/2026-01-31/" + tt.want
		if saved.Path != want || saved.MIME != tt.mime || saved.Size != int64(len(tt.content)) {
			t.Errorf("%q: saved as %s, %s, %d bytes; want %s, %s", tt.title, saved.Path, saved.MIME, saved.Size, want,
				tt.mime)
		}
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(want))); string(got) != tt.content {
			t.Errorf("%s: %q, %v", want, got, err)
		}
		part, err := f.Resource(ctx, saved.URI)
		if got := part.Text + string(part.Data); err != nil || got != tt.content || part.MIME != tt.mime {
			t.Errorf("%s: the resource is %q (%s), %v", saved.URI, got, part.MIME, err)
		}
	}
}

// A denied name must not cost the content, which a provider may have charged for.
func TestDeniedNamesAreAvoided(t *testing.T) {
	w, ctx, _ := workspacetest.New(t, func(o *workspace.Options) { o.Deny = []string{"*fox*"} })
	f := generated.Files{Workspace: w, Now: time.Now}
	saved, err := f.Save(ctx, "a fox", strings.NewReader(picture(t, 1, 1)))
	if err != nil || filepath.Base(saved.Path) != "image.png" {
		t.Errorf("saved as %q, %v", saved.Path, err)
	}
}

func TestSmallFilesAreShown(t *testing.T) {
	f, ctx, _ := newFiles(t)
	tests := []struct {
		name, content string
		want          []string // of the parts after the link
	}{
		{"picture", picture(t, 40, 40), []string{"image/png"}},
		{"large picture", picture(t, 4000, 10), []string{"image/png"}},
		{"broken picture", picture(t, 40, 40)[:40], nil},
		{"sound", "ID3 tone", []string{"audio/mpeg"}},
		{"long sound", "ID3" + strings.Repeat("tone", 1<<18), nil},
		{"video", "\x00\x00\x00\x18ftypisom", nil},
		{"drawing", "<svg/>", nil},
	}
	for _, tt := range tests {
		saved, err := f.Save(ctx, tt.name, strings.NewReader(tt.content))
		if err != nil {
			t.Fatal(err)
		}
		parts := saved.Parts(ctx)
		if parts[0].URI != saved.URI || parts[0].Name != filepath.Base(saved.Path) || parts[0].Data != nil {
			t.Errorf("%s: the link is %+v", tt.name, parts[0])
		}
		if len(parts)-1 != len(tt.want) {
			t.Errorf("%s: %d parts, want %v", tt.name, len(parts), tt.want)
			continue
		}
		for i, want := range tt.want {
			if got := parts[i+1]; got.MIME != want || len(got.Data) == 0 || len(got.Data) > 1<<20 {
				t.Errorf("%s: part %d is %s with %d bytes", tt.name, i, got.MIME, len(got.Data))
			}
		}
	}
}

func TestNothingIsSavedOfFailures(t *testing.T) {
	f, ctx, dir := newFiles(t)
	broken := errors.New("the connection was reset")
	tests := []struct {
		name    string
		content io.Reader
		want    error
		kind    tool.Kind
	}{
		{"empty", strings.NewReader(""), nil, tool.Unavailable},
		{"lost at once", iotest.ErrReader(broken), broken, ""},
		{"lost later", io.MultiReader(strings.NewReader(strings.Repeat("x", 5000)), iotest.ErrReader(broken)), broken,
			""},
		{"too long", io.LimitReader(zeros{}, 201<<20), nil, tool.TooLarge},
	}
	for _, tt := range tests {
		_, err := f.Save(ctx, "fox", tt.content)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || tt.kind != "" &&
			tool.AsError(err).Kind != tt.kind {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	found, _ := filepath.Glob(filepath.Join(dir, "generated", "*", "*"))
	if len(found) > 0 {
		t.Errorf("there are files: %v", found)
	}
}

func TestResourcesAreGeneratedFiles(t *testing.T) {
	f, ctx, dir := newFiles(t)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{
		"generated:///", "generated:///../notes.txt", "generated:///%2e%2e/notes.txt", "generated:///a/../../notes.txt",
		"generated:////notes.txt", "generated:///%zz", "file:///notes.txt", "generated:///2026-01-31/none.png",
	} {
		if part, err := f.Resource(ctx, uri); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("%s: %q, %v", uri, part.Text+string(part.Data), err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
