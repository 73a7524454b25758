package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxName is the maximum length of names in a request, in bytes.
const maxName = 256

// Create adds a token and returns its secret. The secret cannot be shown again. Create sets the
// fields that the caller cannot know: id, hash and time.
func (t *Table) Create(ctx context.Context, req Token) (Secret, Token, error) {
	if err := req.check(time.Now()); err != nil {
		return Secret{}, Token{}, err
	}
	for {
		plain, kept := issue(req)
		added, created, err := t.rows.Add(ctx, kept, false)
		if err != nil {
			return Secret{}, Token{}, fmt.Errorf("writing the table of tokens: %w", err)
		}
		if added { // otherwise the id existed
			kept.Created = created
			return plain, kept, nil
		}
	}
}

// EnsureFirst creates a token if the table is empty. Of concurrent calls in all
// processes exactly one returns created. A table with revoked tokens is not empty.
func (t *Table) EnsureFirst(ctx context.Context, req Token) (plain Secret, created bool, err error) {
	if err := req.check(time.Now()); err != nil {
		return Secret{}, false, err
	}
	if rows, err := t.List(ctx); err != nil || len(rows) > 0 {
		return Secret{}, false, err
	}
	plain, kept := issue(req)
	created, _, err = t.rows.Add(ctx, kept, true)
	if err != nil {
		return Secret{}, false, fmt.Errorf("writing the table of tokens: %w", err)
	}
	if !created { // another process has created one
		return Secret{}, false, nil
	}
	return plain, true, nil
}

// Revoke revokes a token by its id, or by its name if only one active token has
// it. Revoking a token twice is not an error.
func (t *Table) Revoke(ctx context.Context, idOrName string) error {
	rows, err := t.List(ctx)
	if err != nil {
		return err
	}
	i, err := find(rows, idOrName)
	if err != nil {
		return err
	}
	if err := t.rows.Revoke(ctx, rows[i].ID); err != nil {
		return fmt.Errorf("writing the table of tokens: %w", err)
	}
	return clock.Sleep(ctx, revokeWait) // until the entries of all caches have expired
}

// find returns the index of a token by its id, or else by its name.
func find(rows []Token, idOrName string) (int, error) {
	var alive, dead []int
	for i, row := range rows {
		switch {
		case row.ID == idOrName:
			return i, nil
		case row.Name != idOrName:
		case row.Revoked.IsZero():
			alive = append(alive, i)
		default:
			dead = append(dead, i)
		}
	}
	switch {
	case len(alive) == 1:
		return alive[0], nil
	case len(alive) > 1:
		ids := make([]string, len(alive))
		for n, i := range alive {
			ids[n] = rows[i].ID
		}
		return 0, tool.Errorf(tool.Conflict, "%d tokens are named %q", len(ids), idOrName).
			Try("use one of their ids: %s", strings.Join(ids, ", "))
	case len(dead) > 0:
		return dead[0], nil
	}
	return 0, tool.Errorf(tool.NotFound, "%q: %w", idOrName, ErrUnknown).Try("mcp-tools token list prints all tokens")
}

// issue gives a token a new secret.
func issue(t Token) (Secret, Token) {
	plain := generate()
	t.Hash, t.ID = hashOf(plain.Reveal()), idOf(plain.Reveal())
	t.Name = cmp.Or(t.Name, t.ID)
	t.Profiles = slices.Clone(t.Profiles)
	return plain, t
}

// check returns an error if a token would be useless or break the output of lists.
func (r Token) check(now time.Time) error {
	switch {
	case r.Approve && len(r.Profiles) > 0:
		return errors.New("a token for approvals cannot make calls: name no profile")
	case !r.Approve && len(r.Profiles) == 0:
		return errors.New("a token needs a profile: name at least one")
	}
	words := []struct{ what, word string }{
		{"name", r.Name}, {"agent", r.Agent}, {"user", r.User}, {"workspace", r.Workspace},
		{"provider", r.Provider}, {"chat", r.Chat}, {"topic", r.Topic},
	}
	for _, w := range words {
		if err := checkText(w.what, w.word); err != nil {
			return err
		}
	}
	if r.PeerKind != "" && r.PeerKind != "direct" && r.PeerKind != "group" {
		return fmt.Errorf("the peer kind is %q, it must be direct or group", r.PeerKind)
	}
	for _, profile := range r.Profiles {
		if profile == "" {
			return errors.New("the name of a profile is empty")
		}
		if err := checkText("profile", profile); err != nil {
			return err
		}
	}
	if !r.Expires.IsZero() && !r.Expires.After(now) {
		return fmt.Errorf("the expiry %s is in the past", r.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

func checkText(what, word string) error {
	switch {
	case len(word) > maxName:
		return fmt.Errorf("the %s is %d bytes long, the maximum is %d", what, len(word), maxName)
	case strings.ContainsFunc(word, unicode.IsControl), strings.ToValidUTF8(word, "") != word:
		return fmt.Errorf("the %s %q has control characters or is not UTF-8", what, word)
	}
	return nil
}
