package tokens

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// maxName bounds every name in a request, in bytes.
const maxName = 256

// A Request says what a new token shall stand for.
type Request struct {
	Name      string    // for people; the id when empty
	Profiles  []string  // which profiles it may use, the first by default; policy.AnyProfile for all
	Approve   bool      // it decides about others' calls, and makes none; then it has no profiles
	Agent     string    // the agent's key
	User      string    // the person behind it
	Workspace string    // the directory that its holder works in; empty for the server's own
	Expires   time.Time // zero for never
}

// Create adds a token and returns it, which is the only time it can be seen.
func (t *Table) Create(ctx context.Context, req Request) (Secret, Token, error) {
	if err := req.check(time.Now()); err != nil {
		return Secret{}, Token{}, err
	}
	for {
		plain, kept := issue(req)
		added, created, err := t.rows.Add(ctx, kept, false)
		if err != nil {
			return Secret{}, Token{}, fmt.Errorf("writing the table of tokens: %w", err)
		}
		if added { // or its id was taken
			kept.Created = created
			return plain, kept, nil
		}
	}
}

// EnsureFirst creates a token if the table has never had one. Of all the
// processes that ask, exactly one is told that it was created. A table whose
// tokens have been revoked is not empty: somebody wanted it so.
func (t *Table) EnsureFirst(ctx context.Context, req Request) (plain Secret, created bool, err error) {
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
	if !created { // another process was faster
		return Secret{}, false, nil
	}
	return plain, true, nil
}

// Revoke ends a token for good. It is named by its id, or by its name when
// only one token that is not revoked yet has it. To revoke a token twice is
// no mistake.
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
	return t.cache.pause(ctx) // whoever hears that it is done may rely on it
}

// find returns the index of the row that is meant. An id is exact and wins.
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
		return 0, fmt.Errorf("%d tokens are named %q: say which by its id: %s", len(ids), idOrName, strings.Join(ids, ", "))
	case len(dead) > 0:
		return dead[0], nil
	}
	return 0, fmt.Errorf("%q: %w; `mcp-tools token list` shows them all", idOrName, ErrUnknown)
}

// issue makes a token.
func issue(req Request) (Secret, Token) {
	plain := generate()
	kept := Token{
		Hash:      hashOf(plain.Reveal()),
		ID:        idOf(plain.Reveal()),
		Name:      req.Name,
		Profiles:  slices.Clone(req.Profiles),
		Approve:   req.Approve,
		Agent:     req.Agent,
		User:      req.User,
		Workspace: req.Workspace,
		Expires:   req.Expires,
	}
	if kept.Name == "" {
		kept.Name = kept.ID
	}
	return plain, kept
}

// check refuses what would make a token useless or a list unreadable.
func (r Request) check(now time.Time) error {
	switch {
	case r.Approve && len(r.Profiles) > 0:
		return errors.New("a token that decides about calls makes none: name no profile")
	case !r.Approve && len(r.Profiles) == 0:
		return errors.New("a token without a profile may do nothing: name at least one")
	}
	words := []struct{ what, word string }{
		{"name", r.Name}, {"agent", r.Agent}, {"user", r.User}, {"workspace", r.Workspace},
	}
	for _, w := range words {
		if err := checkText(w.what, w.word); err != nil {
			return err
		}
	}
	for _, profile := range r.Profiles {
		if profile == "" {
			return errors.New("a profile's name is empty")
		}
		if err := checkText("profile", profile); err != nil {
			return err
		}
	}
	if !r.Expires.IsZero() && !r.Expires.After(now) {
		return fmt.Errorf("the token would expire at %s, which is past", r.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

func checkText(what, word string) error {
	switch {
	case len(word) > maxName:
		return fmt.Errorf("the %s is %d bytes long, the most is %d", what, len(word), maxName)
	case strings.ContainsFunc(word, unicode.IsControl), strings.ToValidUTF8(word, "") != word:
		return fmt.Errorf("the %s %q has control characters or is not UTF-8", what, word)
	}
	return nil
}
