package login

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/users"
	"github.com/mcp-tools/mcp-tools/policy"
)

type (
	requestKey struct{}
	eventKey   struct{}
)

// requestOf returns the request that the library handles. The library passes on parts of it only.
func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey{}).(*http.Request)
	return r
}

func fromJSON(text []byte, into any) error { return json.Unmarshal(text, into) }

// relay passes a request for tokens to the library, and records the outcome before the client gets it.
// The library takes parameters from the URL, too: there they would be in logs.
func (s *Server) relay(w http.ResponseWriter, r *http.Request, verb string, library http.Handler) {
	what := &event{verb: verb}
	got := &answer{header: http.Header{}, status: http.StatusOK}
	switch err := r.ParseForm(); {
	case err != nil || r.URL.RawQuery != "" || repeated(r.PostForm) != "":
		op.WriteError(got, r, oidc.ErrInvalidRequest().WithDescription(
			"the parameters must be a form in the body, each there once"), nil)
	default:
		ctx := context.WithValue(r.Context(), requestKey{}, r)
		library.ServeHTTP(got, r.WithContext(context.WithValue(ctx, eventKey{}, what)))
	}
	if got.status >= http.StatusBadRequest {
		what.why = reason(got)
		if what.client == "" {
			what.client = text.Clip(r.PostForm.Get("client_id"), 200)
		}
	}
	if err := s.record(r, *what); err != nil {
		writeJSON(w, http.StatusInternalServerError, registrationError{"server_error", "the request cannot be recorded now"})
		return
	}
	for name, values := range got.header {
		w.Header()[name] = values
	}
	if got.status == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="mcp-tools"`)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(got.status)
	_, _ = w.Write(got.body.Bytes()) // else the client has disconnected
}

// note notes whom a request for tokens concerns.
func note(ctx context.Context, c client, user, agent string) {
	if e, ok := ctx.Value(eventKey{}).(*event); ok {
		e.client, e.user, e.agent = c.label(), user, agent
	}
}

// VerifyClient returns the client of a request for tokens. An unknown client gets 401: it then registers
// again.
func (s *Server) VerifyClient(ctx context.Context, r *op.Request[op.ClientCredentials]) (op.Client, error) {
	if r.Data.ClientAssertion != "" || r.Data.ClientSecret != "" {
		return s.verifyMachine(ctx, r.Data)
	}
	c, _, err := s.known(ctx, r.Data.ClientID)
	if errors.Is(err, errNoClient) {
		return nil, unknown(errNoClient.Error())
	}
	return c, s.public(err)
}

// unknown returns the error for a client that is not known or not authenticated.
func unknown(why string) error {
	return op.NewStatusError(oidc.ErrInvalidClient().WithDescription("%s", why), http.StatusUnauthorized)
}

func badGrant(why string) error { return oidc.ErrInvalidGrant().WithDescription("%s", why) }

// issued is the response with tokens.
type issued struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitzero"`
	Scope        string `json:"scope,omitzero"`
}

func answerOf(access tokens.Secret, refresh, scope string) *op.Response {
	return op.NewResponse(issued{
		AccessToken: access.Reveal(), TokenType: "Bearer", ExpiresIn: int(tokens.AccessAge.Seconds()), RefreshToken: refresh,
		Scope: scope,
	})
}

// CodeExchange issues the tokens of a login for its code. A code that is used twice ends the login: one of
// the two has stolen it.
func (s *Server) CodeExchange(ctx context.Context, r *op.ClientRequest[oidc.AccessTokenRequest]) (*op.Response, error) {
	c, _ := r.Client.(client)
	note(ctx, c, "", "")
	var res *op.Response
	var refused error // of a request that changes rows all the same
	var who users.User
	err := s.DB.Update(ctx, func(t *store.Tx) error {
		res, refused = nil, nil
		l, expired, err := loginOf(t, "code", users.Digest(r.Data.Code), true)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return badGrant("the code is not known")
		case err != nil:
			return err
		case l.token != "":
			refused = badGrant("the code was used already; the tokens for it are revoked")
			return revoke(t, l.token)
		case expired:
			return badGrant("the code has expired")
		case l.client != c.ID:
			return badGrant("the code is of another client")
		case l.redirect != r.Data.RedirectURI:
			return badGrant("redirect_uri is not the one of the authorization")
		case !oidc.VerifyCodeChallenge(&oidc.CodeChallenge{Challenge: l.challenge, Method: oidc.CodeChallengeMethodS256},
			r.Data.CodeVerifier):
			return badGrant("code_verifier does not belong to the code_challenge")
		case !s.sameResource(l.resource, r.Form.Get("resource")):
			return oauthError("invalid_target", "the resource is not the one of the authorization")
		}
		if who, err = users.Get(t, l.account); errors.Is(err, store.ErrNotFound) {
			return badGrant("the user was removed")
		} else if err != nil {
			return err
		}
		res, err = s.grant(t, l, c, who)
		return err
	})
	note(ctx, c, who.Name, who.Agent)
	return res, s.settled(ctx, refused, err)
}

// settled returns the error of a request for tokens, after the tokens that it revoked are revoked
// everywhere. An error outside of the protocol is for the log.
func (s *Server) settled(ctx context.Context, refused, err error) error {
	if refused != nil && err == nil {
		if err = tokens.Settle(ctx); err == nil {
			err = refused
		}
	}
	return s.public(err)
}

// public returns an error that a client may see.
func (s *Server) public(err error) error {
	if known := (*oidc.Error)(nil); err == nil || errors.As(err, &known) {
		return err
	}
	s.Log.Error("a request of a login failed", "err", err)
	return oidc.ErrServerError().WithDescription("the request failed; the log of the server has the reason")
}

// grant issues the tokens of a login.
func (s *Server) grant(t *store.Tx, l login, c client, who users.User) (*op.Response, error) {
	profiles := tokens.Within(l.profiles, who.Profiles, policy.AnyProfile)
	if len(profiles) == 0 {
		return nil, badGrant("the user may not use the profiles any more")
	}
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	access, token, err := tokens.Grant(t, tokens.Token{
		Name: c.Name, Profiles: profiles, Agent: who.Agent, User: who.Name, Workspace: who.Workspace,
		Expires: store.FromMillis(now).Add(l.lasts),
	})
	if err != nil {
		return nil, err
	}
	scope := strings.Join(profiles, " ")
	salt := users.NewSecret()
	_, err = t.Exec("INSERT INTO login_grant (token, account, client, scope, resource, salt) VALUES ($1, $2, $3, $4, $5, $6)",
		token.ID, who.ID, c.ID, scope, l.resource, salt)
	if err == nil {
		_, err = t.Exec("UPDATE login SET token = $2 WHERE id = $1", l.id, token.ID)
	}
	if err == nil {
		_, err = t.Exec("UPDATE login_client SET expires = {{max}}(expires, {{now}} + $2) WHERE id = $1", c.ID,
			(l.lasts + usedAge).Milliseconds())
	}
	if err != nil {
		return nil, err
	}
	refresh, err := addRefresh(t, token.ID, salt, users.NewSecret())
	return answerOf(access, refresh, scope), err
}

// addRefresh adds the refresh token that follows another one. It is the same each time: a client that asks
// twice, because the first response was lost, gets it again.
func addRefresh(t *store.Tx, token, salt, after string) (refresh string, err error) {
	mac := hmac.New(sha256.New, []byte(salt))
	_, _ = mac.Write([]byte(after)) // never fails
	refresh = refreshPrefix + hex.EncodeToString(mac.Sum(nil))
	_, err = t.Exec("INSERT INTO login_refresh (hash, token, created) VALUES ($1, $2, {{now}}) ON CONFLICT DO NOTHING",
		users.Digest(refresh), token)
	return refresh, err
}

// refreshPrefix begins refresh tokens, so that people and scrubbers recognise them.
const refreshPrefix = "mcpr_"

// revoke revokes a token that a login has issued, with its refresh tokens.
func revoke(t *store.Tx, token string) error {
	if _, err := t.Exec("DELETE FROM login_refresh WHERE token = $1", token); err != nil {
		return err
	}
	return tokens.RevokeIn(t, token)
}

// sameResource reports whether the resource of a request for tokens equals the resource of the
// authorization.
func (s *Server) sameResource(authorized, asked string) bool {
	if authorized == "" {
		return s.isResource(asked)
	}
	return asked == "" || asked == authorized
}

// lostFor is the time during which a refresh token can be used again if the tokens that replaced it
// were not used: the response was lost, or two processes of a client have sent the token at once.
const lostFor = 10 * time.Second

// usedFor is how long a refresh token that was used is remembered.
const usedFor = 7 * 24 * time.Hour

// RefreshToken issues new tokens for a refresh token, and replaces it. A refresh token that was replaced
// before ends the login: one of its two holders has stolen it.
func (s *Server) RefreshToken(ctx context.Context, r *op.ClientRequest[oidc.RefreshTokenRequest]) (*op.Response, error) {
	c, _ := r.Client.(client)
	note(ctx, c, "", "")
	var res *op.Response
	var refused error
	var who users.User
	err := s.DB.Update(ctx, func(t *store.Tx) error {
		res, refused = nil, nil
		g, err := refreshOf(t, r.Data.RefreshToken)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return badGrant("the refresh token is not known, or was revoked")
		case err != nil:
			return err
		case g.client != c.ID:
			return badGrant("the refresh token is of another client")
		case g.dead:
			return badGrant("the login has ended")
		case !s.sameResource(g.resource, r.Form.Get("resource")):
			return oauthError("invalid_target", "the resource is not the one of the authorization")
		case !within(r.Data.Scopes, strings.Fields(g.scope)):
			return oauthError("invalid_scope", "the scope is wider than the one of the authorization")
		}
		if g.used && !g.lost {
			refused = badGrant("the refresh token was used already; the login has ended")
			return revoke(t, g.token)
		}
		if who, err = users.Get(t, g.account); err != nil {
			return err // it has no tokens then, unless the store cannot be read
		}
		profiles := tokens.Within(strings.Fields(g.scope), who.Profiles, policy.AnyProfile)
		if err := tokens.Narrow(t, g.token, profiles); err != nil {
			return err
		}
		if len(profiles) == 0 {
			refused = badGrant("the user may not use the profiles any more")
			return revoke(t, g.token)
		}
		access, err := tokens.Renew(t, g.token)
		if err != nil {
			return err
		}
		next, err := addRefresh(t, g.token, g.salt, r.Data.RefreshToken)
		if err != nil {
			return err
		}
		if _, err = t.Exec("UPDATE login_refresh SET used = CASE used WHEN 0 THEN {{now}} ELSE used END, successor = $2 "+
			"WHERE hash = $1", g.hash, users.Digest(next)); err != nil {
			return err
		}
		// One that was used long ago and comes again is refused as one that is not known.
		if _, err = t.Exec("DELETE FROM login_refresh WHERE token = $1 AND used > 0 AND used < {{now}} - $2", g.token,
			usedFor.Milliseconds()); err != nil {
			return err
		}
		res = answerOf(access, next, strings.Join(profiles, " "))
		return nil
	})
	note(ctx, c, who.Name, who.Agent)
	return res, s.settled(ctx, refused, err)
}

// within reports whether all words are among others.
func within(words, others []string) bool {
	for _, word := range words {
		if word != oidc.ScopeOfflineAccess && !strings.Contains(" "+strings.Join(others, " ")+" ", " "+word+" ") {
			return false
		}
	}
	return true
}

// A refreshRow is a refresh token with its login.
type refreshRow struct {
	hash, token, account, client, scope, resource, salt, successor string
	used, dead                                                     bool
	lost                                                           bool // the response with its successor was probably lost
}

func refreshOf(t *store.Tx, plain string) (g refreshRow, err error) {
	g.hash = users.Digest(plain)
	err = t.Row(`SELECT r.token, r.used > 0, r.used > {{now}} - $2 AND EXISTS (SELECT 1 FROM login_refresh n WHERE
		n.hash = r.successor AND n.used = 0), r.successor, g.account, g.client, g.scope, g.resource, g.salt,
		token.revoked > 0 OR token.expires <= {{now}}
		FROM login_refresh r JOIN login_grant g ON g.token = r.token JOIN token ON token.id = r.token WHERE r.hash = $1`,
		[]any{g.hash, lostFor.Milliseconds()}, &g.token, &g.used, &g.lost, &g.successor, &g.account, &g.client, &g.scope,
		&g.resource, &g.salt, &g.dead)
	if err != nil {
		return g, err
	}
	// Two requests with the same token must not both find it unused: the one that locks the row second sees
	// the change of the first, and runs again.
	n, err := t.Exec("UPDATE login_refresh SET used = used WHERE hash = $1 AND successor = $2", g.hash, g.successor)
	if err == nil && n == 0 {
		err = store.ErrConflict
	}
	return g, err
}

// Revocation revokes the login of a token of the client (RFC 7009). A token that is not known is no error.
func (s *Server) Revocation(ctx context.Context, r *op.ClientRequest[oidc.RevocationRequest]) (*op.Response, error) {
	c, _ := r.Client.(client)
	note(ctx, c, "", "")
	err := s.DB.Update(ctx, func(t *store.Tx) error {
		if c.machine != nil {
			return c.machine.Forget(t, r.Data.Token)
		}
		id, err := tokens.Holder(t, r.Data.Token)
		if errors.Is(err, store.ErrNotFound) {
			var g refreshRow
			g, err = refreshOf(t, r.Data.Token)
			id = g.token
		}
		if err == nil {
			err = t.Row("SELECT token FROM login_grant WHERE token = $1 AND client = $2", []any{id, c.ID}, &id)
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return revoke(t, id)
	})
	if err == nil {
		err = tokens.Settle(ctx)
	}
	return op.NewResponse(struct{}{}), s.public(err)
}

// A login is the row of a login.
type login struct {
	id, client, redirect, state, scope, challenge, resource, browser, account, token string
	hasCode                                                                          bool
	profiles                                                                         []string
	lasts                                                                            time.Duration
}

// loginOf returns the login with a value in a column, and locks it if it is to be changed.
func loginOf(t *store.Tx, column, value string, change bool) (l login, expired bool, err error) {
	lock := ""
	if change {
		lock = " {{lock}}"
	}
	var profiles string
	var lasts int64
	err = t.Row("SELECT id, client, redirect, state, scope, challenge, resource, browser, account, token, code <> '', "+
		"profiles, lasts, expires <= {{now}} FROM login WHERE "+column+" = $1"+lock, []any{value}, &l.id, &l.client, &l.redirect,
		&l.state, &l.scope, &l.challenge, &l.resource, &l.browser, &l.account, &l.token, &l.hasCode, &profiles, &lasts, &expired)
	if err != nil {
		return l, false, err
	}
	l.lasts = time.Duration(lasts) * time.Millisecond
	return l, expired, store.FromJSON(profiles, &l.profiles)
}
