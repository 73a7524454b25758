package approvals

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func anyRoom(int, int, int, int) bool { return true }

// TestCopyHasRulesButNoQuestions copies both to another store, and out of a
// backup over the one they came from.
func TestCopyHasRulesButNoQuestions(t *testing.T) {
	from, to := storetest.Open(t, t.TempDir()), storetest.Open(t, storetest.Database(t))
	kept := rows{from}
	for _, id := range []string{"waits", "allowed"} {
		q := questionRow{ID: id, Owner: "me", Principal: "a/u", Size: 1, Call: "{}"}
		if laid, err := kept.Add(t.Context(), q, time.Minute, time.Minute, anyRoom); err != nil || !laid {
			t.Fatal(laid, err)
		}
	}
	rule := ruleRow{ID: "rule", Scope: "always", Principal: "a/u", Tool: "x", Rule: "{}", Created: time.Now(),
		Expires: time.Now().Add(time.Hour)}
	w := answerRow{ID: "allowed", From: "open", To: "allowed", Decision: "{}", Rule: &rule}
	for limit, want := range []bool{false, true} { // at 0 there is no room for a rule
		if err := from.Update(t.Context(), func(tx *store.Tx) error {
			done, full, err := answer(tx, w, func(rules int) bool { return rules < limit })
			if err == nil && (done != want || full == want) {
				err = fmt.Errorf("with room for %d rules: %t %t", limit, done, full)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := kept.MarkAttended(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup.zip")
	if _, err := from.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := from.CopyTo(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if taken, err := kept.Take(t.Context(), "allowed", "me", 0); err != nil || !taken {
		t.Fatal(taken, err)
	}
	if _, err := from.Restore(t.Context(), file, true); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{from, to} {
		a := rows{s}
		if rules, err := a.Rules(t.Context()); err != nil || len(rules) != 1 || rules[0].ID != "rule" {
			t.Errorf("%s: rules %+v, %v", s.Engine(), rules, err)
		}
		for _, id := range []string{"waits", "allowed"} {
			if taken, err := a.Take(t.Context(), id, "me", 0); err != nil || taken {
				t.Errorf("%s: %s is taken again: %v", s.Engine(), id, err)
			}
			if state, _, found, err := a.State(t.Context(), id); err != nil || found {
				t.Errorf("%s: %s is %s, %v", s.Engine(), id, state, err)
			}
		}
		if there, err := a.AttendedWithin(t.Context(), time.Hour); err != nil || there {
			t.Errorf("%s: it is attended: %v", s.Engine(), err)
		}
	}
}
