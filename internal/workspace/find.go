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
	maxPath  = 4096 // bytes of what a model writes
	attempts = 5    // when what a path leads through moves meanwhile
)

// find leads a path to its place. Whatever the form of the path, the same
// checks follow, and what it returns was reached through them step by step.
func (w *Workspace) find(ctx context.Context, given string, in intent) (place, error) {
	if err := checkText(given, in); err != nil {
		return place{}, err
	}
	for range attempts {
		s, err := w.space(ctx)
		if err != nil {
			return place{}, err
		}
		p, err := s.find(ctx, given, in)
		if !errors.Is(err, root.ErrLink) {
			return p, said(err, given)
		}
	}
	return place{}, changingError(given)
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

// find tries what the caller wrote, and when nothing is there, what the caller
// may have meant by it.
func (s *space) find(ctx context.Context, given string, in intent) (place, error) {
	p, k, err := s.lead(ctx, given, given, in)
	if err != nil || p.exists || p.source != nil {
		return p, err
	}
	if plain, ok := unescaped(given); ok {
		other, better, err := s.lead(ctx, plain, given, in)
		if err == nil && (other.exists || better != nil && better.gap == better.at && k.gap != k.at) {
			p, k = other, better
		}
	}
	if p.exists {
		return p, nil
	}
	if in == toList {
		if p, ok := s.virtualDir(ctx, p); ok {
			return p, nil
		}
	}
	if in != toWrite {
		return place{}, s.missing(given, k)
	}
	if k.blocked != "" {
		return place{}, tool.Errorf(tool.Invalid, "%q cannot be made: %q is a file and not a directory", given, s.show(k.m, k.blocked)).
			Try("choose another path")
	}
	return p, nil
}

// lead follows path, which may have any form. given is what errors call it.
// What is not there is a place that does not exist, and no error.
func (s *space) lead(ctx context.Context, path, given string, in intent) (place, *walk, error) {
	m, name, err := s.start(path, given, in)
	if err != nil {
		return place{}, nil, err
	}
	if p, ok, err := s.lexical(ctx, m, name, given, in); ok || err != nil {
		return p, nil, err
	}
	if m.root == nil {
		return place{}, nil, s.outside(given)
	}
	k := s.from(ctx, m, name, given, in)
	if err := k.run(); err != nil {
		return place{}, nil, err
	}
	p := place{mount: k.m, name: k.at, shown: s.show(k.m, k.at), in: in, exists: k.exists, info: k.info}
	if p.source = s.route(ctx, k.m, k.at); p.source != nil && k.kept {
		err = protectedError(given)
	}
	if p.source == nil {
		err = k.judge(p.shown)
	}
	return p, k, err
}

// judge says whether a file is fit for what it is wanted for.
func (k *walk) judge(shown string) error {
	switch {
	case k.in == toWrite && k.kept:
		return protectedError(k.given)
	case k.in == toWrite && !k.m.write:
		return tool.Errorf(tool.Refused, "%q is in a directory that can only be read", k.given).Try("write to a file in the workspace")
	case !k.exists || k.in == toList:
		return nil
	case k.info.Dir():
		return directoryError(shown)
	case !k.info.Regular():
		return specialError(shown)
	}
	return nil
}

// lexical finds what is served without looking at the disk: it settles names by
// their letters, for there are no links in a Source.
func (s *space) lexical(ctx context.Context, m *mount, name, given string, in intent) (place, bool, error) {
	if m != s.home {
		return place{}, false, nil
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return place{}, false, nil
	}
	if s.w.denied(m, clean) {
		return place{}, false, deniedError(given)
	}
	source := s.route(ctx, m, clean)
	if source == nil {
		source = m.source
	}
	if source != nil && in == toWrite && s.w.protected(m, clean) {
		return place{}, false, protectedError(given)
	}
	return place{mount: m, name: clean, shown: s.show(m, clean), in: in, source: source}, source != nil, nil
}

// start reads the form of a path: where it begins, and the way from there.
func (s *space) start(text, given string, in intent) (*mount, string, error) {
	if runtime.GOOS == "windows" {
		text = strings.ReplaceAll(text, `\`, "/")
	}
	first, rest, _ := strings.Cut(text, "/")
	if strings.HasPrefix(first, "@") && !s.has(first) {
		text = text[1:] // how some clients mark a file in a message
		first, rest, _ = strings.Cut(text, "/")
	}
	abs, err := s.absolute(text, given)
	if err != nil {
		return nil, "", err
	}
	if abs != "" {
		if m, name, ok := s.reach(abs, true); ok {
			return m, name, nil
		}
		if m, name, ok := s.inContainer(abs); ok {
			return m, name, nil
		}
		return nil, "", s.outside(given)
	}
	if m, err := s.named(first, in); m != nil || err != nil {
		return m, rest, err
	}
	return s.home, text, nil
}

// absolute returns a path that does not begin in the workspace as an absolute
// one, and "" for one that does.
func (s *space) absolute(text, given string) (string, error) {
	first, rest, _ := strings.Cut(text, "/")
	switch {
	case first == "~" && s.w.o.Home == "":
		return "", s.outside(given)
	case first == "~":
		return filepath.ToSlash(s.w.o.Home) + "/" + rest, nil
	case strings.HasPrefix(first, "~") && !s.has(first):
		return "", tool.Errorf(tool.Refused, "%q begins with the home of another user", given).
			Try("use a path relative to the workspace; for a name that begins with ~ write ./ before it")
	case strings.HasPrefix(text, "file://"):
		return fromURL(text, given)
	case strings.HasPrefix(text, "/") || filepath.IsAbs(filepath.FromSlash(text)):
		return text, nil
	}
	return "", nil
}

// inContainer reads a path as a command in a container sees it. Where any of the
// caller's directories is really there, it is no such path.
func (s *space) inContainer(abs string) (*mount, string, bool) {
	for _, m := range s.mounts() {
		for _, top := range []string{containerHome, containerRoots} {
			_, here := within(top, filepath.ToSlash(m.path))
			if _, real := within(top, m.real); here || real {
				return nil, "", false
			}
		}
	}
	abs = tidy(abs)
	if name, ok := within(containerHome, abs); ok {
		return s.home, name, true
	}
	if below, ok := within(containerRoots, abs); ok {
		first, rest, _ := strings.Cut(below, "/")
		for _, m := range s.mounts() {
			if m != s.home && s.groundName(m) == first {
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

// strange tells steps that Windows takes for another name: of a stream, without
// what is at the end, or the short form of a long name.
func strange(step string) bool {
	if runtime.GOOS != "windows" {
		return false
	}
	tilde := strings.IndexByte(step, '~')
	short := tilde > 0 && len(step) <= 12 && tilde+1 < len(step) && '0' <= step[tilde+1] && step[tilde+1] <= '9'
	return short || strings.ContainsRune(step, ':') || strings.TrimRight(step, ". ") != step
}

func notDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
