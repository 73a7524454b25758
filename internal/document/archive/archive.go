// Package archive lists ZIP and TAR files and opens their members. It writes nothing under the
// names that an archive has, and does not read the members. Begin with ReadZIP and OpenZIP.
package archive

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// maxMembers is the maximum number of members that are listed or searched.
const maxMembers = 100_000

// ReadZIP lists a ZIP file.
func ReadZIP(_ context.Context, src document.Source) (*document.Document, error) {
	z, err := openZIP(src)
	if err != nil {
		return nil, err
	}
	l := listing{}
	for _, f := range z.File {
		if !f.FileInfo().IsDir() {
			l.add(f.Name, int64(min(f.UncompressedSize64, 1<<62)))
		}
	}
	return l.document(), nil
}

// OpenZIP opens a member of a ZIP file.
func OpenZIP(ctx context.Context, src document.Source, name string) (document.Source, error) {
	z, err := openZIP(src)
	if err != nil {
		return document.Source{}, err
	}
	for _, f := range z.File {
		if f.FileInfo().IsDir() || clean(f.Name) != clean(name) {
			continue
		}
		if f.Flags&1 != 0 {
			return document.Source{}, document.Errorf(document.ErrPassword,
				"%q is encrypted, and passwords of ZIP files are not supported; unpack it with a command", name)
		}
		r, err := f.Open()
		if errors.Is(err, zip.ErrAlgorithm) {
			return document.Source{}, document.Errorf(document.ErrNoReader,
				"%q is compressed with method %d, which is not supported; unpack it with a command", name, f.Method)
		}
		if err != nil {
			return document.Source{}, document.Errorf(document.ErrBroken, "the archive is damaged: %v", err)
		}
		defer r.Close()
		return source(ctx, r, name, int64(min(f.CompressedSize64, 1<<50)), src)
	}
	return document.Source{}, noMember(src, name)
}

func openZIP(src document.Source) (*zip.Reader, error) {
	z, err := zip.NewReader(src.Data, src.Size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, document.Errorf(document.ErrBroken, "the archive is damaged: %v", err)
	}
	return z, nil
}

// ReadTAR lists a TAR file.
func ReadTAR(ctx context.Context, src document.Source) (*document.Document, error) {
	l := listing{}
	err := eachTAR(ctx, src, func(h *tar.Header, _ io.Reader) bool {
		l.add(h.Name, h.Size)
		return l.count <= maxMembers
	})
	if err != nil {
		return nil, err
	}
	return l.document(), nil
}

// OpenTAR opens a member of a TAR file.
func OpenTAR(ctx context.Context, src document.Source, name string) (found document.Source, err error) {
	var failed error
	err = eachTAR(ctx, src, func(h *tar.Header, r io.Reader) bool {
		if clean(h.Name) != clean(name) {
			return true
		}
		found, failed = source(ctx, r, name, -1, src)
		return false
	})
	if err = errors.Join(err, failed); err == nil && found.Data == nil {
		err = noMember(src, name)
	}
	return found, err
}

// eachTAR calls f for every regular file until f returns false.
func eachTAR(ctx context.Context, src document.Source, f func(*tar.Header, io.Reader) bool) error {
	r := tar.NewReader(src.Reader())
	for {
		h, err := r.Next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return document.Errorf(document.ErrBroken, "the archive is damaged: %v", err)
		}
		if h.Typeflag == tar.TypeReg && !f(h, r) {
			return nil
		}
	}
}

// source unpacks a member.
func source(
	ctx context.Context, r io.Reader, name string, packed int64, from document.Source,
) (document.Source, error) {
	file, size, err := document.Unpack(ctx, r, packed, from.Limits)
	if err != nil {
		return document.Source{}, err
	}
	return document.Source{Name: path.Base(clean(name)), Data: file, Size: size}, nil
}

func noMember(src document.Source, name string) error {
	return document.Errorf(document.ErrNoMember, "%q has no member %q; read it without !/ to see its members",
		path.Base(src.Name), name)
}

// clean returns the name of a member as it is listed: relative, without .. and control characters.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(name, `\`, "/"), "\ufffd"))
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// A listing collects members.
type listing struct {
	members []document.Member
	count   int
	size    int64
}

func (l *listing) add(name string, size int64) {
	if l.count++; l.count <= maxMembers {
		l.members = append(l.members, document.Member{Name: clean(name), Size: size})
	}
	l.size += min(size, 1<<50)
}

func (l *listing) document() *document.Document {
	d := &document.Document{Members: l.members}
	d.Notes = append(d.Notes, fmt.Sprintf("%s, %s unpacked; one of them is read as ARCHIVE!/MEMBER",
		text.Plural(min(l.count, maxMembers), "member"), text.Bytes(l.size)))
	if l.count > maxMembers {
		d.Notes = append(d.Notes, fmt.Sprintf("only the first %d members are listed", maxMembers))
	}
	if l.count == 0 {
		d.Notes = []string{"the archive is empty"}
	}
	return d
}
