package contextfiles

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Scheme begins the URI of each context file.
const Scheme = "context:///"

// URI returns the URI of a context file.
func URI(name string) string { return Scheme + name }

// Resources lists the caller's context files.
func (f *Files) Resources(ctx context.Context) (list []tool.Resource, err error) {
	files, err := f.List(ctx, ".")
	for _, file := range files {
		list = append(list, tool.Resource{
			URI: URI(file.Name), Name: file.Name, MIME: "text/markdown", Size: file.Size,
			Notes: tool.ModifiedAt(file.Modified),
		})
	}
	return list, err
}

// Resource returns the context file with a URI.
func (f *Files) Resource(ctx context.Context, uri string) (tool.Part, error) {
	missing := tool.Errorf(tool.NotFound, "there is no context file %.200q", uri).
		Try("send a URI such as %s", URI(Soul))
	name, err := url.PathUnescape(strings.TrimPrefix(uri, Scheme))
	if err != nil || tool.CallerFrom(ctx).Agent == "" {
		return tool.Part{}, missing
	}
	d, err := f.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Part{}, missing
	}
	return tool.Part{URI: uri, Text: d.Text, MIME: "text/markdown"}, err
}

// Complete lists names of the caller's context files that begin with a prefix.
func (f *Files) Complete(ctx context.Context, prefix string) (names []string, err error) {
	list, err := f.List(ctx, ".")
	for _, file := range list {
		if strings.HasPrefix(file.Name, prefix) {
			names = append(names, file.Name)
		}
	}
	return names, err
}
