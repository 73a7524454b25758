// Package users has the people who may log in to the server, and how they prove who they are: with a
// passkey, or with a password and a code from their phone.
//
// An operator adds a person and passes on a one-time link. On the page of the link she sets a passkey
// or a password. The row of a user has the profiles, the workspace and the agent of every token that
// her logins lead to.
//
// The package knows neither pages nor OAuth: internal/login has them, and calls [Users.Password] and
// the ceremonies of passkeys. Everything is rows of the store, so any process goes on where another
// one has begun.
//
// Begin with [Users.Add], then [Users.Setup].
package users

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A User is a person who may log in.
type User struct {
	ID        string    `json:"-"`
	Name      string    `json:"name"`
	Profiles  []string  `json:"profiles"` // of her tokens; policy.AnyProfile stands for all
	Workspace string    `json:"workspace,omitzero"`
	Agent     string    `json:"agent,omitzero"`
	Created   time.Time `json:"created"`
	Used      time.Time `json:"last_login,omitzero"`
	Password  bool      `json:"password,omitzero"` // she has set one
	Passkeys  int       `json:"passkeys"`
	Logins    int       `json:"logins"` // tokens that are valid
}

// A Sealer encrypts secrets for the store. about is bound to the secret: it must be the same for Open.
type Sealer interface {
	Seal(ctx context.Context, about string, plain []byte) (string, error)
	Open(ctx context.Context, about, sealed string) ([]byte, error)
}

// Options configure Users.
type Options struct {
	DB *store.Store
	// Seal encrypts the secrets of codes. nil: people can set passkeys only.
	Seal Sealer
	// Origin returns the origin of the pages, such as https://tools.example.com, or "" if the server has
	// no login.
	Origin func() string
}

// Users are the people who may log in. They are safe for concurrent use.
type Users struct {
	Options
	passkeys func() (*webauthn.WebAuthn, error)
	hashing  chan struct{} // a slot for each password that is hashed now: a hash needs memory
}

// New returns Users. It does not use the store yet.
func New(o Options) *Users {
	u := &Users{Options: o, hashing: make(chan struct{}, 2)}
	u.passkeys = sync.OnceValues(u.relyingParty)
	return u
}

// LinkAge is how long a one-time link can be used.
const LinkAge = 24 * time.Hour

// InvitePath begins the paths of one-time links.
const InvitePath = "/invite/"

// nameForm is the form of the name of a user.
var nameForm = text.Pattern(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

// errUnknown returns the error for a user that does not exist.
func errUnknown(name string) error {
	return tool.Errorf(tool.NotFound, "there is no user %q", name).Try("mcp-tools users list prints all users")
}

// Add adds a user, and returns a one-time link.
func (u *Users) Add(ctx context.Context, one User) (link string, err error) {
	if !nameForm().MatchString(one.Name) {
		return "", tool.Errorf(tool.Invalid, "the name %q has other characters than a-z, 0-9 and ._@+-, or more than 64",
			one.Name)
	}
	profiles, err := store.ToJSON(one.Profiles, len(one.Profiles) == 0)
	if err != nil {
		return "", err
	}
	return u.link(ctx, func(t *store.Tx) (string, error) {
		id := store.NewID()
		n, err := t.Exec(`INSERT INTO account (id, name, profiles, workspace, agent, created)
			VALUES ($1, $2, $3, $4, $5, {{now}}) ON CONFLICT DO NOTHING`, id, one.Name, profiles, one.Workspace, one.Agent)
		if err == nil && n == 0 {
			err = tool.Errorf(tool.Conflict, "there is a user %q already", one.Name).
				Try("mcp-tools users link %s makes another link", one.Name)
		}
		return id, err
	})
}

// A Change is what an operator changes about a user. What is nil stays as it is.
type Change struct {
	Profiles         []string
	Workspace, Agent *string // "" is the default
}

// Change changes a user, and the tokens of her logins: they get the workspace and the agent, and lose the profiles that she
// may not use any more. A login without a profile ends; none gets a profile that she has not agreed to.
func (u *Users) Change(ctx context.Context, name string, c Change) (one User, ended int, err error) {
	err = u.DB.Update(ctx, func(t *store.Tx) error {
		ended = 0
		id, err := find(t, name)
		if err == nil {
			one, err = Get(t, id)
		}
		if err != nil {
			return err
		}
		if len(c.Profiles) > 0 {
			one.Profiles = c.Profiles
		}
		one.Workspace, one.Agent = *cmp.Or(c.Workspace, &one.Workspace), *cmp.Or(c.Agent, &one.Agent)
		profiles, err := store.ToJSON(one.Profiles, false)
		if err != nil {
			return err
		}
		if _, err := t.Exec("UPDATE account SET profiles = $2, workspace = $3, agent = $4 WHERE id = $1", id, profiles, one.Workspace,
			one.Agent); err != nil {
			return err
		}
		valid, err := grantsOf(t, id)
		for _, token := range valid {
			left, err := tokens.Amend(t, token, one.Profiles, one.Workspace, one.Agent)
			if err != nil {
				return err
			}
			if !left {
				ended++
			}
		}
		return err
	})
	if err != nil {
		return one, 0, err
	}
	return one, ended, tokens.Settle(ctx)
}

// grantsOf returns the tokens of the logins of a user that are not revoked.
func grantsOf(t *store.Tx, id string) ([]string, error) {
	return store.List(t, `SELECT g.token FROM login_grant g JOIN token ON token.id = g.token
		WHERE g.account = $1 AND token.revoked = 0 ORDER BY g.token`, []any{id}, store.One[string])
}

// Link returns another one-time link for a user.
func (u *Users) Link(ctx context.Context, name string) (link string, err error) {
	return u.link(ctx, func(t *store.Tx) (string, error) { return find(t, name) })
}

// Reset removes everything with which a user can log in, ends her logins, and returns a one-time link.
func (u *Users) Reset(ctx context.Context, name string) (link string, ended int, err error) {
	link, err = u.link(ctx, func(t *store.Tx) (string, error) {
		id, err := find(t, name)
		if err == nil {
			ended, err = forget(t, id)
		}
		if err == nil {
			_, err = t.Exec("UPDATE account SET password = '', totp = '', totp_step = 0 WHERE id = $1", id)
		}
		return id, err
	})
	if err != nil {
		return "", 0, err
	}
	return link, ended, tokens.Settle(ctx)
}

// Remove removes a user and ends her logins.
func (u *Users) Remove(ctx context.Context, name string) (ended int, err error) {
	err = u.DB.Update(ctx, func(t *store.Tx) error {
		id, err := find(t, name)
		if err == nil {
			ended, err = forget(t, id)
		}
		if err == nil {
			_, err = t.Exec("DELETE FROM account WHERE id = $1", id)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return ended, tokens.Settle(ctx)
}

// find returns the id of a user.
func find(t *store.Tx, name string) (id string, err error) {
	err = t.Row("SELECT id FROM account WHERE name = $1", []any{name}, &id)
	if errors.Is(err, store.ErrNotFound) {
		err = errUnknown(name)
	}
	return id, err
}

// forget removes the passkeys, links, devices and open logins of a user, and revokes her tokens.
func forget(t *store.Tx, id string) (ended int, err error) {
	for _, table := range []string{"account_passkey", "account_link", "account_device", "login"} {
		if _, err := t.Exec("DELETE FROM "+table+" WHERE account = $1", id); err != nil {
			return 0, err
		}
	}
	valid, err := grantsOf(t, id)
	for _, token := range valid {
		if err := tokens.RevokeIn(t, token); err != nil {
			return 0, err
		}
	}
	return len(valid), err
}

// List returns all users.
func (u *Users) List(ctx context.Context) ([]User, error) {
	if u.DB.Unused() {
		return nil, nil
	}
	return store.Select(ctx, u.DB, "SELECT "+columns+` , (SELECT count(*) FROM login_grant g JOIN token ON token.id = g.token
		WHERE g.account = account.id AND token.revoked = 0 AND (token.expires = 0 OR token.expires > {{now}}))
		FROM account ORDER BY name`, nil, func(scan store.Scan) (one User, err error) {
		return one, scanUser(&one, scan, &one.Logins)
	})
}

const columns = "id, name, profiles, workspace, agent, created, used, password <> '', " +
	"(SELECT count(*) FROM account_passkey p WHERE p.account = account.id)"

func scanUser(one *User, scan store.Scan, more ...any) error {
	var profiles string
	var created, used int64
	err := scan(append([]any{&one.ID, &one.Name, &profiles, &one.Workspace, &one.Agent, &created, &used, &one.Password,
		&one.Passkeys}, more...)...)
	if err != nil {
		return err
	}
	one.Created, one.Used = store.FromMillis(created).UTC(), store.FromMillis(used).UTC()
	return store.FromJSON(profiles, &one.Profiles)
}

// Get returns the user with an id, in a transaction. The error is [store.ErrNotFound] if there is none.
func Get(t *store.Tx, id string) (one User, err error) {
	return one, scanUser(&one, func(into ...any) error {
		return t.Row("SELECT "+columns+" FROM account WHERE id = $1", []any{id}, into...)
	})
}

// get returns the user with an id or a name.
func (u *Users) get(ctx context.Context, column, value string) (one User, err error) {
	return one, scanUser(&one, func(into ...any) error {
		return u.DB.Row(ctx, "SELECT "+columns+" FROM account WHERE "+column+" = $1", []any{value}, into...)
	})
}

// link makes a one-time link for the user that of returns, in the same transaction.
func (u *Users) link(ctx context.Context, of func(*store.Tx) (id string, err error)) (string, error) {
	origin := u.Origin()
	if origin == "" {
		return "", tokens.NoLogin("")
	}
	secret := NewSecret()
	err := u.DB.Update(ctx, func(t *store.Tx) error {
		id, err := of(t)
		if err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM account_link WHERE account = $1 OR expires <= {{now}}", id); err != nil {
			return err
		}
		_, err = t.Exec("INSERT INTO account_link (hash, account, expires) VALUES ($1, $2, {{now}} + $3)", Digest(secret), id,
			LinkAge.Milliseconds())
		return err
	})
	return origin + InvitePath + secret, err
}

// errLink is the error of a link that cannot be used.
var errLink = tool.Errorf(tool.Refused, "this link was used already, or has expired").
	Try("ask the operator for another one, made by mcp-tools users link")

// Invited returns the user of a one-time link. It uses up nothing.
func (u *Users) Invited(ctx context.Context, secret string) (one User, err error) {
	err = scanUser(&one, func(into ...any) error {
		return u.DB.Row(ctx, "SELECT "+columns+` FROM account WHERE id = (SELECT account FROM account_link WHERE hash = $1
			AND expires > {{now}})`, []any{Digest(secret)}, into...)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errLink
	}
	return one, err
}

// spend uses up a one-time link in a transaction.
func spend(t *store.Tx, secret string) (account string, err error) {
	err = t.Row("SELECT account FROM account_link WHERE hash = $1 AND expires > {{now}} {{lock}}", []any{Digest(secret)},
		&account)
	if errors.Is(err, store.ErrNotFound) {
		return "", errLink
	}
	if err == nil {
		_, err = t.Exec("DELETE FROM account_link WHERE hash = $1", Digest(secret))
	}
	return account, err
}

// NewSecret returns a random secret of 260 bits, for a link, a cookie or a code.
func NewSecret() string { return strings.ToLower(rand.Text() + rand.Text()) }

// Digest returns the hash under which the store has a secret.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// HasPasskeys reports whether people can set passkeys: browsers want a name for them, not an address.
func (u *Users) HasPasskeys() bool {
	_, err := u.passkeys()
	return err == nil
}

func (u *Users) host() (origin, name string, err error) {
	origin = u.Origin()
	at, err := url.Parse(origin)
	if err != nil {
		return "", "", err
	}
	if _, err := netip.ParseAddr(at.Hostname()); err == nil || at.Hostname() == "" {
		return "", "", errors.New("passkeys belong to a name, and the server has an address only")
	}
	return origin, at.Hostname(), nil
}
