package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// maxResumes is the max number of times that an interrupted download is continued.
const maxResumes = 20

// A download fetches a file.
type download struct {
	client        outbound.Client
	request       outbound.Request
	file          *os.File // bytes that were received so far
	size          int64    // of file
	version       string   // of the received bytes; "" if the download cannot be continued
	limit         int64    // of the call
	operatorLimit int64
	total         int64        // size of the file; -1 if unknown
	failed        *cache.Entry // the beginning of an error page
}

// download saves the body of the response. An interrupted download is continued.
func (t httpRequest) download(ctx context.Context, r outbound.Request, a requestArgs) (tool.Result, error) {
	if err := t.files.Check(ctx, a.Path); err != nil {
		return tool.Result{}, err
	}
	file, err := private.TempFile(t.scratch)
	if err != nil {
		return tool.Result{}, err
	}
	defer private.Discard(file)
	r.Timeout = cmp.Or(r.Timeout, downloadTimeout)
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	d := download{client: t.client, request: r, file: file, operatorLimit: t.limits().Download, total: -1}
	d.limit = d.operatorLimit
	if a.MaxBytes > 0 {
		d.limit = min(d.operatorLimit, a.MaxBytes)
	}
	if err := d.run(ctx); err != nil {
		return tool.Result{}, d.tooLarge(err)
	}
	if d.failed != nil {
		c, err := t.bodyText(ctx, t.patient(), *d.failed, r.Method, a)
		if err != nil {
			return tool.Result{}, err
		}
		return t.failure(*d.failed, t.mask(c.text)), nil
	}
	if err := d.checkSecret(a.Auth); err != nil {
		return tool.Result{}, err
	}
	return t.save(ctx, &d, a.Path)
}

// checkSecret refuses a file that contains the credential sent with the request,
// because files are not masked.
func (d *download) checkSecret(name string) error {
	secret, ok := d.request.Secret.(outbound.Credential)
	if !ok {
		return nil
	}
	contains, err := secret.Within(d.content())
	if err != nil || !contains {
		return err
	}
	return tool.Errorf(tool.Refused, "the response contains the credential %q, so it was not saved", name).
		Try("send the request without download_path; the credential is masked in the result")
}

// content returns the received bytes.
func (d *download) content() io.Reader { return io.NewSectionReader(d.file, 0, d.size) }

// tooLarge adds advice to the error for a file beyond a limit.
func (d *download) tooLarge(err error) error {
	next := "increase or omit max_bytes"
	if d.limit == d.operatorLimit {
		next = "do not download it: the operator does not allow larger files"
	}
	return tooLarge(err, d.request.URL, d.limit, next)
}

// run fetches until the file is complete. After an error it continues, if the attempt
// received something and the server identifies the version of the file.
func (d *download) run(ctx context.Context) error {
	for try := 0; ; try++ {
		size, version := d.size, d.version
		err := d.attempt(ctx)
		progressed := d.size > size || d.version != version
		canResume := d.version != "" && progressed && !errors.Is(err, outbound.ErrTooLong)
		if err == nil || ctx.Err() != nil || !canResume || try == maxResumes {
			return err
		}
	}
}

func (d *download) attempt(ctx context.Context) error {
	r := d.request
	r.Header = r.Header.Clone()
	r.Raw = true
	r.MaxBytes = d.limit
	have := d.size
	if d.version != "" && have > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		r.Header.Set("If-Range", d.version)
		r.MaxBytes -= have
	}
	answer, err := d.client.Do(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch {
	case answer.Status == http.StatusPartialContent:
		total, ok := parseContentRange(answer.Header.Get("Content-Range"), have)
		if !ok || d.total >= 0 && total != d.total || !sameVersion(answer.Header, d.version) {
			return tool.Errorf(tool.Unavailable, "the server sent another part than requested").
				Try("send the request again")
		}
		d.total = total
	case answer.Status == http.StatusRequestedRangeNotSatisfiable && have > 0:
		total, ok := strings.CutPrefix(answer.Header.Get("Content-Range"), "bytes */")
		if ok && total == strconv.FormatInt(have, 10) {
			d.total = have
			return nil // it was complete before
		}
		return tool.Errorf(tool.Unavailable, "the file is shorter than the part received so far").
			Try("send the request again")
	case answer.Status != http.StatusOK:
		return d.readError(answer)
	default:
		d.total = answer.Length
		d.size, d.version = 0, versionOf(answer.Header)
	}
	if d.total > d.limit {
		return outbound.ErrTooLong
	}
	return d.copy(ctx, answer.Body)
}

// readError reads the beginning of an error page.
func (d *download) readError(answer *outbound.Answer) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return err
	}
	page := newEntry(answer, text)
	d.failed = &page
	return nil
}

// versionOf returns the identifier of the version of a file; "" if the download cannot
// be continued.
func versionOf(h http.Header) string {
	if h.Get("Accept-Ranges") == "none" {
		return ""
	}
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

// sameVersion reports whether a response has a version, as far as its headers tell.
func sameVersion(h http.Header, version string) bool {
	name := "Last-Modified"
	if strings.HasPrefix(version, `"`) {
		name = "Etag"
	}
	got := h.Get(name)
	return got == "" || got == version
}

// parseContentRange parses "bytes FROM-TO/TOTAL"; total is -1 if it is unknown.
func parseContentRange(text string, from int64) (total int64, ok bool) {
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

// copy appends a body to the file and reports the progress.
func (d *download) copy(ctx context.Context, body io.Reader) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := d.file.WriteAt(buf[:n], d.size); err != nil {
				return err
			}
			d.size += int64(n)
			tool.Progress(ctx, float64(d.size), float64(max(d.total, 0)), formatBytes(d.size))
		}
		if errors.Is(err, io.EOF) {
			return d.checkSize()
		}
		if err != nil {
			return err
		}
	}
}

func (d *download) checkSize() error {
	if d.total >= 0 && d.size != d.total {
		return tool.Errorf(tool.Unavailable, "the response ended after %d of %d bytes", d.size, d.total).
			Try("send the request again")
	}
	return nil
}

// save writes the download to its path.
func (t httpRequest) save(ctx context.Context, d *download, path string) (tool.Result, error) {
	sum := sha256.New()
	name, err := t.files.Save(ctx, path, io.TeeReader(d.content(), sum))
	if err != nil {
		return tool.Result{}, err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	return tool.Textf("[saved %s: %d bytes, sha256 %s]", name, d.size, digest).
		With(response{Path: name, Bytes: d.size, SHA256: digest}), nil
}
