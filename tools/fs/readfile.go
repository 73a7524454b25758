package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// readFile shows the model what is in files.
type readFile struct {
	files workspace.Files
	seen  *Seen
	// images holds a place for each image that may be decoded at a time: one
	// can take hundreds of megabytes.
	images chan struct{}
}

func newReadFile(files workspace.Files, seen *Seen) readFile {
	return readFile{files, seen, make(chan struct{}, 1)}
}

// What the bounds are is said in errors and not in the schema, which every
// conversation pays for.
type readFileArgs struct {
	Path     string   `json:"path,omitempty" jsonschema:"file" alias:"file_path,file,filename,absolute_path,target_file"`
	Paths    []string `json:"paths,omitempty" jsonschema:"or several" alias:"files,file_paths"`
	Offset   int      `json:"offset,omitempty" jsonschema:"first line; -50: the last 50" alias:"start_line,line"`
	Limit    int      `json:"limit,omitempty" jsonschema:"lines" alias:"lines,max_lines,head"`
	End      int      `json:"end_line,omitempty" jsonschema:"last line" hidden:"true"`
	Tail     int      `json:"tail,omitempty" jsonschema:"lines at the end" hidden:"true"`
	MaxBytes int      `json:"max_bytes,omitempty" jsonschema:"default 16000" alias:"max_size"`
	Encoding string   `json:"encoding,omitempty" jsonschema:"if not detected; base64: offset, limit in bytes"`
	Numbers  bool     `json:"numbers,omitempty" jsonschema:"number lines" alias:"line_numbers"`
	Anchors  bool     `json:"anchors,omitempty" jsonschema:"mark lines for edit"`
}

func (readFile) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_file", Group: group, Title: "Read file", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:  "Shows text or an image; says how to go on when cut.",
		Also: []string{"Read", "read", "file_read", "tool::file_read", "read_text_file", "read_multiple_files"}, Core: true,
		Keywords: "open view cat head tail show image picture",
	}
}

// The bounds of one answer.
const (
	maxReadFiles  = 20
	maxReadLines  = 2000 // unless more are asked for
	usualBytes    = 16_000
	maxReadBytes  = 400_000
	minReadBytes  = 200     // of each of several files
	maxReadImages = 4 << 20 // bytes of all images
)

// bounded refuses what is too much, and fills in what was not said.
func (a readFileArgs) bounded() (readFileArgs, error) {
	switch {
	case a.Path != "":
		a.Path, a.Paths = "", append([]string{a.Path}, a.Paths...)
	case len(a.Paths) == 0:
		return a, tool.Errorf(tool.Invalid, `read_file: "path" is missing`).Try(`the least is {"path":"..."}`)
	}
	if len(a.Paths) > maxReadFiles {
		return a, tool.Errorf(tool.Invalid, "there are %d files, the most is %d", len(a.Paths), maxReadFiles).Try("read some of them first")
	}
	if a.MaxBytes > maxReadBytes {
		return a, tool.Errorf(tool.Invalid, "max_bytes is %d, the most is %d", a.MaxBytes, maxReadBytes).Try("read on with offset instead")
	}
	if a.MaxBytes <= 0 {
		a.MaxBytes = usualBytes
	}
	if a.End > 0 && a.Limit == 0 {
		a.Limit = max(a.End-max(a.Offset, 1)+1, 1)
	}
	if a.Tail > 0 && a.Offset == 0 {
		a.Offset = -a.Tail
	}
	a.MaxBytes, a.Limit = max(a.MaxBytes, minReadBytes), max(a.Limit, 0)
	return a, nil
}

func (t readFile) Do(ctx context.Context, a readFileArgs) (tool.Result, error) {
	a, err := a.bounded()
	if err != nil {
		return tool.Result{}, err
	}
	if len(a.Paths) == 1 {
		return t.one(ctx, a.Paths[0], a)
	}
	return t.several(ctx, a)
}

// several shows files one after the other. What cannot be read does not keep
// the others from being read, unless none can.
func (t readFile) several(ctx context.Context, a readFileArgs) (tool.Result, error) {
	var all tool.Result
	var failed *tool.Error
	left, images, good := a.MaxBytes, 0, 0
	for i, path := range a.Paths {
		a.MaxBytes = max(left/(len(a.Paths)-i), minReadBytes)
		res, err := t.one(ctx, path, a)
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		if err != nil {
			known := tool.AsError(err)
			if failed == nil {
				failed = known
			}
			res = tool.Textf("[%q: %s]", path, known)
		} else {
			good++
		}
		for _, part := range res.Parts {
			if images += len(part.Data); images > maxReadImages && part.Data != nil {
				part = tool.Part{Text: fmt.Sprintf("[the image %s was left out: too many at once; read it alone]", path)}
			}
			left -= len(part.Text)
			all = all.Add(part)
		}
		left = max(left, 0)
	}
	if good == 0 {
		all.Failed, all.Kind = true, failed.Kind
	}
	return all, nil
}

// one shows one file.
func (t readFile) one(ctx context.Context, path string, a readFileArgs) (tool.Result, error) {
	f, err := t.files.Open(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close() // it was only read
	r, err := newReading(ctx, f, a)
	if err != nil {
		return tool.Result{}, err
	}
	caller := tool.CallerFrom(ctx)
	part := fmt.Sprint(a.Offset, a.Limit, a.MaxBytes, a.Encoding, a.Numbers, a.Anchors)
	// A tiny file costs less than the word that it is unchanged.
	if f.Size > minReadBytes && t.seen.again(caller, f.Name, r.version, part) {
		return tool.Textf("[%s is unchanged since you read this part of it (version %s); ask once more to see it again]", f.Name, r.version), nil
	}
	res, err := t.show(ctx, r)
	if err == nil {
		t.seen.showed(caller, f.Name, r.version, part)
	}
	return res, err
}

// show shows what is asked for in the way that the kind of file calls for.
func (t readFile) show(ctx context.Context, r *reading) (tool.Result, error) {
	switch {
	case strings.EqualFold(r.ask.Encoding, "base64"):
		return r.bytes()
	case r.kind.Binary():
		return t.binary(ctx, r)
	}
	return r.text(ctx)
}
