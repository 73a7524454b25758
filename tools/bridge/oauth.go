package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

const (
	loginTime  = 10 * time.Minute // for a person
	clientName = "mcp-tools"

	// ClientDocument is the path of the document that describes this client to authorization servers.
	ClientDocument = "/.well-known/mcp-tools-client.json"
)

// Vault keeps the tokens of logins.
type Vault interface {
	Get(name string) ([]byte, error)
	Set(ctx context.Context, name string, value []byte) error
	Remove(ctx context.Context, name string) error
}

// A login is the stored state of a login. It is valid for one URL and one issuer.
type login struct {
	URL      string           `json:"url"`
	Issuer   string           `json:"issuer"`
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	TokenURL string           `json:"token_url"`
	Style    oauth2.AuthStyle `json:"auth_style"`
	Token    *oauth2.Token    `json:"token"`
	Machine  bool             `json:"machine,omitempty"` // the client acts for itself, with its secret
}

// source returns the source of the next token. ctx has the HTTP client.
func (l login) source(ctx context.Context) oauth2.TokenSource {
	if l.Machine {
		config := clientcredentials.Config{
			ClientID: l.ClientID, ClientSecret: l.Secret, TokenURL: l.TokenURL, AuthStyle: l.Style,
			EndpointParams: url.Values{"resource": {l.URL}},
		}
		return config.TokenSource(ctx)
	}
	config := oauth2.Config{
		ClientID: l.ClientID, ClientSecret: l.Secret, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: l.Style},
	}
	return config.TokenSource(ctx, l.Token)
}

func loginName(server string) string { return "mcp-login-" + server }

// readLogin returns the login of a server, if there is one for its URL.
func (b *Bridge) readLogin(server string, s Server) (l login, ok bool) {
	if b.o.Vault == nil {
		return l, false
	}
	raw, err := b.o.Vault.Get(loginName(server))
	if err != nil || json.Unmarshal(raw, &l) != nil || l.URL != s.URL || l.Token == nil {
		return l, false
	}
	b.mask(server, l)
	return l, true
}

func (b *Bridge) keepLogin(ctx context.Context, server string, l login) error {
	b.mask(server, l)
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return b.o.Vault.Set(ctx, loginName(server), raw)
}

// mask keeps the tokens out of everything that leaves the server.
func (b *Bridge) mask(server string, l login) {
	if b.o.Mask != nil {
		b.o.Mask("mcp_login."+server, l.Token.AccessToken, l.Token.RefreshToken, l.Secret)
	}
}

func (b *Bridge) forgetLogin(server string) error {
	if b.o.Vault == nil {
		return nil
	}
	if _, err := b.o.Vault.Get(loginName(server)); err != nil {
		return nil // there is none
	}
	return b.o.Vault.Remove(context.Background(), loginName(server))
}

// A Web is the client for the requests of a login.
type Web interface {
	outbound.Client
	io.Closer
}

// withClient passes an HTTP client for the authorization server of a server to use.
func (b *Bridge) withClient(s Server, use func(*http.Client) error) error {
	web, err := b.o.Web(s)
	if err != nil {
		return err
	}
	defer func() { _ = web.Close() }() // ends idle connections
	return use(oauth.Client(web))
}

// transport connects to a server, with the token of its login if there is one.
func (b *Bridge) transport(name string, s Server) (http.RoundTripper, error) {
	base, err := b.o.Transport(s)
	if err != nil {
		return nil, err
	}
	l, ok := b.readLogin(name, s)
	if !ok {
		return base, nil
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	return &authorized{b: b, base: base, server: name, settings: s, at: at, login: l}, nil
}

// authorized adds the token of a login to requests, and renews it.
type authorized struct {
	b        *Bridge
	base     http.RoundTripper
	server   string
	settings Server
	at       *url.URL

	mu    sync.Mutex
	login login
}

// RoundTrip makes a request. The token goes to the server only.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != a.at.Scheme || r.URL.Host != a.at.Host {
		return a.base.RoundTrip(r)
	}
	token, err := a.token(r.Context())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", upstream.ErrLogin, err)
	}
	r = r.Clone(r.Context())
	token.SetAuthHeader(r)
	response, err := a.base.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		a.refused(r.Context(), response)
	}
	return response, err
}

// token returns a token that is valid now.
func (a *authorized) token(ctx context.Context) (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login.Token.Valid() {
		return a.login.Token, nil
	}
	if newer, ok := a.b.readLogin(a.server, a.settings); ok { // another process may have renewed it
		a.login = newer
	}
	if a.login.Token.Valid() {
		return a.login.Token, nil
	}
	var renewed *oauth2.Token
	err := a.b.withClient(a.settings, func(client *http.Client) (err error) {
		ctx := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, client)
		renewed, err = a.login.source(ctx).Token()
		return err
	})
	if err != nil {
		return nil, errors.New("the token could not be renewed") // the error has the answer of the server
	}
	a.login.Token = renewed
	return renewed, a.b.keepLogin(ctx, a.server, a.login)
}

// refused is called when the server does not accept the token. If it names another issuer now the login is dropped:
// its tokens must not go to where that one says.
func (a *authorized) refused(ctx context.Context, response *http.Response) {
	var issuer string
	err := a.b.withClient(a.settings, func(client *http.Client) (err error) {
		issuer, err = issuerOf(ctx, client, a.settings.URL, response.Header)
		return err
	})
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login.Machine && issuer == a.login.Issuer { // the next request gets a token of its own
		a.login.Token = &oauth2.Token{}
		if err := a.b.keepLogin(ctx, a.server, a.login); err != nil {
			a.b.o.Log.Warn("the login of an MCP server could not be kept", "server", a.server, "err", err)
		}
	}
	if issuer != a.login.Issuer {
		if err := a.b.forgetLogin(a.server); err != nil {
			a.b.o.Log.Warn("the login of an MCP server could not be removed", "server", a.server, "err", err)
		}
		a.b.o.Log.Warn("an MCP server names another issuer of tokens; its login was dropped", "server", a.server)
	}
}

// issuerOf returns the authorization server that a server names.
func issuerOf(ctx context.Context, client *http.Client, server string, header http.Header) (string, error) {
	at, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	root := at.Scheme + "://" + at.Host
	places := [][2]string{
		{root + "/.well-known/oauth-protected-resource" + strings.TrimSuffix(at.Path, "/"), server},
		{root + "/.well-known/oauth-protected-resource", root},
	}
	challenges, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		return "", err
	}
	for _, c := range challenges {
		if named := c.Params["resource_metadata"]; named != "" {
			places = [][2]string{{named, server}}
		}
	}
	for _, place := range places {
		found, err := oauthex.GetProtectedResourceMetadata(ctx, place[0], place[1], client)
		if err == nil && found != nil && len(found.AuthorizationServers) > 0 {
			return found.AuthorizationServers[0], nil
		}
	}
	return root, nil // as the revision of 2025-03-26 has it
}

// LoginMachine logs in to a server with OAuth, as a client that acts for itself: no person agrees. The authorization
// server of the server has given the client its id and its secret before.
func (b *Bridge) LoginMachine(ctx context.Context, name, id, secret string) error {
	return b.logIn(ctx, name, func(ctx context.Context, client *http.Client, challenge *http.Response, done *login) error {
		_ = challenge.Body.Close()
		found, err := auth.GetAuthServerMetadata(ctx, done.Issuer, client)
		switch {
		case err != nil:
			return err
		case found == nil || found.TokenEndpoint == "":
			return errors.New("the authorization server publishes no metadata")
		}
		done.ClientID, done.Secret, done.TokenURL, done.Machine = id, secret, found.TokenEndpoint, true
		done.Token, err = done.source(context.WithValue(ctx, oauth2.HTTPClient, client)).Token()
		if err != nil {
			return errors.New("the authorization server does not accept the id and the secret") // the error has its answer
		}
		return nil
	})
}

// Login logs in to a server with OAuth. A person agrees in the browser; Login returns when that is done, or refused.
func (b *Bridge) Login(ctx context.Context, name string, browser room.Browser) error {
	return b.logIn(ctx, name, func(ctx context.Context, client *http.Client, challenge *http.Response, done *login) error {
		return b.askPerson(ctx, client, challenge, done, browser)
	})
}

// logIn logs in to a server: get gets the rest of a login, for the answer of the server to a request without one.
func (b *Bridge) logIn(ctx context.Context, name string, get func(ctx context.Context, client *http.Client,
	challenge *http.Response, done *login) error) error {
	one, err := b.server(ctx, name)
	if err != nil {
		return err
	}
	if one.URL == "" || b.o.Vault == nil {
		return tool.Errorf(tool.Invalid, "the server %q is a program; only servers with a URL have logins", name).
			Try("give it what it needs with --env NAME=secret:NAME")
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	done := login{URL: one.URL}
	err = b.withClient(one.Server, func(client *http.Client) error {
		challenge, err := b.challenge(ctx, client, one.URL)
		if err != nil {
			return err
		}
		if done.Issuer, err = issuerOf(ctx, client, one.URL, challenge.Header); err != nil {
			return err
		}
		if err := get(ctx, client, challenge, &done); err != nil {
			return tool.Errorf(tool.Refused, "the login to %q has failed: %s", name,
				cleaned(text.Clip(err.Error(), maxReason), maxReason)).Try("try again").Because(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if done.Token == nil {
		return tool.Errorf(tool.Unavailable, "the server %q wants no login", name).Try("use it")
	}
	b.pool.forget(name)
	return b.keepLogin(ctx, name, done)
}

// askPerson has a person agree in a browser, and gets the tokens that result.
func (b *Bridge) askPerson(ctx context.Context, client *http.Client, challenge *http.Response, done *login,
	browser room.Browser) error {
	back, err := browser.Return()
	if err != nil {
		_ = challenge.Body.Close()
		return err
	}
	config := auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: clientName, RedirectURIs: []string{back}, TokenEndpointAuthMethod: "none",
				GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
			},
		},
		RedirectURL: back, RequestRefreshToken: true, Client: client, AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult,
			error) {
			at, err := url.Parse(args.URL)
			if err != nil || at.Scheme != "https" && at.Scheme != "http" {
				return nil, errors.New("the server names no page for the login")
			}
			q, err := browser.Visit(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			if failed := q.Get("error"); failed != "" {
				return nil, fmt.Errorf("the login was refused: %s %s", failed, q.Get("error_description"))
			}
			if q.Get("code") == "" {
				return nil, errors.New("the provider has sent the person back without a code")
			}
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			done.ClientID, done.Secret, done.Token = c.ClientID, c.ClientSecret, t
			done.TokenURL, done.Style = c.Endpoint.TokenURL, c.Endpoint.AuthStyle
			return c.TokenSource(ctx, t), nil
		},
	}
	if b.o.PublicURL != "" && strings.HasPrefix(b.o.PublicURL, "https://") {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: documentURL(b.o.PublicURL)}
	}
	handler, err := auth.NewAuthorizationCodeHandler(&config)
	if err != nil {
		return err
	}
	return handler.Authorize(ctx, challenge.Request, challenge)
}

// challenge returns the answer of a server to a request without a token.
func (b *Bridge) challenge(ctx context.Context, client *http.Client, server string) (*http.Response, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := client.Do(r)
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the server cannot be reached: %w", err).Try("check its URL")
	}
	if response.StatusCode != http.StatusUnauthorized {
		response.Body.Close()
		return nil, tool.Errorf(tool.Invalid, "the server wants no login: it answered with status %d",
			response.StatusCode).Try("use it without one")
	}
	return response, nil
}

// documentURL returns the address of the document about this client. The address is the
// client's id.
func documentURL(public string) string {
	at, err := url.Parse(public)
	if err != nil {
		return ""
	}
	return at.Scheme + "://" + at.Host + ClientDocument
}

// Document returns the document that describes this client to authorization servers, for a server with a public
// address; nil for one without. console is the address of the console for people elsewhere, "" if there is none.
func Document(public, console string) []byte {
	if !strings.HasPrefix(public, "https://") {
		return nil
	}
	// The port of a loopback address is not compared: see RFC 8252.
	back := []string{"http://127.0.0.1" + room.ReturnPath}
	if console != "" {
		back = append(back, strings.TrimSuffix(console, "/")+room.ReturnPath)
	}
	raw, err := json.Marshal(map[string]any{
		"client_id": documentURL(public), "client_name": clientName, "redirect_uris": back,
		"grant_types":    []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none", "application_type": "native",
	})
	if err != nil { // texts
		return nil
	}
	return raw
}
