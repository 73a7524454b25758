package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Provider is where people log in: an OpenID provider. go-oidc finds it and checks its tokens, x/oauth2 exchanges
// the code.
type Provider struct {
	Issuer   string
	ClientID string
	// Secret returns the secret of the client; nil for a client that has none.
	Secret func() (string, error)
	// Redirect is the URL to return to from the provider.
	Redirect string
	Scopes   []string // beside openid
	// Claim is the claim of the ID token with a person's roles: a text or a list of texts.
	Claim string
	// Operators and Approvers are the roles of people with the right to see everything, and to decide
	// only.
	Operators, Approvers []string
	Channel              string // of people after a login
}

const (
	// loginPath begins the paths of a login at the provider; loginAge is how long one may take.
	loginPath = "/login/with"
	backPath  = "/login/callback"
	loginAge  = 10 * time.Minute
	maxLogins = 1000
	// memberAge is how long a login counts: then the provider is asked again for the roles of the person.
	memberAge = 12 * time.Hour
	// providerPatience limits the requests to the provider.
	providerPatience = 20 * time.Second
	maxProviderBody  = 1 << 20
)

// A member logs people in at a provider.
type member struct {
	Provider
	client *http.Client

	mu      sync.Mutex
	known   *oidc.Provider // nil until it was found
	pending map[digest]pendingLogin
}

// A pendingLogin is a browser that was sent to the provider.
type pendingLogin struct {
	browser         digest // of its cookie
	nonce, verifier string
	next            string // page after the login
	expires         time.Time
}

func newMember(p Provider) *member {
	return &member{Provider: p, pending: map[digest]pendingLogin{}, client: &http.Client{
		Timeout: providerPatience, Transport: limitedBodies{http.DefaultTransport},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Scheme != via[0].URL.Scheme || next.URL.Host != via[0].URL.Host || len(via) > 3 {
				return errors.New("the provider redirects to another origin, or too often")
			}
			return nil
		},
	}}
}

// limitedBodies limits the bodies of responses: go-oidc reads all of them.
type limitedBodies struct{ next http.RoundTripper }

func (l limitedBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxProviderBody), res.Body}
	}
	return res, err
}

// config returns the configuration for requests to the provider. It finds the provider once.
func (m *member) config(ctx context.Context) (*oidc.Provider, oauth2.Config, error) {
	c := oauth2.Config{ClientID: m.ClientID, RedirectURL: m.Redirect, Scopes: append([]string{oidc.ScopeOpenID}, m.Scopes...)}
	if m.Secret != nil {
		secret, err := m.Secret()
		if err != nil {
			return nil, c, err
		}
		c.ClientSecret = secret
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		// The keys are fetched later with the same client, so its context must not end.
		found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), m.client), m.Issuer)
		if err != nil {
			return nil, c, fmt.Errorf("the login provider cannot be reached: %w", err)
		}
		m.known = found
	}
	c.Endpoint = m.known.Endpoint()
	return m.known, c, nil
}

// begin remembers a login, and returns the address of the provider for it.
func (m *member) begin(ctx context.Context, next, browser string, now time.Time) (address string, err error) {
	_, c, err := m.config(ctx)
	if err != nil {
		return "", err
	}
	state, login := newSecret(), pendingLogin{
		browser: digestOf(browser), nonce: newSecret(), verifier: oauth2.GenerateVerifier(), next: next,
		expires: now.Add(loginAge),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, other := range m.pending {
		if now.After(other.expires) || len(m.pending) >= maxLogins {
			delete(m.pending, key)
		}
	}
	m.pending[digestOf(state)] = login
	return c.AuthCodeURL(state, oidc.Nonce(login.nonce), oauth2.S256ChallengeOption(login.verifier)), nil
}

// take uses up the login with a state, if this browser has begun it.
func (m *member) take(state, browser string, now time.Time) (pendingLogin, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	login, ok := m.pending[digestOf(state)]
	if !ok || browser == "" || login.browser != digestOf(browser) {
		return login, false
	}
	delete(m.pending, digestOf(state))
	return login, !now.After(login.expires)
}

// finish exchanges the code, and returns the person that the ID token is about.
func (m *member) finish(ctx context.Context, login pendingLogin, code string) (room.Person, error) {
	provider, c, err := m.config(ctx)
	if err != nil {
		return room.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, m.client)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(login.verifier))
	if err != nil {
		return room.Person{}, fmt.Errorf("exchanging the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: m.ClientID}).Verify(ctx, raw)
	if err != nil {
		return room.Person{}, fmt.Errorf("the ID token is not valid: %w", err)
	}
	if id.Nonce != login.nonce {
		return room.Person{}, errors.New("the ID token is of another login")
	}
	var claims map[string]json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return room.Person{}, err
	}
	return m.person(id.Subject, claims)
}

// errNoRole is the error for a person without a role.
var errNoRole = tool.Errorf(tool.Refused, "this person has no role here").Try("ask the operator for one")

// person returns a person by the claims of the ID token.
func (m *member) person(subject string, claims map[string]json.RawMessage) (room.Person, error) {
	var roles []string
	var role string
	if raw := claims[m.Claim]; json.Unmarshal(raw, &role) == nil {
		roles = []string{role}
	} else {
		_ = json.Unmarshal(raw, &roles) // anything else is no role
	}
	has := func(wanted []string) bool {
		return slices.ContainsFunc(roles, func(r string) bool { return r != "" && slices.Contains(wanted, r) })
	}
	who := room.Person{Name: "oidc:" + subject, Channel: m.Channel}
	// The name may be the person's own choice; the subject identifies the person.
	for _, claim := range []string{"preferred_username", "email"} {
		var name string
		if json.Unmarshal(claims[claim], &name) == nil && name != "" {
			who.Name = tool.Visible(text.Clip(name, 80)) + " (" + who.Name + ")"
			break
		}
	}
	switch {
	case subject == "" || !has(m.Operators) && !has(m.Approvers):
		return who, errNoRole
	case !has(m.Operators):
		who.Decides = true
	}
	return who, nil
}

// loginCookie returns the name of the cookie that binds a login to a browser. It comes back from the provider's
// pages, so it is not strict.
func (c *Console) loginCookie() string { return c.cookieName() + "-login" }

// goLogIn sends a browser to the provider.
func (c *Console) goLogIn(w http.ResponseWriter, r *http.Request) {
	if !c.sessions.mayTry(r.RemoteAddr) {
		c.refuse(w, r, http.StatusTooManyRequests, "too many logins", "Too many logins. Wait a minute, then try again.")
		return
	}
	browser := newSecret()
	address, err := c.member.begin(r.Context(), next(r), browser, c.sessions.now())
	if err != nil {
		c.Log.Warn("a login at the provider cannot begin", "err", err)
		c.gate(w, r, http.StatusBadGateway, "The login provider does not answer, or its settings are wrong. The log of the server "+
			"has the reason.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: c.loginCookie(), Value: browser, Path: backPath, HttpOnly: true, Secure: c.Secure,
		SameSite: http.SameSiteLaxMode, MaxAge: int(loginAge.Seconds()),
	})
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// cameBack lets a person in after the login at the provider.
func (c *Console) cameBack(w http.ResponseWriter, r *http.Request) {
	const again = " Log in again."
	q := r.URL.Query()
	browser := ""
	if cookie, err := r.Cookie(c.loginCookie()); err == nil {
		browser = cookie.Value
	}
	login, ok := c.member.take(q.Get("state"), browser, c.sessions.now())
	http.SetCookie(w, &http.Cookie{Name: c.loginCookie(), Path: backPath, HttpOnly: true, Secure: c.Secure,
		SameSite: http.SameSiteLaxMode, MaxAge: -1})
	issuer := q.Get("iss") // RFC 9207: a provider that sends it must be the one that was asked
	switch {
	case !ok:
		c.refuse(w, r, http.StatusForbidden, "a login that this browser has not begun, or that was used",
			"This login was not begun in this browser, was used already, or took too long."+again)
		return
	case issuer != "" && issuer != c.member.Issuer:
		c.refuse(w, r, http.StatusForbidden, "a login of another provider", "This login is of another provider."+again)
		return
	case q.Get("error") != "":
		c.refuse(w, r, http.StatusForbidden, "a login that the provider refused: "+text.Clip(q.Get("error"), 100),
			"The login provider has refused the login."+again)
		return
	}
	who, err := c.member.finish(r.Context(), login, q.Get("code"))
	if errors.Is(err, errNoRole) {
		c.refuse(w, r, http.StatusForbidden, "a login without a role: "+text.Clip(who.Name, 200),
			"You are logged in, and have no role here. The operator of this console gives roles.")
		return
	}
	if err != nil {
		c.Log.Warn("a login at the provider failed", "err", err)
		c.refuse(w, r, http.StatusForbidden, "a login that failed: "+text.Clip(err.Error(), 200),
			"The login did not work; the log of the server has the reason."+again)
		return
	}
	until := c.sessions.now().Add(memberAge)
	base := c.begin(w, r, who, func(context.Context) bool { return c.sessions.now().Before(until) })
	// The strict cookie is not sent with a redirect from another site, so a page of this site leads on.
	c.write(w, http.StatusOK, "gate", gate{Title: "Logged in", Enter: base + "/" + login.next})
}

// host returns the host of the provider, for a button.
func (p Provider) host() string {
	_, host, _ := strings.Cut(p.Issuer, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}
