package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/users"
)

// A client is a program that people log in with. It is public: it has no secret, and proves with PKCE
// that a code is its own. Or it is a machine: it has a secret or a key, and acts for itself.
type client struct {
	ID        string
	Name      string
	Redirects []string
	Document  bool           // the id is the URL of a document that the host of the URL publishes
	machine   *tokens.Client // nil for a program that people log in with
}

// The methods of op.Client.

func (c client) GetID() string                       { return c.ID }
func (c client) RedirectURIs() []string              { return c.Redirects }
func (c client) PostLogoutRedirectURIs() []string    { return nil }
func (c client) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }
func (c client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c client) LoginURL(id string) string               { return pagePath + id }
func (c client) AccessTokenType() op.AccessTokenType     { return op.AccessTokenTypeBearer }
func (c client) IDTokenLifetime() time.Duration          { return 0 }
func (c client) DevMode() bool                           { return false }
func (c client) IsScopeAllowed(string) bool              { return true }
func (c client) IDTokenUserinfoClaimsAssertion() bool    { return false }
func (c client) ClockSkew() time.Duration                { return 0 }
func (c client) RestrictAdditionalIdTokenScopes() scoped { return nil }
func (c client) RestrictAdditionalAccessTokenScopes() scoped {
	return nil
}

func (c client) AuthMethod() oidc.AuthMethod {
	switch {
	case c.machine == nil:
		return oidc.AuthMethodNone
	case c.machine.Keys != "":
		return oidc.AuthMethodPrivateKeyJWT
	}
	return oidc.AuthMethodBasic
}

func (c client) GrantTypes() []oidc.GrantType {
	if c.machine != nil {
		return []oidc.GrantType{oidc.GrantTypeClientCredentials}
	}
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
}

type scoped = func(scopes []string) []string

// host returns the host of the document of a client, "" for a client that has registered itself.
func (c client) host() string {
	u, err := url.Parse(c.ID)
	if err != nil || !c.Document {
		return ""
	}
	return u.Host
}

// label returns the client for logs.
func (c client) label() string {
	if c.machine != nil {
		return c.Name + " (machine " + c.ID + ")"
	}
	if c.Document {
		return c.Name + " (" + c.ID + ")"
	}
	return c.Name + " (registered as " + c.ID + ")"
}

const (
	// unusedAge is how long a client is known that nobody has logged in with.
	unusedAge = 24 * time.Hour
	// usedAge is how long a client is known after the end of the last login.
	usedAge = 30 * 24 * time.Hour
	// documentAge is how long the document of a client is believed for new logins.
	documentAge = time.Hour
	// maxClients is the maximum number of registered clients.
	maxClients = 5000
	// maxAbout is the maximum size of a client's metadata, in bytes.
	maxAbout     = 64 << 10
	maxRedirects = 20
	maxURL       = 2048
	maxName      = 80
)

func rateOfRegistrations() store.Rate { return store.Rate{Times: 20, Period: time.Hour, Burst: 20} }
func rateOfAll() store.Rate           { return store.Rate{Times: 500, Period: time.Hour, Burst: 200} }

// admit takes one attempt at something expensive from an address, and from all addresses together.
func (s *Server) admit(r *http.Request, what string, one, all store.Rate) error {
	for _, l := range []struct {
		key  string
		rate store.Rate
	}{{"login " + what + " " + users.Digest(address(r))[:32], one}, {"login " + what, all}} {
		wait, err := s.DB.Take(r.Context(), l.key, l.rate)
		if err != nil {
			return err
		}
		if wait > 0 {
			return tool.Errorf(tool.Busy, "there were too many requests").Try("wait %s, then try again", wait.Round(time.Second))
		}
	}
	return nil
}

// about is the metadata of a client when it registers, or in its document.
type about struct {
	ClientID      string   `json:"client_id"`
	Name          string   `json:"client_name"`
	Redirects     []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// A registrationError is an error of RFC 7591.
type registrationError struct {
	Code string `json:"error"`
	Why  string `json:"error_description"`
}

func (e *registrationError) Error() string { return e.Code + ": " + e.Why }

func badRedirect(why string) error { return &registrationError{"invalid_redirect_uri", why} }
func badMetadata(why string) error { return &registrationError{"invalid_client_metadata", why} }

// check returns the client that a text of JSON describes.
func (a about) check() (client, error) {
	switch {
	case len(a.Redirects) == 0:
		return client{}, badRedirect("redirect_uris is empty")
	case len(a.Redirects) > maxRedirects:
		return client{}, badRedirect(fmt.Sprintf("there are more than %d redirect_uris", maxRedirects))
	case a.GrantTypes != nil && !slices.Contains(a.GrantTypes, "authorization_code"):
		return client{}, badMetadata("grant_types lacks authorization_code")
	case a.ResponseTypes != nil && !slices.Contains(a.ResponseTypes, "code"):
		return client{}, badMetadata("response_types lacks code")
	}
	for _, uri := range a.Redirects {
		if why := redirectFault(uri); why != "" {
			return client{}, badRedirect(why)
		}
	}
	return client{Name: cleanName(a.Name), Redirects: a.Redirects}, nil
}

// cleanName returns a name of a client for pages and lists: one short line without hidden characters.
func cleanName(name string) string {
	name = strings.Join(strings.Fields(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || tool.Hidden(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(name, ""))), " ")
	if name == "" {
		return "a program without a name"
	}
	if short := []rune(name); len(short) > maxName {
		return string(short[:maxName]) + "..."
	}
	return name
}

// redirectFault returns why a redirect URI is not accepted, or "". Codes go to a server over https, to a
// program on the person's machine, or to one that has registered a scheme there.
func redirectFault(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil || !u.IsAbs() || len(uri) > maxURL || strings.ContainsFunc(uri, odd):
		return "a redirect URI is not an absolute URI, or is too long"
	case u.Fragment != "" || strings.Contains(uri, "#"):
		return "a redirect URI has a fragment"
	case u.User != nil:
		return "a redirect URI has a user"
	}
	switch u.Scheme {
	case "https":
		if u.Hostname() == "" {
			return "a redirect URI has no host"
		}
	case "http":
		if !isThisMachine(u.Hostname()) {
			return "a redirect URI has http; it may have it only for a loopback address"
		}
	default:
		if slices.Contains(strings.Fields("javascript data vbscript file blob about filesystem view-source ws wss ftp ftps mailto "+
			"tel sms intent content jar resource chrome edge ms-appx chrome-extension moz-extension"), u.Scheme) {
			return "a redirect URI has a scheme that is not allowed"
		}
	}
	return ""
}

// isThisMachine reports whether a host is localhost or a loopback address. Names below localhost are not:
// DNS may resolve them to other hosts.
func isThisMachine(host string) bool {
	return netaddr.IsLoopback(host) && !strings.HasSuffix(strings.ToLower(host), ".localhost")
}

func odd(c rune) bool {
	return c <= ' ' || c > '~' || c == '\\' || c == '"' || c == '<' || c == '>' || c == '`'
}

// register answers a dynamic registration (RFC 7591).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	c, created, err := s.tryRegister(r)
	var refused *registrationError
	switch {
	case errors.As(err, &refused):
		_ = s.record(r, event{verb: "register", why: refused.Error()})
		writeJSON(w, http.StatusBadRequest, refused)
		return
	case isBusy(err):
		_ = s.record(r, event{verb: "register", why: err.Error()})
		w.Header().Set("Retry-After", "3600")
		writeJSON(w, http.StatusTooManyRequests, registrationError{"temporarily_unavailable", "too many registrations; try again later"})
		return
	case err != nil:
		s.Log.Error("a client could not be registered", "err", err)
		writeJSON(w, http.StatusInternalServerError, registrationError{"server_error", "the client could not be registered"})
		return
	}
	_ = s.record(r, event{verb: "register", client: c.label()})
	writeJSON(w, http.StatusCreated, map[string]any{
		"client_id": c.ID, "client_id_issued_at": created / 1000, "client_name": c.Name, "redirect_uris": c.Redirects,
		"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"},
	})
}

func (s *Server) tryRegister(r *http.Request) (c client, created int64, err error) {
	if err := s.admit(r, "register", rateOfRegistrations(), rateOfAll()); err != nil {
		return c, 0, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAbout+1))
	if err != nil || len(body) > maxAbout {
		return c, 0, badMetadata("the metadata cannot be read, or is too long")
	}
	var a about
	if json.Unmarshal(body, &a) != nil {
		return c, 0, badMetadata("the metadata is not a JSON object with lists of strings")
	}
	if c, err = a.check(); err != nil {
		return c, 0, err
	}
	c.ID = "mcp-" + users.NewSecret()[:26]
	err = s.DB.Update(r.Context(), func(t *store.Tx) (err error) {
		if created, err = t.Now(); err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM login_client WHERE expires <= {{now}}"); err != nil {
			return err
		}
		var n int
		if err := t.Row("SELECT count(*) FROM login_client", nil, &n); err != nil {
			return err
		}
		if n >= maxClients {
			return tool.Errorf(tool.Busy, "there are %d clients, which is the maximum", n)
		}
		return c.keep(t, unusedAge)
	})
	return c, created, err
}

// keep writes the row of a client.
func (c client) keep(t *store.Tx, lasts time.Duration) error {
	redirects, err := store.ToJSON(c.Redirects, false)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO login_client (id, name, redirects, document, created, expires)
		VALUES ($1, $2, $3, $4, {{now}}, {{now}} + $5) ON CONFLICT (id) DO UPDATE SET name = excluded.name,
		redirects = excluded.redirects, created = excluded.created, expires = {{max}}(login_client.expires, excluded.expires)`,
		c.ID, c.Name, redirects, c.Document, lasts.Milliseconds())
	return err
}

// errNoClient is the error for a client that is not known any more.
var errNoClient = errors.New("the client is not known; it must register again")

// known returns a client with a row, and the age of the row.
func (s *Server) known(ctx context.Context, id string) (c client, age time.Duration, err error) {
	var redirects string
	var ms int64
	err = s.DB.Row(ctx, `SELECT id, name, redirects, document, {{now}} - created FROM login_client WHERE id = $1
		AND expires > {{now}}`, []any{id}, &c.ID, &c.Name, &redirects, &c.Document, &ms)
	if errors.Is(err, store.ErrNotFound) {
		return c, 0, errNoClient
	}
	if err != nil {
		return c, 0, err
	}
	return c, time.Duration(ms) * time.Millisecond, store.FromJSON(redirects, &c.Redirects)
}

// find returns the client with an id for a new login. The document of a client is fetched if it is old.
func (s *Server) find(r *http.Request, id string) (client, error) {
	c, age, err := s.known(r.Context(), id)
	if !isDocument(id) || err == nil && age < documentAge {
		return c, err
	}
	if err != nil && !errors.Is(err, errNoClient) {
		return c, err
	}
	if err := s.admit(r, "document", rateOfRegistrations(), rateOfAll()); err != nil {
		return c, err
	}
	c, err = s.fetch(r.Context(), id)
	if err != nil {
		return c, err
	}
	return c, s.DB.Update(r.Context(), func(t *store.Tx) error { return c.keep(t, unusedAge) })
}

// isDocument reports whether the id of a client is the URL of its document.
func isDocument(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && len(u.Path) > 1 && u.Fragment == "" &&
		len(id) <= maxURL && !strings.ContainsFunc(id, odd) && !strings.Contains(u.Path+"/", "/../") &&
		!strings.Contains(u.Path+"/", "/./")
}

// fetch fetches the document of a client.
func (s *Server) fetch(ctx context.Context, id string) (c client, err error) {
	answer, err := s.Web.Do(ctx, outbound.Request{
		URL: id, Header: http.Header{"Accept": {"application/json"}}, MaxBytes: maxAbout, Timeout: 5 * time.Second,
	})
	if err != nil {
		return c, fmt.Errorf("fetching the document of the client: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return c, fmt.Errorf("reading the document of the client: %w", err)
	case answer.Status != http.StatusOK:
		return c, fmt.Errorf("the document of the client has the status %d", answer.Status)
	}
	var a struct {
		about
		Method string `json:"token_endpoint_auth_method"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return c, errors.New("the document of the client is not a JSON object with its metadata")
	}
	switch {
	case a.ClientID != id:
		return c, fmt.Errorf("the document names another client: %q", text.Clip(a.ClientID, 200))
	case a.Method != "" && a.Method != "none":
		return c, errors.New("the client wants to prove itself with a key or a secret, which is not supported")
	}
	if c, err = a.check(); err != nil {
		return c, err
	}
	c.ID, c.Document = id, true
	return c, nil
}

// writeJSON writes an answer of the protocol.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	body, err := json.Marshal(v)
	if err != nil { // impossible: all values are strings, numbers and lists of strings
		status, body = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // else the client has disconnected
}

// isBusy reports whether an error comes from a rate.
func isBusy(err error) bool { return err != nil && tool.AsError(err).Kind == tool.Busy }
