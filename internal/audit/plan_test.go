package audit

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestEarliestUsesTimeIndex asks SQLite how it would find it: a record that
// keeps everything would be read as a whole once an hour otherwise.
func TestEarliestUsesTimeIndex(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	var plan []string
	err := s.View(t.Context(), func(tx *store.Tx) error {
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
	if text := strings.Join(plan, "; "); err != nil ||
		!strings.Contains(text, "COVERING INDEX audit_record_at (at<?)") {
		t.Errorf("the plan is %q, %v", text, err)
	}
}
