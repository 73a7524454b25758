package app

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/server"
)

var errNoToken = errors.New("the request has no bearer token")

// Identities proves bearer tokens: our own from the table, those whose hashes
// the settings list, and those of an OAuth issuer.
type Identities struct {
	Table    *tokens.Table
	Listed   atomic.Pointer[[]config.Token] // changes with the settings
	oauth    *oauth.Verifier                // nil without an issuer
	resource string                         // URL of the MCP endpoint
	metadata string                         // URL of its metadata
}

// Identify asks whoever must have made the token.
func (i *Identities) Identify(ctx context.Context, token string) (server.Identity, error) {
	if tokens.Check(token) == nil {
		row, err := i.Table.Authenticate(ctx, token)
		if err == nil {
			g := row.Grant()
			if g.Approve { // an agent and a user say whose calls it decides about, and none all
				return server.Identity{ID: g.Subject, Agent: g.Agent, User: g.User, Approves: true}, nil
			}
			return named(server.Identity{ID: g.Subject, Agent: g.Agent, User: g.User, Workspace: g.Workspace, Profiles: g.Profiles}), nil
		}
		return server.Identity{}, i.refusal(err)
	}
	if who, ok := i.fromSettings(token, time.Now()); ok {
		return who, nil
	}
	if i.oauth == nil {
		return server.Identity{}, i.refusal(tokens.ErrUnknown)
	}
	g, err := i.oauth.Verify(ctx, token)
	if err != nil {
		return server.Identity{}, i.challenge(err)
	}
	// Whom an issuer calls ada is not whom the operator calls ada: neither may
	// find what the other left, nor get the rules for the other's agent.
	who := server.Identity{ID: g.Subject, User: g.Subject, Workspace: g.Workspace, Profiles: g.Profiles}
	if g.Agent != "" {
		who.Agent = "oauth:" + g.Agent
	}
	return who, nil
}

// named gives an identity without a name that of its token: what two such
// callers leave behind is not each other's.
func named(who server.Identity) server.Identity {
	if who.Agent == "" && who.User == "" {
		who.User = who.ID
	}
	return who
}

// refusal tells a token that does not count from a table that cannot be read:
// the first is the caller's affair, the second is ours.
func (i *Identities) refusal(err error) error {
	for _, known := range []error{tokens.ErrMalformed, tokens.ErrUnknown, tokens.ErrRevoked, tokens.ErrExpired} {
		if errors.Is(err, known) {
			return i.challenge(err)
		}
	}
	return err
}

// fromSettings compares with every listed hash, so that the time it takes
// tells nothing about which one was near.
func (i *Identities) fromSettings(token string, now time.Time) (server.Identity, bool) {
	sum := sha256.Sum256([]byte(token))
	digest := []byte(hex.EncodeToString(sum[:]))
	var found *config.Token
	listed := *i.Listed.Load()
	for n := range listed {
		if subtle.ConstantTimeCompare(digest, []byte(strings.ToLower(listed[n].Hash))) == 1 {
			found = &listed[n]
		}
	}
	if found == nil || !found.Expires.IsZero() && now.After(found.Expires.Time) {
		return server.Identity{}, false
	}
	return named(server.Identity{
		ID: "settings:" + found.Name, Agent: found.Agent, User: found.User, Workspace: found.Workspace, Profiles: found.Profiles,
	}), true
}

// Challenge is the answer to a request without a token.
func (i *Identities) Challenge() *server.Challenge {
	c := i.challenge(nil)
	c.Cause = errNoToken
	return c
}

// Forbidden is the answer to a good token that does not open profile.
func (i *Identities) Forbidden(profile string) *server.Challenge {
	if i.oauth == nil {
		return &server.Challenge{Status: http.StatusForbidden, Reason: "this token may not use that profile"}
	}
	return i.challenge(i.oauth.NeedProfile(profile))
}

func (i *Identities) challenge(err error) *server.Challenge {
	if i.oauth != nil {
		status, header := i.oauth.Challenge(err, i.metadata)
		return &server.Challenge{Status: status, Header: header, Reason: reason(status), Cause: err}
	}
	header := `Bearer realm="mcp-tools"`
	if err != nil {
		header += `, error="invalid_token"`
	}
	return &server.Challenge{Status: http.StatusUnauthorized, Header: header, Reason: reason(http.StatusUnauthorized), Cause: err}
}

// reason is what the client reads: the same for every token that is not good.
func reason(status int) string {
	switch status {
	case http.StatusForbidden:
		return "this token may not use that profile"
	case http.StatusServiceUnavailable:
		return "tokens cannot be checked at the moment; try again later"
	}
	return "send a valid token as Authorization: Bearer; the operator makes one with mcp-tools token create"
}

// Metadata is the OAuth protected-resource document, nil without OAuth.
func (i *Identities) Metadata() []byte {
	if i.oauth == nil {
		return nil
	}
	doc, err := json.Marshal(i.oauth.Metadata(i.resource))
	if err != nil { // strings and lists of them
		return nil
	}
	return doc
}
