// Package pack reads the zip files of office documents and books, and the XML in them.
// Everything is bounded: the bytes of a part and of all parts, how much a part may grow when it
// is unpacked, and the depth and number of elements. Names of parts are keys of a table and
// never paths on disk, and references to the outside are never followed. It does not know the
// meaning of the parts. Begin with Open.
package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// A Package is an open zip file.
type Package struct {
	ctx    context.Context
	limits document.Limits
	parts  map[string]*zip.File // by lower-case name with slashes
	total  int64                // bytes that were unpacked
}

// Open opens the zip file of a source. The end of ctx ends all reading.
func Open(ctx context.Context, src document.Source) (*Package, error) {
	z, err := zip.NewReader(src.Data, src.Size)
	if err != nil {
		return nil, document.Errorf(document.ErrBroken, "the file is damaged: it is not a complete zip file")
	}
	p := &Package{ctx: ctx, limits: src.Limits, parts: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		key := key(f.Name)
		if _, again := p.parts[key]; !again && !strings.HasSuffix(key, "/") {
			p.parts[key] = f
		}
	}
	return p, nil
}

func key(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// Has reports whether the package has a part.
func (p *Package) Has(name string) bool { return p.parts[key(name)] != nil }

// Size returns the unpacked size of a part, 0 if there is none.
func (p *Package) Size(name string) int64 {
	if f := p.parts[key(name)]; f != nil {
		return int64(f.UncompressedSize64)
	}
	return 0
}

// check returns an error if a part of this size, so far, exceeds the limits.
func (p *Package) check(f *zip.File, size int64) error {
	switch {
	case size > p.limits.Part || size < 0:
		return tooBig("its part %.60q has over %d MB", f.Name, p.limits.Part>>20)
	case size > 1<<20 && size/max(int64(f.CompressedSize64), 1) > p.limits.Ratio:
		return tooBig("its part %.60q grows to more than %d times its size", f.Name, p.limits.Ratio)
	}
	return nil
}

func tooBig(format string, args ...any) error {
	why := document.Errorf(document.ErrTooBig, format, args...).Text
	return document.Errorf(document.ErrTooBig, "the document is too large to be read: %s", why)
}

// Read returns the content of a part. A part that is missing is ErrBroken.
func (p *Package) Read(name string) ([]byte, error) {
	r, err := p.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, r); err != nil {
		return nil, p.readError(name, err)
	}
	return b.Bytes(), nil
}

func (p *Package) open(name string) (io.ReadCloser, error) {
	f := p.parts[key(name)]
	if f == nil {
		return nil, document.Errorf(document.ErrBroken, "the file is damaged: its part %.60q is missing", name)
	}
	if f.Flags&1 != 0 {
		return nil, document.Errorf(document.ErrPassword,
			"the file is encrypted in a way that cannot be read here; save it without a password")
	}
	if err := p.check(f, int64(f.UncompressedSize64)); err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, document.Errorf(document.ErrBroken, "the file is damaged: its part %.60q cannot be unpacked", name)
	}
	return &bounded{ReadCloser: r, p: p, f: f}, nil
}

// readError returns err for the model: limits and the end of the context as they are,
// everything else as a damaged file.
func (p *Package) readError(name string, err error) error {
	if kind, ok := err.(*document.Error); ok {
		return kind
	}
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	return document.Errorf(document.ErrBroken, "the file is damaged: its part %.60q cannot be unpacked", name)
}

// bounded counts the unpacked bytes.
type bounded struct {
	io.ReadCloser
	p    *Package
	f    *zip.File
	size int64
}

func (b *bounded) Read(to []byte) (int, error) {
	if err := b.p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(to)
	b.size += int64(n)
	b.p.total += int64(n)
	if b.p.total > b.p.limits.Total {
		return n, tooBig("unpacked, it has over %d MB", b.p.limits.Total>>20)
	}
	if over := b.p.check(b.f, b.size); over != nil {
		return n, over
	}
	return n, err
}

// A Relation is a link from one part to another, or to an address.
type Relation struct {
	Type     string // the last word of its type, such as image
	Target   string // name of a part, or the address
	External bool
}

// Relations returns the relations of a part by their ids. Part "" is the package itself.
// It returns none if the part has none or they are damaged.
func (p *Package) Relations(part string) map[string]Relation {
	dir, file := path.Split(part)
	name := dir + "_rels/" + file + ".rels"
	if !p.Has(name) {
		return nil
	}
	root, err := p.Tree(name)
	if err != nil {
		return nil
	}
	all := map[string]Relation{}
	for _, n := range root.All("rel:Relationship") {
		kind := n.Attr("Type")
		r := Relation{Type: kind[strings.LastIndexByte(kind, '/')+1:], Target: n.Attr("Target")}
		if r.External = n.Attr("TargetMode") == "External"; !r.External {
			r.Target = Join(dir, r.Target)
		}
		all[n.Attr("Id")] = r
	}
	return all
}

// Join returns the name of the part that target means within a directory of the package.
// It cannot name anything outside of the package.
func Join(dir, target string) string {
	if !strings.HasPrefix(target, "/") {
		target = "/" + dir + "/" + target
	}
	return strings.TrimPrefix(path.Clean("/"+target), "/")
}

// Target returns the target of the first relation of a type, or "".
func Target(relations map[string]Relation, kind string) string {
	best := ""
	for id, r := range relations {
		if r.Type == kind && !r.External && (best == "" || id < best) {
			best = id
		}
	}
	return relations[best].Target
}
