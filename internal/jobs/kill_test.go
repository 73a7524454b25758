package jobs_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

const steps = 5

// stepping is a queue whose jobs take some steps. Each is kept, together with a change
// of the topic "step".
func stepping(s *store.Store) *jobs.Queue {
	q := &jobs.Queue{Store: s, Kind: "steps", Slots: 4, Lease: 300 * time.Millisecond, Ended: report}
	q.Do = func(ctx context.Context, h *jobs.Held) (string, error) {
		for did := len(h.Saved); did < steps; did++ {
			err := s.Update(ctx, func(tx *store.Tx) error {
				if err := tx.Changed("step", fmt.Sprint(h.ID, " ", did)); err != nil {
					return err
				}
				return h.Save(tx, strings.Repeat("x", did+1))
			})
			if err != nil {
				return "", err
			}
			fmt.Println("step")
			time.Sleep(5 * time.Millisecond)
		}
		return "all steps", nil
	}
	return q
}

// TestWorkingChild runs in the processes that TestKilledWorkers kills.
func TestWorkingChild(t *testing.T) {
	dsn := os.Getenv("JOBS_CHILD")
	if dsn == "" {
		t.Skip("for another test")
	}
	stepping(storetest.Open(t, dsn)).Run(t.Context())
}

// TestKilledWorkers kills processes at their work. Each step of each job must happen
// once, and the end of each job must be reported once.
func TestKilledWorkers(t *testing.T) {
	test := func(t *testing.T, dsn string) {
		s := storetest.Open(t, dsn)
		q := stepping(s)
		var ids []string
		for range 40 {
			id, _ := enqueue(t, q, jobs.New{Attempts: 1000})
			ids = append(ids, id)
		}
		for kills := range 6 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestWorkingChild$", "-test.count=1")
			cmd.Env = append(os.Environ(), "JOBS_CHILD="+dsn)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for n := 0; n < 3+4*kills && lines.Scan(); n++ { // later in each round
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		run(t, q)
		for _, id := range ids {
			if j := await(t, q, id); j.State != jobs.Done || j.Result != "all steps" {
				t.Errorf("%+v", j)
			}
		}
		times := reported(t, s)
		list, err := s.Changes(t.Context(), store.Cursor{}, 100_000, "step")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			times[c.Key]++
		}
		if want := len(ids) * (steps + 1); len(times) != want {
			t.Errorf("%d of %d events", len(times), want)
		}
		for what, n := range times {
			if n != 1 {
				t.Errorf("%s happened %d times", what, n)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Database(t)) })
}
