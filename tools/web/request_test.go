package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func request(t *testing.T, n *testNet, a requestArgs) (tool.Result, error) {
	t.Helper()
	if a.URL == "" {
		a.URL = "https://docs.example.com/api"
	}
	one := httpRequest{fetcher: newFetcher(n.Options), secrets: n.Secrets, files: n.Files, scratch: n.Scratch}
	plan, err := one.Prepare(caller(t, "ann"), a)
	if err != nil {
		return tool.Result{}, err
	}
	return plan.Run(caller(t, "ann"))
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Request-Id", "r-1")
	w.Header().Set("Set-Cookie", "session=opensesame; HttpOnly")
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s\ntype: %s\nx-a: %s\nbody: %s", r.Method, r.URL, r.Header.Get("Content-Type"),
		r.Header.Get("X-A"), body)
}

func TestRequestSendsWhatItIsGiven(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  requestArgs
		want  []string
		fails tool.Kind
	}{
		{name: "GET", args: requestArgs{Headers: map[string]string{"X-A": "1"}},
			want: []string{"GET /api", "x-a: 1", "[GET https://docs.example.com/api: 200 OK", "X-Request-Id: r-1"}},
		{name: "JSON value", args: requestArgs{Method: "post", Body: map[string]any{"a": "<b>"}},
			want: []string{"type: application/json", `body: {"a":"<b>"}`}},
		{name: "JSON text", args: requestArgs{Method: "POST", Body: `{"a":1}`},
			want: []string{"type: application/json", `body: {"a":1}`}},
		{name: "text", args: requestArgs{Method: "POST", Body: "hello"},
			want: []string{"type: text/plain", "body: hello"}},
		{name: "empty text", args: requestArgs{Method: "POST", Body: ""}, want: []string{"POST /api", "body: "}},
		{name: "number", args: requestArgs{Method: "PUT", Body: 5.0},
			want: []string{"type: application/json", "body: 5"}},
		{name: "form", args: requestArgs{Method: "POST",
			Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			Body:    map[string]any{"a": "x y", "b": []any{1.0, 2.0}}}, want: []string{"body: a=x+y&b=1&b=2"}},
		{name: "type of one's own", args: requestArgs{Method: "POST",
			Headers: map[string]string{"content-type": "application/xml"}, Body: "<a/>"},
			want: []string{"type: application/xml"}},
		{name: "GET with a body", args: requestArgs{Body: "x"}, fails: tool.Invalid},
		{name: "method that is none", args: requestArgs{Method: "G ET"}, fails: tool.Invalid},
		{name: "Authorization", args: requestArgs{Headers: map[string]string{"Authorization": "Bearer x"}},
			fails: tool.Refused},
		{name: "Host", args: requestArgs{Headers: map[string]string{"Host": "inside"}}, fails: tool.Refused},
		{name: "Cookie", args: requestArgs{Headers: map[string]string{"cookie": "a=b"}}, fails: tool.Refused},
		{name: "credential that is not there", args: requestArgs{Auth: "gone"}, fails: tool.NotFound},
		{name: "inside", args: requestArgs{URL: "http://10.0.0.1/"}, fails: tool.Refused},
		{name: "too much", args: requestArgs{MaxBytes: 1 << 30}, fails: tool.Invalid},
		{name: "form of forms", args: requestArgs{Method: "POST",
			Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			Body:    map[string]any{"a": map[string]any{}}}, fails: tool.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNet(t, echo)
			r, err := request(t, n, c.args)
			if kind := kindOfError(r, err); kind != c.fails {
				if c.fails == "" || kind != tool.Invalid { // a header may be refused as wrong
					t.Fatalf("fails with %q: %v", kind, err)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(r.Text(), want) {
					t.Errorf("without %q:\n%s", want, r.Text())
				}
			}
			if strings.Contains(r.Text(), "opensesame") {
				t.Errorf("a cookie is shown:\n%s", r.Text())
			}
			if c.fails != "" && n.count() > 0 {
				t.Error("the host was asked all the same")
			}
		})
	}
}

// TestRequestsThatAreNeverSentAreRefusedBefore is about calls that a person
// would otherwise be asked to approve.
func TestRequestsThatAreNeverSentAreRefusedBefore(t *testing.T) {
	for raw, want := range map[string]tool.Kind{
		`{"method":"POST"}`:                                         "",
		`{"method":"POST","url":"docs.example.com"}`:                "",
		`{"method":"POST","url":"https://nobody.example.com/"}`:     "", // only a lookup shows whether the host exists
		`{"method":"POST","download_path":"a"}`:                     "",
		`{"method":"TRACE"}`:                                        tool.Invalid,
		`{"method":"POST","auth_profile":"gone"}`:                   tool.NotFound,
		`{"method":"POST","url":"ftp://docs.example.com/"}`:         tool.Invalid,
		`{"method":"POST","url":"https://"}`:                        tool.Invalid,
		`{"method":"POST","url":"https://ann:x@docs.example.com/"}`: tool.Invalid,
		`{"method":"POST","url":"http://10.0.0.1/"}`:                tool.Refused,
		`{"method":"POST","url":"http://[::1]/"}`:                   tool.Refused,
		`{"method":"POST","url":"http://0x7f.1/"}`:                  tool.Invalid,
		`{"method":"POST","url":"http://localhost/"}`:               tool.Refused,
		`{"method":"POST","url":"https://docs.example.com:25/"}`:    tool.Refused,
		`{"method":"POST","headers":{"Host":"inside"}}`:             tool.Refused,
		`{"method":"POST","headers":{"X-Api-Key":"k"}}`:             tool.Refused,
		`{"method":"POST","headers":{"Idempotency-Key":"k"}}`:       "",
		`{"method":"POST","max_bytes":1000000000}`:                  tool.Invalid,
		`{"method":"POST","download_path":"../a"}`:                  tool.Refused,
		`{"method":"PUT","download_path":"a"}`:                      tool.Invalid,
	} {
		n := newNet(t, echo)
		if !strings.Contains(raw, `"url"`) {
			raw = strings.Replace(raw, "{", `{"url":"https://docs.example.com/api",`, 1)
		}
		call, err := tool.Prepared(httpRequest{fetcher: newFetcher(n.Options), secrets: n.Secrets, files: n.Files,
			scratch: t.TempDir()}).Bind([]byte(raw), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		ctx := caller(t, "ann")
		facts, err := factsOf(ctx, call)
		if kind := kindOfError(tool.Result{}, err); kind != want || facts.Basis() != "" {
			t.Errorf("%s is refused with %q: %v", raw, kind, err)
		}
		if err != nil && tool.AsError(err).Next == "" {
			t.Errorf("%s: what to do instead is not said: %v", raw, err)
		}
		if n.count() != 0 {
			t.Errorf("%s: the host was asked", raw)
		}
		if r, done := call.Run(ctx); want != "" && kindOfError(r, done) != want {
			t.Errorf("%s: when it runs it is %v", raw, done)
		}
	}
}

func TestHeadersOfCredentials(t *testing.T) {
	for _, c := range []struct {
		refused bool
		names   []string
	}{
		{true, []string{
			"X-Api-Key", "apikey", "X_API_KEY", "X-Goog-Api-Key", "X-Auth-Token", "X-Auth-Email", "Private-Token",
			"X-Vault-Token", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key",
			"X-Client-Secret", "X-Session-Id", "X-Cookie", "X-Password", "X-Authorization", "AUTHENTICATION",
			"X-Access-Key", "X-Author-Token",
		}},
		{false, []string{
			"If-Match", "If-None-Match", "Idempotency-Key", "Prefer", "Range", "Accept", "X-Request-Id", "X-Author",
			"X-Authority", "X-CSRF-Token", "X-XSRF-TOKEN", "X-CSRFToken",
			"X-Atlassian-Token", "X-Key", "GraphQL-Features",
		}},
	} {
		for _, name := range c.names {
			n := newNet(t, echo)
			r, err := request(t, n, requestArgs{Headers: map[string]string{name: "1"}})
			if kind := kindOfError(r, err); (kind == tool.Refused) != c.refused || (kind != "") != c.refused ||
				(n.count() == 0) != c.refused {
				t.Errorf("%s: %q, %v", name, kind, err)
			}
			if c.refused && !strings.Contains(tool.AsError(err).Next, "auth_profile") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestRequestShowsHTML checks that HTML is returned as readable text, unless
// raw is set.
func TestRequestShowsHTML(t *testing.T) {
	body := strings.Replace(article(3), "<p>", "<p>in\u200bvisible ", 1)
	for _, raw := range []bool{false, true} {
		r, err := request(t, newNet(t, typed("text/html; charset=utf-8", body)), requestArgs{Raw: raw})
		text := r.Text()
		if err != nil || strings.Contains(text, "<article>") != raw || strings.Contains(text, "# On tides") == raw ||
			raw && !strings.Contains(text, "<p>invisible Paragraph 0") {
			t.Errorf("raw is %t: %v\n%s", raw, err, text)
		}
		if !strings.Contains(text, "1 invisible character removed") {
			t.Errorf("raw is %t, and what was removed is not told:\n%s", raw, text)
		}
	}
	if most := (httpRequest{}).Spec().MaxShown; most != defaultChars {
		t.Errorf("%d bytes are shown at once", most)
	}
}

func TestRequestTellsOfFailures(t *testing.T) {
	n := newNet(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"error":"name is missing"}`))
	})
	r, err := request(t, n, requestArgs{Method: "POST", Body: map[string]any{}})
	if err != nil || !r.Failed || !strings.Contains(r.Text(), "name is missing") || !strings.Contains(r.Text(), "422") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRequestFollowsWhereItOnlyAsks(t *testing.T) {
	n := newNet(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api" {
			http.Redirect(w, r, "https://other.example.net/there", http.StatusFound)
			return
		}
		echo(w, r)
	})
	r, err := request(t, n, requestArgs{Headers: map[string]string{"X-A": "mine"}})
	if err != nil || !strings.Contains(r.Text(), "GET /there") || strings.Contains(r.Text(), "mine") ||
		!strings.Contains(r.Text(), "redirected from") {
		t.Errorf("GET: %s %v", r.Text(), err)
	}
	r, err = request(t, n, requestArgs{Method: "POST", Body: "x"})
	if err != nil || !strings.Contains(r.Text(), "302 Found") ||
		!strings.Contains(r.Text(), "Location: https://other.example.net/there") {
		t.Errorf("POST: %s %v", r.Text(), err)
	}
}

func TestRisks(t *testing.T) {
	for _, c := range []struct {
		args requestArgs
		want tool.Risk
	}{
		{requestArgs{}, tool.Reads},
		{requestArgs{Method: "head"}, tool.Reads},
		{requestArgs{Path: "x"}, tool.Writes},
		{requestArgs{Auth: "x"}, tool.Reads},
		{requestArgs{Method: "POST"}, tool.Runs},
		{requestArgs{Method: "DELETE", Path: "x"}, tool.Runs},
		{requestArgs{Method: "nonsense"}, tool.Runs},
	} {
		if got, _ := c.args.risk(); got != c.want {
			t.Errorf("%+v is rated %v", c.args, got)
		}
	}
}

// fileContent returns content with every byte value. A part at a wrong offset
// makes the content differ.
func fileContent() []byte {
	text := make([]byte, 300_000)
	for i := range text {
		text[i] = byte(i * 7 / 3)
	}
	return text
}

func TestDownloadsGoOn(t *testing.T) {
	whole := fileContent()
	newer := bytes.Clone(whole)
	slices.Reverse(newer)
	for _, c := range []struct {
		name    string
		cuts    int  // answers that end early
		ranges  bool // the server knows parts
		tag     string
		changes bool // the file, after the first cut
		calls   int  // that it takes
		want    string
	}{
		{name: "whole", calls: 1, tag: `"v1"`, ranges: true},
		{name: "cut within one call", cuts: 3, calls: 1, tag: `"v1"`, ranges: true},
		{name: "cut more often", cuts: 7, calls: 1, tag: `"v1"`, ranges: true},
		{name: "by its date", cuts: 2, calls: 1, tag: "Mon, 02 Nov 2026 10:00:00 GMT", ranges: true},
		{name: "no parts", cuts: 1, calls: 1, tag: `"v1"`},
		{name: "weak version", cuts: 1, calls: 2, tag: `W/"v1"`, ranges: true},
		{name: "changed meanwhile", cuts: 2, calls: 1, tag: `"v1"`, ranges: true, changes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := 0
			n := newNet(t, func(w http.ResponseWriter, r *http.Request) {
				answers++
				body, tag, from := whole, c.tag, 0
				if c.changes && answers > 1 {
					body, tag = newer, `"v2"`
				}
				w.Header().Set("ETag", tag)
				if !strings.Contains(tag, `"`) {
					w.Header().Del("ETag")
					w.Header().Set("Last-Modified", tag)
				}
				if r.Header.Get("Accept-Encoding") != "" {
					t.Errorf("it asks for %s: parts of that are none", r.Header.Get("Accept-Encoding"))
				}
				if c.ranges && r.Header.Get("If-Range") == tag {
					if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil {
						t.Error(err)
					}
					w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(body)-1, len(body)))
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(body)-from))
				if from > 0 {
					w.WriteHeader(http.StatusPartialContent)
				}
				if answers <= c.cuts {
					_, _ = w.Write(body[from : from+(len(body)-from)/2])
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write(body[from:])
			})
			files, dir := saved{}, filepath.Join(t.TempDir(), "downloads")
			n.Files, n.Scratch = files, dir
			var r tool.Result
			var err error
			for call := 1; call <= c.calls; call++ {
				if r, err = request(t, n, requestArgs{Path: "file.bin"}); (err == nil) != (call == c.calls) {
					t.Fatalf("call %d: %v", call, err)
				}
			}
			want := whole
			if c.changes {
				want = newer
			}
			if files["file.bin"] != string(want) {
				t.Errorf("the file has %d bytes, not the %d that it should", len(files["file.bin"]), len(want))
			}
			if !strings.Contains(r.Text(), "sha256") || !strings.Contains(r.Text(), "300000 bytes") {
				t.Error(r.Text())
			}
			if left := filesIn(t, dir); len(left) > 0 {
				t.Errorf("files are left: %q", left)
			}
		})
	}
}

func TestDownloadsAreBounded(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"that says so": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999")
			w.WriteHeader(200)
		},
		"that does not": func(w http.ResponseWriter, _ *http.Request) {
			for range 20 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		},
	} {
		n := newNet(t, handler)
		n.Scratch, n.Files = t.TempDir(), saved{}
		if r, err := request(t, n, requestArgs{Path: "x"}); kindOfError(r, err) != tool.TooLarge {
			t.Errorf("a file %s: %v", name, err)
		}
	}
	n := newNet(t, echo)
	n.Scratch, n.Files = t.TempDir(), saved{}
	for most, next := range map[int64]string{4: "max_bytes", 0: "operator"} {
		limits := n.Limits()
		limits.Download = 8
		n.Limits = func() Limits { return limits }
		if _, err := request(t, n, requestArgs{Path: "x", MaxBytes: most}); !strings.Contains(tool.AsError(err).Next,
			next) {
			t.Errorf("a download of at most %d bytes: %v", most, err)
		}
	}
	n = newNet(t, echo)
	n.Scratch = t.TempDir()
	if _, err := request(t, n, requestArgs{Path: "../x"}); tool.AsError(err).Kind != tool.Refused || n.count() > 0 {
		t.Errorf("a path outside: %v, asked %d times", err, n.count())
	}
	n = newNet(t, http.NotFound)
	n.Scratch, n.Files = t.TempDir(), saved{}
	if r, err := request(t, n, requestArgs{Path: "x"}); kindOfError(r, err) != tool.NotFound ||
		len(n.Files.(saved)) > 0 {
		t.Errorf("an error page is saved: %v", err)
	}
}

// TestMaxBytesCuts has responses that are longer than max_bytes, and than what is read.
func TestMaxBytesCuts(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		most       int64
		want       string // of the end of the text
	}{
		{"text/plain", strings.Repeat("a", 990) + "0123456789" + strings.Repeat("b", 500), 1000, "a0123456789\n<<<end"},
		{"text/html", "<p>" + strings.Repeat("a", 50) + "</p><p>" + strings.Repeat("b", 5000), 51,
			strings.Repeat("a", 50) + "\n\n<<<end"},
		{"text/plain", strings.Repeat("word ", defaultAnswer/5) + testSecret + strings.Repeat(" z", 5000), 0,
			"word \n<<<end"},
	} {
		n := masking(newNet(t, typed(c.kind, c.body)))
		r, err := request(t, n, requestArgs{MaxBytes: c.most})
		text := r.Text()
		if err != nil || !strings.Contains(text, c.want) ||
			!strings.Contains(text, "the rest is omitted: increase max_bytes") ||
			strings.Contains(text, testSecret[:8]) {
			t.Errorf("%s: %v ...%s", c.kind, err, text[max(0, len(text)-300):])
		}
	}
}

func TestRequestListsLinksAndReturnsRedirects(t *testing.T) {
	n := newNet(t, typed("text/html", `<p>Read <a href="/more">more</a> and <a href="/less">less</a>.`))
	r, err := request(t, n, requestArgs{Links: true})
	want := "Links:\n- [more](https://docs.example.com/more)\n- [less](https://docs.example.com/less)"
	if err != nil || !strings.Contains(r.Text(), want) {
		t.Errorf("%v %s", err, r.Text())
	}
	no := false
	for follow, want := range map[*bool]int{nil: maxRedirects, &no: 0} {
		tool := httpRequest{fetcher: newFetcher(n.Options)}
		if got, err := tool.request(caller(t, "ann"),
			requestArgs{URL: "https://a.example/", Follow: follow}); err != nil || got.Redirects != want {
			t.Errorf("%d redirects, %v", got.Redirects, err)
		}
	}
}
