package backup

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// storeMember is the backup of the store within a backup of everything.
const storeMember = store.WholeMember

// Places are where the files of an installation are, beside its store. None need exist.
type Places struct {
	Data     string // the directory for files
	Vault    string // directory
	Settings string // file; custom tools and plugins are beside it
	// DataOnly is set if the settings belong to other data: a backup does not replace them.
	DataOnly bool
	// Blobs returns the large contents of a store.
	Blobs func(*store.Store) (b *blob.Blobs, closing func() error, err error)
}

// blobMember begins the names of large contents in a backup of everything.
const blobMember = "blobs/"

// addBlobs adds the large contents that are not in the backup of the store.
func (p Places) addBlobs(ctx context.Context, z *zip.Writer, s *store.Store) error {
	return p.withBlobs(s, func(b *blob.Blobs) error {
		if b.InDatabase() {
			return nil
		}
		return b.Each(ctx, func(one blob.Stored) error {
			w, err := z.CreateHeader(&zip.FileHeader{Name: blobMember + one.Name, Method: zip.Deflate})
			if err == nil {
				_, err = io.Copy(w, one.Content().Reader())
			}
			return ignoreMissing(err) // it has expired since, or was lost before
		})
	})
}

func (p Places) withBlobs(s *store.Store, use func(*blob.Blobs) error) error {
	if p.Blobs == nil {
		return nil
	}
	b, closing, err := p.Blobs(s)
	if err != nil {
		return err
	}
	return errors.Join(use(b), closing())
}

// restoreBlobs restores the large contents in a backup.
func (p Places) restoreBlobs(ctx context.Context, z *zip.Reader, s *store.Store) error {
	return p.withBlobs(s, func(b *blob.Blobs) error {
		for _, f := range z.File {
			name, ok := strings.CutPrefix(f.Name, blobMember)
			if !ok {
				continue
			}
			r, err := f.Open()
			if err == nil {
				err = errors.Join(b.Restore(ctx, name, r), r.Close())
			}
			if err != nil {
				return fmt.Errorf("restoring %s: %w", f.Name, err)
			}
		}
		return nil
	})
}

// A part is a part of a backup of everything beside the store: a file or directory, under a name in the archive.
type part struct{ name, what, path string }

// parts returns the parts of an installation. They may not exist.
func (p Places) parts() []part {
	beside := filepath.Dir(p.Settings)
	return []part{
		{"audit.key", "the key of the audit log", filepath.Join(p.Data, "audit.key")},
		{"vault", "the vault", p.Vault},
		{"files", "the history of files and the private files of callers", filepath.Join(p.Data, "files")},
		{"results", "long results of earlier versions", filepath.Join(p.Data, "results")},
		{"profiles", "the profiles of browsers", filepath.Join(p.Data, "profiles")},
		{"config.yaml", "the settings", p.Settings},
		{"tools.d", "custom tools", filepath.Join(beside, "tools.d")},
		{"plugins", "plugins", filepath.Join(beside, "plugins")},
	}
}

// derived are directories of parts that are built again, or are of running processes.
func derived(name string) bool {
	return slices.Contains([]string{"files/index", "files/locks", "files/pending"}, name)
}

// backup writes the store and all parts to one private file. A file that changes meanwhile is
// copied as it was at one moment.
func (p Places) backup(ctx context.Context, s *store.Store, to string) (m store.Manifest, err error) {
	if old, err := openAll(to); err == nil {
		_ = old.Close() // it was only read
	} else if _, missing := os.Lstat(to); !errors.Is(missing, fs.ErrNotExist) {
		return m, fmt.Errorf("%s exists and is not a backup of everything; choose another name, or move it away", to)
	}
	file, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*.part")
	if err != nil {
		return m, err
	}
	inner := file.Name() + ".store"
	defer func() {
		_ = file.Close()           // it may be closed already
		_ = os.Remove(file.Name()) // it may have its final name
		_ = os.Remove(inner)       // it may not exist
	}()
	if m, err = s.Backup(ctx, inner); err != nil {
		return m, err
	}
	z := zip.NewWriter(file)
	if err := addFile(z, storeMember, func() (*os.File, error) { return os.Open(inner) }); err != nil {
		return m, err
	}
	if err := p.addBlobs(ctx, z, s); err != nil {
		return m, fmt.Errorf("copying large contents: %w", err)
	}
	for _, one := range p.parts() {
		if err := addPart(ctx, z, one); err != nil {
			return m, fmt.Errorf("copying %s: %w", one.what, err)
		}
	}
	if err := errors.Join(z.Close(), file.Sync(), file.Close()); err != nil {
		return m, err
	}
	if err := os.Rename(file.Name(), to); err != nil {
		return m, err
	}
	return m, private.SyncDir(filepath.Dir(to))
}

// addPart adds a file, or the content of a directory. Commands of callers write to some parts: if they replace a
// file by a link meanwhile, the link leads to nothing outside the part.
func addPart(ctx context.Context, z *zip.Writer, p part) error {
	if info, err := os.Lstat(p.path); err != nil || !info.IsDir() {
		if err == nil && info.Mode().IsRegular() {
			err = addFile(z, p.name, func() (*os.File, error) { return os.Open(p.path) })
		}
		return ignoreMissing(err)
	}
	root, err := os.OpenRoot(p.path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer root.Close()
	return filepath.WalkDir(p.path, func(found string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(ignoreMissing(err), ctx.Err())
		}
		below, err := filepath.Rel(p.path, found)
		if err != nil {
			return err
		}
		name := path.Join(p.name, filepath.ToSlash(below))
		switch {
		case d.IsDir() && derived(name):
			return filepath.SkipDir
		case !d.Type().IsRegular(): // links could lead anywhere when they are restored
			return nil
		}
		return ignoreMissing(addFile(z, name, func() (*os.File, error) { return root.Open(below) }))
	})
}

// ignoreMissing returns nil for a file that was removed in between, or never existed.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func addFile(z *zip.Writer, name string, open func() (*os.File, error)) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: info.ModTime()}
	if name == storeMember {
		header.Method = zip.Store
	}
	header.SetMode(info.Mode().Perm())
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return err
}

// openAll opens a backup of everything. Other files are an error.
func openAll(name string) (*zip.ReadCloser, error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == storeMember }) {
		return nil, errors.Join(errors.New("it is a backup of the store only"), z.Close())
	}
	return z, nil
}

// besideSettings has the parts that are beside the settings file.
var besideSettings = []string{"config.yaml", "tools.d", "plugins"}

// spots reads a whole backup, and returns the destination of each member that is restored. Files that exist are an
// error without force.
func (p Places) spots(z *zip.Reader, force bool) (_ map[*zip.File]spot, err error) {
	parts := p.parts()
	places := map[*zip.File]spot{}
	for _, f := range z.File {
		if err := copyMember(io.Discard, f); err != nil {
			return nil, fmt.Errorf("the backup is damaged: %s: %w", f.Name, err)
		}
		first, _, _ := strings.Cut(f.Name, "/")
		if slices.Contains(besideSettings, first) && p.DataOnly {
			continue
		}
		if below, ok := strings.CutPrefix(f.Name, blobMember); ok {
			if !filepath.IsLocal(filepath.FromSlash(below)) {
				return nil, fmt.Errorf("the backup has %q, which is not the name of a content", f.Name)
			}
			continue
		}
		if f.Name == storeMember {
			places[f] = spot{}
			continue
		}
		if places[f], err = placeOf(parts, f.Name); err != nil {
			return nil, err
		}
		if _, err := os.Lstat(places[f].path()); err == nil && !force {
			return nil, fmt.Errorf("%s exists; --force replaces it", places[f].path())
		}
	}
	return places, nil
}

// restoreAll restores the store and all parts that have a place.
func restoreAll(
	ctx context.Context, s *store.Store, places map[*zip.File]spot, force bool,
) (m store.Manifest, err error) {
	dir, err := os.MkdirTemp("", "mcp-tools-restore-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	inner := spot{dir: dir, below: storeMember}
	for f := range places {
		if f.Name == storeMember {
			if err := inner.put(f); err != nil {
				return m, err
			}
		}
	}
	if m, err = s.Restore(ctx, inner.path(), force); err != nil {
		return m, err
	}
	for f, to := range places {
		if f.Name == storeMember {
			continue
		}
		if err := to.put(f); err != nil {
			return m, fmt.Errorf("restoring %s: %w", to.path(), err)
		}
	}
	return m, nil
}

// A spot is where a member of a backup belongs on this machine: below a directory that callers cannot replace.
type spot struct{ dir, below string }

func (s spot) path() string { return filepath.Join(s.dir, s.below) }

func placeOf(parts []part, name string) (spot, error) {
	first, below, _ := strings.Cut(name, "/")
	for _, p := range parts {
		switch below = filepath.FromSlash(below); {
		case p.name != first:
		case below == "":
			return spot{filepath.Dir(p.path), filepath.Base(p.path)}, nil
		case filepath.IsLocal(below):
			return spot{p.path, below}, nil
		}
	}
	return spot{}, fmt.Errorf("the backup has %q, which this version does not know", name)
}

func copyMember(w io.Writer, f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r) // at the end it compares the checksum
	return err
}

// put writes a member to its place, as a whole. Callers may have put links into the way: they are replaced.
func (s spot) put(f *zip.File) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := makeDirs(root, filepath.Dir(s.below)); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(s.below), ".restore-"+rand.Text()+".part")
	file, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(copyMember(file, f), file.Chmod(f.Mode().Perm()&0o700), file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(part, s.below)
	}
	if err != nil {
		_ = root.Remove(part) // the first error counts
	}
	return err
}

// makeDirs makes a directory and those above it, in place of anything else that has their names.
func makeDirs(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeDirs(root, filepath.Dir(dir)); err != nil {
		return err
	}
	info, err := root.Lstat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		err = root.Remove(dir)
	}
	return errors.Join(ignoreMissing(err), root.Mkdir(dir, 0o700))
}
