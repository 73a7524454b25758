package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/pquerna/otp/totp"

	"github.com/mcp-tools/mcp-tools/internal/conformance"
)

// A loginServer is a server with its own login, and a person who has set a password there.
type loginServer struct {
	*remote
	roots  *x509.CertPool
	cert   string // file
	secret string // of codes

	mu   sync.Mutex
	step int // of the next code
}

const loginPassword = "correct horse battery"

// serveLogin serves with a certificate, at its public URL.
func serveLogin(t *testing.T) *loginServer {
	t.Helper()
	dir := t.TempDir()
	known := httptest.NewTLSServer(nil) // it has a certificate for this address
	known.Close()
	key, err := x509.MarshalPKCS8PrivateKey(known.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	s := &loginServer{roots: x509.NewCertPool(), cert: filepath.Join(dir, "cert.pem"), step: -1}
	s.roots.AddCert(known.Certificate())
	keyFile := filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		s.cert: {Type: "CERTIFICATE", Bytes: known.Certificate().Raw}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Shop\n\nA small shop.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	s.remote = serveRemote(t, "server: {public_url: 'https://"+address+"/mcp'}\n", "--http", address, "--tls-cert", s.cert,
		"--tls-key", keyFile)
	var out strings.Builder
	if err := s.run(t.Context(), &out, "users", "add", "ann", "--profile", "coding", "--profile", "readonly", "--workspace", dir,
		"--data", filepath.Join(s.dir, "data"), "--config", filepath.Join(s.dir, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	link := strings.TrimSpace(out.String())
	browser := s.browser()
	page := s.post(browser, link+"/code", nil)
	found := regexp.MustCompile(`<p class="what">([A-Z2-7]+)</p>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no secret in %s", page)
	}
	s.secret = found[1]
	page = s.post(browser, link+"/password", url.Values{"password": {loginPassword}, "code": {s.code()}})
	if !strings.Contains(page, "you can log in as") {
		t.Fatalf("the password was not set: %s", page)
	}
	return s
}

// browser returns an HTTP client with cookies.
func (s *loginServer) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: s.trust()}
}

// trust returns a transport that knows the certificate.
func (s *loginServer) trust() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig.RootCAs = s.roots
	s.t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// code returns a code that was not used.
func (s *loginServer) code() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, err := totp.GenerateCode(s.secret, time.Now().Add(time.Duration(s.step)*30*time.Second))
	if err != nil {
		s.t.Fatal(err)
	}
	s.step++
	return code
}

// post sends a form of a page, and returns the page that follows.
func (s *loginServer) post(browser *http.Client, path string, form url.Values) string {
	s.t.Helper()
	res, err := browser.PostForm(path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body) + "\n" + res.Header.Get("Refresh")
}

// get gets a document of JSON, unless into is nil, and returns the answer.
func (s *loginServer) get(from string, into any) *http.Response {
	s.t.Helper()
	res, err := s.browser().Get(from)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			s.t.Fatal(err)
		}
	}
	return res
}

// logIn does in a browser what ann does, from the URL of a client, and returns the URL of the callback.
func (s *loginServer) logIn(from string) string {
	s.t.Helper()
	browser := s.browser()
	res, err := browser.Get(from)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		s.t.Fatal(err)
	}
	page := res.Request.URL.String()
	s.post(browser, page+"/password", url.Values{"name": {"ann"}, "password": {loginPassword}, "code": {s.code()}})
	last := s.post(browser, page+"/consent", url.Values{"decision": {"allow"}, "profile": {"coding"}, "lasts": {"1"}})
	_, to, found := strings.Cut(last, "0; url=")
	if !found {
		s.t.Fatalf("no way back from %s: %s", from, last)
	}
	return to
}

// guide runs a client that prints a URL for the browser, logs ann in there, and passes the callback to back. It
// returns what the client has printed after the URL.
func (s *loginServer) guide(t *testing.T, cmd *exec.Cmd, back func(string) error) string {
	t.Helper()
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for said.Scan() && !strings.HasPrefix(said.Text(), strings.TrimSuffix(s.url, "mcp")+"oauth/") {
	}
	if from := said.Text(); from != "" {
		err = back(s.logIn(from))
	}
	var rest strings.Builder
	for said.Scan() {
		rest.WriteString(said.Text() + "\n")
	}
	if wait := cmd.Wait(); err != nil || wait != nil {
		t.Fatalf("%v, %v: %s\n%s", err, wait, rest.String(), problems.String())
	}
	return rest.String()
}

// freeAddress returns an address on this machine with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	return free.Addr().String()
}

// TestLoginClients goes with real clients from a 401 to a call of a tool.
func TestLoginClients(t *testing.T) {
	s := serveLogin(t)
	t.Run("go-sdk", func(t *testing.T) {
		web := &http.Client{Transport: s.trust()}
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "Go", RedirectURIs: []string{"http://127.0.0.1:7777/callback"},
			}},
			Client: web,
			AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				to, err := url.Parse(s.logIn(args.URL))
				if err != nil {
					return nil, err
				}
				q := to.Query()
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: s.url, HTTPClient: web, OAuthHandler: handler,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "README.md"}})
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, "A small shop.") {
			t.Errorf("the result is %+v", res.Content[0])
		}
	})
	t.Run("TypeScript", func(t *testing.T) {
		cmd := withModules(t, filepath.Join("..", "..", "testdata", "login", "client.mjs"))
		cmd.Env = append(os.Environ(), "MCP_TOOLS_URL="+s.url, "NODE_EXTRA_CA_CERTS="+s.cert)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		rest := s.guide(t, cmd, func(back string) error {
			_, err := fmt.Fprintln(in, back)
			return err
		})
		if !strings.Contains(rest, "A small shop.") {
			t.Errorf("it printed %s", rest)
		}
	})
	settings := []string{"--data", filepath.Join(s.dir, "data"), "--config", filepath.Join(s.dir, "config.yaml")}
	machine := func(args ...string) (id, secret string) {
		var out strings.Builder
		if err := s.run(t.Context(), &out, slices.Concat([]string{"token", "create", "--profile", "readonly", "--workspace",
			filepath.Dir(s.cert)}, args, settings)...); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(out.String(), "client_id: ")
		id, secret, _ = strings.Cut(text, "\nclient_secret: ")
		return strings.TrimSpace(id), strings.TrimSpace(secret)
	}
	t.Run("challenge of a profile", func(t *testing.T) {
		for path, scope := range map[string]string{"/readonly": "readonly", "/nonsense": "", "": ""} {
			res := s.get(s.url+path, nil)
			challenge := res.Header.Get("WWW-Authenticate")
			metadata := strings.TrimSuffix(s.url, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
			if scope != "" {
				metadata += path
			}
			if !strings.Contains(challenge, `resource_metadata="`+metadata+`"`) ||
				strings.Contains(challenge, "coding") != (scope == "") || !strings.Contains(challenge, "readonly") {
				t.Errorf("%s: %s", path, challenge)
			}
			var about struct {
				Resource string
				Scopes   []string `json:"scopes_supported"`
			}
			s.get(metadata, &about)
			if about.Resource != strings.Replace(metadata, "/.well-known/oauth-protected-resource", "", 1) ||
				(len(about.Scopes) == 1) != (scope != "") || !slices.Contains(about.Scopes, "readonly") {
				t.Errorf("%s: %+v", metadata, about)
			}
		}
	})
	t.Run("go-sdk, as a machine", func(t *testing.T) {
		id, secret := machine("--client", "--name", "GoMachine")
		web := &http.Client{Transport: s.trust()}
		handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
			Credentials: &oauthex.ClientCredentials{ClientID: id, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret}},
			HTTPClient:  web,
		})
		if err != nil {
			t.Fatal(err)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: s.url + "/readonly", HTTPClient: web, OAuthHandler: handler,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "README.md"}})
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, "A small shop.") {
			t.Errorf("the result is %+v", res.Content[0])
		}
	})
	t.Run("TypeScript, as machines", func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600); err != nil {
			t.Fatal(err)
		}
		named, secret := machine("--client", "--name", "TSMachine")
		keyed, _ := machine("--key", file, "--name", "TSMachine2")
		cmd := withModules(t, filepath.Join("..", "..", "testdata", "login", "machine.mjs"))
		cmd.Env = append(os.Environ(), "MCP_TOOLS_URL="+s.url, "NODE_EXTRA_CA_CERTS="+s.cert, "ID="+named, "SECRET="+secret,
			"KEY_ID="+keyed, "KEY="+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), "A small shop.") != 2 {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("conformance", func(t *testing.T) {
		node, modules := conformance.Install(t, filepath.Join("..", "..")).Node()
		res, err := s.browser().Post(strings.TrimSuffix(s.url, "/mcp")+"/oauth/register", "application/json",
			strings.NewReader(`{"client_name": "Suite", "redirect_uris": ["http://127.0.0.1/callback"]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var made struct {
			ID string `json:"client_id"`
		}
		if err := json.NewDecoder(res.Body).Decode(&made); err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(node, filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
			"authorization", "--url", strings.TrimSuffix(s.url, "/mcp"), "--client-id", made.ID, "--resource", s.url, "--port", port)
		cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+s.cert)
		rest := s.guide(t, cmd, func(back string) error {
			res, err := http.Get(back)
			if err == nil {
				err = res.Body.Close()
			}
			return err
		})
		if !strings.Contains(rest, "3 passed, 0 failed") {
			t.Errorf("it printed %s", rest)
		}
	})
	var list strings.Builder
	if err := s.run(t.Context(), &list, "token", "list", "--data", filepath.Join(s.dir, "data")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Go", "TypeScript", "Suite"} {
		if !regexp.MustCompile(`active +` + name + ` +coding +- +ann`).MatchString(list.String()) {
			t.Errorf("token list lacks %s:\n%s", name, list.String())
		}
	}
}

// TestLoginRemote goes from a 401 to a call of a tool with mcp-remote, which clients without a login of their own start.
func TestLoginRemote(t *testing.T) {
	s := serveLogin(t)
	node, modules := conformance.Install(t, filepath.Join("..", "..")).Node()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, filepath.Join(modules, "mcp-remote", "dist", "proxy.js"), s.url, port, "--transport", "http-only")
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+s.cert, "MCP_REMOTE_CONFIG_DIR="+t.TempDir(), "BROWSER=true")
	log, problems := io.Pipe()
	defer log.Close()
	cmd.Stderr = problems
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	var session *mcp.ClientSession
	connected := make(chan error, 1)
	go func() {
		var err error
		session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		connected <- err
		problems.CloseWithError(err)
	}()
	said, all := bufio.NewScanner(log), ""
	for said.Scan() && !strings.HasPrefix(said.Text(), strings.TrimSuffix(s.url, "mcp")+"oauth/") {
		all += said.Text() + "\n"
	}
	if said.Text() == "" {
		t.Fatalf("%v: %s", said.Err(), all)
	}
	res, err := http.Get(s.logIn(said.Text()))
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	if err := <-connected; err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "README.md"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := answer.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, "A small shop.") {
		t.Errorf("the result is %+v", answer.Content[0])
	}
}
