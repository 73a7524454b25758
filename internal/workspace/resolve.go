package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// An intent is the purpose of a path: reading, changing and so on.
type intent int

const (
	toRead  intent = iota // a file that must exist
	toWrite               // a file that may not exist yet
	toList                // a file or directory that must exist
)

// A location is the result of resolving a path. No step of it is a link.
type location struct {
	mount  *mount
	name   string    // relative to mount.root
	shown  string    // the path to show to the caller
	intent intent    // the purpose it was resolved for
	source Source    // serves the file instead of the disk; nil for files on disk
	exists bool      // on disk, when it was resolved; unknown for a Source
	info   root.Info // of the file on disk
}

// shownPath returns the path to show to the caller for a file. The caller can use
// it as a path again.
func (s *callerView) shownPath(m *mount, name string) string {
	if m.label == "" {
		if first, _, _ := strings.Cut(name, "/"); s.isReserved(first) {
			name = "./" + name
		}
		return display(name)
	}
	dir := m.label
	if !m.callerDir && !strings.HasPrefix(dir, "/") && s.hasEntry(dir) {
		dir = m.realPath // an entry of the workspace comes before a root of the same name
	}
	if name == "." {
		return display(dir)
	}
	return display(strings.TrimSuffix(dir, "/") + "/" + name)
}

// isReserved reports whether a first step is not taken as a name.
func (s *callerView) isReserved(first string) bool {
	switch first {
	case workspaceAlias, cacheAlias, stateAlias:
		return true
	case "":
		return false
	}
	return first[0] == '~' || first[0] == '@' || first == "file:"
}

// display replaces bytes that are not UTF-8 and invisible characters by \xNN.
func display(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		plain = ' ' <= name[i] && name[i] < 0x7f
	}
	if plain {
		return name
	}
	var out strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) || tool.Hidden(r) && r != emojiStyle {
			for _, b := range []byte(name[i : i+size]) {
				fmt.Fprintf(&out, `\x%02x`, b)
			}
		} else {
			out.WriteString(name[i : i+size])
		}
		i += size
	}
	return out.String()
}

// emojiStyle is an invisible character that makes the one before it an emoji. Many
// file names have it.
const emojiStyle = '\uFE0F'

// unescaped reverses display. ok is false if there is nothing to reverse, or if
// the result cannot be a name.
func unescaped(path string) (string, bool) {
	var out strings.Builder
	changed := false
	for i := 0; i < len(path); i++ {
		if strings.HasPrefix(path[i:], `\x`) && i+4 <= len(path) {
			if b, err := strconv.ParseUint(path[i+2:i+4], 16, 8); err == nil {
				if b == 0 || b == '/' {
					return path, false
				}
				out.WriteByte(byte(b))
				changed = true
				i += 3
				continue
			}
		}
		out.WriteByte(path[i])
	}
	return out.String(), changed
}

const (
	maxPath     = 4096 // bytes of a path that a model writes
	maxAttempts = 5    // to resolve a path while its directories change
)

// resolve turns a path into a location. All forms of a path go through the same
// checks, and every step of the way to the result has passed them.
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
		return tool.Errorf(tool.Invalid, "the path is empty").Try("give the path of a file, relative to the workspace")
	case strings.ContainsRune(given, 0):
		return tool.Errorf(tool.Invalid, "the path has a NUL character").Try("remove it")
	case len(given) > maxPath:
		return tool.Errorf(tool.Invalid, "the path has %d bytes, the maximum is %d", len(given), maxPath).
			Try("use a path relative to the workspace")
	}
	return nil
}

// resolve resolves the path as written. If nothing exists there, it also tries
// the path with the escapes of display undone.
func (s *callerView) resolve(ctx context.Context, given string, in intent) (location, error) {
	p, k, err := s.follow(ctx, given, given, in)
	if err != nil || p.exists || p.source != nil {
		return p, err
	}
	if plain, ok := unescaped(given); ok {
		other, better, err := s.follow(ctx, plain, given, in)
		onlyLastMissing := better != nil && better.firstMissing == better.name && k.firstMissing != k.name
		if err == nil && (other.exists || onlyLastMissing) {
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
		return location{}, tool.Errorf(tool.Invalid, "%q cannot be created: %q is a file, not a directory",
			given, s.shownPath(k.mount, k.blockedBy)).Try("choose another path")
	}
	return p, nil
}

// follow resolves a path in any form. given is the path to name in errors. If
// the path does not exist, the location has exists false.
func (s *callerView) follow(ctx context.Context, path, given string, in intent) (location, *walk, error) {
	m, name, err := s.parsePath(s.servedState(ctx, path), given, in)
	if err != nil {
		return location{}, nil, err
	}
	if p, ok, err := s.resolveServed(ctx, m, name, given, in); ok || err != nil {
		return p, nil, err
	}
	k := s.newWalk(ctx, m, name, given, in)
	if err := k.run(); err != nil {
		return location{}, nil, err
	}
	p := location{
		mount: k.mount, name: k.name, shown: s.shownPath(k.mount, k.name), intent: in, exists: k.exists, info: k.info,
	}
	if p.source = s.sourceFor(ctx, k.mount, k.name); p.source != nil && k.protected {
		err = protectedError(given)
	}
	if p.source == nil {
		err = k.checkIntent(p.shown)
	}
	return p, k, err
}

// checkIntent reports an error if the file cannot be used as intended.
func (k *walk) checkIntent(shown string) error {
	switch {
	case k.intent == toWrite && k.protected:
		return protectedError(k.given)
	case k.intent == toWrite && !k.mount.write:
		return tool.Errorf(tool.Refused, "%q is in a read-only directory", k.given).
			Try("write to a file in the workspace")
	case !k.exists || k.intent == toList:
		return nil
	case k.info.Dir():
		return directoryError(shown)
	case !k.info.Regular():
		return specialError(shown)
	}
	return nil
}

// resolveServed resolves a path that a Source serves. It looks only at the text
// of the path, because a Source has no links. ok is false for other paths.
func (s *callerView) resolveServed(
	ctx context.Context, m *mount, name, given string, in intent,
) (p location, ok bool, err error) {
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
	if source != nil && in == toWrite && s.w.protected(m, clean) {
		return location{}, false, protectedError(given)
	}
	return location{mount: m, name: clean, shown: s.shownPath(m, clean), intent: in, source: source}, source != nil, nil
}

// servedState returns the path in the workspace of a file in file_state_dir that a route serves, and other paths as they are.
func (s *callerView) servedState(ctx context.Context, text string) string {
	first, rest, _ := strings.Cut(text, "/")
	if name := path.Clean(rest); first == stateAlias {
		for _, r := range s.w.o.Routes {
			if r.State && r.Serves(ctx, name) {
				return "./" + name
			}
		}
	}
	return text
}

// parsePath recognizes the form of a path. It returns the mount where the path
// begins, and the rest of the path.
func (s *callerView) parsePath(text, given string, in intent) (*mount, string, error) {
	if runtime.GOOS == "windows" {
		text = strings.ReplaceAll(text, `\`, "/")
	}
	first, rest, _ := strings.Cut(text, "/")
	if strings.HasPrefix(first, "@") && !s.hasEntry(first) {
		text = text[1:] // some clients write @ before a file name in a message
		first, rest, _ = strings.Cut(text, "/")
	}
	abs, err := s.absolutePath(text, given)
	if err != nil {
		return nil, "", err
	}
	if abs != "" {
		if m, name, ok := s.mountFor(abs); ok {
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

// absolutePath returns the absolute form of a path that does not begin in the
// workspace, and "" for a path relative to the workspace.
func (s *callerView) absolutePath(text, given string) (string, error) {
	first, rest, _ := strings.Cut(text, "/")
	switch {
	case first == "~" && s.w.o.Home == "":
		return "", s.outsideError(given)
	case first == "~":
		return filepath.ToSlash(s.w.o.Home) + "/" + rest, nil
	case strings.HasPrefix(first, "~") && !s.hasEntry(first):
		return "", tool.Errorf(tool.Refused, "%q begins with the home directory of another user", given).
			Try("use a path relative to the workspace; write ./ before a name that begins with ~")
	case strings.HasPrefix(text, "file://"):
		return fromURL(text, given)
	case strings.HasPrefix(text, "/") || filepath.IsAbs(filepath.FromSlash(text)):
		return text, nil
	}
	return "", nil
}

// fromContainerPath interprets a path as a command in a container sees it. It
// does not if one of the caller's directories really is at such a path.
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
		return "", tool.Errorf(tool.Refused, "%q is a file on another machine", given).
			Try("use a path relative to the workspace")
	case err != nil || strings.ContainsRune(name, 0):
		return "", tool.Errorf(tool.Invalid, "%q is not a valid file URL", given).
			Try("use a path relative to the workspace")
	case runtime.GOOS == "windows":
		return name, nil // it begins with a drive letter
	}
	return "/" + name, nil
}

// isWindowsAlias reports whether Windows treats a name as another name for some
// file: an alternate stream, a name with trailing dots or spaces, or a short
// (8.3) name. Deny patterns would not see the real name.
func isWindowsAlias(step string) bool {
	if runtime.GOOS != "windows" {
		return false
	}
	tilde := strings.IndexByte(step, '~')
	short := tilde > 0 && len(step) <= 12 && tilde+1 < len(step) && '0' <= step[tilde+1] && step[tilde+1] <= '9'
	return short || strings.ContainsRune(step, ':') || strings.TrimRight(step, ". ") != step
}

func notDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

const (
	maxLinks = 40   // links in one path, the limit of Linux
	maxSteps = 5000 // steps of one path, including the steps of links
)

// A walk resolves a path step by step. Before each step it checks whether the
// caller may see it; only then it looks whether it exists.
type walk struct {
	view   *callerView
	ctx    context.Context
	given  string // the path to name in errors
	intent intent

	mount  *mount
	name   string    // the current name, relative to mount
	steps  []string  // the remaining steps, the next one last
	info   root.Info // of the current name
	exists bool

	firstMissing string // the first step that does not exist; "" if all exist
	blockedBy    string // a file where a directory should be
	protected    bool   // a step is protected
	links        int
	count        int
}

// newWalk starts a walk at a mount.
func (s *callerView) newWalk(ctx context.Context, m *mount, name, given string, in intent) *walk {
	k := &walk{view: s, ctx: ctx, given: given, intent: in}
	k.enter(m, name)
	return k
}

// enter continues at the top of m.
func (k *walk) enter(m *mount, name string) {
	k.mount, k.name, k.info, k.exists, k.firstMissing, k.blockedBy = m, ".", m.id, true, "", ""
	k.push(name)
}

func (k *walk) push(name string) {
	steps := strings.Split(name, "/")
	slices.Reverse(steps)
	k.steps = append(k.steps, steps...)
}

// run takes all steps. The error is root.ErrLink if a directory changes during the walk.
func (k *walk) run() error {
	for len(k.steps) > 0 {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		step := k.steps[len(k.steps)-1]
		k.steps = k.steps[:len(k.steps)-1]
		var err error
		switch step {
		case "", ".":
			continue
		case "..":
			err = k.up()
		default:
			err = k.down(step)
		}
		if err != nil {
			return err
		}
		if k.count++; k.count > maxSteps {
			return tool.Errorf(tool.Invalid, "%q has more than %d steps with its links", k.given, maxSteps).
				Try("use a shorter path")
		}
	}
	return k.checkOverlaps()
}

// up goes to the parent directory, perhaps in another mount.
func (k *walk) up() error {
	if k.name == "." {
		slices.Reverse(k.steps)
		rest := strings.Join(k.steps, "/")
		k.steps = nil
		return k.jump(path.Dir(k.mount.realPath) + "/" + rest)
	}
	k.name = path.Dir(k.name)
	if k.firstMissing != "" {
		if _, still := within(k.firstMissing, k.name); still {
			return nil
		}
	}
	k.firstMissing, k.blockedBy = "", ""
	info, err := k.mount.root.Lstat(k.name)
	if err != nil {
		return movedError(err)
	}
	k.info, k.exists = info, true
	return nil
}

// down takes one step, and follows it if it is a link.
func (k *walk) down(step string) error {
	name := path.Join(k.name, step)
	if k.view.w.deniedInDir(k.mount, name) {
		return deniedError(k.given)
	}
	k.protected = k.protected || k.intent == toWrite && k.view.w.protected(k.mount, name)
	if isWindowsAlias(step) {
		return fileError(root.ErrName, k.given)
	}
	if k.exists && !k.info.Dir() {
		k.blockedBy = k.name
	}
	if !k.exists || k.blockedBy != "" {
		k.markMissing(name)
		return nil
	}
	info, err := k.mount.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.markMissing(name)
		return nil
	case err != nil:
		return movedError(err)
	case info.Link():
		return k.follow(name)
	case info.Dir() && k.view.isDataDir(info):
		return deniedError(k.given)
	}
	k.name, k.info = name, info
	return nil
}

func (k *walk) markMissing(name string) {
	if k.firstMissing == "" {
		k.firstMissing = name
	}
	k.name, k.info, k.exists = name, root.Info{}, false
}

// follow continues at the target of a link, if the caller may.
func (k *walk) follow(link string) error {
	if k.links++; k.links > maxLinks {
		return tool.Errorf(tool.Refused, "%q leads through more than %d links", k.given, maxLinks).
			Try("its links form a cycle; use a file that is not a link")
	}
	target, err := k.mount.root.Readlink(link)
	if err != nil {
		return root.ErrLink // it was a link when it was looked up
	}
	if target = filepath.ToSlash(target); !filepath.IsAbs(target) {
		k.push(target)
		return nil
	}
	return k.jump(target)
}

// jump continues at an absolute path.
func (k *walk) jump(abs string) error {
	if m, name, ok := k.view.mountFor(abs); ok {
		k.enter(m, name)
		return nil
	}
	return k.view.outsideError(k.given)
}

// mountFor finds the mount that contains an absolute path, the innermost if there
// are several.
func (s *callerView) mountFor(abs string) (best *mount, name string, ok bool) {
	for _, try := range []string{cleanSlashes(abs), path.Clean(abs)} {
		for _, m := range s.mounts() {
			if below, in := m.relative(try); in && (best == nil || len(m.realPath) > len(best.realPath)) {
				best, name = m, below
			}
		}
		if best != nil {
			return best, name, true
		}
	}
	return nil, "", false
}

// cleanSlashes removes empty steps and "." from a path. It keeps "..", because its
// meaning depends on links.
func cleanSlashes(abs string) string {
	var steps []string
	for _, step := range strings.Split(abs, "/") {
		if step != "" && step != "." {
			steps = append(steps, step)
		}
	}
	if strings.HasPrefix(abs, "/") {
		return "/" + strings.Join(steps, "/")
	}
	return strings.Join(steps, "/")
}

// checkOverlaps assigns the file to the innermost mount that contains it, and
// checks the whole name against the patterns of every mount that contains it.
func (k *walk) checkOverlaps() error {
	if len(k.view.w.o.Roots) == 0 || k.mount.callerDir {
		return nil
	}
	abs := path.Join(k.mount.realPath, k.name)
	best, name := k.mount, k.name
	for _, m := range k.view.mounts() {
		below, ok := within(m.realPath, abs)
		if !ok {
			continue
		}
		if k.view.w.denied(m, below) {
			return deniedError(k.given)
		}
		k.protected = k.protected || k.intent == toWrite && k.view.w.protected(m, below)
		if len(m.realPath) > len(best.realPath) {
			best, name = m, below
		}
	}
	if best == k.mount {
		return nil
	}
	for _, gone := range []*string{&k.firstMissing, &k.blockedBy} {
		if *gone == "" {
			continue
		}
		below, ok := within(best.realPath, path.Join(k.mount.realPath, *gone))
		if !ok {
			below = "." // the mount itself was removed
		}
		*gone = below
	}
	k.mount, k.name = best, name
	return nil
}

// isDataDir reports whether a directory is the data directory, under any name.
func (s *callerView) isDataDir(info root.Info) bool {
	return s.dataInfo.Ino != 0 && info.Dir() && sameFile(info, s.dataInfo)
}

// movedError turns an error for a step that was a directory before into ErrLink.
func movedError(err error) error {
	if errors.Is(err, root.ErrLink) || notDir(err) {
		return root.ErrLink
	}
	return err
}
