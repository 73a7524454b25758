// Package identity authenticates the sender of a request by a bearer token of the token table, of the settings or of
// an OAuth issuer, and reports later whether the token is still valid. Begin with Sources.
package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/login"
	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/server"
)

var errNoToken = errors.New("the request has no bearer token")

// Sources authenticate bearer tokens: tokens of the token table, of the settings, and of an
// OAuth issuer.
type Sources struct {
	Table  *tokens.Table
	Listed func() map[string]config.Token // of the settings that are in force
	Login  *login.Server                  // nil without an own login
	// Endpoint is the URL of the MCP endpoint.
	Endpoint string

	oauth    *oauth.Verifier // nil without an issuer
	metadata string          // URL of its metadata
}

// WithOAuth adds an issuer, unless the settings name none. Its keys are fetched with web.
func (i *Sources) WithOAuth(c config.OAuth, web outbound.Client) error {
	i.metadata = strings.TrimSuffix(i.Endpoint, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
	if c.Issuer == "" {
		return nil
	}
	v, err := oauth.New(oauth.Config{
		Issuer: c.Issuer, Audiences: []string{cmp.Or(c.Audience, i.Endpoint)}, ScopeProfiles: c.Scopes, HTTP: web,
	})
	if err != nil {
		return fmt.Errorf("connections.oauth: %w", err)
	}
	i.oauth = v
	return nil
}

// Any reports whether there is a source of tokens beside the table.
func (i *Sources) Any() bool { return i.oauth != nil || len(i.Listed()) > 0 }

// Close ends the requests to the issuer.
func (i *Sources) Close() error {
	if i.oauth != nil {
		i.oauth.Close()
	}
	return nil
}

// Identify authenticates a token with the source that can have issued it, for a request to a profile.
func (i *Sources) Identify(ctx context.Context, token, profile string) (server.Identity, error) {
	if tokens.Check(token) == nil {
		t, err := i.Table.Authenticate(ctx, token)
		if err != nil {
			return server.Identity{}, i.refusal(err, profile)
		}
		if t.Approve { // it approves calls of this agent and user; empty means all
			return server.Identity{ID: t.Subject(), Agent: t.Agent, User: t.User, Approves: true}, nil
		}
		return named(server.Identity{
			ID: t.Subject(), Agent: t.Agent, User: t.User, Workspace: t.Workspace, Profiles: t.Profiles,
			Place:      server.Place{Provider: t.Provider, Chat: t.Chat, PeerKind: t.PeerKind, Topic: t.Topic},
			Structured: t.Structured,
		}), nil
	}
	if who, ok := i.fromSettings(token); ok {
		return who, nil
	}
	if i.oauth == nil {
		return server.Identity{}, i.refusal(tokens.ErrUnknown, profile)
	}
	g, err := i.oauth.Verify(ctx, token)
	if err != nil {
		return server.Identity{}, i.challenge(err, profile)
	}
	// The issuer's user ada is not the operator's user ada: they must not share
	// memories, files or the rules for an agent.
	who := server.Identity{ID: g.Subject, User: g.Subject, Workspace: g.Workspace, Profiles: g.Profiles}
	if g.Agent != "" {
		who.Agent = "oauth:" + g.Agent
	}
	return who, nil
}

// named gives an identity without agent and user the name of its token, so that
// two of them do not share data.
func named(who server.Identity) server.Identity {
	if who.Agent == "" && who.User == "" {
		who.User = who.ID
	}
	return who
}

// refusal distinguishes a token that is not valid, which is the caller's problem,
// from a token table that cannot be read, which is ours.
func (i *Sources) refusal(err error, profile string) error {
	for _, known := range []error{tokens.ErrMalformed, tokens.ErrUnknown, tokens.ErrRevoked, tokens.ErrExpired} {
		if errors.Is(err, known) {
			return i.challenge(err, profile)
		}
	}
	return err
}

// fromSettings compares the token with every listed hash, so that the time does not depend on
// the position of a match.
func (i *Sources) fromSettings(token string) (who server.Identity, found bool) {
	sum := sha256.Sum256([]byte(token))
	digest := []byte(hex.EncodeToString(sum[:]))
	for name, t := range i.Listed() {
		if subtle.ConstantTimeCompare(digest, []byte(t.Hash)) == 1 {
			who, found = named(server.Identity{
				ID: "settings:" + name, Agent: t.Agent, User: t.User, Workspace: t.Workspace, Profiles: t.Profiles,
				Place:      server.Place{Provider: t.Provider, Chat: t.Chat, PeerKind: t.PeerKind, Topic: t.Topic},
				Structured: t.Structured,
			}), true
		}
	}
	return who, found
}

// Challenge returns the response to a request to a profile without a token. "" is the endpoint without a profile.
func (i *Sources) Challenge(profile string) *server.Challenge {
	c := i.challenge(nil, profile)
	c.Cause = errNoToken
	return c
}

// Forbidden returns the response to a valid token that may not use a profile.
func (i *Sources) Forbidden(profile string) *server.Challenge {
	advice, _ := i.advice("")
	if advice == nil {
		return &server.Challenge{Status: http.StatusForbidden, Reason: "this token may not use that profile"}
	}
	return i.challenge(advice.NeedProfile(profile), profile)
}

// advice returns how clients get a token for a profile by logging in, nil if they cannot, and the profile if it is
// a resource of its own. Each scope of the own login is the name of a profile, and so are its resources; an issuer knows the
// endpoint only.
func (i *Sources) advice(profile string) (advice *oauth.Resource, resource string) {
	switch {
	case i.oauth != nil:
		return i.oauth.For(profile), ""
	case i.Login == nil:
		return nil, ""
	}
	scopes := map[string][]string{}
	for _, name := range i.Login.Scopes() {
		scopes[name] = []string{name}
	}
	if len(scopes[profile]) > 0 {
		resource = "/" + url.PathEscape(profile)
	}
	return oauth.NewResource(i.Login.Issuer(), scopes).For(profile), resource
}

func (i *Sources) challenge(err error, profile string) *server.Challenge {
	advice, resource := i.advice(profile)
	if advice != nil {
		status, header := advice.Challenge(err, i.metadata+resource)
		return &server.Challenge{Status: status, Header: header, Reason: reason(status, err, i.metadata+resource), Cause: err}
	}
	header := `Bearer realm="mcp-tools"`
	if err != nil {
		header += `, error="invalid_token"`
	}
	status := http.StatusUnauthorized
	return &server.Challenge{Status: status, Header: header, Reason: reason(status, err, ""), Cause: err}
}

// reason returns the message to the client, which is the same for every invalid
// token. metadata is the URL of the OAuth metadata, "" without OAuth.
func reason(status int, err error, metadata string) string {
	switch status {
	case http.StatusForbidden:
		return "this token may not use that profile"
	case http.StatusServiceUnavailable:
		return "tokens cannot be checked at the moment; try again later"
	}
	problem, source := "the request has no token", "the operator makes one with mcp-tools token create"
	if err != nil {
		problem = "the token is not valid here: it is unknown, expired, revoked, or for another server"
	}
	if metadata != "" {
		source = "the issuer of this server's tokens is in " + metadata
	}
	return problem + "; send one as Authorization: Bearer; " + source
}

// Metadata returns the OAuth protected-resource document of a profile, nil without OAuth. "" is the endpoint without a
// profile.
func (i *Sources) Metadata(profile string) []byte {
	advice, resource := i.advice(profile)
	if advice == nil {
		return nil
	}
	doc, err := json.Marshal(advice.Metadata(i.Endpoint + resource))
	if err != nil { // impossible: it has only strings and lists of strings
		return nil
	}
	return doc
}

// Revoked returns why the token of a grant is no longer valid for it, or "". listed are the tokens of the settings. Tokens of
// an OAuth issuer are valid until they expire: the issuer does not say more.
func Revoked(ctx context.Context, s *store.Store, listed map[string]config.Token, g tool.Grant) (reason string, err error) {
	if name, found := strings.CutPrefix(g.Token, "settings:"); found {
		return narrowed(listed, name, g), nil
	}
	if id, found := strings.CutPrefix(g.Token, "token:"); found {
		return tokens.Revoked(ctx, s, id)
	}
	return "", nil
}

// narrowed compares a grant with its token in the settings. It returns why the token no longer covers
// the grant, or "" if it does.
func narrowed(listed map[string]config.Token, name string, g tool.Grant) string {
	t, ok := listed[name]
	profile := g.Caller.Profile
	if len(g.Within) > 0 { // the first one has the token
		profile = g.Within[0].Profile
	}
	switch {
	case !ok:
		return "is no longer in the settings"
	case !slices.Contains(t.Profiles, profile) && !slices.Contains(t.Profiles, policy.AnyProfile):
		return fmt.Sprintf("may no longer use the profile %q", profile)
	}
	return ""
}
