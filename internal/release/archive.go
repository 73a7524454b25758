package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// An entry is a file in an archive.
type entry struct {
	name  string
	data  []byte
	path  string      // has the data, if data is nil
	mode  fs.FileMode // 0: 0644, or 0755 with path
	owner int         // user and group
	dir   bool
	link  string // target of a symbolic link
}

func (e entry) read() ([]byte, error) {
	if e.path != "" {
		return os.ReadFile(e.path)
	}
	return e.data, nil
}

func (e entry) perm() fs.FileMode {
	switch {
	case e.mode != 0:
		return e.mode
	case e.path != "" || e.dir:
		return 0o755
	}
	return 0o644
}

// within returns the entries below a directory.
func within(dir string, all []entry) (moved []entry) {
	for _, e := range all {
		e.name = dir + e.name
		moved = append(moved, e)
	}
	return moved
}

func sorted(all []entry) []entry {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all
}

// writeTar writes entries, sorted, all with the same time.
func writeTar(w io.Writer, date time.Time, all []entry) error {
	t := tar.NewWriter(w)
	for _, e := range sorted(all) {
		data, err := e.read()
		if err != nil {
			return err
		}
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.perm().Perm()), Size: int64(len(data)),
			ModTime: date, Uid: e.owner, Gid: e.owner,
		}
		if e.mode&fs.ModeSticky != 0 {
			head.Mode |= 0o1000
		}
		switch {
		case e.dir:
			head.Typeflag, head.Name = tar.TypeDir, strings.TrimSuffix(e.name, "/")+"/"
		case e.link != "":
			head.Typeflag, head.Linkname, head.Mode = tar.TypeSymlink, e.link, 0o777
		}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeTarGz(name string, date time.Time, all []entry) error {
	return create(name, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(z, date, all), z.Close())
	})
}

func writeZip(name string, date time.Time, all []entry) error {
	return create(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, e := range sorted(all) {
			head := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date.UTC()}
			head.SetMode(e.perm())
			data, err := e.read()
			if err != nil {
				return err
			}
			part, err := z.CreateHeader(head)
			if err != nil {
				return err
			}
			if _, err := part.Write(data); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// create writes a file with write.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// archives writes an archive for each platform, with one directory.
func (r *release) archives() error {
	for _, p := range r.programs {
		all := slices.Concat([]entry{{name: p.file(), path: p.path}}, r.docs, within("completions/", r.complete))
		write := writeZip
		if p.os != "windows" {
			write, all = writeTarGz, append(all, within("man/", r.manual)...)
		}
		if err := write(r.path(r.name(p, p.archive())), r.date, within(r.name(p, "")+"/", all)); err != nil {
			return err
		}
	}
	return nil
}

// bundles writes an MCPB bundle for each platform: hosts choose by the file, since a
// bundle names systems but no processors.
func (r *release) bundles() error {
	for _, p := range r.programs {
		node := p.os
		if node == "windows" {
			node = "win32"
		}
		manifest, err := r.fill("mcpb/manifest.json", map[string]any{"Program": p.file(), "NodeOS": node})
		if err != nil {
			return err
		}
		all := []entry{{name: "manifest.json", data: manifest}, {name: "server/" + p.file(), path: p.path}}
		all = append(all, r.docs...)
		if err := writeZip(r.path(r.name(p, ".mcpb")), r.date, all); err != nil {
			return err
		}
	}
	return nil
}
