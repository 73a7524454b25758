package users

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pquerna/otp/totp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	origin   = "https://tools.example.com"
	password = "correct horse battery"
)

// A plainSealer marks what it seals, and does not encrypt.
type plainSealer struct{}

func (plainSealer) Seal(_ context.Context, about string, plain []byte) (string, error) {
	return about + "|" + base64.StdEncoding.EncodeToString(plain), nil
}

func (plainSealer) Open(_ context.Context, about, sealed string) ([]byte, error) {
	text, ok := strings.CutPrefix(sealed, about+"|")
	if !ok {
		return nil, errors.New("sealed for something else")
	}
	return base64.StdEncoding.DecodeString(text)
}

func newUsers(db *store.Store) *Users {
	return New(Options{DB: db, Seal: plainSealer{}, Origin: func() string { return origin }})
}

// secretOf returns the secret of a one-time link.
func secretOf(t *testing.T, link string, err error) string {
	t.Helper()
	secret, ok := strings.CutPrefix(link, origin+InvitePath)
	if err != nil || !ok || len(secret) != len(NewSecret()) {
		t.Fatalf("the link is %q, %v", link, err)
	}
	return secret
}

func exec(t *testing.T, db *store.Store, statement string, args ...any) {
	t.Helper()
	err := db.Update(t.Context(), func(tx *store.Tx) error { _, err := tx.Exec(statement, args...); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// code returns a code of a period that is some periods from the time of the database.
func code(t *testing.T, u *Users, secret string, periods int) string {
	t.Helper()
	now, err := u.now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	code, err := totp.GenerateCode(secret, now.Add(time.Duration(periods)*period))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func kindOf(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

// TestLinks uses links once, in time, and the newest only.
func TestLinks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u := newUsers(db)
		for _, name := range []string{"", "Ann", "a b", "-a", strings.Repeat("a", 65), "a/b", "ann\n"} {
			if _, err := u.Add(t.Context(), User{Name: name, Profiles: []string{"coding"}}); kindOf(err) != tool.Invalid {
				t.Errorf("adding %q: %v", name, err)
			}
		}
		link, err := u.Add(t.Context(), User{Name: "ann", Profiles: []string{"coding"}, Workspace: "/src", Agent: "helper"})
		first := secretOf(t, link, err)
		if one, err := u.Invited(t.Context(), first); err != nil || one.Name != "ann" || one.Workspace != "/src" {
			t.Errorf("the link is for %+v, %v", one, err)
		}
		if _, err := u.Add(t.Context(), User{Name: "ann"}); kindOf(err) != tool.Conflict {
			t.Errorf("adding ann again: %v", err)
		}
		link, err = u.Link(t.Context(), "ann")
		second := secretOf(t, link, err)
		if _, err := u.Invited(t.Context(), first); kindOf(err) != tool.Refused {
			t.Errorf("the former link: %v", err)
		}
		sheet, err := u.BeginPassword(t.Context(), second)
		if again, err2 := u.BeginPassword(t.Context(), second); err != nil || err2 != nil || again.Secret != sheet.Secret {
			t.Errorf("the sheet changes: %v, %v", err, err2)
		}
		for text, form := range map[string][2]string{
			"short password": {"short", code(t, u, sheet.Secret, 0)}, "wrong code": {password, "000000"},
			"long password": {strings.Repeat("a", maxPassword+1), code(t, u, sheet.Secret, 0)},
			"old code":      {password, code(t, u, sheet.Secret, -10)},
		} {
			if _, err := u.FinishPassword(t.Context(), second, form[0], form[1]); kindOf(err) != tool.Invalid {
				t.Errorf("%s: %v", text, err)
			}
		}
		if _, err := u.FinishPassword(t.Context(), second, password, code(t, u, sheet.Secret, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := u.FinishPassword(t.Context(), second, password, code(t, u, sheet.Secret, 1)); kindOf(err) != tool.Refused {
			t.Errorf("a used link: %v", err)
		}
		link, err = u.Link(t.Context(), "ann")
		late := secretOf(t, link, err)
		exec(t, db, "UPDATE account_link SET expires = {{now}} - 1")
		if _, err := u.Invited(t.Context(), late); kindOf(err) != tool.Refused {
			t.Errorf("an expired link: %v", err)
		}
		if _, err := u.Link(t.Context(), "bob"); kindOf(err) != tool.NotFound {
			t.Errorf("a link for nobody: %v", err)
		}
		list, err := u.List(t.Context())
		if err != nil || len(list) != 1 || !list[0].Password || list[0].Passkeys != 0 {
			t.Errorf("the users are %+v, %v", list, err)
		}
		none := New(Options{DB: db, Origin: func() string { return "" }})
		if _, err := none.Link(t.Context(), "ann"); kindOf(err) != tool.Unavailable {
			t.Errorf("a link without a login: %v", err)
		}
	})
}

// TestPasswords logs in with a password and a code: each code counts once, and guesses are limited by name and address.
func TestPasswords(t *testing.T) {
	db := storetest.Open(t, t.TempDir())
	u := newUsers(db)
	link, err := u.Add(t.Context(), User{Name: "ann", Profiles: []string{"coding"}})
	secret := secretOf(t, link, err)
	sheet, err := u.BeginPassword(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.FinishPassword(t.Context(), secret, password, code(t, u, sheet.Secret, -1)); err != nil {
		t.Fatal(err)
	}
	login := func(name, password, code, address string) error {
		_, err := u.Password(t.Context(), name, password, code, address, "")
		return err
	}
	now := code(t, u, sheet.Secret, 0)
	if err := login("ann", password, now, "a"); err != nil {
		t.Fatal(err)
	}
	next := code(t, u, sheet.Secret, 1)
	wrong := map[string]error{
		"the same code": login("ann", password, now, "b"), "wrong password": login("ann", "guess", next, "c"),
		"no such user": login("bob", password, next, "d"), "no code": login("ann", password, "", "e"),
	}
	said := ""
	for what, err := range wrong {
		if err == nil || said != "" && err.Error() != said {
			t.Errorf("%s: %v, others %s", what, err, said)
			continue
		}
		said = err.Error() // which of them is wrong is not told
	}
	for range 6 {
		err = login("ann", "guess", "000000", "f")
	}
	if kindOf(err) != tool.Busy {
		t.Errorf("the sixth guess from an address: %v", err)
	}
	if err := login("ann", password, next, "g"); err != nil {
		t.Errorf("from another address: %v", err)
	}
}

// TestChange changes a user who has two logins.
func TestChange(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, table := newUsers(db), tokens.New(tokens.Options{DB: db})
		if _, err := u.Add(t.Context(), User{Name: "ann", Profiles: []string{"coding", "readonly"}, Workspace: "/src"}); err != nil {
			t.Fatal(err)
		}
		one, err := u.get(t.Context(), "name", "ann")
		if err != nil {
			t.Fatal(err)
		}
		granted := func(profiles ...string) (secret string) {
			t.Helper()
			err := db.Update(t.Context(), func(tx *store.Tx) error {
				plain, token, err := tokens.Grant(tx, tokens.Token{Profiles: profiles, User: "ann", Workspace: "/src"})
				if err != nil {
					return err
				}
				secret = plain.Reveal()
				_, err = tx.Exec("INSERT INTO login_grant (token, account, client, scope, resource, salt) VALUES ($1, $2, '', '', '', '')",
					token.ID, one.ID)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		both, coding := granted("coding", "readonly"), granted("coding")
		changed, ended, err := u.Change(t.Context(), "ann", Change{Profiles: []string{"readonly", "full"}, Workspace: new("/other")})
		if err != nil || ended != 1 || changed.Workspace != "/other" {
			t.Fatalf("changed: %+v, %d ended, %v", changed, ended, err)
		}
		token, err := table.Authenticate(t.Context(), both)
		if err != nil || cmp.Diff(token.Profiles, []string{"readonly"}) != "" || token.Workspace != "/other" {
			t.Errorf("the login with both profiles: %+v, %v", token, err)
		}
		if _, err := table.Authenticate(t.Context(), coding); !errors.Is(err, tokens.ErrRevoked) {
			t.Errorf("the login with the lost profile: %v", err)
		}
		if _, _, err := u.Change(t.Context(), "ann", Change{Agent: new("helper")}); err != nil {
			t.Fatal(err)
		}
		list, err := u.List(t.Context())
		want := []User{{ID: one.ID, Name: "ann", Profiles: []string{"readonly", "full"}, Workspace: "/other", Agent: "helper",
			Created: one.Created, Logins: 1}}
		if err != nil || cmp.Diff(list, want) != "" {
			t.Errorf("the users: %s, %v", cmp.Diff(list, want), err)
		}
		if _, _, err := u.Change(t.Context(), "bob", Change{Agent: new("x")}); kindOf(err) != tool.NotFound {
			t.Errorf("changing nobody: %v", err)
		}
		if ended, err := u.Remove(t.Context(), "ann"); err != nil || ended != 1 {
			t.Errorf("removed: %d, %v", ended, err)
		}
		if _, err := table.Authenticate(t.Context(), both); !errors.Is(err, tokens.ErrRevoked) {
			t.Errorf("after the removal: %v", err)
		}
	})
}
