package media

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// readDocument returns the text of a document as Markdown.
type readDocument struct {
	Options
	documents documents
}

// documents read documents: a [document.Service].
type documents interface {
	Answer(ctx context.Context, r document.Request, v document.View) (tool.Result, error)
	Download(ctx context.Context, owner, key string) (*document.Download, error)
	Keep(ctx context.Context, owner, key, name string, body io.Reader) (*document.Download, error)
}

type documentArgs struct {
	Path     string `json:"path,omitempty" jsonschema:"file; a.zip!/b.pdf is a file in an archive or mail, a.pdf!/p.png a picture" alias:"file,file_path,pdf,document,filename"`
	URL      string `json:"url,omitempty" jsonschema:"http or https URL in place of path" alias:"uri,link,href" maxlen:"8192"`
	Pages    string `json:"pages,omitempty" jsonschema:"pages, slides or sheets, such as 1-3,7 or 5-" alias:"page,page_range,sheet,slides"`
	Offset   int    `json:"offset,omitempty" jsonschema:"bytes of the first page to skip, as given in a result" min:"0"`
	Password string `json:"password,omitempty" jsonschema:"password of an encrypted document"`
	Images   bool   `json:"images,omitempty" jsonschema:"also return the pictures of these pages" alias:"include_images,pictures"`
	Prompt   string `json:"prompt,omitempty" jsonschema:"question for a model of the server, about these pages" alias:"question" hidden:"true"`
	Model    string `json:"model,omitempty" jsonschema:"PROVIDER/MODEL that answers the prompt" hidden:"true"`
	OCR      string `json:"ocr,omitempty" jsonschema:"when to recognise text in scanned pages" enum:"auto,off,on" default:"auto"`
}

func (readDocument) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_document", Group: groupRead, Title: "Read a document", Risk: tool.Reads, Viewed: true,
		Timeout: 4 * time.Minute, MaxShown: 60_000,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true},
		Doc: "Returns a document as Markdown: " + strings.Join(readers.Formats().Kinds(), ", ") + `.
At most 10 pages or 4,000 tokens; the last line says how to read on.
For source code and plain text use read_file.`,
		Also: []string{"pdf", "read_pdf", "pdf_read", "document_read", "convert_to_markdown", "markitdown",
			"convert_document", "doc_to_markdown", "extract_text", "read_docx", "read_excel", "read_xlsx", "read_word",
			"tool::document_read"},
		Keywords: "open " + readers.Formats().Words() + " spreadsheet slides presentation libreoffice e-book attachment " +
			"archive scan ocr convert markdown extract text table",
	}
}

func (t readDocument) Prepare(_ context.Context, a documentArgs) (tool.Plan, error) {
	plan := tool.Plan{Run: func(ctx context.Context) (tool.Result, error) { return t.Do(ctx, a) }}
	if a.Prompt != "" && t.Providers.Can(wire.Description) {
		plan.Ask = t.Providers.Ask(wire.DescriptionRequest{To: wire.To{Model: a.Model}, Prompt: a.Prompt})
	}
	return plan, nil
}

// Do returns the pages, or the answer of a model that has read them.
func (t readDocument) Do(ctx context.Context, a documentArgs) (tool.Result, error) {
	res, err := t.read(ctx, a)
	switch {
	case err != nil || a.Prompt == "":
		return res, err
	case !t.Providers.Can(wire.Description):
		return res.Add(tool.Part{Text: "\n[no provider is set up that answers prompts: answer it from the text above]"}), nil
	}
	var files []wire.File
	for _, p := range res.Parts {
		if strings.HasPrefix(p.MIME, "image/") {
			files = append(files, wire.File{Name: "picture", MIME: p.MIME, Data: p.Data})
		}
	}
	answer, err := studio{Options: t.Options}.ask(ctx, a.Model, a.Prompt+"\n\nThe document:\n"+res.Text(), files...)
	return tool.Text(answer), err
}

func (t readDocument) read(ctx context.Context, a documentArgs) (tool.Result, error) {
	pages, err := document.ParseRanges(a.Pages)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.Invalid, "pages: %w", err)
	}
	if strings.HasPrefix(a.Path, "http://") || strings.HasPrefix(a.Path, "https://") {
		a.Path, a.URL = "", a.Path
	}
	if (a.Path == "") == (a.URL == "") {
		return tool.Result{}, tool.Errorf(tool.Invalid, "read_document needs either path or url").
			Try(`send at least {"path":"..."}`)
	}
	r := document.Request{
		Pages: pages, Password: a.Password, OCR: a.OCR, Pictures: a.Images,
	}
	view := document.View{Path: a.Path, URL: a.URL, Offset: a.Offset}
	if a.URL != "" {
		address, members, _ := strings.Cut(a.URL, "!/")
		r.Members = membersOf(members)
		isContinued := len(pages) > 0 || a.Offset > 0 || members != ""
		file, err := t.download(ctx, address, isContinued)
		if err != nil {
			return tool.Result{}, err
		}
		defer file.Close()
		r.Content, r.Size, r.Name = file, file.Size(), file.Name
		return t.documents.Answer(ctx, r, view)
	}
	file, err := t.Files.Open(ctx, a.Path)
	if before, members, found := strings.Cut(a.Path, "!/"); found && err != nil {
		r.Members = membersOf(members)
		file, err = t.Files.Open(ctx, before)
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer file.Close()
	r.Content, r.Size, r.Name = file, file.Size, path.Base(file.Name)
	res, err := t.documents.Answer(ctx, r, view)
	if err != nil {
		return res, err
	}
	version, err := t.Seen.Of(file, file.Size, file.Stamp)
	if err == nil {
		t.Seen.Note(tool.CallerFrom(ctx), file.Name, version)
	}
	return res, err
}

// membersOf splits the path after its first !/.
func membersOf(rest string) []string {
	if rest == "" {
		return nil
	}
	return strings.Split(rest, "!/")
}

const (
	downloadTime = time.Minute
	maxRedirects = 5
)

// download fetches a document. A caller that continues to read a document gets the file that
// was downloaded before, if the host is still allowed.
func (t readDocument) download(ctx context.Context, address string, isContinued bool) (*document.Download, error) {
	r := outbound.Request{
		URL: address, Redirects: maxRedirects, MaxBytes: document.MaxSize, Timeout: downloadTime, Polite: true,
	}
	caller := tool.CallerFrom(ctx)
	owner := caller.Principal() + " " + caller.Profile
	if isContinued {
		if err := t.Client.Check(ctx, r); err != nil {
			return nil, err
		}
		if file, err := t.documents.Download(ctx, owner, address); err == nil {
			return file, nil
		}
	}
	answer, err := t.Client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusOK {
		return nil, tool.Errorf(tool.Unavailable, "%q responded with %d %s", text.Clip(address, 300), answer.Status,
			http.StatusText(answer.Status)).Try("check the URL, or see the whole response with web_fetch")
	}
	file, err := t.documents.Keep(ctx, owner, address, nameOf(answer), answer.Body)
	if errors.Is(err, outbound.ErrTooLong) {
		return nil, tool.Errorf(tool.TooLarge, "%q has more than %s", text.Clip(address, 300),
			text.Bytes(document.MaxSize))
	}
	return file, err
}

// nameOf returns the file name of a response. Only the extension matters.
func nameOf(a *outbound.Answer) string {
	if _, params, err := mime.ParseMediaType(a.Header.Get("Content-Disposition")); err == nil &&
		params["filename"] != "" {
		return path.Base(params["filename"])
	}
	name := "document"
	if u, err := url.Parse(a.URL); err == nil && path.Ext(u.Path) != "" {
		name = path.Base(u.Path)
	} else if kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type")); err == nil {
		if all, err := mime.ExtensionsByType(kind); err == nil && len(all) > 0 {
			name += all[0]
		}
	}
	return name
}
