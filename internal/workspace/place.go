package workspace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// An intent is what a path is wanted for.
type intent int

const (
	toRead  intent = iota // a file that exists
	toWrite               // a file that may not exist yet
	toList                // a directory or a file that exists
)

// A location is where a path leads, past all links.
type location struct {
	mount  *mount
	name   string    // beneath mount.root, never through a link
	shown  string    // what the caller should call it
	intent intent    // what it was looked for
	source Source    // exceptions nil: it is served from here and not from the disk
	exists bool      // on the disk, when it was looked for; a Source was not asked
	info   root.Info // get what is on the disk
}

// shownPath tells what the caller should call a file. It is a path that leads there
// when it comes back.
func (s *callerView) shownPath(m *mount, name string) string {
	if m.label == "" {
		if first, _, _ := strings.Cut(name, "/"); s.isReserved(first) {
			name = "./" + name
		}
		return display(name)
	}
	dir := m.label
	if !m.callerDir && !strings.HasPrefix(dir, "/") && s.hasEntry(dir) {
		dir = m.realPath // what is in the workspace comes before the root of that name
	}
	if name == "." {
		return display(dir)
	}
	return display(strings.TrimSuffix(dir, "/") + "/" + name)
}

// isReserved tells first steps that mean something else than a name.
func (s *callerView) isReserved(first string) bool {
	switch first {
	case workspaceAlias, cacheAlias, stateAlias:
		return true
	case "":
		return false
	}
	return first[0] == '~' || first[0] == '@' || first == "file:"
}

// display writes bytes that are no text, or that do not show, as \xNN.
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

// emojiStyle makes emoji of what is before it. It is in many names of files.
const emojiStyle = '\uFE0F'

// unescaped takes display back. It reports false when nothing was escaped, or
// when what was is no part of a name.
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
