package login

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/users"
	"github.com/mcp-tools/mcp-tools/policy"
)

// Machines are clients that no person logs in with: io.modelcontextprotocol/oauth-client-credentials. An operator
// creates them, with internal/tokens.

// verifyMachine returns the machine that has sent a request, if its secret or its signed assertion is right.
func (s *Server) verifyMachine(ctx context.Context, d *op.ClientCredentials) (op.Client, error) {
	var m tokens.Client
	find := func(id string) (err error) {
		m, err = tokens.ClientOf(ctx, s.DB, id)
		return err
	}
	var why string
	var err error
	if d.ClientAssertion != "" {
		why, err = s.verifyAssertion(ctx, d, find, &m)
	} else if err = find(d.ClientID); err == nil && !m.HasSecret(d.ClientSecret) {
		why = "the secret of the client is wrong"
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, unknown("the client is not known, or was revoked")
	case err != nil:
		return nil, s.public(err)
	}
	c := client{ID: m.ID, Name: m.Name, machine: &m}
	if why != "" {
		note(ctx, c, m.User, m.Agent)
		return nil, unknown(why)
	}
	return c, nil
}

// verifyAssertion returns the reason why an assertion is refused. Each assertion can be used once.
func (s *Server) verifyAssertion(ctx context.Context, d *op.ClientCredentials, find func(id string) error, m *tokens.Client) (
	why string, err error) {
	id, expires, err := oauth.VerifyAssertion(d.ClientAssertion, []string{s.origin, s.origin + tokenPath},
		func(id string) ([]byte, error) { err := find(id); return []byte(m.Keys), err })
	if refused := (*oauth.Error)(nil); errors.As(err, &refused) {
		return refused.Why, nil
	}
	switch {
	case err != nil:
		return "", err
	case d.ClientID != "" && d.ClientID != id:
		return "the assertion is of another client", nil
	}
	again, err := s.DB.Take(ctx, "login assertion "+users.Digest(d.ClientAssertion),
		store.Rate{Times: 1, Period: time.Until(expires) + time.Minute, Burst: 1})
	if again > 0 {
		why = "the assertion was used already"
	}
	return why, err
}

// ClientCredentialsExchange issues a token for a machine, for all its profiles. Clients ask for all scopes that the
// metadata lists, so that a machine with some of them is no mistake.
func (s *Server) ClientCredentialsExchange(ctx context.Context, r *op.ClientRequest[oidc.ClientCredentialsRequest]) (
	*op.Response, error) {
	c, _ := r.Client.(client)
	note(ctx, c, c.machine.User, c.machine.Agent)
	profiles := c.machine.Profiles
	if slices.Contains(profiles, policy.AnyProfile) {
		profiles = s.Scopes()
	}
	switch {
	case !s.isResource(r.Form.Get("resource")):
		return nil, oauthError("invalid_target", "the resource is not "+s.Endpoint)
	case r.Form.Get("scope") != "" && len(tokens.Within(strings.Fields(r.Form.Get("scope")), profiles, policy.AnyProfile)) == 0:
		return nil, oauthError("invalid_scope", "the client may use these scopes: "+strings.Join(profiles, " "))
	}
	var res *op.Response
	err := s.DB.Update(ctx, func(t *store.Tx) error {
		access, lasts, err := c.machine.Access(t)
		res = op.NewResponse(issued{
			AccessToken: access.Reveal(), TokenType: "Bearer", ExpiresIn: int(lasts.Seconds()), Scope: strings.Join(profiles, " "),
		})
		return err
	})
	return res, s.public(err)
}
