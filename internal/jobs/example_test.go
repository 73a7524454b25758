package jobs_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Queue has the jobs of one kind, here summaries. The process that adds a job need not be the
// one that does the job; here it is both.
func ExampleQueue() {
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{DSN: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	q := &jobs.Queue{Store: s, Kind: "summary", Do: func(_ context.Context, h *jobs.Held) (string, error) {
		return "summary of " + h.Payload, nil
	}}
	q.Start()
	defer q.Close()

	var id string
	err = s.Update(ctx, func(t *store.Tx) (err error) {
		id, _, err = q.Enqueue(t, jobs.New{Owner: "session 7", Payload: "chapter 1", Attempts: 3})
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := final(ctx, q, id)
	fmt.Println(job.State, job.Result, err)
	// Output: done summary of chapter 1 <nil>
}

// final waits for the end of a job and returns it. It takes the channel before it reads, so that
// it misses no change.
func final(ctx context.Context, q *jobs.Queue, id string) (j jobs.Job, err error) {
	for {
		changed := q.Store.Wait(jobs.Topic)
		err = q.Store.View(ctx, func(t *store.Tx) (err error) {
			j, err = q.Get(t, id)
			return err
		})
		if err != nil || j.State.Final() {
			return j, err
		}
		<-changed
	}
}
