package users

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// relyingParty returns the side of the server in the ceremonies of passkeys. The browser must have
// verified the person, with a finger, a face or a PIN: a passkey is the only proof.
func (u *Users) relyingParty() (*webauthn.WebAuthn, error) {
	origin, name, err := u.host()
	if err != nil {
		return nil, err
	}
	return webauthn.New(&webauthn.Config{
		RPID: name, RPDisplayName: "mcp-tools at " + name, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
}

// A holder is a user as the ceremonies know one.
type holder struct {
	User
	credentials []webauthn.Credential
}

func (h holder) WebAuthnID() []byte                         { return []byte(h.ID) }
func (h holder) WebAuthnName() string                       { return h.Name }
func (h holder) WebAuthnDisplayName() string                { return h.Name }
func (h holder) WebAuthnCredentials() []webauthn.Credential { return h.credentials }

// holder returns the user with an id, and her passkeys.
func (u *Users) holder(ctx context.Context, id string) (h holder, err error) {
	if h.User, err = u.get(ctx, "id", id); err != nil {
		return h, err
	}
	h.credentials, err = store.Select(ctx, u.DB, "SELECT credential FROM account_passkey WHERE account = $1", []any{id},
		func(scan store.Scan) (c webauthn.Credential, err error) {
			var text string
			if err := scan(&text); err != nil {
				return c, err
			}
			return c, json.Unmarshal([]byte(text), &c)
		})
	return h, err
}

// maxPasskeys is the maximum number of passkeys of one user.
const maxPasskeys = 20

// BeginSetup begins to make a passkey for the user of a one-time link. It returns the options for the
// browser.
func (u *Users) BeginSetup(ctx context.Context, secret string) (options any, err error) {
	party, err := u.passkeys()
	if err != nil {
		return nil, err
	}
	one, err := u.Invited(ctx, secret)
	if err != nil {
		return nil, err
	}
	h, err := u.holder(ctx, one.ID)
	if err != nil {
		return nil, err
	}
	if len(h.credentials) >= maxPasskeys {
		return nil, tool.Errorf(tool.Refused, "%s has %d passkeys, which is the maximum", h.Name, maxPasskeys).
			Try("mcp-tools users reset %s removes them", h.Name)
	}
	var known []protocol.CredentialDescriptor
	for _, c := range h.credentials {
		known = append(known, c.Descriptor())
	}
	creation, session, err := party.BeginRegistration(h, webauthn.WithExclusions(known))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(session)
	if err != nil {
		return nil, err
	}
	return creation, u.DB.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE account_link SET ceremony = $2 WHERE hash = $1", Digest(secret), string(text))
		return err
	})
}

// FinishSetup adds the passkey that the browser has made, and uses up the link. A browser that is known
// by device stays so.
func (u *Users) FinishSetup(ctx context.Context, secret string, response []byte) (one User, err error) {
	party, err := u.passkeys()
	if err != nil {
		return one, err
	}
	if one, err = u.Invited(ctx, secret); err != nil {
		return one, err
	}
	session, err := u.takeCeremony(ctx, "account_link", "hash", Digest(secret))
	if err != nil {
		return one, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return one, refused(err)
	}
	made, err := party.CreateCredential(holder{User: one}, session, parsed)
	if err != nil {
		return one, refused(err)
	}
	text, err := json.Marshal(made)
	if err != nil {
		return one, err
	}
	return one, u.DB.Update(ctx, func(t *store.Tx) error {
		account, err := spend(t, secret)
		if err != nil {
			return err
		}
		n, err := t.Exec(`INSERT INTO account_passkey (id, account, credential, created) VALUES ($1, $2, $3, {{now}})
			ON CONFLICT DO NOTHING`, passkeyID(made.ID), account, string(text))
		if err == nil && n == 0 {
			err = tool.Errorf(tool.Refused, "this passkey is known already, maybe as that of another user").Try("use another one")
		}
		return err
	})
}

func passkeyID(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

// refused returns the error for a passkey that proves nothing.
func refused(err error) error {
	return tool.Errorf(tool.Refused, "the passkey was not accepted").Try("try again, or use another one").Because(explained(err))
}

// explained returns an error with the details that the library keeps apart.
func explained(err error) error {
	if details := (*protocol.Error)(nil); errors.As(err, &details) {
		return errors.New(details.Details + ": " + details.DevInfo)
	}
	return err
}

// takeCeremony returns the ceremony of a row, and removes it: an answer counts once.
func (u *Users) takeCeremony(ctx context.Context, table, key, value string) (s webauthn.SessionData, err error) {
	var text string
	err = u.DB.Update(ctx, func(t *store.Tx) error {
		if err := t.Row("SELECT ceremony FROM "+table+" WHERE "+key+" = $1 {{lock}}", []any{value}, &text); err != nil {
			return err
		}
		_, err := t.Exec("UPDATE "+table+" SET ceremony = '' WHERE "+key+" = $1", value)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && text == "" {
		return s, tool.Errorf(tool.Refused, "this passkey was not asked for, or was used already").Try("try again")
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(text), &s)
}

// BeginPasskey begins a login with a passkey: it keeps the ceremony in the login with an id, and
// returns the options for the browser.
func (u *Users) BeginPasskey(ctx context.Context, login string) (options any, err error) {
	party, err := u.passkeys()
	if err != nil {
		return nil, err
	}
	assertion, session, err := party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(session)
	if err != nil {
		return nil, err
	}
	return assertion, u.DB.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE login SET ceremony = $2 WHERE id = $1", login, string(text))
		return err
	})
}

// FinishPasskey returns the user whose passkey has signed the ceremony of a login.
func (u *Users) FinishPasskey(ctx context.Context, login string, response []byte) (one User, err error) {
	party, err := u.passkeys()
	if err != nil {
		return one, err
	}
	session, err := u.takeCeremony(ctx, "login", "id", login)
	if err != nil {
		return one, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return one, refused(err)
	}
	var found holder
	_, used, err := party.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		found, err = u.holder(ctx, string(handle))
		return found, err
	}, session, parsed)
	if err != nil {
		return one, refused(err)
	}
	if used.Authenticator.CloneWarning { // its counter went back: there are two of it
		return one, refused(errors.New("the counter of the passkey went back: it may have been copied"))
	}
	text, err := json.Marshal(used)
	if err != nil {
		return one, err
	}
	return found.User, u.DB.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE account_passkey SET credential = $2 WHERE id = $1", passkeyID(used.ID), string(text))
		if err == nil {
			err = noteLogin(t, found.ID)
		}
		return err
	})
}

// noteLogin records the time of a login.
func noteLogin(t *store.Tx, id string) error {
	_, err := t.Exec("UPDATE account SET used = {{now}} WHERE id = $1", id)
	return err
}
