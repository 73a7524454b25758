package workspace

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	maxPath     = 4096 // bytes of what a model writes
	maxAttempts = 5    // when what a path leads through moves meanwhile
)

// resolve leads a path to its place. Whatever the form of the path, the same
// checks follow, and what it returns was reached through them step by step.
func (w *Workspace) resolve(ctx context.Context, given string, in intent) (location, error) {
	if err := checkText(given, in); err != nil {
		return location{}, err
	}
	for range maxAttempts {
		s, err := w.viewFor(ctx)
		if err != nil {
			return location{}, err
		}
		p, err := s.resolve(ctx, given, in)
		if !errors.Is(err, root.ErrLink) {
			return p, fileError(err, given)
		}
	}
	return location{}, unstableError(given)
}

func checkText(given string, in intent) error {
	switch {
	case given == "" && in != toList:
		return tool.Errorf(tool.Invalid, "the path is empty").Try("name a file, relative to the workspace")
	case strings.ContainsRune(given, 0):
		return tool.Errorf(tool.Invalid, "the path holds a NUL character").Try("leave it out")
	case len(given) > maxPath:
		return tool.Errorf(tool.Invalid, "the path has %d bytes, the most is %d", len(given), maxPath).Try("use a path relative to the workspace")
	}
	return nil
}

// resolve tries what the caller wrote, and when nothing is there, what the caller
// may have meant by it.
func (s *callerView) resolve(ctx context.Context, given string, in intent) (location, error) {
	p, k, err := s.follow(ctx, given, given, in)
	if err != nil || p.exists || p.source != nil {
		return p, err
	}
	if plain, ok := unescaped(given); ok {
		other, better, err := s.follow(ctx, plain, given, in)
		if err == nil && (other.exists || better != nil && better.firstMissing == better.name && k.firstMissing != k.name) {
			p, k = other, better
		}
	}
	if p.exists {
		return p, nil
	}
	if in == toList {
		if p, ok := s.servedDir(ctx, p); ok {
			return p, nil
		}
	}
	if in != toWrite {
		return location{}, s.missingError(given, k)
	}
	if k.blockedBy != "" {
		return location{}, tool.Errorf(tool.Invalid, "%q cannot be made: %q is a file and not a directory", given, s.shownPath(k.mount, k.blockedBy)).
			Try("choose another path")
	}
	return p, nil
}

// follow follows path, which may have any form. given is what errors call it.
// What is not there is a place that does not exist, and no error.
func (s *callerView) follow(ctx context.Context, path, given string, in intent) (location, *walk, error) {
	m, name, err := s.parsePath(path, given, in)
	if err != nil {
		return location{}, nil, err
	}
	if p, ok, err := s.resolveServed(ctx, m, name, given, in); ok || err != nil {
		return p, nil, err
	}
	if m.root == nil {
		return location{}, nil, s.outsideError(given)
	}
	k := s.newWalk(ctx, m, name, given, in)
	if err := k.run(); err != nil {
		return location{}, nil, err
	}
	p := location{mount: k.mount, name: k.name, shown: s.shownPath(k.mount, k.name), intent: in, exists: k.exists, info: k.info}
	if p.source = s.sourceFor(ctx, k.mount, k.name); p.source != nil && k.protected {
		err = protectedError(given)
	}
	if p.source == nil {
		err = k.checkIntent(p.shown)
	}
	return p, k, err
}

// checkIntent says whether a file is fit for what it is wanted for.
func (k *walk) checkIntent(shown string) error {
	switch {
	case k.intent == toWrite && k.protected:
		return protectedError(k.given)
	case k.intent == toWrite && !k.mount.write:
		return tool.Errorf(tool.Refused, "%q is in a directory that can only be read", k.given).Try("write to a file in the workspace")
	case !k.exists || k.intent == toList:
		return nil
	case k.info.Dir():
		return directoryError(shown)
	case !k.info.Regular():
		return specialError(shown)
	}
	return nil
}

// resolveServed finds what is served without looking at the disk: it settles names by
// their letters, for there are no links in a Source.
func (s *callerView) resolveServed(ctx context.Context, m *mount, name, given string, in intent) (location, bool, error) {
	if m != s.home {
		return location{}, false, nil
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return location{}, false, nil
	}
	if s.w.denied(m, clean) {
		return location{}, false, deniedError(given)
	}
	source := s.sourceFor(ctx, m, clean)
	if source == nil {
		source = m.source
	}
	if source != nil && in == toWrite && s.w.protected(m, clean) {
		return location{}, false, protectedError(given)
	}
	return location{mount: m, name: clean, shown: s.shownPath(m, clean), intent: in, source: source}, source != nil, nil
}

// parsePath reads the form of a path: where it begins, and the way from there.
func (s *callerView) parsePath(text, given string, in intent) (*mount, string, error) {
	if runtime.GOOS == "windows" {
		text = strings.ReplaceAll(text, `\`, "/")
	}
	first, rest, _ := strings.Cut(text, "/")
	if strings.HasPrefix(first, "@") && !s.hasEntry(first) {
		text = text[1:] // how some clients mark a file in a message
		first, rest, _ = strings.Cut(text, "/")
	}
	abs, err := s.absolutePath(text, given)
	if err != nil {
		return nil, "", err
	}
	if abs != "" {
		if m, name, ok := s.mountFor(abs, true); ok {
			return m, name, nil
		}
		if m, name, ok := s.fromContainerPath(abs); ok {
			return m, name, nil
		}
		return nil, "", s.outsideError(given)
	}
	if m, err := s.mountByName(first, in); m != nil || err != nil {
		return m, rest, err
	}
	return s.home, text, nil
}

// absolutePath returns a path that does not begin in the workspace as an absolute
// one, and "" for one that does.
func (s *callerView) absolutePath(text, given string) (string, error) {
	first, rest, _ := strings.Cut(text, "/")
	switch {
	case first == "~" && s.w.o.Home == "":
		return "", s.outsideError(given)
	case first == "~":
		return filepath.ToSlash(s.w.o.Home) + "/" + rest, nil
	case strings.HasPrefix(first, "~") && !s.hasEntry(first):
		return "", tool.Errorf(tool.Refused, "%q begins with the home of another user", given).
			Try("use a path relative to the workspace; for a name that begins with ~ write ./ before it")
	case strings.HasPrefix(text, "file://"):
		return fromURL(text, given)
	case strings.HasPrefix(text, "/") || filepath.IsAbs(filepath.FromSlash(text)):
		return text, nil
	}
	return "", nil
}

// fromContainerPath reads a path as a command in a container sees it. Where any of the
// caller's directories is really there, it is no such path.
func (s *callerView) fromContainerPath(abs string) (*mount, string, bool) {
	for _, m := range s.mounts() {
		for _, top := range []string{containerHome, containerRoots} {
			_, here := within(top, filepath.ToSlash(m.path))
			if _, real := within(top, m.realPath); here || real {
				return nil, "", false
			}
		}
	}
	abs = cleanSlashes(abs)
	if name, ok := within(containerHome, abs); ok {
		return s.home, name, true
	}
	if below, ok := within(containerRoots, abs); ok {
		first, rest, _ := strings.Cut(below, "/")
		for _, m := range s.mounts() {
			if m != s.home && s.sandboxName(m) == first {
				return m, rest, true
			}
		}
	}
	return nil, "", false
}

func fromURL(text, given string) (string, error) {
	host, rest, _ := strings.Cut(strings.TrimPrefix(text, "file://"), "/")
	name, err := url.PathUnescape(rest)
	switch {
	case host != "" && !strings.EqualFold(host, "localhost"):
		return "", tool.Errorf(tool.Refused, "%q is a file of another machine", given).Try("use a path relative to the workspace")
	case err != nil || strings.ContainsRune(name, 0):
		return "", tool.Errorf(tool.Invalid, "%q is not a URL of a file", given).Try("use a path relative to the workspace")
	case runtime.GOOS == "windows":
		return name, nil // it begins with a drive
	}
	return "/" + name, nil
}

// isWindowsAlias tells steps that Windows takes for another name: of a stream, without
// what is at the end, or the short form of a long name.
func isWindowsAlias(step string) bool {
	if runtime.GOOS != "windows" {
		return false
	}
	tilde := strings.IndexByte(step, '~')
	short := tilde > 0 && len(step) <= 12 && tilde+1 < len(step) && '0' <= step[tilde+1] && step[tilde+1] <= '9'
	return short || strings.ContainsRune(step, ':') || strings.TrimRight(step, ". ") != step
}

func notDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
