package memory

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Scheme begins the URI of each memory.
const Scheme = "memory:///"

// URI returns the URI of the memory at a path.
func URI(name string) string { return Scheme + (&url.URL{Path: name}).EscapedPath() }

// Resources lists the memories that the caller can read, by path.
func (m *Memory) Resources(ctx context.Context) (list []tool.Resource, err error) {
	entries, err := m.entries(ctx)
	for _, e := range entries {
		list = append(list, tool.Resource{
			URI: URI(e.Path), Name: e.Path, MIME: "text/markdown", Size: e.Size, Notes: tool.ModifiedAt(e.Updated),
		})
	}
	slices.SortStableFunc(list, func(a, b tool.Resource) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Resource returns the memory with a URI.
func (m *Memory) Resource(ctx context.Context, uri string) (tool.Part, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(uri, Scheme))
	if err != nil {
		return tool.Part{}, tool.Errorf(tool.NotFound, "no memory %.200q", uri).
			Try("send a URI such as %sMEMORY.md", Scheme)
	}
	d, err := m.Get(ctx, name)
	return tool.Part{URI: uri, Text: d.Text, MIME: "text/markdown"}, err
}

// Complete lists paths of memories that begin with a prefix, in order.
func (m *Memory) Complete(ctx context.Context, prefix string, limit int) (paths []string, more bool, err error) {
	entries, err := m.entries(ctx)
	for _, e := range entries {
		if strings.HasPrefix(e.Path, prefix) {
			paths = append(paths, e.Path)
		}
	}
	slices.Sort(paths)
	return paths[:min(len(paths), limit)], len(paths) > limit, err
}
