package media

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// readImage shows pictures to the model of the client, reads the text in them, and asks
// providers about them.
type readImage struct{ studio }

type readImageArgs struct {
	Path    string   `json:"path,omitempty" jsonschema:"file to read" alias:"file_path,image,image_path,file,media_id,imagePath" list:"paths"`
	Paths   []string `json:"paths,omitempty" hidden:"true" alias:"images,files" maxitems:"8" jsonschema:"several files"`
	URL     string   `json:"url,omitempty" jsonschema:"URL in place of path" alias:"image_url,imageUrl" maxlen:"8192"`
	Prompt  string   `json:"prompt,omitempty" jsonschema:"question for a model of the server" alias:"question"`
	Text    bool     `json:"text,omitempty" jsonschema:"return its text (OCR)" alias:"ocr"`
	MaxSize int      `json:"max_size,omitempty" hidden:"true" jsonschema:"pixels of the longer side, default 1568" alias:"max_side,maxSize"`
	Model   string   `json:"model,omitempty" hidden:"true" jsonschema:"PROVIDER/MODEL that answers the prompt" alias:"provider"`
}

func (readImage) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_image", Group: groupRead, Title: "Read image", Risk: tool.Reads,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true}, Timeout: readTimeout,
		Doc:  `Shows you a picture: PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, AVIF, SVG.`,
		Also: []string{"image", "image_info", "image_analyze", "tool::image_analyze", "view_image", "analyze_image"},
		Bare: "path",
		Keywords: "picture photo screenshot image view look see show describe analyse analyze vision ocr text " +
			"recognition scan png jpeg heic svg",
	}
}

// Limits of one call.
const (
	minSide    = 16
	maxSide    = 4096
	maxOCRSide = 4096
	maxShown   = 8 // pictures
)

func (a readImageArgs) normalized() (readImageArgs, error) {
	if len(a.Paths) == 0 || a.Path != "" || a.URL != "" {
		one, err := normalized("read_image", a.Path, a.URL)
		if err != nil {
			return a, err
		}
		a.Paths = append([]string{one}, a.Paths...)
	}
	if len(a.Paths) > maxShown {
		return a, tool.Errorf(tool.Invalid, "there are %d pictures, the maximum is %d", len(a.Paths), maxShown).
			Try("read some of them first")
	}
	a.MaxSize = cmp.Or(a.MaxSize, picture.MaxSide)
	if a.MaxSize < minSide || a.MaxSize > maxSide {
		return a, tool.Errorf(tool.Invalid, "max_size is %d, it must be from %d to %d", a.MaxSize, minSide, maxSide).
			Try("leave it out")
	}
	return a, nil
}

func (t readImage) Prepare(_ context.Context, a readImageArgs) (tool.Plan, error) {
	a, err := a.normalized()
	if err != nil {
		return tool.Plan{}, err
	}
	plan := tool.Plan{Run: func(ctx context.Context) (tool.Result, error) { return t.read(ctx, a) }}
	if a.Prompt != "" && t.Providers.Can(wire.Description) {
		plan.Ask = t.Providers.Ask(wire.DescriptionRequest{To: wire.To{Model: a.Model}, Prompt: a.Prompt})
	}
	return plan, nil
}

// read reads the pictures of a call. With several of them, it fails only if none can be
// read.
func (t readImage) read(ctx context.Context, a readImageArgs) (tool.Result, error) {
	var all tool.Result
	var files []wire.File
	var failed error
	for _, name := range a.Paths {
		seen, err := t.see(ctx, name, a)
		if err != nil && (len(a.Paths) == 1 || ctx.Err() != nil) {
			return tool.Result{}, err
		}
		if err != nil {
			failed = err
			all = all.Add(tool.Part{Text: fmt.Sprintf("[%q: %s]", name, tool.AsError(err))})
			continue
		}
		all = all.Add(seen.parts...)
		if seen.picture.Data != nil {
			files = append(files, wire.File{Name: seen.name, MIME: seen.picture.MIME, Data: seen.picture.Data})
		}
	}
	if len(files) == 0 && failed != nil {
		return tool.Result{}, failed
	}
	if a.Prompt == "" || len(files) == 0 {
		return all, nil
	}
	if !t.Providers.Can(wire.Description) {
		return all.Add(tool.Part{Text: "[no provider is set up that answers prompts: answer it yourself]"}), nil
	}
	answer, err := t.ask(ctx, a.Model, a.Prompt, files...)
	return tool.Text(answer), err
}

// A sight is the view of a call on one picture.
type sight struct {
	name    string
	picture picture.Picture // without data if it cannot be shown
	parts   []tool.Part
}

// see reads one picture.
func (t readImage) see(ctx context.Context, name string, a readImageArgs) (sight, error) {
	src, err := t.open(ctx, name, maxPicture)
	if err != nil {
		return sight{}, err
	}
	defer func() { src.close() }()
	drawn, err := t.decodable(ctx, src)
	if err != nil {
		return sight{}, err
	}
	s := sight{name: src.base()}
	if drawn.source != "" {
		s.parts = append(s.parts, tool.Part{Text: src.quote("source", text.Clip(drawn.source, maxSVG))})
	}
	if drawn.at == nil {
		s.parts = append(s.parts, tool.Part{Text: "[" + src.name + ": " + drawn.note + "]"})
		return s, nil
	}
	if s.picture, err = t.load(ctx, src, drawn, a.MaxSize); err != nil {
		return s, err
	}
	facts := describe(s.picture, drawn, src.size)
	if a.Text {
		found, err := t.recognize(ctx, src, drawn)
		if err != nil {
			return s, err
		}
		if found == "" {
			found = "[there is no text that can be recognized]"
		} else {
			found = src.quote("text in the picture", found)
		}
		s.parts = append(s.parts, tool.Part{Text: fmt.Sprintf("[%s: %s]\n%s", src.name, facts, found)})
		return s, nil
	}
	s.parts = append(s.parts, tool.Part{Text: fmt.Sprintf("[%s: %s]", src.name, facts)},
		tool.Part{Data: s.picture.Data, MIME: s.picture.MIME})
	return s, nil
}

// load decodes and scales a picture.
func (s studio) load(ctx context.Context, src *source, d drawn, side int) (picture.Picture, error) {
	select {
	case s.images <- struct{}{}:
	case <-ctx.Done():
		return picture.Picture{}, context.Cause(ctx)
	}
	defer func() { <-s.images }()
	p, err := picture.Scaled(ctx, d.at, d.size, side)
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return p, context.Cause(ctx)
	case errors.Is(err, picture.ErrTooLarge):
		return p, tool.Errorf(tool.TooLarge, "%q cannot be shown: %w", src.name, err).
			Try("scale it down with a command first")
	case errors.Is(err, picture.ErrFormat):
		return p, tool.Errorf(tool.Invalid, "%q is not a picture of a known format", src.name).
			Try("read it with read_file or read_document")
	}
	return p, tool.Errorf(tool.Invalid, "%q is damaged: it cannot be decoded", src.name).Because(err).
		Try("get the picture again, or another one")
}

// describe describes the picture that the model sees, and how it differs from the file.
func describe(p picture.Picture, d drawn, size int64) string {
	from := p.FromFormat
	if d.format != "" {
		from = d.format
	}
	facts := fmt.Sprintf("%dx%d %s", p.Width, p.Height, p.Format)
	switch {
	case p.Width*p.Height != p.FromWidth*p.FromHeight:
		facts += fmt.Sprintf(", scaled from %dx%d %s", p.FromWidth, p.FromHeight, from)
	case p.Format != from:
		facts += ", converted from " + from
	}
	return facts + ", " + text.Bytes(size)
}

// recognize returns the text in a picture.
func (s studio) recognize(ctx context.Context, src *source, d drawn) (string, error) {
	if err := s.needs("tesseract", "tesseract-ocr"); err != nil {
		return "", err
	}
	p, err := s.load(ctx, src, d, maxOCRSide)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = s.run(ctx, &out, job{
		argv:  []string{"tesseract", "stdin", "stdout", "-l", strings.Join(s.Languages, "+")},
		stdin: bytes.NewReader(p.Data),
		env:   []string{"OMP_THREAD_LIMIT=1"},
	})
	if err != nil {
		return "", explain(src.name, err)
	}
	found, _ := tool.Clean(out.String())
	return strings.TrimSpace(found), nil
}
