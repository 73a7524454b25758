package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A balancer sends requests for https://tools.example.com to one of some replicas, as a proxy with a certificate does.
type balancer struct{ to string }

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, "http", b.to
	return http.DefaultTransport.RoundTrip(r)
}

// TestLoginOverReplicas has three replicas on one database. A login begins on one, goes on on others, and ends after the one
// that gave the code was killed.
func TestLoginOverReplicas(t *testing.T) {
	const public = "https://tools.example.com"
	dsn, path, work := storetest.Database(t), ourselves(t), t.TempDir()
	file := filepath.Join(work, "config.yaml")
	settings := "store: {dsn: '" + dsn + "'}\nvault: {key_file: " + file + ".kek}\nserver: {public_url: '" + public + "/mcp'}\n"
	for name, text := range map[string]string{file: settings, file + ".kek": strings.Repeat("0123456789abcdef", 4)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := strings.TrimSpace(finish(t, apart(path, "users", "add", "ann", "--profile", "readonly", "--config", file, "--data", t.TempDir())))
	var on [3]*wire
	var addresses [3]string
	for i := range on {
		addresses[i] = freeAddress(t)
		w, err := dialWire(apart(path, "serve", "--http", addresses[i], "--config", file, "--data", t.TempDir(), "--workspace", work), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.kill)
		on[i] = w
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &balancer{}
	browser := &http.Client{Jar: jar, Transport: proxy, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != "tools.example.com" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	do := func(replica int, r *http.Request) (*http.Response, string) {
		t.Helper()
		proxy.to = addresses[replica]
		res, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(text)
	}
	post := func(replica int, to, kind, body string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		return do(replica, r)
	}
	const form = "application/x-www-form-urlencoded"
	step := -1
	secret := ""
	code := func() string {
		t.Helper()
		code, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(step)*30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		step++
		return code
	}
	has := func(what, text string, pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s: %s lacks %s", what, text, pattern)
		}
		return found[len(found)-1]
	}

	_, page := post(0, link+"/code", form, "")
	secret = has("secret", page, `<p class="what">([A-Z2-7]+)</p>`)
	_, page = post(1, link+"/password", form, url.Values{"password": {loginPassword}, "code": {code()}}.Encode())
	has("password", page, "you can log in as")

	_, registered := post(2, public+"/oauth/register", "application/json", `{"client_name": "Claude", "redirect_uris": ["https://claude.ai/back"]}`)
	client := has("client", registered, `"client_id":"([^"]+)"`)
	begin := url.Values{"client_id": {client}, "redirect_uri": {"https://claude.ai/back"}, "response_type": {"code"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}, // of RFC 7636
		"resource": {public + "/mcp"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public+"/oauth/authorize?"+begin.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, _ := do(0, r)
	login := public + res.Request.URL.Path
	_, page = post(1, login+"/password", form, url.Values{"name": {"ann"}, "password": {loginPassword}, "code": {code()}}.Encode())
	has("consent", page, "Claude")
	res, _ = post(2, login+"/consent", form, "decision=allow&profile=readonly&lasts=1")
	to, err := url.Parse(strings.TrimPrefix(res.Header.Get("Refresh"), "0; url="))
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("the login ends at %v, %v", res.Header, err)
	}

	on[2].kill() // between code and token
	exchange := url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {to.Query().Get("code")},
		"redirect_uri": {"https://claude.ai/back"}, "code_verifier": {"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}}.Encode()
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Error   string `json:"error"`
	}
	take := func(replica int, form string) {
		t.Helper()
		got.Error = ""
		_, text := post(replica, public+"/oauth/token", "application/x-www-form-urlencoded", form)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	listed := func(replica int) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, public+"/mcp", strings.NewReader(list))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization": "Bearer " + got.Access, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"} {
			r.Header.Set(name, value)
		}
		res, text := do(replica, r)
		if res.StatusCode == http.StatusOK {
			has("tools", text, "read_file")
		}
		return res.StatusCode
	}
	take(0, exchange)
	if status := listed(1); status != http.StatusOK {
		t.Fatalf("the token has the status %d: %+v", status, got)
	}
	take(1, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {got.Refresh}}.Encode())
	if status := listed(0); status != http.StatusOK {
		t.Errorf("the refreshed token has the status %d: %+v", status, got)
	}
	take(1, exchange)
	if got.Error != "invalid_grant" || listed(0) != http.StatusUnauthorized || listed(1) != http.StatusUnauthorized {
		t.Errorf("the code was used again: %+v", got)
	}
}
