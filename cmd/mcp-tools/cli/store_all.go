package cli

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// storeMember is the backup of the store within a backup of everything.
const storeMember = "store.zip"

// A part is what a backup of everything has beside the store: a file or directory, under
// a name in the archive.
type part struct{ name, what, path string }

// parts returns the parts of this installation, which need not exist.
func (a *CLI) parts() ([]part, error) {
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	vault, _, err := a.VaultDir()
	if err != nil {
		return nil, err
	}
	settings, err := config.File(a.ConfigFile, a.Getenv)
	if err != nil {
		return nil, err
	}
	beside := filepath.Dir(settings)
	return []part{
		{"audit.key", "the key of the audit log", filepath.Join(data, "audit.key")},
		{"vault", "the vault", vault},
		{"files", "the history of files and the private files of callers", filepath.Join(data, "files")},
		{"results", "long results", filepath.Join(data, "results")},
		{"config.yaml", "the settings", settings},
		{"tools.d", "custom tools", filepath.Join(beside, "tools.d")},
		{"plugins", "plugins", filepath.Join(beside, "plugins")},
	}, nil
}

// derived are directories of parts that are built again, or are of running processes.
func derived(name string) bool {
	return slices.Contains([]string{"files/index", "files/locks", "files/pending"}, name)
}

// backupAll writes the store and all parts to one private file. Files that change while
// they are copied are those of a moment.
func (a *CLI) backupAll(ctx context.Context, s *store.Store, to string) (m store.Manifest, err error) {
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
	parts, err := a.parts()
	if err != nil {
		return m, err
	}
	z := zip.NewWriter(file)
	if err := addFile(z, storeMember, inner); err != nil {
		return m, err
	}
	for _, p := range parts {
		if err := addPart(ctx, z, p); err != nil {
			return m, fmt.Errorf("copying %s: %w", p.what, err)
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

func addPart(ctx context.Context, z *zip.Writer, p part) error {
	return filepath.WalkDir(p.path, func(found string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it was removed in between, or never existed
			return nil
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
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
		if err := addFile(z, name, found); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func addFile(z *zip.Writer, name, from string) error {
	file, err := os.Open(from)
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

// restoreAll restores the store and all parts. It reads the whole file before it changes
// anything. Files that exist are only replaced with force.
func (a *CLI) restoreAll(ctx context.Context, s *store.Store, z *zip.Reader, force bool) (m store.Manifest, err error) {
	parts, err := a.parts()
	if err != nil {
		return m, err
	}
	places := map[*zip.File]string{}
	var inner *zip.File
	for _, f := range z.File {
		if f.Name == storeMember {
			inner = f
		} else if places[f], err = placeOf(parts, f.Name); err != nil {
			return m, err
		}
		if err := copyMember(io.Discard, f); err != nil {
			return m, fmt.Errorf("the backup is damaged: %s: %w", f.Name, err)
		}
		if _, err := os.Lstat(places[f]); f != inner && err == nil && !force {
			return m, fmt.Errorf("%s exists; --force replaces it", places[f])
		}
	}
	dir, err := os.MkdirTemp("", "mcp-tools-restore-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	backup := filepath.Join(dir, storeMember)
	if err := place(backup, inner); err != nil {
		return m, err
	}
	if m, err = s.Restore(ctx, backup, force); err != nil {
		return m, err
	}
	for f, to := range places {
		if err := place(to, f); err != nil {
			return m, fmt.Errorf("restoring %s: %w", to, err)
		}
	}
	return m, nil
}

// placeOf returns where a member of a backup belongs on this machine.
func placeOf(parts []part, name string) (string, error) {
	first, below, _ := strings.Cut(name, "/")
	for _, p := range parts {
		if p.name == first && (below == "" || filepath.IsLocal(filepath.FromSlash(below))) {
			return filepath.Join(p.path, filepath.FromSlash(below)), nil
		}
	}
	return "", fmt.Errorf("the backup has %q, which this version does not know", name)
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

// place writes a member to its place, as a whole.
func place(to string, f *zip.File) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(to), ".restore-*.part")
	if err != nil {
		return err
	}
	err = errors.Join(copyMember(file, f), file.Chmod(f.Mode().Perm()&0o700), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), to)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error counts
	}
	return err
}
