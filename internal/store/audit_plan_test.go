package store

import (
	"strings"
	"testing"
)

// TestWhatIsEarlyIsFoundByTime asks SQLite how it would find it: a record that
// keeps everything would be read as a whole once an hour otherwise.
func TestWhatIsEarlyIsFoundByTime(t *testing.T) {
	s, err := Open(t.Context(), Options{DSN: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var plan []string
	err = s.View(t.Context(), func(tx *Tx) error {
		return tx.Each("EXPLAIN QUERY PLAN "+earliest, []any{5}, func(scan func(...any) error) error {
			var id, parent, unused int
			var detail string
			if err := scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan = append(plan, detail)
			return nil
		})
	})
	if text := strings.Join(plan, "; "); err != nil || !strings.Contains(text, "COVERING INDEX audit_record_at (at<?)") {
		t.Errorf("the plan is %q, %v", text, err)
	}
}
