package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/page"
)

// httpRequest sends one request to an interface, or saves what it answers.
type httpRequest struct {
	fetcher
	secrets Secrets
	files   Files
	spool   Spool
}

type requestArgs struct {
	URL      string            `json:"url" jsonschema:"http or https" alias:"uri,link,endpoint" maxlen:"8192"`
	Method   string            `json:"method,omitempty" jsonschema:"default GET" alias:"verb,http_method"`
	Headers  map[string]string `json:"headers,omitempty" jsonschema:"no credentials"`
	Body     any               `json:"body,omitempty" jsonschema:"text, or any JSON" alias:"data,json,payload" maxlen:"1048576"`
	Auth     string            `json:"auth_profile,omitempty" jsonschema:"credential that the operator has set up" alias:"auth_secret,auth"`
	Path     string            `json:"download_path,omitempty" jsonschema:"save the answer there; goes on where it was cut" alias:"output_path,save_to,output"`
	Timeout  int               `json:"timeout_seconds,omitempty" jsonschema:"default 30" alias:"timeout" min:"0" max:"600"`
	MaxBytes int64             `json:"max_bytes,omitempty" jsonschema:"default 1 MiB" alias:"max_size" min:"0"`
	Raw      bool              `json:"raw,omitempty" jsonschema:"HTML as it came"`
}

const (
	usualAnswer = 1 << 20
	mostAnswer  = 10 << 20
	mostTime    = 600 * time.Second
	// downloadTime is how long a download may take when the call does not say.
	downloadTime = 300 * time.Second
)

func (httpRequest) Spec() tool.Spec {
	return tool.Spec{
		Name: "http_request", Group: group, Title: "HTTP request", Risk: tool.Runs, Timeout: mostTime + 15*time.Second, MaxText: 1 << 20, MaxShown: usualChars,
		Hints: tool.Hints{OpenWorld: true},
		Doc: `Sends an HTTP request and returns status, headers and body, or saves the body as a file with its SHA-256.
For reading pages use web_fetch. Only GET and HEAD follow redirects.`,
		Also:     []string{"url_fetch", "http", "api_call", "tool::api_call", "curl", "download"},
		Keywords: "rest api post put patch delete webhook json download file",
	}
}

// risk rates a request by its method, and by what it leaves in the workspace.
func (a requestArgs) risk() (tool.Risk, string) {
	switch method := a.method(); {
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method):
		return tool.Runs, fmt.Sprintf("sends %s to %s", short(method, 20), short(a.URL, 300))
	case a.Path != "":
		return tool.Writes, "saves a file from " + short(a.URL, 300)
	case a.Auth != "":
		return tool.Reads, "asks with the credential " + short(a.Auth, 64)
	}
	return tool.Reads, ""
}

func (a requestArgs) method() string {
	if a.Method == "" {
		return http.MethodGet
	}
	return strings.ToUpper(strings.TrimSpace(a.Method))
}

// Prepare makes the request of the arguments. An approval depends on nothing
// else; what cannot be sent is refused before a person is asked.
func (t httpRequest) Prepare(ctx context.Context, a requestArgs) (tool.Plan, error) {
	var plan tool.Plan
	plan.Risk, plan.Why = a.risk()
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
	return t.tell(ctx, r, answer, a.Raw)
}

// request makes of the arguments what is sent.
func (t httpRequest) request(ctx context.Context, a requestArgs) (outbound.Request, error) {
	r := outbound.Request{
		Method: a.method(), URL: address(a.URL), Header: make(http.Header), MaxBytes: a.MaxBytes,
		Timeout: time.Duration(a.Timeout) * time.Second, Polite: true,
	}
	if allowed := t.limits().Methods(ctx); !slices.Contains(allowed, r.Method) {
		return r, tool.Errorf(tool.Refused, "the operator does not allow the method %q", short(r.Method, 20)).
			Try("use one of these, or ask the person to have the operator allow it: %s", strings.Join(allowed, ", "))
	}
	if a.Path != "" && r.Method != http.MethodGet && r.Method != http.MethodPost {
		return r, tool.Errorf(tool.Invalid, "%s requests bring no file", r.Method).Try("use GET with download_path")
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = usualAnswer
	}
	if r.MaxBytes > mostAnswer && a.Path == "" {
		return r, tool.Errorf(tool.Invalid, "max_bytes is %d, the most is %d", r.MaxBytes, mostAnswer).Try("save it with download_path")
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
		return r, tool.Errorf(tool.Invalid, "%s requests have no body", r.Method).Try("use POST, or put it into the query of the URL")
	}
	follows := r.Method == http.MethodGet || r.Method == http.MethodHead
	if a.Auth != "" {
		credential, err := t.secrets.Find(ctx, a.Auth, r.Method, r.URL)
		if err != nil {
			return r, err
		}
		r.Secret, follows = credential, follows && credential.Redirects()
	}
	if follows {
		r.Redirects = mostHops
	}
	return r, nil
}

// body is what is sent, and of which type, unless a header says.
func (a requestArgs) body(header http.Header) ([]byte, error) {
	kind := header.Get("Content-Type")
	set := func(usual string) {
		if kind == "" {
			header.Set("Content-Type", usual)
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a.Body); err != nil {
		return nil, tool.Errorf(tool.Invalid, "the body is no JSON").Try("send a text or a JSON value")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func formBody(fields map[string]any) ([]byte, error) {
	form := make(url.Values, len(fields))
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			return nil, tool.Errorf(tool.Invalid, "the field %q of a form is an object", short(name, 60)).Try("send texts, numbers, or lists of them")
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

// tell shows an answer.
func (t httpRequest) tell(ctx context.Context, r outbound.Request, answer *outbound.Answer, raw bool) (tool.Result, error) {
	p := t.room.patient()
	defer p.leave()
	body, err := p.whole(ctx, answer)
	if err != nil {
		return tool.Result{}, tooLong(err, r.URL, r.MaxBytes, "save it with download_path, and read parts of the file")
	}
	got := Kept{URL: withoutUser(answer.URL), Via: answer.Via, Status: answer.Status, Body: body, Header: make(map[string]string)}
	got.renew(answer.Header)
	text := t.headerLines(answer.Header)
	shown, note, err := t.bodyText(ctx, p, got, r.Method, raw)
	if err != nil {
		return tool.Result{}, err
	}
	if shown != "" {
		text += "\n" + shown
	}
	if len(text) > mostShown { // or its end would go, with the mark there
		text, note = cutShown(t.mask(text)), strings.TrimPrefix(note+"; the rest is left out: save it with download_path", "; ")
	}
	head := fmt.Sprintf("[%s %s: %d %s, %s", r.Method, line(got.URL, 500), got.Status, http.StatusText(got.Status), amount(int64(len(body))))
	if len(got.Via) > 0 {
		head += ", redirected from " + line(got.Via[0], 300)
	}
	if note != "" {
		head += "; " + note
	}
	result := tool.Text(head + "]\n" + t.marks.Quote(got.URL, text))
	if got.Status >= http.StatusBadRequest {
		failure := statusError(got.Status, got.URL, got.Header["Retry-After"])
		result = tool.Failure(failure).Add(result.Parts...)
	}
	return result, nil
}

// mostShown is the longest text of an answer, in bytes.
const mostShown = 6 << 20

func cutShown(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), mostShown)], "")
}

// bodyText is a body as text: HTML as Markdown, unless it is wanted raw, and
// nothing of what is no text.
func (t httpRequest) bodyText(ctx context.Context, p *place, got Kept, method string, raw bool) (text, note string, err error) {
	if len(got.Body) == 0 || method == http.MethodHead {
		return "", "", nil
	}
	if err := p.turn(ctx); err != nil {
		return "", "", err
	}
	defer p.leave()
	kind := mediaType(got)
	switch {
	case isHTML(kind) && !raw:
		if c, err := readHTML(ctx, got, fetchArgs{Format: "markdown"}); err == nil {
			return c.text, strings.Join(append([]string{"HTML, shown as Markdown"}, c.notes...), "; "), nil
		}
	case kind == "application/json" || strings.HasSuffix(kind, "+json") || isText(kind, got.Body):
		c := content{text: page.Decode(got.Body, got.Header["Content-Type"])}
		c.clean()
		return c.text, strings.Join(c.notes, "; "), nil
	}
	return "", "the body is " + typeName(kind) + " and not shown; save it with download_path", ctx.Err()
}

const (
	mostHeaders     = 40
	mostHeaderChars = 300
)

// headerLines are the headers of an answer that may matter to who asked.
func (t httpRequest) headerLines(h http.Header) string {
	var names []string
	for name := range h {
		if !slices.Contains([]string{
			"Alt-Svc", "Nel", "Report-To", "Strict-Transport-Security", "Content-Security-Policy", "Content-Security-Policy-Report-Only",
			"Permissions-Policy", "X-Content-Type-Options", "X-Frame-Options", "X-Xss-Protection", "Referrer-Policy", "Server-Timing",
			"Connection", "Keep-Alive", "Transfer-Encoding", "Accept-Ranges", "Vary", "Date",
		}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i == mostHeaders {
			fmt.Fprintf(&b, "and %d more headers\n", len(names)-i)
			break
		}
		for _, value := range h[name] {
			if name == "Set-Cookie" { // it opens a door, and cannot be sent back
				value, _, _ = strings.Cut(value, "=")
				value += "=..."
			}
			fmt.Fprintf(&b, "%s: %s\n", line(name, 100), line(t.mask(value), mostHeaderChars))
		}
	}
	return b.String()
}
