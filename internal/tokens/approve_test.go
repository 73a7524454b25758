package tokens

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

func TestApprovalTokens(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		table := open(t, db)
		if _, _, err := table.Create(t.Context(), Token{Approve: true, Profiles: []string{"full"}}); err == nil ||
			!strings.Contains(err.Error(), "name no profile") {
			t.Errorf("one that decides and calls: %v", err)
		}
		plain, _, err := table.Create(t.Context(), Token{Name: "console", Approve: true, User: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		row, err := open(t, db).Authenticate(t.Context(), plain.Reveal())
		if err != nil || !row.Approve || row.Profiles != nil {
			t.Errorf("it is %+v, %v", row, err)
		}
	})
}
