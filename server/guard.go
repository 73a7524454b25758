package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Guard keeps web pages in the operator's browser away from a server on the
// operator's machine: by Origin, and by Host, because a page can make its own
// name lead here.
type Guard struct {
	Hosts     []string // that requests may be addressed to, beside loopback names
	Origins   []string // of pages that may call, beside loopback ones
	Addresses bool     // allow every IP address as a host: DNS rebinding needs a name
}

// Handler passes requests with an allowed Host and Origin to next. It sends no
// CORS headers, so pages cannot read the responses.
func (g Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := g.refusal(r); why != "" {
			writeText(w, http.StatusForbidden, why)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal returns the reason to refuse r, or "".
func (g Guard) refusal(r *http.Request) string {
	if !g.hostAllowed(r.Host) {
		return "this server does not answer to that host name; the operator can add it to server.allowed_hosts"
	}
	for _, origin := range r.Header["Origin"] {
		if !g.originAllowed(origin) {
			return "pages of that origin may not call this server; the operator can add its host to server.allowed_hosts"
		}
	}
	return ""
}

// guard checks Host and Origin before anything else.
func (h *HTTP) guard(next http.Handler) http.Handler {
	g := Guard{Hosts: h.AllowedHosts, Origins: h.AllowedOrigins}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.setDeadlines(w, r)
		if h.probe(w, r) {
			return
		}
		if h.Login != nil && h.Logs(r.URL.Path) && g.hostAllowed(r.Host) {
			h.Login.ServeHTTP(w, r)
			return
		}
		if why := g.refusal(r); why != "" {
			writeText(w, http.StatusForbidden, why)
			return
		}
		for _, origin := range r.Header["Origin"] {
			allowOrigin(w.Header(), origin)
		}
		next.ServeHTTP(w, r)
	})
}

// probe answers the health checks of kubelets and load balancers. It comes before
// the check of the host, because they use addresses; it discloses nothing.
func (h *HTTP) probe(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/healthz":
		writeText(w, http.StatusOK, "ok")
	case "/readyz":
		switch ready := h.Server.Config.Ready; {
		case h.Server.closing.Err() != nil:
			writeText(w, http.StatusServiceUnavailable, "shutting down")
		case ready == nil || h.logReady(ready()):
			writeText(w, http.StatusOK, h.readiness())
		default:
			writeText(w, http.StatusServiceUnavailable, "calls cannot be recorded now")
		}
	default:
		return false
	}
	return true
}

// readiness says that the server is ready, and lists the missing parts.
func (h *HTTP) readiness() string {
	if lacks := h.Server.Config.Lacks; lacks != nil {
		if what := lacks(); what != "" {
			return "ready, without " + what
		}
	}
	return "ready"
}

// logReady reports whether err is nil, and logs it otherwise.
func (h *HTTP) logReady(err error) bool {
	if err != nil {
		h.Server.log.Error("not ready: calls cannot be recorded", "err", err)
	}
	return err == nil
}

// setDeadlines limits the time of a request before any handler runs: net/http
// reads the body even if a handler refuses it. body and newStream remove the
// deadlines for calls and streams that take longer.
func (h *HTTP) setDeadlines(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	err := control.SetWriteDeadline(time.Now().Add(bodyLimit + writeLimit))
	if r.Body != http.NoBody {
		err = errors.Join(err, control.SetReadDeadline(time.Now().Add(bodyLimit)))
	}
	if err != nil {
		h.Server.log.Debug("the deadlines of a request cannot be set", "err", err)
	}
}

func (g Guard) hostAllowed(hostport string) bool {
	host := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		host = name
	}
	if g.Addresses {
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
			return true
		}
	}
	return netaddr.IsLoopback(host) || slices.ContainsFunc(g.Hosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, hostport)
	})
}

func (g Guard) originAllowed(origin string) bool {
	if slices.Contains(g.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && netaddr.IsLoopback(u.Hostname())
}

// allowOrigin lets pages of an origin that passed the guard read the answers. They still need a
// token: no browser adds one by itself.
func allowOrigin(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Add("Vary", "Origin")
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, X-MCP-Ignored")
}

func preflight(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// authenticated passes a request to next if the owner of its token may use the
// profile of the path.
func (h *HTTP) authenticated(next func(http.ResponseWriter, *http.Request, Access)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		access, refused := h.authenticate(r)
		if refused != nil {
			h.reject(w, r, refused)
			return
		}
		if !access.Narrow.Empty() {
			if unknown := h.Server.settings().Policy.Unmatched(access.subject()); unknown != nil {
				w.Header().Set("X-MCP-Ignored", h.Server.scrub.Text(strings.Join(unknown, ",")))
			}
		}
		next(w, r, access)
	}
}

func (h *HTTP) reject(w http.ResponseWriter, r *http.Request, refused *Challenge) {
	h.Server.log.Info("a request was not let in", "status", refused.Status, "why", refused.logText(), "from",
		r.RemoteAddr)
	if refused.Header != "" {
		w.Header().Set("WWW-Authenticate", refused.Header)
	}
	writeText(w, refused.Status, h.Server.scrub.Text(refused.Reason))
}

// An IdentityHandler serves the requests of a known identity.
type IdentityHandler = func(http.ResponseWriter, *http.Request, Identity)

// OperatorVerbs serves the verbs of operators: the list, and each call.
type OperatorVerbs struct{ List, Call IdentityHandler }

// approver serves a request if its token may decide approvals.
func (h *HTTP) approver(serve IdentityHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, refused := h.identify(r)
		if refused == nil && !who.Approves {
			refused = &Challenge{Status: http.StatusForbidden, Reason: "this token may not decide approvals"}
		}
		if refused != nil {
			h.reject(w, r, refused)
			return
		}
		setWriteDeadline(w)
		serve(w, r, who)
	}
}

func (h *HTTP) authenticate(r *http.Request) (a Access, refused *Challenge) {
	who, refused := h.identify(r)
	if refused != nil {
		return a, refused
	}
	if who.Approves { // otherwise an agent with this token could approve its own calls
		return a, &Challenge{Status: http.StatusForbidden,
			Reason: "this token decides approvals, and may not call tools"}
	}
	profile := r.PathValue("profile")
	rules := h.Server.settings().Policy
	if profile == "" {
		profile = who.defaultProfile()
	}
	// Without a profile the rules choose one, possibly by provider. The token
	// must be valid for their default.
	named, err := rules.ResolveProfile(profile)
	switch {
	case err != nil && who.mayUse(profile):
		return a, &Challenge{Status: http.StatusNotFound, Reason: err.Error()}
	case err != nil || !who.mayUse(named): // do not disclose the names of profiles
		return a, h.Identities.Forbidden(profile)
	}
	a = h.Base
	a.Transport = "http"
	a.Token = who.ID
	a.Narrow = narrowing(r.Header)
	a.Structured = a.Structured || who.Structured || slices.ContainsFunc(list(r.Header, "X-MCP-Structured"), notFalse)
	c := &a.Caller
	c.Profile, c.Agent, c.User, c.Channel = profile, who.Agent, who.User, "http"
	if who.Workspace != "" {
		c.Workspace = who.Workspace
	}
	a.Pinned = who.Place.Chat != "" || who.Place.PeerKind == groupChat
	for _, place := range []Place{who.Place, placeOf(r.Header)} {
		if a, err = a.at(place); err != nil {
			return a, &Challenge{Status: http.StatusForbidden, Reason: err.Error()}
		}
	}
	c = &a.Caller
	// All requests of a caller without a session are counted together.
	c.Session = "id-" + fingerprint(strings.Join([]string{who.ID, c.Agent, c.User, profile}, "\x00"))
	a.Identity = c.Session
	return a, nil
}

// stillAuthorized returns a function that checks the token of r again while its
// stream is open.
func (h *HTTP) stillAuthorized(r *http.Request) func() bool {
	return func() bool {
		_, refused := h.identify(r)
		return refused == nil || refused.Status != http.StatusUnauthorized
	}
}

// holdCheck is how often the token of a held request is checked.
const holdCheck = time.Second

// Hold returns the context of an answer to r that has no end of its own. It ends with that
// of r, when the server begins to shut down, and soon after the token of r is no longer
// valid; its cause is then an error for the client. The caller calls release at the end.
func (h *HTTP) Hold(r *http.Request) (ctx context.Context, release context.CancelFunc) {
	ctx, end := context.WithCancelCause(r.Context())
	authorized := h.stillAuthorized(r)
	go func() {
		tick := time.NewTicker(holdCheck)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-h.Server.closing.Done():
				end(tool.Errorf(tool.Unavailable, "the server is shutting down").Try("call again when it is back"))
				return
			case <-tick.C:
				if !authorized() {
					end(tool.Errorf(tool.Refused, "the token is no longer valid").Try("use another token"))
					return
				}
			}
		}
	}()
	return ctx, func() { end(nil) }
}

// identify returns the identity of the token of r. The challenge is the same for
// every invalid token.
func (h *HTTP) identify(r *http.Request) (Identity, *Challenge) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return Identity{}, h.Identities.Challenge(r.PathValue("profile"))
	}
	who, err := h.Identities.Identify(r.Context(), strings.TrimSpace(token), r.PathValue("profile"))
	if err == nil {
		return who, nil
	}
	if challenge := (*Challenge)(nil); errors.As(err, &challenge) {
		return Identity{}, challenge
	}
	if r.Context().Err() == nil { // otherwise the client has disconnected
		h.Server.log.Error("a token could not be checked", "err", err)
	}
	return Identity{}, &Challenge{
		Status: http.StatusServiceUnavailable, Reason: "tokens cannot be checked at the moment; try again later",
		Cause: err,
	}
}

// narrowing reads the headers that restrict the tools of a request.
func narrowing(header http.Header) policy.Narrow {
	return policy.Narrow{
		Tools:    list(header, "X-MCP-Tools"),
		Exclude:  list(header, "X-MCP-Exclude-Tools"),
		Toolsets: list(header, "X-MCP-Toolsets"),
		ReadOnly: slices.ContainsFunc(list(header, "X-MCP-Readonly"), notFalse),
	}
}

// placeOf reads the headers that say where a request comes from.
func placeOf(header http.Header) Place {
	return Place{
		Provider: header.Get("X-MCP-Provider"), Chat: header.Get("X-MCP-Chat"), PeerKind: header.Get("X-MCP-Peer-Kind"),
		Topic: header.Get("X-MCP-Topic"), Sender: header.Get("X-MCP-Sender"),
	}
}

// list splits a header with names. It returns nil without the header, and an
// empty list for an empty header.
func list(header http.Header, name string) []string {
	values, present := header[http.CanonicalHeaderKey(name)]
	if !present {
		return nil
	}
	names := []string{}
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.TrimSpace(one); one != "" {
				names = append(names, one)
			}
		}
	}
	return names
}

// notFalse reports whether a word narrows the request. An unknown word does: a proxy
// that narrows requests must not fail to because of its spelling.
func notFalse(word string) bool {
	return !slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(word))
}

// fingerprint names a secret or private string in logs.
func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
