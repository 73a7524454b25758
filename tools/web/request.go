package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/page"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// httpRequest sends a request and returns or saves the response.
type httpRequest struct {
	fetcher
	secrets Secrets
	files   Files
	scratch string // a private directory for unfinished downloads
}

type requestArgs struct {
	URL      string            `json:"url" jsonschema:"http or https URL; localhost: servers of exec" alias:"uri,link,endpoint" maxlen:"8192"`
	Method   string            `json:"method,omitempty" jsonschema:"method, default GET" alias:"verb,http_method"`
	Headers  map[string]string `json:"headers,omitempty" jsonschema:"request headers, without credentials"`
	Body     any               `json:"body,omitempty" jsonschema:"text or any JSON value" alias:"data,json,payload" maxlen:"1048576"`
	Auth     string            `json:"auth_profile,omitempty" jsonschema:"credential configured by the operator" alias:"auth_secret,auth"`
	Path     string            `json:"download_path,omitempty" jsonschema:"file to save the body in" alias:"output_path,save_to,output,outputPath,path"`
	Timeout  int               `json:"timeout_seconds,omitempty" jsonschema:"seconds to wait" alias:"timeout" min:"0" max:"600"`
	MaxBytes int64             `json:"max_bytes,omitempty" jsonschema:"bytes to return, at most 10 MiB; for a file its maximum size" alias:"max_size" min:"0"`
	Raw      bool              `json:"raw,omitempty" jsonschema:"return HTML instead of Markdown"`
	Links    bool              `json:"links,omitempty" jsonschema:"also list the links of an HTML page" alias:"include_links"`
	Follow   *bool             `json:"follow_redirects,omitempty" jsonschema:"false returns a redirect as it is" hidden:"true"`
}

const (
	defaultAnswer   = 1 << 20 // bytes
	maxAnswer       = 10 << 20
	maxTimeout      = 600 * time.Second
	downloadTimeout = 300 * time.Second // by default
)

func (httpRequest) Spec() tool.Spec {
	return tool.Spec{
		Name: "http_request", Group: group, Title: "HTTP request", Risk: tool.Runs,
		Timeout: maxTimeout + 15*time.Second, MaxText: 1 << 20, MaxShown: defaultChars,
		Hints: tool.Hints{OpenWorld: true},
		Doc: `Sends an HTTP request. Returns status, headers and body, or saves the body as a file.
GET and HEAD follow redirects, except with auth_profile.
To read web pages use web_fetch.`,
		Also: []string{"url_fetch", "http", "api_call", "tool::api_call", "curl", "download",
			"media_download", "tool::media_download"},
		Keywords: "rest api query call get post put patch delete webhook json endpoint status code header token " +
			"download file binary send upload",
		Output: response{},
	}
}

// risk rates a request by its method, and by its files in the workspace.
func (a requestArgs) risk() (tool.Risk, string) {
	switch method := a.method(); {
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method):
		return tool.Runs, fmt.Sprintf("sends %s to %s", short(method, 20), short(a.URL, 300))
	case a.Path != "":
		return tool.Writes, "saves a file from " + short(a.URL, 300)
	case a.Auth != "":
		return tool.Reads, "sends the credential " + short(a.Auth, 64)
	}
	return tool.Reads, ""
}

func (a requestArgs) method() string {
	if a.Method == "" {
		return http.MethodGet
	}
	return strings.ToUpper(strings.TrimSpace(a.Method))
}

// Prepare builds the request. An approval depends on the arguments only; a request
// that cannot be sent is refused before a person is asked.
func (t httpRequest) Prepare(ctx context.Context, a requestArgs) (tool.Plan, error) {
	var plan tool.Plan
	plan.Risk, plan.Why = a.risk()
	if plan.Risk == tool.Runs && t.isOwn(ctx, completeURL(a.URL)) { // as curl in exec
		plan.Risk, plan.Why = tool.Writes, ""
	}
	r, err := t.request(ctx, a)
	plan.Facts = func(ctx context.Context) (tool.Facts, error) {
		if a.Path != "" {
			if err := t.files.Check(ctx, a.Path); err != nil {
				return nil, err
			}
		}
		return nil, t.client.Check(ctx, r)
	}
	plan.Run = func(ctx context.Context) (tool.Result, error) { return t.send(ctx, a, r) }
	return plan, err
}

// send sends the request and returns or saves the response.
func (t httpRequest) send(ctx context.Context, a requestArgs, r outbound.Request) (tool.Result, error) {
	if a.Path != "" {
		return t.download(ctx, r, a)
	}
	answer, err := t.client.Do(ctx, r)
	if err != nil {
		return tool.Result{}, err
	}
	defer answer.Body.Close()
	return t.show(ctx, r, answer, a)
}

// request returns the request for the arguments.
func (t httpRequest) request(ctx context.Context, a requestArgs) (outbound.Request, error) {
	r := outbound.Request{
		Method: a.method(), URL: completeURL(a.URL), Header: make(http.Header), MaxBytes: a.MaxBytes,
		Timeout: time.Duration(a.Timeout) * time.Second, Polite: true,
	}
	if methods := strings.Fields("GET HEAD OPTIONS POST PUT PATCH DELETE"); !slices.Contains(methods, r.Method) {
		return r, tool.Errorf(tool.Invalid, "the method %q is not supported", short(r.Method, 20)).
			Try("use one of %s", strings.Join(methods, ", "))
	}
	if a.Path != "" && r.Method != http.MethodGet && r.Method != http.MethodPost {
		return r, tool.Errorf(tool.Invalid, "a %s request cannot save a file", r.Method).
			Try("use GET with download_path")
	}
	if a.MaxBytes > maxAnswer && a.Path == "" {
		return r, tool.Errorf(tool.Invalid, "max_bytes is %d, the maximum is %d", a.MaxBytes, maxAnswer).
			Try("save the body with download_path")
	}
	if a.Path == "" { // a shorter text is cut after secrets are masked, while they are complete
		r.MaxBytes = max(a.MaxBytes, defaultAnswer)
	}
	err := checkHeaders(a.Headers)
	if err != nil {
		return r, err
	}
	for name, value := range a.Headers {
		r.Header.Set(name, value)
	}
	if r.Body, err = a.body(r.Header); err != nil {
		return r, err
	}
	if r.Body != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return r, tool.Errorf(tool.Invalid, "a %s request has no body", r.Method).
			Try("use POST, or put the values into the query of the URL")
	}
	follows := (r.Method == http.MethodGet || r.Method == http.MethodHead) && (a.Follow == nil || *a.Follow)
	if a.Auth != "" {
		credential, err := t.secrets.Find(ctx, a.Auth, r.Method, r.URL)
		if err != nil {
			return r, err
		}
		r.Secret, follows = credential, false // the next URL may be for another credential
	}
	if follows {
		r.Redirects = maxRedirects
	}
	return r, nil
}

// body returns the encoded body, and sets its type if it is missing.
func (a requestArgs) body(header http.Header) ([]byte, error) {
	kind := header.Get("Content-Type")
	set := func(value string) {
		if kind == "" {
			header.Set("Content-Type", value)
		}
	}
	switch v := a.Body.(type) {
	case nil:
		return nil, nil
	case string:
		if json.Valid([]byte(v)) && strings.ContainsAny(v[:1], "{[\"") {
			set("application/json")
		} else {
			set("text/plain; charset=utf-8")
		}
		return []byte(v), nil
	case map[string]any:
		if strings.HasPrefix(strings.ToLower(kind), "application/x-www-form-urlencoded") {
			return formBody(v)
		}
	}
	set("application/json")
	body, err := text.JSON(a.Body)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "body cannot be encoded as JSON").Try("send a string or a JSON value")
	}
	return body, nil
}

func formBody(fields map[string]any) ([]byte, error) {
	form := make(url.Values, len(fields))
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			return nil, tool.Errorf(tool.Invalid, "the form field %q is an object", short(name, 60)).
				Try("send strings, numbers, or lists of these")
		case []any:
			for _, each := range v {
				form.Add(name, fmt.Sprint(each))
			}
		case nil:
		default:
			form.Set(name, fmt.Sprint(v))
		}
	}
	return []byte(form.Encode()), nil
}

// show returns the response as text, cut after max_bytes.
func (t httpRequest) show(
	ctx context.Context, r outbound.Request, answer *outbound.Answer, a requestArgs,
) (tool.Result, error) {
	admitted := t.patient()
	defer admitted.release()
	body, err := admitted.readBody(ctx, answer)
	isCut := errors.Is(err, outbound.ErrTooLong)
	if err != nil && !isCut {
		return tool.Result{}, err
	}
	got := newEntry(answer, body)
	shown, err := t.bodyText(ctx, admitted, got, r.Method, a)
	if err != nil {
		return tool.Result{}, err
	}
	var document tool.Result
	if !isCut && !a.Raw && got.Status == http.StatusOK && t.documents.Takes(body) {
		address := ""
		if r.Method == http.MethodGet && r.Secret == nil && len(a.Headers) == 0 {
			address = r.URL
		}
		if document, err = t.readDocument(ctx, got, address); err == nil {
			shown = content{notes: []string{"a document, as Markdown below"}}
		} else if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		} else if failed := tool.AsError(err); failed.Kind != tool.Internal {
			shown.notes = append(shown.notes, "the document cannot be read: "+failed.What)
		}
	}
	note := strings.Join(shown.notes, "; ")
	limit := int64(maxShown)
	if a.MaxBytes > 0 {
		limit = min(limit, a.MaxBytes)
	}
	isLong := int64(len(shown.text)) > limit
	if isLong || isCut {
		shown.text = t.mask(shown.text)
	}
	switch {
	case isLong:
		shown.text = strings.ToValidUTF8(shown.text[:min(int64(len(shown.text)), limit)], "")
	case isCut: // the last word may be the beginning of a secret
		shown.text = shown.text[:strings.LastIndexAny(shown.text, " \n")+1]
	}
	if isLong || isCut {
		note = strings.TrimPrefix(note+"; the rest is omitted: increase max_bytes, or save it with download_path", "; ")
	}
	text := t.headerLines(answer.Header)
	if shown.text != "" {
		text += "\n" + shown.text
	}
	if list := listLinks(shown.links); a.Links && list != "" {
		text += "\n\nLinks:\n" + list
	}
	head := fmt.Sprintf("[%s %s: %d %s, %s",
		r.Method, line(got.URL, 500), got.Status, http.StatusText(got.Status), formatBytes(int64(len(body))))
	if len(got.Via) > 0 {
		head += ", redirected from " + line(got.Via[0], 300)
	}
	if note != "" {
		head += "; " + note
	}
	result := tool.Text(head + "]\n" + t.quote(got, "the response", text)).Add(document.Parts...).With(response{
		URL: got.URL, Status: got.Status, Headers: t.headers(answer.Header), Body: shown.text, Bytes: int64(len(body)),
		Cut: isLong || isCut,
	})
	if got.Status >= http.StatusBadRequest {
		failure := statusError(got.Status, got.URL, got.Header["Retry-After"])
		result = tool.Failure(failure).Add(result.Parts...).With(result.Data)
	}
	return result, nil
}

// A response is the result of the tool for programs. Of a file that was saved it has the
// path, the size and the SHA-256.
type response struct {
	URL     string            `json:"url,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Bytes   int64             `json:"bytes"`         // of the whole body
	Cut     bool              `json:"cut,omitempty"` // the body is not whole
	Path    string            `json:"path,omitempty"`
	SHA256  string            `json:"sha256,omitempty"`
}

// headers returns the headers that headerLines shows.
func (t httpRequest) headers(h http.Header) map[string]string {
	shown := make(map[string]string)
	for text := range strings.Lines(t.headerLines(h)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(text), ": "); ok {
			shown[name] = strings.TrimPrefix(shown[name]+", "+value, ", ")
		}
	}
	return shown
}

// maxShown is the maximum size of the text of a response in bytes.
const maxShown = 6 << 20

// bodyText returns a body as text: HTML as Markdown unless raw is set, and only a note
// for a body that is not text.
func (t httpRequest) bodyText(
	ctx context.Context, admitted *admission, got cache.Entry, method string, a requestArgs,
) (content, error) {
	if len(got.Body) == 0 || method == http.MethodHead {
		return content{}, nil
	}
	if err := admitted.admitReader(ctx); err != nil {
		return content{}, err
	}
	defer admitted.release()
	kind := mediaType(got)
	switch {
	case isHTML(kind) && !a.Raw:
		if c, err := readHTML(ctx, got, fetchArgs{Format: "markdown", Links: a.Links}); err == nil {
			c.notes = append([]string{"HTML as Markdown"}, c.notes...)
			return c, nil
		}
	case kind == "application/json" || strings.HasSuffix(kind, "+json") || isText(kind, got.Body):
		c := content{text: page.Decode(got.Body, got.Header["Content-Type"])}
		c.clean()
		return c, nil
	}
	note := "the body is " + typeName(t.documents, kind) + " and cannot be shown; save it with download_path"
	if t.documents.Takes(got.Body) {
		note += ", then read the file with read_document"
	}
	return content{notes: []string{note}}, ctx.Err()
}

const (
	maxHeaders     = 40
	maxHeaderChars = 300
)

// headerLines returns the headers of a response, without those about the connection
// and for browsers.
func (t httpRequest) headerLines(h http.Header) string {
	var names []string
	for name := range h {
		if !slices.Contains([]string{
			"Alt-Svc", "Nel", "Report-To", "Strict-Transport-Security", "Content-Security-Policy",
			"Content-Security-Policy-Report-Only", "Permissions-Policy", "X-Content-Type-Options", "X-Frame-Options",
			"X-Xss-Protection", "Referrer-Policy", "Server-Timing", "Connection", "Keep-Alive", "Transfer-Encoding",
			"Accept-Ranges", "Vary", "Date",
		}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i == maxHeaders {
			fmt.Fprintf(&b, "and %d more headers\n", len(names)-i)
			break
		}
		for _, value := range h[name] {
			if name == "Set-Cookie" { // its value is a credential
				value, _, _ = strings.Cut(value, "=")
				value += "=..."
			}
			fmt.Fprintf(&b, "%s: %s\n", line(name, 100), line(t.mask(value), maxHeaderChars))
		}
	}
	return b.String()
}

// checkHeaders refuses headers with names of credentials: the model should not know
// credentials, and its conversation would reveal them to others.
func checkHeaders(headers map[string]string) error {
	for name := range headers {
		if isCredential(name) {
			return tool.Errorf(tool.Refused, "the header %q is for credentials", short(name, 60)).
				Try("omit it, and set auth_profile to a credential that the operator has configured")
		}
	}
	return nil
}

// credentialWords occur in the names of headers with credentials.
var credentialWords = []string{
	"apikey", "accesskey", "subscriptionkey", "token", "secret", "auth", "session", "cookie", "password", "credential",
}

// withoutHarmless removes texts that look like one of these words but are no credentials. Tokens against request
// forgery are useless without a session. Atlassian's token disables the check for such tokens.
var withoutHarmless = strings.NewReplacer("csrftoken", "", "xsrftoken", "", "atlassiantoken", "",
	"authoriz", "auth", "authoris", "auth", "author", "")

// isCredential reports whether a header with this name has a credential.
func isCredential(name string) bool {
	name = withoutHarmless.Replace(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)))
	return slices.ContainsFunc(credentialWords, func(word string) bool { return strings.Contains(name, word) })
}
