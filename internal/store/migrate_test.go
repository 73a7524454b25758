package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestOpenRowsBecomeJobs: what waits in a store of an earlier version goes on as jobs.
func TestOpenRowsBecomeJobs(t *testing.T) {
	for name, test := range map[string]struct {
		step int // before the migration
		rows []string
		want []string
	}{
		"outbox": {step: 29, rows: []string{
			outboxRow("1-waits", "queued", 2000, 3, 0), outboxRow("2-sending", "sending", 3000, 2, 0),
			outboxRow("3-sent", "sent", 0, 1, 1500),
		}, want: []string{
			`1-waits "outbox tg" queued 2000 3/1000000000 "" "outbox tg 7" 1000`,
			`2-sending "outbox tg" running 3000 2/1000000000 "" "outbox tg 7" 1000`,
		}},
		"chats": {step: 30, rows: []string{
			messageRow("1", "tg:7", "-", 1000), messageRow("2", "tg:7", "", 2000), messageRow("3", "tg:7", "", 3000),
			messageRow("4", "tg:8", "sub1", 1000),
			"INSERT INTO chat_notice (id, dest, content, n, due, until, debounce) VALUES ('n1', '', '', 2, 5000, 0, 0)",
			"INSERT INTO chat_notice (id, dest, content, n, due, until, debounce) VALUES ('n2', '', '', 0, 5000, 0, 0)",
		}, want: []string{
			`2 "chat answer" queued 3000 1/6 "tg:7" "chat answer tg:7" 1000`,
			`n1 "chat notice" queued 5000 0/1000000000 "" "" now`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				if err := s.Rewind(t.Context(), test.step, func(tx *store.Tx) error {
					for _, row := range test.rows {
						if _, err := tx.Exec(row); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				var got []string
				if err := s.View(t.Context(), func(tx *store.Tx) (err error) {
					got, err = store.List(tx, `SELECT id, kind, state, run_at, attempt, attempts, payload, lane, created
						FROM job ORDER BY id`, nil, func(scan store.Scan) (string, error) {
						var id, kind, state, payload, lane string
						var due, attempt, attempts, created int64
						err := scan(&id, &kind, &state, &due, &attempt, &attempts, &payload, &lane, &created)
						at := fmt.Sprint(created)
						if created > 1e6 {
							at = "now"
						}
						return fmt.Sprintf("%s %q %s %d %d/%d %q %q %s", id, kind, state, due, attempt, attempts, payload,
							lane, at), err
					})
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("the jobs are\n%q, want\n%q", got, test.want)
				}
			})
		})
	}
}

func outboxRow(id, state string, due, attempt, ended int) string {
	return fmt.Sprintf(`INSERT INTO outbox (id, post, channel, chat, body, state, due, attempt, agent, usr, session,
		created, ended) VALUES ('%s', '%[1]s', 'tg', '7', '{}', '%s', %d, %d, 'a', 'u', '', 1000, %d)`, id, state, due,
		attempt, ended)
}

func messageRow(id, chat, run string, due int) string {
	return fmt.Sprintf(`INSERT INTO chat_message (id, chat, run, body, tries, due, at)
		VALUES ('%s', '%s', '%s', '{}', 1, %d, 1000)`, id, chat, run, due)
}
