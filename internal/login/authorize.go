package login

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	httphelper "github.com/zitadel/oidc/v3/pkg/http"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/users"
)

// openProtocol returns the handler of the endpoints for clients.
func (s *Server) openProtocol() http.Handler {
	library := op.RegisterServer(s, op.Endpoints{
		Authorization: op.NewEndpoint(authorizePath), Token: op.NewEndpoint(tokenPath), Revocation: op.NewEndpoint(revokePath),
	}, op.WithServerCORSOptions(nil), op.WithEncoder(named{oidc.NewEncoder(), s.origin}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+authorizePath, func(w http.ResponseWriter, r *http.Request) { s.authorize(w, r, library) })
	for path, handle := range map[string]http.HandlerFunc{
		tokenPath:    func(w http.ResponseWriter, r *http.Request) { s.relay(w, r, "token", library) },
		revokePath:   func(w http.ResponseWriter, r *http.Request) { s.relay(w, r, "revoke", library) },
		registerPath: s.register,
	} {
		mux.HandleFunc("POST "+path, anywhere(handle))
		mux.HandleFunc("OPTIONS "+path, anywhere(nil))
	}
	for _, path := range []string{metadataPath, metadataPath + "/mcp"} {
		mux.HandleFunc("GET "+path, anywhere(s.metadata))
		mux.HandleFunc("OPTIONS "+path, anywhere(nil))
	}
	return mux
}

// anywhere lets the pages of all origins call an endpoint. It has no use for cookies, and its answers
// need a secret that no browser adds by itself.
func anywhere(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if next != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxAbout+1)
			next(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type, Authorization, MCP-Protocol-Version")
		w.Header().Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	}
}

// metadata answers with the metadata of the authorization server (RFC 8414).
func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": s.origin, "authorization_endpoint": s.origin + authorizePath, "token_endpoint": s.origin + tokenPath,
		"registration_endpoint": s.origin + registerPath, "revocation_endpoint": s.origin + revokePath,
		"scopes_supported": s.Scopes(), "response_types_supported": []string{"code"},
		"response_modes_supported": []string{"query"}, "code_challenge_methods_supported": []string{"S256"},
		"grant_types_supported":                                 []string{"authorization_code", "refresh_token", "client_credentials"},
		"token_endpoint_auth_methods_supported":                 authMethods(),
		"token_endpoint_auth_signing_alg_values_supported":      oauth.Algorithms(),
		"revocation_endpoint_auth_methods_supported":            authMethods(),
		"revocation_endpoint_auth_signing_alg_values_supported": oauth.Algorithms(),
		"authorization_response_iss_parameter_supported":        true, "client_id_metadata_document_supported": true,
	})
}

// authMethods returns the methods of authentication: none for clients that people log in with, the others for
// machines.
func authMethods() []oidc.AuthMethod {
	return []oidc.AuthMethod{oidc.AuthMethodNone, oidc.AuthMethodBasic, oidc.AuthMethodPost, oidc.AuthMethodPrivateKeyJWT}
}

// named adds the issuer to the errors that the library sends to clients (RFC 9207).
type named struct {
	httphelper.Encoder
	issuer string
}

func (n named) Encode(src any, into map[string][]string) error {
	into["iss"] = []string{n.issuer}
	return n.Encoder.Encode(src, into)
}

// An answer is a response of the library, before it is sent.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }

// repeated returns a parameter that occurs more than once: RFC 6749 forbids that.
func repeated(all url.Values) string {
	for name, values := range all {
		if len(values) > 1 {
			return name
		}
	}
	return ""
}

// authorize answers a browser that a client has sent. The person sees the errors that must not go to the
// client.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, library http.Handler) {
	got := &answer{header: http.Header{}, status: http.StatusOK}
	if name := repeated(r.URL.Query()); name != "" || len(r.URL.RawQuery) > 4*maxURL {
		s.fail(w, r, http.StatusBadRequest, "authorize", "a parameter that is repeated or too long: "+text.Clip(name, 40),
			"The program has sent a request that cannot be read.")
		return
	}
	library.ServeHTTP(got, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
	if got.status != http.StatusFound {
		why := reason(got)
		s.fail(w, r, got.status, "authorize", "client "+text.Clip(r.URL.Query().Get("client_id"), 200)+": "+why,
			"The program that sent you here cannot log in: "+why)
		return
	}
	to, err := url.Parse(got.header.Get("Location"))
	if err == nil && to.Query().Get("error") != "" {
		q := to.Query()
		_ = s.record(r, event{verb: "authorize", client: text.Clip(r.URL.Query().Get("client_id"), 200),
			why: q.Get("error") + ": " + q.Get("error_description")})
	}
	for _, name := range []string{"Location", "Set-Cookie"} {
		w.Header()[name] = got.header[name]
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusFound)
}

// reason returns the error of a response.
func reason(a *answer) string {
	var e registrationError
	if fromJSON(a.body.Bytes(), &e) != nil || e.Code == "" {
		return http.StatusText(a.status)
	}
	if e.Why == "" {
		return e.Code
	}
	return e.Code + ": " + e.Why
}

// Errors of RFC 6749 and RFC 8707 that the library has no function for.

func oauthError(code, why string) *oidc.Error {
	e := oidc.ErrInvalidRequest().WithDescription("%s", why)
	switch code {
	case "unsupported_response_type":
		e.ErrorType = "unsupported_response_type"
	case "temporarily_unavailable":
		e.ErrorType = "temporarily_unavailable"
	case "invalid_target":
		e.ErrorType = oidc.InvalidTarget
	case "access_denied":
		e.ErrorType = oidc.AccessDenied
	case "invalid_scope":
		e.ErrorType = oidc.InvalidScope
	}
	return e
}

// VerifyAuthRequest finds the client of a request. Its errors are for the person: the redirect URI is not
// checked yet.
func (s *Server) VerifyAuthRequest(ctx context.Context, r *op.Request[oidc.AuthRequest]) (
	*op.ClientRequest[oidc.AuthRequest], error) {
	c, err := s.find(requestOf(ctx), r.Data.ClientID)
	switch {
	case errors.Is(err, errNoClient):
		return nil, oidc.ErrInvalidClient().WithDescription("%s", errNoClient.Error())
	case err != nil:
		return nil, oidc.ErrInvalidClient().WithDescription("%s", s.Scrub(err.Error()))
	}
	r.Data.ResponseType = oidc.ResponseTypeCode // Authorize checks the requested type
	r.Data.ResponseMode = oidc.ResponseModeQuery
	if len(r.Data.Scopes) == 0 {
		r.Data.Scopes = oidc.SpaceDelimitedArray{oidc.ScopeOfflineAccess} // the library wants one
	}
	r.Data.CodeChallengeMethod = oidc.CodeChallengeMethodS256
	return &op.ClientRequest[oidc.AuthRequest]{Request: r, Client: c}, nil
}

const (
	// loginAge is how long a person has to log in and to agree, and codeAge how long a client has to use
	// the code.
	loginAge = 15 * time.Minute
	codeAge  = 2 * time.Minute
	// maxLogins is the maximum number of logins that are open.
	maxLogins = 10_000
)

func rateOfLogins() store.Rate { return store.Rate{Times: 60, Period: 10 * time.Minute, Burst: 60} }
func rateOfAllLogins() store.Rate {
	return store.Rate{Times: 6000, Period: 10 * time.Minute, Burst: 3000}
}

// Authorize begins a login for a client and a redirect URI that were checked. Its errors go to the client.
func (s *Server) Authorize(ctx context.Context, r *op.ClientRequest[oidc.AuthRequest]) (*op.Redirect, error) {
	form, from := r.Form, requestOf(ctx)
	challenge := form.Get("code_challenge")
	switch {
	case form.Get("request") != "" || form.Get("request_uri") != "":
		return nil, oidc.ErrRequestNotSupported().WithDescription("requests in a JWT are not supported")
	case form.Get("response_type") == "":
		return nil, oauthError("invalid_request", "response_type is missing")
	case form.Get("response_type") != "code":
		return nil, oauthError("unsupported_response_type", "response_type must be code")
	case form.Get("response_mode") != "" && form.Get("response_mode") != "query":
		return nil, oauthError("invalid_request", "response_mode must be query")
	case challenge == "":
		return nil, oauthError("invalid_request", "code_challenge is missing: PKCE is required")
	case form.Get("code_challenge_method") != "S256":
		return nil, oauthError("invalid_request", "code_challenge_method must be S256")
	case len(challenge) != 43 || strings.Trim(challenge, unreserved) != "":
		return nil, oauthError("invalid_request", "code_challenge is not the SHA-256 of a verifier")
	case !s.isResource(form.Get("resource")):
		return nil, oauthError("invalid_target", "the resource is not "+s.Endpoint)
	case slices.Contains(strings.Fields(form.Get("prompt")), oidc.PromptNone):
		return nil, oidc.ErrLoginRequired().WithDescription("a person must log in and agree")
	}
	if err := s.admit(from, "begin", rateOfLogins(), rateOfAllLogins()); isBusy(err) {
		return nil, oauthError("temporarily_unavailable", "there were too many logins; try again later")
	} else if err != nil {
		return nil, s.public(err)
	}
	browser := cookie(from, browserCookie)
	if browser == "" {
		browser = users.NewSecret()
	}
	id := users.NewSecret()[:26]
	err := s.DB.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM login WHERE expires <= {{now}} - $1", replayAge.Milliseconds()); err != nil {
			return err
		}
		var n int
		if err := t.Row("SELECT count(*) FROM login", nil, &n); err != nil {
			return err
		}
		if n >= maxLogins {
			return oauthError("temporarily_unavailable", "there are too many logins; try again later")
		}
		_, err := t.Exec(`INSERT INTO login (id, client, redirect, state, scope, challenge, resource, browser, expires)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {{now}} + $9)`, id, r.Client.GetID(), r.Data.RedirectURI, form.Get("state"),
			form.Get("scope"), challenge, form.Get("resource"), users.Digest(browser), loginAge.Milliseconds())
		return err
	})
	if err != nil {
		return nil, s.public(err)
	}
	to := op.NewRedirect(pagePath + id)
	to.Header["Set-Cookie"] = []string{newCookie(browserCookie, browser, 24*time.Hour)}
	return to, nil
}

// unreserved are the characters of a code challenge.
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// replayAge is how long a code that has expired is remembered, to notice when it is used again.
const replayAge = time.Hour

// isResource reports whether a resource indicator (RFC 8707) is this server. Clients may leave it out.
func (s *Server) isResource(resource string) bool {
	profile, beneath := strings.CutPrefix(resource, s.Endpoint+"/")
	return resource == "" || resource == s.Endpoint || beneath && slices.Contains(s.Profiles(), profile)
}

// respond returns the redirect URI with the response of a login. q has its parameters.
func (s *Server) respond(l login, q url.Values) (string, error) {
	to, err := url.Parse(l.redirect)
	if err != nil {
		return "", err
	}
	all := to.Query()
	for name, values := range q {
		all[name] = values
	}
	if l.state != "" {
		all.Set("state", l.state)
	}
	all.Set("iss", s.origin)
	to.RawQuery = all.Encode()
	return to.String(), nil
}
