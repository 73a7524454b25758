package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli/doctor"
	"github.com/mcp-tools/mcp-tools/internal/room"
)

// remote is a server that runs in this process, as serve --http would.
type remote struct {
	t    *testing.T
	url  string // of the endpoint
	dir  string // its data, and config.yaml
	log  *logbook
	stop func() error
}

// logbook is a stderr that tests can wait for.
type logbook struct {
	mu   sync.Mutex
	text string
	news chan struct{}
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += string(p)
	close(l.news)
	l.news = make(chan struct{})
	return len(p), nil
}

// find waits until the log has a match and returns its first group.
func (l *logbook) find(t *testing.T, pattern string) string {
	t.Helper()
	deadline := time.After(hang)
	for {
		l.mu.Lock()
		found, news, text := regexp.MustCompile(pattern).FindStringSubmatch(l.text), l.news, l.text
		l.mu.Unlock()
		if found != nil {
			return found[len(found)-1]
		}
		if strings.Contains(text, "\nthe server ended with ") {
			t.Fatalf("the log never said %s:\n%s", pattern, text)
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("the log never said %s:\n%s", pattern, text)
		}
	}
}

// has reports whether the log says text already.
func (l *logbook) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text, text)
}

func serveRemote(t *testing.T, settings string, flags ...string) *remote {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("# settings\n"+settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &remote{t: t, dir: dir, log: &logbook{news: make(chan struct{})}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	args := append([]string{"serve", "--http", "127.0.0.1:0", "--config", file, "--data", filepath.Join(dir, "data")}, flags...)
	go func() {
		err := r.run(ctx, io.Discard, args...)
		fmt.Fprintf(r.log, "\nthe server ended with %v\n", err)
		ended <- err
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	r.url = r.log.find(t, `serving +url=(\S+)`)
	return r
}

// run is one run of the program.
func (r *remote) run(ctx context.Context, out io.Writer, args ...string) error {
	c := cli.New(app.Env{
		In: os.Stdin, Out: out, Err: r.log, Getenv: func(string) string { return "" },
		Environ: func() []string { return nil },
	})
	cmd := c.Command()
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

func (r *remote) configure(settings string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "config.yaml"), []byte(settings), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// token makes one with the token command and returns it.
func (r *remote) token(args ...string) string {
	r.t.Helper()
	var out strings.Builder
	if err := r.run(
		r.t.Context(), &out, append([]string{"token", "create", "--data", filepath.Join(r.dir, "data")}, args...)...,
	); err != nil {
		r.t.Fatal(err)
	}
	token := regexp.MustCompile(`mcpt_\w+`).FindString(out.String())
	if token == "" {
		r.t.Fatalf("no token in %q", out.String())
	}
	return token
}

// post sends one message of the stateless era and returns status and body.
func (r *remote) post(path, token, method, params string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		meta += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, meta, params)
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, strings.TrimSuffix(r.url, "/mcp")+path,
		strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", method)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, string(text)
}

func (r *remote) wants(path, token string, status int) string {
	r.t.Helper()
	res, body := r.post(path, token, "tools/list", "")
	if res.StatusCode != status {
		r.t.Errorf("%s: %d %s, want %d", path, res.StatusCode, body, status)
	}
	return body
}

func TestTokensOpenTheirProfiles(t *testing.T) {
	r := serveRemote(t, "")
	first := r.log.find(t, `Token: (mcpt_\w+)`)
	r.wants("/mcp", first, http.StatusOK)
	r.wants("/mcp/nonesuch", first, http.StatusNotFound)
	small := r.token("--name", "small", "--profile", "minimal")
	if body := r.wants("/mcp", small, http.StatusOK); !strings.Contains(body, "session_status") || strings.Contains(body, "datetime") {
		t.Errorf("a minimal token sees %s", body)
	}
	r.wants("/mcp/full", small, http.StatusForbidden)
	if body := r.wants("/mcp/nonesuch", small, http.StatusForbidden); strings.Contains(body, "coding") {
		t.Errorf("a minimal token learns of other profiles: %s", body)
	}
	for name, bad := range map[string]string{"none": "", "made up": "mcpt_" + strings.Repeat("x", 49), "another scheme": "x"} {
		res, body := r.post("/mcp", bad, "tools/list", "")
		problem := map[bool]string{true: "the request has no token", false: "the token is not valid here"}[bad == ""]
		if res.StatusCode != http.StatusUnauthorized || !strings.Contains(body, problem) ||
			!strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: %d %q %s", name, res.StatusCode, res.Header.Get("WWW-Authenticate"), body)
		}
	}
	if err := r.run(t.Context(), io.Discard, "token", "revoke", "small", "--data", filepath.Join(r.dir, "data")); err != nil {
		t.Fatal(err)
	}
	r.wants("/mcp", small, http.StatusUnauthorized)
	r.log.find(t, `not let in.*the request has no bearer token`)
	r.log.find(t, `not let in.*the token has been revoked`) // the client does not see the reason
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.log.text, small) {
		t.Error("the log has a token")
	}
}

func TestHeadersNarrowAndNeverWiden(t *testing.T) {
	r := serveRemote(t, "")
	token := r.token("--profile", "messaging")
	list := func(headers ...string) []string {
		t.Helper()
		_, body := r.post("/mcp", token, "tools/list", "", headers...)
		var names []string
		for _, match := range regexp.MustCompile(`"name":"(\w+)","title"`).FindAllStringSubmatch(body, -1) {
			names = append(names, match[1])
		}
		return names
	}
	all := list()
	without := func(names ...string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			return slices.Contains(names, name)
		}), ",")
	}
	for header, want := range map[string]string{
		"X-MCP-Tools=session_status":          "session_status,read_result",
		"X-MCP-Tools=session_status,datetime": "session_status,read_result", // messaging has no datetime
		"X-MCP-Tools=":                        "read_result",
		"X-MCP-Exclude-Tools=read_result":     without("read_result"),
		"X-MCP-Readonly=true":                 without("http_request", "browser", "sessions_send"),
		"X-MCP-Toolsets=results":              "read_result",
		"X-MCP-Toolsets=nonesuch":             "read_result",
	} {
		name, value, _ := strings.Cut(header, "=")
		if got := strings.Join(list(name, value), ","); got != want {
			t.Errorf("%s shows %q, want %q", header, got, want)
		}
	}
	if len(all) < 10 || slices.Contains(all, "datetime") {
		t.Errorf("without headers it shows %v", all)
	}
}

// signer is an OAuth issuer with one key.
type signer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newSigner(t *testing.T) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{key: key}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.URL, s.URL+"/keys")
		case "/keys":
			point, err := key.PublicKey.Bytes()
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"k","alg":"ES256","use":"sig","x":%q,"y":%q}]}`, b64(point[1:33]), b64(point[33:]))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (s *signer) sign(t *testing.T, audience, scope string) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{
		"iss": s.URL, "aud": audience, "sub": "ada", "client_id": "agent-1", "scope": scope,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	signed := b64([]byte(`{"alg":"ES256","kid":"k","typ":"at+jwt"}`)) + "." + b64(claims)
	sum := sha256.Sum256([]byte(signed))
	x, y, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	x.FillBytes(signature[:32])
	y.FillBytes(signature[32:])
	return signed + "." + b64(signature)
}

func TestOAuthTokensOpenWhatTheirScopesSay(t *testing.T) {
	issuer := newSigner(t)
	r := serveRemote(t, fmt.Sprintf(`
connections:
  oauth:
    issuer: %s
    audience: https://tools.example.com/mcp
    scopes:
      tools:small: [minimal]
      tools:code: [coding, minimal]
`, issuer.URL))
	const audience = "https://tools.example.com/mcp"
	if body := r.wants("/mcp", issuer.sign(t, audience, "tools:small"), http.StatusOK); strings.Contains(body, "datetime") {
		t.Errorf("the small scope sees %s", body)
	}
	r.wants("/mcp/coding", issuer.sign(t, audience, "tools:code"), http.StatusOK)
	res, _ := r.post("/mcp/coding", issuer.sign(t, audience, "tools:small"), "tools/list", "")
	if challenge := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusForbidden || !strings.Contains(
		challenge, "insufficient_scope",
	) || !strings.Contains(challenge, "tools:code") {
		t.Errorf("too small a scope: %d %s", res.StatusCode, challenge)
	}
	for name, token := range map[string]string{
		"another audience": issuer.sign(t, "https://other.example.com", "tools:code"),
		"another issuer":   newSigner(t).sign(t, audience, "tools:code"),
		"garbage":          "a.b.c",
	} {
		res, _ := r.post("/mcp", token, "tools/list", "")
		if challenge := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusUnauthorized ||
			!strings.Contains(
				challenge, "resource_metadata=",
			) {
			t.Errorf("%s: %d %s", name, res.StatusCode, challenge)
		}
	}
	where := regexp.MustCompile(`resource_metadata="([^"]+)"`).FindStringSubmatch(res.Header.Get("WWW-Authenticate"))
	if where == nil {
		t.Fatal("no challenge says where the metadata is")
	}
	doc, err := http.Get(where[1])
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Body.Close()
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(doc.Body).Decode(&metadata); err != nil || len(metadata.Servers) != 1 ||
		metadata.Servers[0] != issuer.URL {
		t.Errorf("the metadata says %+v, %v", metadata, err)
	}
}

func TestSettingsChangeWhileItRuns(t *testing.T) {
	r := serveRemote(t, "", "--metrics", "localhost:0")
	token := r.log.find(t, `Token: (mcpt_\w+)`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "Authorization": "Bearer " + token,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	awaitEvent(t, events, "subscriptions/acknowledged")
	r.configure("policy: {deny: [datetime]}\n")
	awaitEvent(t, events, "tools/list_changed")
	if body := r.wants("/mcp", token, http.StatusOK); strings.Contains(body, "datetime") {
		t.Error("a denied tool is still listed")
	}
	r.configure("policy: {deny: [datetmie]}\n")
	r.log.find(t, `config.yaml:1.*datetmie`)
	if body := r.wants("/mcp", token, http.StatusOK); strings.Contains(body, "datetime") || !strings.Contains(body, "session_status") {
		t.Errorf("a bad file changed something: %s", body)
	}
}

func TestExposedServerWarns(t *testing.T) {
	for settings, wants := range map[string]bool{"": true, "server: {public_url: https://tools.example.com/mcp}": false} {
		r := serveRemote(t, settings, "--http", "0.0.0.0:0")
		for _, warning := range []string{"clients on other machines will be refused", "tokens are sent in plain text"} {
			if got := r.log.has(warning); got != wants {
				t.Errorf("%q: warned %v of %q", settings, got, warning)
			}
		}
	}
}

// TestDoctorOfARunningServer: doctor --url sees what a client sees.
func TestDoctorOfARunningServer(t *testing.T) {
	r := serveRemote(t, "")
	token := r.token("--profile", "coding")
	for _, tc := range []struct {
		url, token string
		well       bool
		want       []string
	}{
		{r.url, token, true, []string{"address  127.0.0.1:", "refused", "tools"}},
		{r.url, "", true, []string{"there is no token"}},
		{r.url, "mcpt_wrong", false, []string{"mcp-tools token list"}},
		{r.url + "/full", token, false, []string{"/mcp/PROFILE"}},
		{"http://127.0.0.1:1/mcp", token, false, []string{"correct the address"}},
		{"host/mcp", token, false, []string{"is not an address"}},
	} {
		var findings []string
		well := true
		for _, f := range doctor.ExamineURL(t.Context(), tc.url, tc.token) {
			findings = append(findings, fmt.Sprintf("%s  %s %s", f.Check, f.Text, f.Advice))
			well = well && f.State != room.Broken
		}
		got := strings.Join(findings, "\n")
		if well != tc.well {
			t.Errorf("%s: the findings are\n%s", tc.url, got)
		}
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", tc.url, want, got)
			}
		}
	}
}

func awaitEvent(t *testing.T, events *bufio.Scanner, want string) {
	t.Helper()
	for events.Scan() {
		if strings.Contains(events.Text(), want) {
			return
		}
	}
	t.Fatalf("the stream ended before %s: %v", want, events.Err())
}
