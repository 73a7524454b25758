package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// mostResumes is how often a download that is cut goes on within one call.
const mostResumes = 4

// A download brings a file into the workspace.
type download struct {
	client  outbound.Client
	request outbound.Request
	part    Part
	most    int64
	limit   int64 // of the operator
	total   int64 // of the file, -1 when nobody said
	status  int   // of an answer that is no file, with its beginning
	said    Kept
}

// download saves what a request is answered with. What came before it was cut
// is kept, and asked for no more.
func (t httpRequest) download(ctx context.Context, r outbound.Request, a requestArgs) (tool.Result, error) {
	if err := t.files.Check(ctx, a.Path); err != nil {
		return tool.Result{}, err
	}
	part, err := t.spool.Open(ctx, fmt.Sprintf("%q %q %q %q %q %q %q", t.scope(ctx), r.Method, r.URL, r.Header, r.Body, a.Auth, a.Path))
	if err != nil {
		return tool.Result{}, err
	}
	defer part.Close()
	if r.Timeout == 0 {
		r.Timeout = downloadTime
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	d := download{client: t.client, request: r, part: part, limit: t.limits().Download, total: -1}
	d.most = d.limit
	if a.MaxBytes > 0 {
		d.most = min(d.limit, a.MaxBytes)
	}
	if err := d.run(ctx); err != nil {
		return tool.Result{}, d.cut(err)
	}
	if d.status != 0 {
		failure := statusError(d.status, d.said.URL, d.said.Header["Retry-After"])
		text, _, err := t.bodyText(ctx, t.room.patient(), d.said, r.Method, a.Raw)
		if err != nil {
			return tool.Result{}, err
		}
		part, _, _ := window(t.mask(text), 0, failedChars)
		return tool.Failure(failure).Add(tool.Part{Text: t.marks.Quote(d.said.URL, part)}), nil
	}
	if err := d.silent(a.Auth); err != nil {
		return tool.Result{}, err
	}
	return t.save(ctx, &d, a.Path)
}

// silent refuses a file that has the credential in it that was sent for it: in
// a file, nobody would mask it.
func (d *download) silent(name string) error {
	secret, ok := d.request.Secret.(Credential)
	if !ok {
		return nil
	}
	content, err := d.part.Content()
	if err != nil {
		return err
	}
	repeats, err := secret.Within(content)
	if err != nil || !repeats {
		return err
	}
	return errors.Join(tool.Errorf(tool.Refused, "the answer repeats the credential %q, so it is not saved", name).
		Try("send the request without download_path, and it is shown without it"), d.part.Begin(""))
}

// cut says what can be done about a download that did not come to its end.
func (d *download) cut(err error) error {
	if d.part.Tag() == "" || d.part.Size() == 0 || errors.Is(err, outbound.ErrTooLong) {
		next := "ask for more with max_bytes, or leave it out"
		if d.most == d.limit {
			next = "the operator allows no longer file"
		}
		return tooLong(err, d.request.URL, d.most, next)
	}
	known := *tool.AsError(err)
	return (&known).Try("%s have come and are kept: send the same request again, and it goes on from there", amount(d.part.Size()))
}

// run asks until all of the file is there. An error after some of it came is
// worth another try, if the server knows which version it was.
func (d *download) run(ctx context.Context) error {
	for try := 0; ; try++ {
		before, version := d.part.Size(), d.part.Tag()
		err := d.once(ctx)
		resumes := d.part.Tag() != "" && (d.part.Size() > before || d.part.Tag() != version) && !errors.Is(err, outbound.ErrTooLong)
		if err == nil || ctx.Err() != nil || !resumes || try == mostResumes {
			return err
		}
	}
}

func (d *download) once(ctx context.Context) error {
	r := d.request
	r.Header = r.Header.Clone()
	r.Raw = true
	r.MaxBytes = d.most
	have := d.part.Size()
	if tag := d.part.Tag(); tag != "" && have > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		r.Header.Set("If-Range", tag)
		r.MaxBytes -= have
	}
	answer, err := d.client.Do(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch {
	case answer.Status == http.StatusPartialContent:
		total, ok := continues(answer.Header.Get("Content-Range"), have)
		if !ok || d.total >= 0 && total != d.total || !sameVersion(answer.Header, d.part.Tag()) {
			return errors.Join(tool.Errorf(tool.Unavailable, "the server did not send the part that was asked for").Try("try again"), d.part.Begin(""))
		}
		d.total = total
	case answer.Status == http.StatusRequestedRangeNotSatisfiable && have > 0:
		if total, ok := strings.CutPrefix(answer.Header.Get("Content-Range"), "bytes */"); ok && total == strconv.FormatInt(have, 10) {
			d.total = have
			return nil // it was complete before
		}
		return errors.Join(tool.Errorf(tool.Unavailable, "the file is shorter than what came of it").Try("send the request again"), d.part.Begin(""))
	case answer.Status != http.StatusOK:
		return d.refused(answer)
	default:
		d.total = answer.Length
		if err := d.part.Begin(version(answer.Header)); err != nil {
			return err
		}
	}
	if d.total > d.most {
		return outbound.ErrTooLong
	}
	return d.copy(ctx, answer.Body)
}

// refused keeps what an answer says that is no file.
func (d *download) refused(answer *outbound.Answer) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return err
	}
	d.status = answer.Status
	d.said = Kept{URL: withoutUser(answer.URL), Status: answer.Status, Body: text}
	d.said.renew(answer.Header)
	return nil
}

// version is what a server calls this version of a file, if it can be asked
// for more of the same.
func version(h http.Header) string {
	if h.Get("Accept-Ranges") == "none" {
		return ""
	}
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

// sameVersion reports whether a part is of the version that was asked for, as
// far as its server says.
func sameVersion(h http.Header, tag string) bool {
	name := "Last-Modified"
	if strings.HasPrefix(tag, `"`) {
		name = "Etag"
	}
	said := h.Get(name)
	return said == "" || said == tag
}

// continues reads bytes FROM-TO/TOTAL.
func continues(text string, from int64) (total int64, ok bool) {
	span, size, found := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	begin, _, dashed := strings.Cut(span, "-")
	if !found || !dashed || begin != strconv.FormatInt(from, 10) {
		return 0, false
	}
	if size == "*" {
		return -1, true
	}
	total, err := strconv.ParseInt(size, 10, 64)
	return total, err == nil && total > from
}

// copy appends a body to the part, and reports how far it is.
func (d *download) copy(ctx context.Context, body io.Reader) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := d.part.Write(buf[:n]); err != nil {
				return err
			}
			tool.Progress(ctx, float64(d.part.Size()), float64(max(d.total, 0)), amount(d.part.Size()))
		}
		if errors.Is(err, io.EOF) {
			return d.whole()
		}
		if err != nil {
			return err
		}
	}
}

func (d *download) whole() error {
	if d.total >= 0 && d.part.Size() != d.total {
		return tool.Errorf(tool.Unavailable, "only %d of %d bytes came", d.part.Size(), d.total)
	}
	return nil
}

// save puts what has come into its place.
func (t httpRequest) save(ctx context.Context, d *download, path string) (tool.Result, error) {
	content, err := d.part.Content()
	if err != nil {
		return tool.Result{}, err
	}
	sum := sha256.New()
	name, err := t.files.Save(ctx, path, io.TeeReader(content, sum))
	if err != nil {
		return tool.Result{}, err
	}
	size := d.part.Size()
	if err := d.part.Done(); err != nil {
		return tool.Result{}, err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	return tool.Textf("[saved %s: %d bytes, sha256 %s]", name, size, digest).
		With(map[string]any{"path": name, "bytes": size, "sha256": digest}), nil
}
