package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Scheme begins the URI of each memory.
const Scheme = "memory:///"

// URI returns the URI of the memory at a path.
func URI(name string) string { return Scheme + (&url.URL{Path: name}).EscapedPath() }

// MIME returns the media type of a memory, by the extension of its path.
func MIME(name string) string {
	switch path.Ext(name) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".json":
		return "application/json"
	}
	return "text/plain"
}

// Resources lists the memories that the caller can read, by path, beginning at a cursor: "" or a next that was
// returned before. At the end of the list, next is "". A cursor is a digest of a path, since paths can be private.
func (m *Memory) Resources(
	ctx context.Context, cursor string, limit int,
) (page []workspace.SourceEntry, next string, err error) {
	list, err := m.Files().List(ctx, ".")
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(list, func(a, b workspace.SourceEntry) int { return strings.Compare(a.Name, b.Name) })
	if cursor != "" {
		last := slices.IndexFunc(list, func(f workspace.SourceEntry) bool { return cursorAfter(f.Name) == cursor })
		if last < 0 {
			return nil, "", tool.Errorf(tool.Invalid, "the list has changed since the cursor was made").
				Try("start again without a cursor")
		}
		list = list[last+1:]
	}
	if len(list) > limit {
		return list[:limit], cursorAfter(list[limit-1].Name), nil
	}
	return list, "", nil
}

// cursorAfter returns the cursor after a memory, which does not reveal its path.
func cursorAfter(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// Resource returns the memory with a URI.
func (m *Memory) Resource(ctx context.Context, uri string) (tool.Part, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(uri, Scheme))
	if err != nil {
		return tool.Part{}, tool.Errorf(tool.NotFound, "no memory %.200q", uri).
			Try("send a URI such as %sMEMORY.md", Scheme)
	}
	d, err := m.Get(ctx, name)
	return tool.Part{URI: uri, Text: d.Text, MIME: MIME(d.Path)}, err
}

// Complete lists paths of memories that begin with a prefix, in order.
func (m *Memory) Complete(ctx context.Context, prefix string, limit int) (paths []string, more bool, err error) {
	list, err := m.Files().List(ctx, ".")
	for _, f := range list {
		if strings.HasPrefix(f.Name, prefix) {
			paths = append(paths, f.Name)
		}
	}
	slices.Sort(paths)
	return paths[:min(len(paths), limit)], len(paths) > limit, err
}
