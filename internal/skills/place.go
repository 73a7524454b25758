package skills

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// mostInDir is how many skills of one directory are looked at.
const mostInDir = 2000

// A place is a directory with skills in it, each in a directory of its name.
type place interface {
	// label says where it is, in a few words.
	label() string
	// called is what file tools call a skill's directory.
	called(slug string) string
	// scan returns for each skill something that differs when its SKILL.md was
	// changed. A place that is not there has none.
	scan(ctx context.Context) (map[string]string, error)
	// read returns a file of a skill, if it has at most so many bytes.
	read(ctx context.Context, slug, name string, most int64) ([]byte, error)
	// files lists the files of a skill, and says whether there are others.
	files(ctx context.Context, slug string) (list []skill.File, more bool, err error)
}

var errLong = errors.New("it is too long")

// readAll reads what has at most so many bytes, whatever was said of its size.
func readAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = errLong
	}
	return data, err
}

// inWorkspace is a directory of the caller's workspace.
type inWorkspace struct {
	all workspace.Files
	dir string
}

func (inWorkspace) label() string               { return "workspace" }
func (p inWorkspace) called(slug string) string { return path.Join(p.dir, slug) }

func (p inWorkspace) scan(ctx context.Context) (map[string]string, error) {
	l, err := p.all.List(ctx, workspace.ListQuery{Path: p.dir, Depth: 2, Limit: mostInDir, Pattern: "*/" + skill.Main, Ignored: true})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, nil // there is no such directory, or it is not for the caller
	}
	found := map[string]string{}
	for _, e := range l.Entries {
		slug, file, _ := strings.Cut(e.Name, "/")
		if file == skill.Main && skill.ValidSlug(slug) && e.Mode.IsRegular() {
			found[slug] = sign(e.Size, e.Modified.UnixNano())
		}
	}
	return found, nil
}

func sign(size, modified int64) string {
	return strconv.FormatInt(size, 36) + " " + strconv.FormatInt(modified, 36)
}

func (p inWorkspace) read(ctx context.Context, slug, name string, most int64) ([]byte, error) {
	return readFile(ctx, p.all, path.Join(p.dir, slug, name), most)
}

func readFile(ctx context.Context, all workspace.Files, name string, most int64) ([]byte, error) {
	f, err := all.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(io.NewSectionReader(f, 0, most+1), most)
}

func (p inWorkspace) files(ctx context.Context, slug string) (list []skill.File, more bool, err error) {
	l, err := p.all.List(ctx, workspace.ListQuery{Path: path.Join(p.dir, slug), Depth: 8, Limit: 4 * skill.MostFiles, Ignored: true})
	if err != nil {
		return nil, false, err
	}
	for _, e := range l.Entries {
		switch {
		case !e.Mode.IsRegular() || e.Name == skill.Main || skill.Junk(e.Name):
		case len(list) == skill.MostFiles:
			return list, true, nil
		default:
			list = append(list, skill.File{Path: e.Name, Size: e.Size})
		}
	}
	return list, l.More > 0, nil
}

// onDisk is a directory of the operator's. It, and each skill's directory in
// it, may be a link, as the operator likes; what is in a skill may not.
type onDisk struct{ dir Dir }

func (p onDisk) label() string { return p.base() }

func (p onDisk) base() string {
	if p.dir.Name != "" {
		return p.dir.Name
	}
	return filepath.ToSlash(p.dir.Path)
}

func (p onDisk) called(slug string) string { return path.Join(p.base(), slug) }

func (p onDisk) scan(ctx context.Context) (map[string]string, error) {
	dir, err := os.Open(p.dir.Path)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(4 * mostInDir)
	if err != nil {
		return nil, nil
	}
	found := map[string]string{}
	for _, slug := range names {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if len(found) == mostInDir || !skill.ValidSlug(slug) {
			continue
		}
		info, err := os.Lstat(filepath.Join(p.dir.Path, slug, skill.Main))
		if err == nil && info.Mode().IsRegular() {
			found[slug] = sign(info.Size(), info.ModTime().UnixNano())
		}
	}
	return found, nil
}

func (p onDisk) root(slug string) (*os.Root, error) {
	return os.OpenRoot(filepath.Join(p.dir.Path, slug))
}

func (p onDisk) read(_ context.Context, slug, name string, most int64) ([]byte, error) {
	r, err := p.root(slug)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for at := name; at != "."; at = path.Dir(at) {
		info, err := r.Lstat(at)
		if err != nil {
			return nil, err
		}
		if at == name && !info.Mode().IsRegular() || at != name && !info.IsDir() {
			return nil, &iofs.PathError{Op: "open", Path: name, Err: iofs.ErrInvalid}
		}
	}
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

var errEnough = errors.New("that is enough")

func (p onDisk) files(ctx context.Context, slug string) (list []skill.File, more bool, err error) {
	r, err := p.root(slug)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	seen := 0
	err = iofs.WalkDir(r.FS(), ".", func(name string, d iofs.DirEntry, err error) error {
		if seen++; ctx.Err() != nil || seen > 20*skill.MostFiles || len(list) == skill.MostFiles {
			return errEnough
		}
		switch {
		case err != nil || name == "." || name == skill.Main:
			return nil
		case skill.Junk(d.Name()) && d.IsDir() || d.IsDir() && strings.Count(name, "/") >= 8:
			return iofs.SkipDir
		case skill.Junk(d.Name()) || !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil {
			list = append(list, skill.File{Path: name, Size: info.Size()})
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return list, true, context.Cause(ctx)
	}
	return list, false, err
}

// places are where the caller's skills may lie, the first one first.
func (l *Library) places(ctx context.Context) (list []place) {
	if l.o.Files != nil && (tool.CallerFrom(ctx).Workspace != "") {
		for _, dir := range []string{"skills", ".agents/skills"} {
			list = append(list, inWorkspace{l.o.Files, dir})
		}
	}
	for _, dir := range l.o.Dirs {
		list = append(list, onDisk{dir})
	}
	return list
}
