// Package login is the server's own OAuth 2.1 authorization server: remote clients such as claude.ai get
// tokens from it when a person has logged in with a browser and has agreed.
//
// A client registers itself or publishes a document about itself (client.go), sends the person to
// /oauth/authorize, where a login begins (authorize.go), and gets tokens for the resulting code
// (token.go). The pages for the login and the consent are in page.go. zitadel/oidc reads the requests of
// the protocol, checks redirect URIs and writes the errors. ory/fosite was refused: it links test
// libraries, gRPC and two exporters of traces, allocates 1.4 MB before main in place of 0.1 MB, and has
// no field for a token of another package.
//
// The tokens are rows of internal/tokens like all others, the people rows of internal/users. All state
// is rows, so that any process goes on with a login that another one has begun. Times come from the
// database.
//
// The package does not know the rights of profiles, and checks no token of a call. Begin with
// [New].
package login

import (
	"context"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/users"
	"github.com/mcp-tools/mcp-tools/internal/webpage"
)

// Options configure a Server.
type Options struct {
	DB    *store.Store
	Users *users.Users
	// Endpoint is the URL of the MCP endpoint, and the resource of all tokens; see [Origin].
	Endpoint string
	// Web fetches the documents that clients publish about themselves.
	Web outbound.Client
	// Profiles returns the names of all profiles.
	Profiles func() []string
	// Workspace is where callers work whose user has no workspace; for the page of consent.
	Workspace string
	// Record writes to the audit log.
	Record func(context.Context, audit.Record) error
	// Scrub masks secrets in texts.
	Scrub func(string) string
	// Style is the style sheet of the pages.
	Style []byte
	Log   *slog.Logger
}

// A Server serves the endpoints of the protocol and the pages of the login.
type Server struct {
	op.UnimplementedServer
	Options
	origin   string
	protocol http.Handler
	pages    http.Handler
	look     func() (map[string]*template.Template, error)
	refusals webpage.Refusals
}

// Origin returns the origin of the login for the URL of an MCP endpoint, or "" if there can be none: it
// needs https, and an endpoint at /mcp.
func Origin(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "/mcp" || u.RawQuery != "" {
		return ""
	}
	return "https://" + strings.ToLower(u.Host)
}

// Paths of the endpoints.
const (
	metadataPath  = "/.well-known/oauth-authorization-server"
	authorizePath = "/oauth/authorize"
	tokenPath     = "/oauth/token"
	revokePath    = "/oauth/revoke"
	registerPath  = "/oauth/register"
	pagePath      = "/login/"
)

// New returns a Server for an endpoint that has an [Origin]. It reads nothing yet.
func New(o Options) *Server {
	s := &Server{Options: o, origin: Origin(o.Endpoint), look: sync.OnceValues(parseLook)}
	s.protocol = s.openProtocol()
	s.pages = s.openPages()
	return s
}

// Issuer returns the URL of the authorization server in metadata and responses.
func (s *Server) Issuer() string { return s.origin }

// Scopes returns the scopes that clients can ask for: each is the name of a profile.
func (s *Server) Scopes() []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(s.Profiles())), func(name string) bool { return !isScope(name) })
}

// isScope reports whether a name can be a scope.
func isScope(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
}

// Serves reports whether a path belongs to the login.
func Serves(path string) bool {
	return strings.HasPrefix(path, "/oauth/") || strings.HasPrefix(path, pagePath) ||
		strings.HasPrefix(path, users.InvitePath) || path == metadataPath || strings.HasPrefix(path, metadataPath+"/")
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, pagePath) || strings.HasPrefix(r.URL.Path, users.InvitePath) {
		s.pages.ServeHTTP(w, r)
		return
	}
	s.protocol.ServeHTTP(w, r)
}

// address returns the address of the browser or the client. A proxy on this machine or in its private
// network is believed about the one that has connected to it: the last in X-Forwarded-For.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr = addr.Unmap(); addr.IsLoopback() || addr.IsPrivate() {
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
			addr = last.Unmap()
		}
	}
	if addr.Is6() { // a customer of a provider has a whole network
		if net, err := addr.WithZone("").Prefix(64); err == nil {
			return net.String()
		}
	}
	return addr.String()
}

// An event is the record of a request to the login in the audit log.
type event struct {
	verb   string // login, consent, token, ...
	user   string
	agent  string
	client string // for the text about the record
	why    string // of a refusal; "" for none
}

// record writes an event to the audit log. Refusals are recorded as far as the limit allows.
func (s *Server) record(r *http.Request, e event) error {
	outcome := "ok"
	if e.why != "" {
		outcome = "refused"
		s.Log.Info("a request of a login was refused", "verb", e.verb, "why", s.Scrub(e.why), "from", address(r))
		if !s.refusals.Record() {
			return nil
		}
	}
	about := "from " + address(r)
	if e.client != "" {
		about = "client " + e.client + ", " + about
	}
	err := s.Record(context.WithoutCancel(r.Context()), audit.Record{
		Phase: audit.Done, Kind: "login", Tool: "login " + e.verb, User: e.user, Agent: e.agent, Transport: "http",
		Outcome: outcome, Error: s.Scrub(e.why), About: s.Scrub(about),
	})
	if err != nil {
		s.Log.Error("the audit record of a login was not written", "verb", e.verb, "err", err)
	}
	return err
}
