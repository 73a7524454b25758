package skills

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const (
	// maxInDir is how many skills of one directory are read.
	maxInDir = 2000
	// maxLevels is how deep the files of a skill may be.
	maxLevels = 8
)

// A directory has skills, each in a directory of its name.
type directory interface {
	// label names the directory in a few words.
	label() string
	// path returns the path of a skill for file tools.
	path(slug string) string
	// scan returns for each skill a fingerprint that differs if its SKILL.md was changed. It returns no skills if the
	// directory does not exist or cannot be read.
	scan(ctx context.Context) (map[string]string, error)
	// read returns a file of a skill, or errTooLong.
	read(ctx context.Context, slug, name string, limit int64) ([]byte, error)
	// files lists the files of a skill without SKILL.md, and reports whether there are more.
	files(ctx context.Context, slug string) (list []skill.File, more bool, err error)
}

// directories returns the possible directories of the caller's skills, in order of precedence.
func (l *Library) directories(ctx context.Context) (list []directory) {
	if l.o.Files != nil && tool.CallerFrom(ctx).Workspace != "" {
		for _, dir := range []string{"skills", ".agents/skills"} {
			list = append(list, workspaceDir{l.o.Files, dir})
		}
	}
	for _, dir := range l.o.Dirs {
		list = append(list, diskDir{dir})
	}
	if l.o.Live != nil {
		for _, dir := range l.o.Live() {
			list = append(list, diskDir{dir})
		}
	}
	return list
}

var errTooLong = errors.New("the file is too long")

// readAll reads a file of at most limit bytes. It does not trust the size that the file system reports.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLong
	}
	return data, err
}

func fingerprint(size, modified int64) string {
	return strconv.FormatInt(size, 36) + " " + strconv.FormatInt(modified, 36)
}

// workspaceDir is a directory of the caller's workspace.
type workspaceDir struct {
	all workspace.Files
	dir string
}

func (workspaceDir) label() string             { return "workspace" }
func (d workspaceDir) path(slug string) string { return path.Join(d.dir, slug) }

func (d workspaceDir) scan(ctx context.Context) (map[string]string, error) {
	l, err := d.all.List(ctx, workspace.ListQuery{
		Path: d.dir, Depth: 2, Limit: maxInDir, Pattern: "*/" + skill.Main, Ignored: true,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, nil // it does not exist, or the caller may not read it
	}
	found := map[string]string{}
	for _, e := range l.Entries {
		slug, file, _ := strings.Cut(e.Name, "/")
		if file == skill.Main && skill.ValidSlug(slug) && e.Mode.IsRegular() {
			found[slug] = fingerprint(e.Size, e.Modified.UnixNano())
		}
	}
	return found, nil
}

func (d workspaceDir) read(ctx context.Context, slug, name string, limit int64) ([]byte, error) {
	return readFile(ctx, d.all, path.Join(d.dir, slug, name), limit)
}

func readFile(ctx context.Context, all workspace.Files, name string, limit int64) ([]byte, error) {
	f, err := all.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(io.NewSectionReader(f, 0, limit+1), limit)
}

func (d workspaceDir) files(ctx context.Context, slug string) (list []skill.File, more bool, err error) {
	l, err := d.all.List(ctx, workspace.ListQuery{
		Path: path.Join(d.dir, slug), Depth: maxLevels, Limit: 4 * skill.MaxFiles, Ignored: true,
	})
	if err != nil {
		return nil, false, err
	}
	for _, e := range l.Entries {
		switch {
		case e.Mode.IsDir() && strings.Count(e.Name, "/") == maxLevels-1 && !skill.IsJunk(e.Name):
			return list, true, nil // its files are not listed
		case !e.Mode.IsRegular() || e.Name == skill.Main || skill.IsJunk(e.Name):
		case len(list) == skill.MaxFiles:
			return list, true, nil
		default:
			list = append(list, skill.File{Path: e.Name, Size: e.Size})
		}
	}
	return list, l.More > 0, nil
}

// diskDir is a directory of the operator. It and the directories of its skills may be links; files in a skill may
// not.
type diskDir struct{ dir Dir }

func (d diskDir) label() string {
	if d.dir.Name != "" {
		return d.dir.Name
	}
	return filepath.ToSlash(d.dir.Path)
}

func (d diskDir) path(slug string) string { return path.Join(d.label(), slug) }

func (d diskDir) scan(ctx context.Context) (map[string]string, error) {
	dir, err := os.Open(d.dir.Path)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(4 * maxInDir)
	if err != nil {
		return nil, nil
	}
	found := map[string]string{}
	for _, slug := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(found) == maxInDir || !skill.ValidSlug(slug) {
			continue
		}
		info, err := os.Lstat(filepath.Join(d.dir.Path, slug, skill.Main))
		if err == nil && info.Mode().IsRegular() {
			found[slug] = fingerprint(info.Size(), info.ModTime().UnixNano())
		}
	}
	return found, nil
}

func (d diskDir) open(slug string) (*os.Root, error) {
	return os.OpenRoot(filepath.Join(d.dir.Path, slug))
}

func (d diskDir) read(_ context.Context, slug, name string, limit int64) ([]byte, error) {
	root, err := d.open(slug)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for at := name; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		if err != nil {
			return nil, err
		}
		if at == name && !info.Mode().IsRegular() || at != name && !info.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
		}
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// errStop ends a walk through a directory.
var errStop = errors.New("stop")

func (d diskDir) files(ctx context.Context, slug string) (list []skill.File, more bool, err error) {
	root, err := d.open(slug)
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	visited := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if visited++; ctx.Err() != nil || visited > 20*skill.MaxFiles || len(list) == skill.MaxFiles {
			return errStop
		}
		switch {
		case err != nil || name == "." || name == skill.Main:
			return nil
		case skill.IsJunk(e.Name()) && e.IsDir():
			return fs.SkipDir
		case e.IsDir() && strings.Count(name, "/") == maxLevels-1:
			return errStop // its files are not listed
		case skill.IsJunk(e.Name()) || !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err == nil {
			list = append(list, skill.File{Path: name, Size: info.Size()})
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return list, true, context.Cause(ctx)
	}
	return list, false, err
}
