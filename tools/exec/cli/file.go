package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxLinks is how many links the path of a program may lead through.
const maxLinks = 20

// found is a program's file, as it was when it was looked at.
type found struct {
	path     string // without links
	identity string
}

// locate checks the file of a program: only the superuser and our own user can have
// put it there or can replace it, and it is the one that the operator configured.
func (r *Router) locate(ctx context.Context, p program) (found, error) {
	at, err := r.inspect(ctx, p)
	if err != nil {
		return found{}, tool.Errorf(tool.Unavailable, "%s does not run: %s", p.Name, err).
			Because(err).Try("the operator looks at its file and at exec.programs")
	}
	return at, nil
}

func (r *Router) inspect(ctx context.Context, p program) (found, error) {
	resolved, err := resolve(p.Path)
	if err != nil {
		return found{}, err
	}
	if r.o.Changeable != nil && (r.o.Changeable(ctx, resolved) || r.o.Changeable(ctx, p.Path)) {
		return found{}, errors.New("its file is where your tools can change it")
	}
	f, err := open(resolved)
	if err != nil {
		return found{}, errors.New("its file cannot be opened")
	}
	defer f.Close()
	identity, err := examine(f)
	if err != nil {
		return found{}, err
	}
	return found{resolved, identity}, nil
}

// Same reports whether the file of a program is still the one that a Launch was
// made for.
func Same(path, identity string) error {
	f, err := open(path)
	if err == nil {
		defer f.Close()
		var now string
		if now, err = examine(f); err == nil && now == identity {
			return nil
		}
	}
	return tool.Errorf(tool.Conflict, "the file of the program %s was changed just now", filepath.Base(path)).
		Because(err).Try("call it again, so that it is looked at as it is now")
}

// misplaced is the reason why no program is taken from a directory. Only the operator sees the
// directory.
type misplaced struct {
	error
	dir string
}

// resolve follows a path from the root on, and checks every directory that it
// leads through.
func resolve(name string) (string, error) {
	root := filepath.VolumeName(name) + string(filepath.Separator)
	at, rest, links := root, strings.TrimPrefix(name, root), 0
	if err := checkDir(at); err != nil {
		return "", misplaced{err, at}
	}
	for rest != "" {
		part, after, more := strings.Cut(rest, string(filepath.Separator))
		rest = after
		next := filepath.Join(at, part)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return "", errors.New("there is no such file")
		case info.Mode()&os.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", errors.New("its path leads through too many links")
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", errors.New("its path leads through a link that cannot be read")
			}
			if filepath.IsAbs(target) {
				at, target = root, strings.TrimPrefix(target, root)
			}
			rest = strings.Trim(target+string(filepath.Separator)+rest, string(filepath.Separator))
			continue
		case info.IsDir():
			if err := checkDir(next); err != nil {
				return "", misplaced{err, next}
			}
		case more && rest != "":
			return "", errors.New("there is no such file")
		}
		at = next
	}
	return at, nil
}
