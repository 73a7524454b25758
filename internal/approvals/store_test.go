package approvals

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestRulesAreLimited adds rules until there is no room for another.
func TestRulesAreLimited(t *testing.T) {
	p := placeIn(t, t.TempDir())
	server := p.server(t)
	id := mustAsk(t, server, someCall())
	var list [][]any
	for n := range maxRules {
		list = append(list, []any{fmt.Sprint(n), "always", "", "a/u", "x", "{}", 0,
			time.Now().Add(time.Hour).UnixMilli()})
	}
	if err := p.db.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Insert("approval_rule ("+ruleColumns+", created, expires)", list)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Answer(t.Context(), id, always(Like{}), ann); !errors.As(err, new(RuleError)) {
		t.Errorf("a rule too many: %v", err)
	}
	if _, err := server.Forget(t.Context(), "0"); !errors.Is(err, ErrUnknown) { // it is not an id
		t.Error(err)
	}
	if err := p.db.Update(t.Context(), func(tx *store.Tx) error { return dropRule(tx, "0") }); err != nil {
		t.Fatal(err)
	}
	if d, err := server.Answer(t.Context(), id, always(Like{}), ann); err != nil || d.Rule == "" {
		t.Errorf("with room for one: %+v, %v", d, err)
	}
}

// TestCopyHasRulesButNoQuestions copies both to another store, and out of a
// backup over the one they came from.
func TestCopyHasRulesButNoQuestions(t *testing.T) {
	p := placeIn(t, t.TempDir())
	from, to := p.db, storetest.Open(t, storetest.Database(t))
	server := p.server(t)
	waits, allowed := mustAsk(t, server, someCall()), mustAsk(t, server, someCall())
	if _, err := server.Answer(t.Context(), allowed, always(Like{}), ann); err != nil {
		t.Fatal(err)
	}
	if err := server.MarkAttended(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup.zip")
	if _, err := from.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := from.CopyTo(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if d, err := server.Take(t.Context(), allowed, someCall()); err != nil || !d.Allow {
		t.Fatal(d, err)
	}
	if _, err := from.Restore(t.Context(), file, true); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{from, to} {
		a := New(Options{DB: s})
		if rules, err := a.Rules(t.Context()); err != nil || len(rules) != 1 || rules[0].Tool != someCall().Tool {
			t.Errorf("%s: rules %+v, %v", s.Engine(), rules, err)
		}
		for _, id := range []string{waits, allowed} {
			if q, err := a.Get(t.Context(), id, ann); !errors.Is(err, ErrUnknown) {
				t.Errorf("%s: %s is %s, %v", s.Engine(), id, q.State, err)
			}
		}
		if there, err := a.attendedWithin(t.Context(), time.Hour); err != nil || there {
			t.Errorf("%s: it is attended: %v", s.Engine(), err)
		}
	}
}
