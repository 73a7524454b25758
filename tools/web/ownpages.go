package web

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// WorkspaceHost is the host of the files of the workspace in the browser. It exists only in the
// proxy of a browser for the caller's own pages.
const WorkspaceHost = "workspace.localhost"

// OwnPages are the pages that a caller has made: files of the workspace, and pages that its commands serve. They
// implement [browser.Own].
type OwnPages struct {
	Workspace workspace.Files
	// Mask removes secrets from a text. Pages get files as the file tools show them: a
	// picture of a page cannot be masked.
	Mask func(string) string
	// IsOwn reports whether a URL leads to a port of the commands of the caller in ctx.
	IsOwn func(ctx context.Context, url string) bool
	// Allowed reports whether the caller in ctx may run commands. A page is code.
	Allowed func(ctx context.Context) bool
	// Connect returns a proxy to the own pages of the caller in ctx. Requests to sites are
	// answered by them.
	Connect func(ctx context.Context, sites map[string]http.Handler,
		refused func(to string, err error)) (browser.Proxy, error)
}

// Address returns the URL of an own page: a path of the workspace, also as file: URL, or a URL
// of a server of the caller's commands.
func (o OwnPages) Address(ctx context.Context, text string) (address string, own bool, err error) {
	text = strings.TrimSpace(text)
	if !o.Allowed(ctx) || text == "" || text == "about:blank" {
		return text, false, nil
	}
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case isURL && strings.EqualFold(scheme, "file"):
		name, err := url.PathUnescape(strings.TrimPrefix(rest, "localhost"))
		if err != nil {
			return text, false, tool.Errorf(tool.Invalid, "the file: URL is invalid").Try("send the path of the file")
		}
		return o.file(ctx, name)
	case isURL:
		u, err := url.Parse(text)
		own := err == nil && (strings.EqualFold(u.Hostname(), WorkspaceHost) || o.IsOwn(ctx, text))
		return text, own, nil
	}
	if complete := completeURL(text); o.IsOwn(ctx, complete) {
		return complete, true, nil
	}
	if address, own, err = o.file(ctx, text); err == nil || isPath(text) {
		return address, own, err
	}
	return text, false, nil
}

// isPath reports whether a text can only be the path of a file, and not a host.
func isPath(text string) bool {
	name, _, _ := strings.Cut(text, "?")
	name, _, _ = strings.Cut(name, "#")
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".svg", ".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".txt", ".json":
		return !strings.Contains(name, ":")
	}
	dir, _, inDir := strings.Cut(name, "/")
	return strings.HasPrefix(name, ".") || inDir && !strings.ContainsAny(dir, ".:")
}

// file returns the URL of a file, or of the index.html of a directory. A text after ? or # is
// for the page, unless the file has such a name.
func (o OwnPages) file(ctx context.Context, name string) (string, bool, error) {
	name = strings.TrimPrefix(name, "./")
	shown, more := name, ""
	_, err := o.open(ctx, name)
	if at := strings.IndexAny(name, "?#"); err != nil && at >= 0 {
		shown, more = name[:at], name[at:]
	}
	for _, candidate := range []string{shown, path.Join(shown, "index.html")} {
		found, failed := o.open(ctx, candidate)
		if failed == nil {
			u := url.URL{Scheme: "http", Host: WorkspaceHost, Path: "/" + strings.TrimPrefix(found, "/")}
			return u.String() + more, true, nil
		}
		if candidate == shown {
			err = failed
		}
	}
	return "", false, err
}

// open returns the name of a file that the caller can read.
func (o OwnPages) open(ctx context.Context, name string) (shown string, err error) {
	f, err := o.Workspace.Open(ctx, name)
	if err != nil {
		return "", err
	}
	return f.Name, f.Close()
}

// Proxy returns a proxy to the own pages of the caller in ctx.
func (o OwnPages) Proxy(ctx context.Context, refused func(to string, err error)) (browser.Proxy, error) {
	site := siteOf{o.Workspace, o.Mask, tool.CallerFrom(ctx)}
	return o.Connect(ctx, map[string]http.Handler{WorkspaceHost: site}, refused)
}

// siteOf serves the files that a caller can read. It changes nothing.
type siteOf struct {
	files  workspace.Files
	mask   func(string) string
	caller tool.Caller
}

// maxPageFile is the maximum size of a file with text that a page can load, in bytes.
const maxPageFile = 16 << 20

func (s siteOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "files of the workspace can only be read", http.StatusMethodNotAllowed)
		return
	}
	ctx := tool.With(r.Context(), &tool.Running{Caller: s.caller})
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	f, err := s.files.Open(ctx, name)
	if err != nil {
		if index, failed := s.files.Open(ctx, path.Join(name, "index.html")); failed == nil {
			index.Close()
			to := url.URL{Path: "/" + path.Join(name, "index.html")}
			http.Redirect(w, r, to.String(), http.StatusFound)
			return
		}
		status := http.StatusNotFound
		if tool.AsError(err).Kind == tool.Refused {
			status = http.StatusForbidden
		}
		http.Error(w, tool.AsError(err).Error(), status)
		return
	}
	defer f.Close()
	s.serve(w, r, f)
}

// serve sends a file. Text is masked.
func (s siteOf) serve(w http.ResponseWriter, r *http.Request, f *workspace.File) {
	var content io.ReadSeeker = io.NewSectionReader(f, 0, f.Size)
	head := make([]byte, 512)
	n, err := io.ReadFull(content, head)
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		_, err = content.Seek(0, io.SeekStart)
	}
	kind := mime.TypeByExtension(path.Ext(f.Name))
	if text := isPageText(kind) || strings.HasPrefix(http.DetectContentType(head[:n]), "text/"); err == nil && text {
		if f.Size > maxPageFile {
			http.Error(w, "the file is too large for a page", http.StatusRequestEntityTooLarge)
			return
		}
		var all []byte
		if all, err = io.ReadAll(content); err == nil {
			content = strings.NewReader(s.mask(string(all)))
		}
	}
	if err != nil {
		http.Error(w, "the file cannot be read", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if isSource(kind) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	http.ServeContent(w, r, path.Base(f.Name), f.Modified, content)
}

// isPageText reports whether a type is text for pages or people.
func isPageText(kind string) bool {
	kind, _, _ = mime.ParseMediaType(kind)
	return isText(kind, []byte{0}) || kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// isSource reports whether a type is text that browsers save instead of showing it.
func isSource(kind string) bool {
	kind, _, _ = mime.ParseMediaType(kind)
	switch kind {
	case "text/html", "text/css", "text/javascript", "text/xml", "text/plain":
		return false
	}
	return strings.HasPrefix(kind, "text/")
}
