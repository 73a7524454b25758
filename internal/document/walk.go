package document

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A walk goes from a file to the member that is wanted, and reads it.
type walk struct {
	formats Formats
	format  Format // of the text that was read
}

// maxNesting is the maximum number of archives within archives.
const maxNesting = 8

// read reads the member of src that members lead to, src itself if there are none.
func (w *walk) read(ctx context.Context, src Source, members []string) (*Document, error) {
	if len(members) > maxNesting {
		return nil, Errorf(ErrTooBig, "the path leads through %d archives, the maximum is %d", len(members), maxNesting)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if src, err = w.unpacked(ctx, src); err != nil {
			return nil, err
		}
		if len(members) == 0 {
			return w.readOne(ctx, src)
		}
		h := w.formats.Of(w.format)
		next, err := src, error(Errorf(ErrNoMember, "%q has no members", path.Base(src.Name)))
		if h.Open != nil {
			next, err = h.Open(ctx, src, members[0])
		}
		if errors.Is(err, ErrNoMember) && len(members) == 1 && h.Read != nil && w.format != ZIP && w.format != TAR {
			return w.picture(ctx, src, members[0], err)
		}
		if err != nil {
			return nil, err
		}
		src.Name, src.Data, src.Size = next.Name, next.Data, next.Size
		members = members[1:]
	}
}

// unpacked detects the format of src. It unpacks a file that is only compressed.
func (w *walk) unpacked(ctx context.Context, src Source) (Source, error) {
	for range maxNesting {
		var err error
		if w.format, err = w.formats.Detect(src.Data, src.Size, src.Name); err != nil {
			return src, err
		}
		var r io.Reader
		switch w.format {
		case Gzip:
			if r, err = gzip.NewReader(src.Reader()); err != nil {
				return src, Errorf(ErrBroken, "%q is not a valid gzip file", src.Name)
			}
		case Bzip2:
			r = bzip2.NewReader(src.Reader())
		default:
			return src, nil
		}
		l := src.Limits
		l.Part = l.Total / 2 // it may be an archive, and one part of it is read
		file, size, err := Unpack(ctx, r, src.Size, l)
		if err != nil {
			return src, err
		}
		src.Data, src.Size = file, size
		name := strings.TrimSuffix(src.Name, path.Ext(src.Name))
		if ext := strings.ToLower(path.Ext(src.Name)); ext == ".tgz" || ext == ".tbz2" {
			name += ".tar"
		}
		src.Name = name
	}
	return src, Errorf(ErrTooBig, "%q is compressed more than %d times", src.Name, maxNesting)
}

// Unpack writes the output of r to a temporary file without a name, within the limits of one
// part. packed is the size before, for the ratio.
func Unpack(ctx context.Context, r io.Reader, packed int64, l Limits) (*os.File, int64, error) {
	file, err := os.CreateTemp("", "part-*")
	if err != nil {
		return nil, 0, err
	}
	if err := os.Remove(file.Name()); err != nil && !errors.Is(err, os.ErrPermission) {
		return nil, 0, err // where open files keep their names, the directory is removed later
	}
	n, err := io.Copy(file, Bounded(ctx, r, packed, l))
	if err == nil {
		return file, n, nil
	}
	_ = file.Close()
	if known, ok := errors.AsType[*Error](err); ok {
		return nil, 0, known
	}
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	return nil, 0, Errorf(ErrBroken, "the archive is damaged: %v", err)
}

// Bounded returns a reader of one unpacked part that ends with an ErrTooBig beyond its limits:
// the size of a part, and its ratio to the packed size; an unknown packed size is -1.
func Bounded(ctx context.Context, r io.Reader, packed int64, l Limits) io.Reader {
	most, why := l.Part, fmt.Sprintf("a part of the file has more than %s", text.Bytes(l.Part))
	const small = 1 << 20 // so little is harmless, and often compresses well
	if byRatio := max(packed*l.Ratio, small); packed >= 0 && byRatio < most {
		most = byRatio
		why = fmt.Sprintf("a part of the file unpacks to more than %d times its size, as bombs do", l.Ratio)
	}
	return &bounded{ctx, r, most, why}
}

type bounded struct {
	ctx  context.Context
	from io.Reader
	left int64
	why  string
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, Errorf(ErrTooBig, "%s; it is not read", b.why)
	}
	return n, err
}

// readOne reads a file that is not a member.
func (w *walk) readOne(ctx context.Context, src Source) (*Document, error) {
	h := w.formats.Of(w.format)
	switch {
	case h.Read != nil:
	case w.format == Image:
		return readImage(ctx, src)
	case w.format == Sound:
		return nil, Errorf(ErrNoReader, "it is a sound file; use read_audio")
	case w.format == Video:
		return nil, Errorf(ErrNoReader, "it is a video; use read_video")
	default:
		return nil, Errorf(ErrNoReader, "it is neither text nor a document of a known format")
	}
	d, err := h.Read(ctx, src)
	if err != nil {
		return nil, err
	}
	d.Total = max(d.Total, len(d.Parts))
	d.bound(src.Limits)
	d.list()
	if src.Pictures {
		if err := d.convert(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// picture returns a picture of a document by its name. missing is the error if there is none.
func (w *walk) picture(ctx context.Context, src Source, name string, missing error) (*Document, error) {
	src.Pictures, src.Pages = true, nil
	d, err := w.formats.Of(w.format).Read(ctx, src)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range d.Pictures {
		if p.Name == name && p.Data != nil {
			d := &Document{Pictures: []Picture{p}}
			return d, d.convert(ctx)
		}
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return nil, missing
	}
	return nil, Errorf(ErrNoMember, "%q has no picture %q; it has %s", path.Base(src.Name), name,
		strings.Join(names[:min(len(names), 20)], ", "))
}

// readImage returns a file that is a picture.
func readImage(ctx context.Context, src Source) (*Document, error) {
	if src.Size > src.Limits.Pictures {
		return nil, Errorf(ErrTooBig, "the picture has more than %s", text.Bytes(src.Limits.Pictures))
	}
	data, err := io.ReadAll(src.Reader())
	if err != nil {
		return nil, err
	}
	d := &Document{Pictures: []Picture{{Name: path.Base(src.Name), Size: src.Size, Data: data}}}
	return d, d.convert(ctx)
}

// convert makes the pictures fit for models. A picture that it cannot convert loses its
// content.
func (d *Document) convert(ctx context.Context) error {
	failed := 0
	for i := range d.Pictures {
		p := &d.Pictures[i]
		if p.Data == nil {
			continue
		}
		shown, err := picture.Load(ctx, bytes.NewReader(p.Data), int64(len(p.Data)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.Data, failed = nil, failed+1
			continue
		}
		p.Data, p.Type = shown.Data, shown.MIME
	}
	if failed > 0 {
		d.Notes = append(d.Notes, text.Plural(failed, "picture")+
			" cannot be shown: the format is unknown, the file is damaged, or it is too large")
	}
	return nil
}

const maxTitle = 1000 // bytes

// bound cuts a result at its limits.
func (d *Document) bound(l Limits) {
	d.Title = text.Clip(d.Title, maxTitle)
	if len(d.Parts) > l.Parts {
		d.Parts = d.Parts[:l.Parts]
		d.Notes = append(d.Notes, fmt.Sprintf("only %d parts are read at once; ask for the others with pages", l.Parts))
	}
	left := l.Text
	for i := range d.Parts {
		p := &d.Parts[i]
		if len(p.Markdown) > left {
			p.Markdown = strings.ToValidUTF8(p.Markdown[:left], "")
			d.Parts = d.Parts[:i+1]
			d.Notes = append(d.Notes, "the text is longer than "+text.Bytes(int64(l.Text))+" and was cut")
			return
		}
		left -= len(p.Markdown)
	}
}

// list adds the list of members to the last part of the document, so that it is paged with
// the text.
func (d *Document) list() {
	if len(d.Members) == 0 || len(d.Parts) > 0 && d.Parts[len(d.Parts)-1].Number < d.Total {
		return
	}
	var b strings.Builder
	for _, m := range d.Members {
		b.WriteString("- " + strings.Join(strings.Fields(m.Name), " "))
		if m.Size >= 0 {
			b.WriteString(" (" + text.Bytes(m.Size) + ")")
		}
		b.WriteByte('\n')
	}
	d.Members = nil
	if len(d.Parts) == 0 {
		d.Parts, d.Total = []Part{{Number: 1, Markdown: b.String()}}, 1
		return
	}
	last := &d.Parts[len(d.Parts)-1]
	last.Markdown += "\n\nAttachments:\n" + b.String()
}
