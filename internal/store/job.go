package store

import (
	"context"
	"errors"
	"time"
)

// A Job is work that is done at least once. Its holder must renew the lease in
// time, or another holder gets the job.
type Job struct {
	ID       string
	Kind     string
	Payload  string
	State    JobState
	Attempt  int
	Attempts int // maximum
	Result   string
	Error    string
	Cancel   bool // the holder should stop
}

// A JobState is the state of a job.
type JobState string

// The states.
const (
	Queued    JobState = "queued"
	Running   JobState = "running"
	Done      JobState = "done"
	Failed    JobState = "failed"
	Cancelled JobState = "cancelled"
)

// JobTopic returns the feed topic of the jobs of a kind.
func JobTopic(kind string) string { return "job." + kind }

// A NewJob describes a job for [Tx.Enqueue].
type NewJob struct {
	Kind     string
	Payload  string
	Dedupe   string        // at most one job has this key; "" for none
	After    time.Duration // delay of the start
	Attempts int           // maximum; 0 means 1
}

// ErrLost means that a lease has expired: another holder has the job, or it has
// ended.
var ErrLost = errors.New("the lease has expired")

// Enqueue adds a job. If there is one with the same Dedupe, added is false.
func (t *Tx) Enqueue(j NewJob) (id string, added bool, err error) {
	id = NewID()
	var dedupe any
	if j.Dedupe != "" {
		dedupe = j.Dedupe
	}
	n, err := t.Exec(`INSERT INTO job (id, kind, dedupe, payload, state, run_at, attempts, created)
		VALUES ($1, $2, $3, $4, 'queued', {{now}} + $5, $6, {{now}}) ON CONFLICT (dedupe) DO NOTHING`,
		id, j.Kind, dedupe, j.Payload, j.After.Milliseconds(), max(j.Attempts, 1))
	if err != nil || n == 0 {
		return "", false, err
	}
	return id, true, t.Changed(JobTopic(j.Kind), id)
}

// Acquire takes the job of a kind that is due first, for the time of a lease. If
// none is due the error is [ErrNotFound].
func (s *Store) Acquire(ctx context.Context, kind, holder string, lease time.Duration) (j Job, err error) {
	err = s.Update(ctx, func(t *Tx) error {
		return t.Row(`WITH due AS MATERIALIZED (
				SELECT id FROM job
				WHERE kind = $1 AND state IN ('queued', 'running') AND run_at <= {{now}} AND attempt < attempts
				ORDER BY run_at LIMIT 1 {{skip}})
			UPDATE job SET state = 'running', holder = $2, attempt = attempt + 1, run_at = {{now}} + $3
			WHERE id IN (SELECT id FROM due)
			RETURNING id, kind, payload, state, attempt, attempts, cancel`,
			[]any{kind, holder, lease.Milliseconds()},
			&j.ID, &j.Kind, &j.Payload, &j.State, &j.Attempt, &j.Attempts, &j.Cancel)
	})
	return j, err
}

// Renew extends the lease of a job, and reports whether the job should stop.
func (s *Store) Renew(ctx context.Context, j Job, lease time.Duration) (cancel bool, err error) {
	err = s.Update(ctx, func(t *Tx) error {
		return asLost(t.Row(`UPDATE job SET run_at = {{now}} + $3
			WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING cancel`,
			[]any{j.ID, j.Attempt, lease.Milliseconds()}, &cancel))
	})
	return cancel, err
}

func asLost(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrLost
	}
	return err
}

// Finish ends a job. If failure is not empty and attempts are left, the job runs
// again after a delay.
func (s *Store) Finish(ctx context.Context, j Job, result string, failure string, again time.Duration) error {
	return s.Update(ctx, func(t *Tx) error {
		var state JobState
		err := asLost(t.Row(`UPDATE job SET result = $3, error = $4,
				state = CASE WHEN $4 = '' THEN 'done' WHEN cancel THEN 'cancelled'
					WHEN attempt < attempts THEN 'queued' ELSE 'failed' END,
				ended = CASE WHEN $4 <> '' AND NOT cancel AND attempt < attempts THEN 0 ELSE {{now}} END,
				run_at = {{now}} + $5
			WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING state`,
			[]any{j.ID, j.Attempt, result, failure, again.Milliseconds()}, &state))
		if err != nil {
			return err
		}
		return t.Changed(JobTopic(j.Kind), j.ID)
	})
}

// Cancel ends a queued job, and asks the holder of a running one to stop.
func (t *Tx) Cancel(id string) error {
	var kind string
	err := t.Row(`UPDATE job SET cancel = TRUE,
			ended = CASE WHEN state = 'queued' THEN {{now}} ELSE ended END,
			state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END
		WHERE id = $1 AND state IN ('queued', 'running') RETURNING kind`, []any{id}, &kind)
	if err != nil {
		return err
	}
	return t.Changed(JobTopic(kind), id)
}

// Job reads a job.
func (t *Tx) Job(id string) (j Job, err error) {
	err = t.Row("SELECT id, kind, payload, state, attempt, attempts, result, error, cancel FROM job WHERE id = $1",
		[]any{id},
		&j.ID, &j.Kind, &j.Payload, &j.State, &j.Attempt, &j.Attempts, &j.Result, &j.Error, &j.Cancel)
	return j, err
}

// SweepJobs fails jobs with an expired last lease, and removes jobs that ended
// longer ago than age.
func (s *Store) SweepJobs(ctx context.Context, age time.Duration) error {
	return s.Update(ctx, func(t *Tx) error {
		_, err := t.Exec(`UPDATE job SET state = 'failed', ended = {{now}},
				error = 'the process that ran the job has died'
			WHERE state = 'running' AND run_at <= {{now}} AND attempt >= attempts`)
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM job WHERE ended > 0 AND ended < {{now}} - $1", age.Milliseconds())
		return err
	})
}
