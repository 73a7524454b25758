package media

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
)

// maxSVG is how much of the source of an SVG file is returned, in bytes.
const maxSVG = 8 << 10

// A drawn is a picture in a format that package picture decodes.
type drawn struct {
	at     io.ReaderAt // nil if it cannot be shown
	size   int64
	format string // of the file, if it was converted
	source string // of an SVG file
	note   string // why it is not shown
}

// decodable returns a picture as it is, or converted by a program.
func (s studio) decodable(ctx context.Context, src *source) (drawn, error) {
	head, err := src.head()
	if err != nil {
		return drawn{}, err
	}
	switch {
	case picture.Shows(head):
		return drawn{at: src.at, size: src.size}, nil
	case isHEIF(head):
		return s.heif(ctx, src, head)
	case isSVG(head):
		return s.svg(ctx, src)
	}
	return drawn{}, notPicture(src, head)
}

// notPicture returns the error for a file of another kind.
func notPicture(src *source, head []byte) error {
	err := tool.Errorf(tool.Invalid, "%q is not a picture of a known format", src.name)
	kind := generated.TypeOf(head)
	switch class, _, _ := strings.Cut(kind.MIME, "/"); class {
	case "video":
		return err.Try("read it with read_video")
	case "audio":
		return err.Try("read it with read_audio")
	}
	return err.Try("read it with read_file or read_document")
}

// isHEIF reports whether a file is a container of pictures in HEVC or AV1.
func isHEIF(head []byte) bool {
	if len(head) < 12 || string(head[4:8]) != "ftyp" {
		return false
	}
	switch string(head[8:12]) {
	case "heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1", "avif", "avis":
		return true
	}
	return false
}

func isAVIF(head []byte) bool { return bytes.Contains(head[:min(len(head), 64)], []byte("avi")) }

// heif converts HEIC and AVIF to PNG, upright.
func (s studio) heif(ctx context.Context, src *source, head []byte) (drawn, error) {
	format := "HEIC"
	if isAVIF(head) {
		format = "AVIF"
	}
	file, err := src.file()
	if err != nil {
		return drawn{}, err
	}
	p := job{files: []string{file}}
	switch {
	case has("heif-convert"):
		// It writes to files only, and several if the file has several pictures.
		p.argv = []string{"sh", "-c",
			`cd "$TMPDIR" && heif-convert "$1" p.png >&2 && for f in p*.png; do exec cat "$f"; done`,
			"sh", file}
	case format == "AVIF" && has("ffmpeg"):
		p.argv = append(ffmpeg(file), "-frames:v", "1", "-f", "image2pipe", "-c:v", "png", "pipe:1")
	default:
		return drawn{}, s.needs("heif-convert", "libheif-examples")
	}
	var out bytes.Buffer
	if err := s.run(ctx, &out, p); err != nil {
		return drawn{}, explain(src.name, err)
	}
	return drawn{at: bytes.NewReader(out.Bytes()), size: int64(out.Len()), format: format}, nil
}

func isSVG(head []byte) bool {
	start := strings.TrimSpace(string(head))
	return strings.HasPrefix(start, "<") && strings.Contains(start, "<svg")
}

// svg returns the source of an SVG file, and a picture of it if a program can draw it.
func (s studio) svg(ctx context.Context, src *source) (drawn, error) {
	source, err := src.content(maxDrawing)
	if err != nil {
		return drawn{}, err
	}
	d := drawn{format: "SVG", source: string(source)}
	image, err := s.rasterize(ctx, source)
	if err != nil {
		if ctx.Err() != nil {
			return drawn{}, context.Cause(ctx)
		}
		d.note = "SVG, not shown as a picture: " + tool.AsError(err).What
		return d, nil
	}
	d.at, d.size = bytes.NewReader(image), int64(len(image))
	return d, nil
}
