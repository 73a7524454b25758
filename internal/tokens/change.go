package tokens

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// lockPatience is how long a change waits for other processes' changes, each
// of which takes milliseconds.
const lockPatience = 10 * time.Second

// maxWord bounds every name in a request, in bytes.
const maxWord = 256

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
func (t *Table) Create(req Request) (Secret, Row, error) {
	if err := req.check(time.Now()); err != nil {
		return Secret{}, Row{}, err
	}
	var plain Secret
	var row Row
	err := t.update(lockPatience, func(rows []Row) ([]Row, error) {
		plain, row = issue(req, rows)
		return append(rows, row), nil
	})
	if err != nil {
		return Secret{}, Row{}, err
	}
	return plain, row.clone(), nil
}

// EnsureFirst creates a token if the table has never had one. Of all the
// processes that ask, exactly one is told that it was created. A table whose
// tokens have been revoked is not empty: somebody wanted it so.
func (t *Table) EnsureFirst(req Request) (plain Secret, created bool, err error) {
	if err := req.check(time.Now()); err != nil {
		return Secret{}, false, err
	}
	if rows, err := t.current(); err != nil || len(rows) > 0 {
		return Secret{}, false, err
	}
	err = t.update(lockPatience, func(rows []Row) ([]Row, error) {
		if len(rows) > 0 {
			return nil, errNotFirst
		}
		var row Row
		plain, row = issue(req, rows)
		return []Row{row}, nil
	})
	if errors.Is(err, errNotFirst) {
		return Secret{}, false, nil
	}
	if err != nil {
		return Secret{}, false, err
	}
	return plain, true, nil
}

// errNotFirst says that another process was faster.
var errNotFirst = errors.New("the table has a token already")

// Revoke ends a token for good. It is named by its id, or by its name when
// only one token that is not revoked yet has it. To revoke a token twice is
// no mistake.
func (t *Table) Revoke(idOrName string) error {
	err := t.update(lockPatience, func(rows []Row) ([]Row, error) {
		i, err := pick(rows, idOrName)
		if err != nil {
			return nil, err
		}
		if rows[i].Revoked.IsZero() {
			rows[i].Revoked = time.Now().UTC().Truncate(time.Second)
		}
		return rows, nil
	})
	if err == nil {
		time.Sleep(t.lookEvery) // whoever hears that it is done may rely on it
	}
	return err
}

// pick returns the index of the row that is meant. An id is exact and wins.
func pick(rows []Row, idOrName string) (int, error) {
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

// issue makes a token whose id none of the rows has.
func issue(req Request, rows []Row) (Secret, Row) {
	plain := generate()
	for _, taken := find(rows, idOf(plain.Reveal())); taken; _, taken = find(rows, idOf(plain.Reveal())) {
		plain = generate()
	}
	row := Row{
		ID:        idOf(plain.Reveal()),
		Name:      req.Name,
		Profiles:  slices.Clone(req.Profiles),
		Approve:   req.Approve,
		Agent:     req.Agent,
		User:      req.User,
		Workspace: req.Workspace,
		Created:   time.Now().UTC().Truncate(time.Second),
		Expires:   req.Expires.UTC(),
		hash:      plain.hash(),
	}
	if row.Name == "" {
		row.Name = row.ID
	}
	return plain, row
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
		if err := checkWord(w.what, w.word); err != nil {
			return err
		}
	}
	for _, profile := range r.Profiles {
		if profile == "" {
			return errors.New("a profile's name is empty")
		}
		if err := checkWord("profile", profile); err != nil {
			return err
		}
	}
	if !r.Expires.IsZero() && !r.Expires.After(now) {
		return fmt.Errorf("the token would expire at %s, which is past", r.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

func checkWord(what, word string) error {
	switch {
	case len(word) > maxWord:
		return fmt.Errorf("the %s is %d bytes long, the most is %d", what, len(word), maxWord)
	case strings.ContainsFunc(word, unicode.IsControl), strings.ToValidUTF8(word, "") != word:
		return fmt.Errorf("the %s %q has control characters or is not UTF-8", what, word)
	}
	return nil
}
