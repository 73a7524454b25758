package plugins

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of a plugin.
const (
	maxFiles   = 2000
	maxBytes   = 64 << 20 // of all files
	maxArchive = 64 << 20 // of an archive, compressed
)

// A tree is all files of a plugin, by their paths with slashes.
type tree map[string]file

type file struct {
	content []byte
	program bool // it may be run
}

// readTree reads a directory or an archive.
func readTree(at string) (tree, error) {
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return readDir(at)
	case !info.Mode().IsRegular() || info.Size() > maxArchive:
		return nil, fmt.Errorf("it is neither a directory nor an archive of at most %d bytes", maxArchive)
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	packed, err := io.ReadAll(io.LimitReader(f, maxArchive))
	if err != nil {
		return nil, err
	}
	c := newCollector()
	if isZip(at) {
		err = c.readZip(packed)
	} else {
		err = c.readTar(packed)
	}
	if err != nil {
		return nil, err
	}
	return c.tree.withoutTop(), nil
}

// IsArchive reports whether a file has the name of an archive.
func IsArchive(name string) bool {
	return isZip(name) || strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

func isZip(name string) bool { return strings.HasSuffix(name, ".zip") }

// readDir reads a directory. Links are refused: their targets could change unnoticed.
func readDir(dir string) (tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := newCollector()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git" || e.Name() == ".DS_Store":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is a link or a special file; a plugin has only files", name)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return c.add(name, f, info.Mode())
	})
	return c.tree, err
}

// A collector makes a tree of files that come one by one.
type collector struct {
	tree  tree
	names map[string]bool // in lower case: true for a file, false for a directory
	left  int64           // bytes
}

func newCollector() *collector {
	return &collector{tree: tree{}, names: map[string]bool{}, left: maxBytes}
}

// add reads a file. It does not trust the size that an archive states.
func (c *collector) add(name string, from io.Reader, mode fs.FileMode) error {
	name = strings.TrimPrefix(name, "./")
	switch {
	case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00") || !filepath.IsLocal(name):
		return fmt.Errorf("%q is not the path of a file in a plugin", name)
	case !mode.IsRegular():
		return fmt.Errorf("%s is a link or a special file; a plugin has only files", name)
	case len(c.tree) >= maxFiles:
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	folded := strings.ToLower(name)
	if _, taken := c.names[folded]; taken {
		return fmt.Errorf("%s is there twice", name)
	}
	c.names[folded] = true
	for dir := path.Dir(folded); dir != "."; dir = path.Dir(dir) {
		if c.names[dir] {
			return fmt.Errorf("%s is in a directory that is a file too", name)
		}
		c.names[dir] = false
	}
	content, err := io.ReadAll(io.LimitReader(from, c.left+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if c.left -= int64(len(content)); c.left < 0 {
		return fmt.Errorf("its files have more than %d bytes", maxBytes)
	}
	c.tree[name] = file{content: content, program: mode&0o111 != 0}
	return nil
}

func (c *collector) readZip(packed []byte) error {
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return fmt.Errorf("it is no ZIP archive: %w", err)
	}
	for _, entry := range z.File {
		if entry.Mode().IsDir() {
			continue
		}
		f, err := entry.Open()
		if err != nil {
			return fmt.Errorf("reading %q: %w", entry.Name, err)
		}
		err = c.add(entry.Name, f, entry.Mode())
		_ = f.Close() // everything was read, or its error counts
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) readTar(packed []byte) error {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("it is no archive in the format tar.gz: %w", err)
	}
	// Bytes between the files count too, so that no archive unpacks without end.
	from := tar.NewReader(io.LimitReader(unpacked, maxBytes+maxFiles*4<<10))
	for {
		entry, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		mode := entry.FileInfo().Mode()
		switch entry.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeLink:
			mode |= fs.ModeIrregular
		}
		if err := c.add(entry.Name, from, mode); err != nil {
			return err
		}
	}
}

// withoutTop removes the directory that has everything, as in archives of a repository.
func (t tree) withoutTop() tree {
	if _, ok := t[ManifestFile]; ok {
		return t
	}
	inner, top := tree{}, ""
	for name, f := range t {
		dir, rest, found := strings.Cut(name, "/")
		if !found || top != "" && dir != top {
			return t
		}
		inner[rest], top = f, dir
	}
	return inner
}

// hashes returns a hash for each file. It covers the possible uses of the file.
func (t tree) hashes() map[string]string {
	all := make(map[string]string, len(t))
	for name, f := range t {
		sum := sha256.Sum256(f.content)
		all[name] = hex.EncodeToString(sum[:])
		if f.program {
			all[name] += " program"
		}
	}
	return all
}

// digestOfTree identifies files by their hashes.
func digestOfTree(hashes map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(h, "%q %s\n", name, hashes[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// diff returns one line for each file that differs.
func diff(before, now map[string]string) []string {
	var lines []string
	for name, hash := range now {
		was, known := before[name]
		switch {
		case !known:
			lines = append(lines, "added    "+name)
		case was != hash:
			lines = append(lines, "changed  "+name)
		}
	}
	for name := range before {
		if _, still := now[name]; !still {
			lines = append(lines, "removed  "+name)
		}
	}
	slices.Sort(lines)
	return lines
}

// write makes a directory of the tree. It must not exist yet.
func (t tree) write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if t[name].program {
			mode = 0o755
		}
		if err := root.WriteFile(filepath.FromSlash(name), t[name].content, mode); err != nil {
			return err
		}
	}
	return nil
}
