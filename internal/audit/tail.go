package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Filter says which rows to show; nil shows all.
type Filter func(*Row) bool

func (f Filter) shows(r *Row) bool { return f == nil || f(r) }

// Tail returns the last n rows that filter shows, of all chains by time, the
// latest last. It reads no more than it needs. Lines that are not rows are
// passed over, and nothing is verified. Without rows there is no log yet.
func (db *DB) Tail(ctx context.Context, n int, filter Filter) ([]Row, error) {
	var found []Row
	at := position{At: math.MaxInt64}
	for db != nil && len(found) < n {
		list, err := db.rows.Before(ctx, at, pageSize)
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		for _, r := range list {
			at = r.position()
			if row, ok := parseRow(r.Chain, r.Line); ok && filter.shows(&row) && len(found) < n {
				found = append(found, row)
			}
		}
		if len(list) < pageSize {
			break
		}
	}
	slices.Reverse(found)
	return found, nil
}

// Count says how often a tool was called for somebody, and how often with
// arguments that have a digest. What was not done does not count.
func (db *DB) Count(ctx context.Context, tool, agent, user, digest string) (same, all int, err error) {
	return db.rows.Count(ctx, callerKey(tool, agent, user), digest[:min(digestLen, len(digest))])
}

// followEvery is how often Follow looks for new rows. It costs one look into an
// index when there are none.
const followEvery = 250 * time.Millisecond

// Follow hands the last n rows to each, and then new ones as they come, from
// every process, until ctx ends or each returns an error, which it returns. Rows
// that come together are in the order of their times.
func (db *DB) Follow(ctx context.Context, n int, filter Filter, each func(Row) error) error {
	f := &follower{rows: db.rows, filter: filter, each: each, at: map[int64]int64{}}
	if err := f.start(ctx); err != nil {
		return err
	}
	last, err := db.Tail(ctx, n, func(r *Row) bool {
		id, _ := chainID(r.Chain)
		return filter.shows(r) && int64(r.Seq) <= f.at[id]
	})
	if err != nil {
		return err
	}
	for _, row := range last {
		if err := each(row); err != nil {
			return err
		}
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := f.look(ctx); err != nil {
			return err
		}
	}
}

// A follower knows how far it has read each chain. It does not go by time:
// records of several processes are committed in another order than that.
type follower struct {
	rows   rowStore
	filter Filter
	each   func(Row) error
	at     map[int64]int64 // by chain
	since  int64           // when the chain was added to that was last
}

// start takes down where the chains are.
func (f *follower) start(ctx context.Context) error {
	for after := int64(math.MinInt64); ; {
		list, err := f.rows.Chains(ctx, after, pageSize)
		if err != nil {
			return err
		}
		for _, c := range list {
			after = c.ID
			f.at[c.ID] = c.Seq
			f.since = max(f.since, c.Seen)
		}
		if len(list) < pageSize {
			return nil
		}
	}
}

// observe hands on what is new: of each chain no more than a page. What there is
// beyond that comes with the next look, and until then none is forgotten.
func (f *follower) look(ctx context.Context) error {
	var fresh []Row
	latest, behind := f.since, false
	since := min(f.since, time.Now().UnixMilli()) // a clock that is set back puts it into the future
	from := chainRow{Seen: since - clockSlack.Milliseconds(), ID: math.MinInt64}
	for more := true; more; {
		list, err := f.rows.Seen(ctx, from.Seen, from.ID, pageSize)
		if err != nil {
			return err
		}
		more = len(list) == pageSize
		for _, c := range list {
			from = c
			rows, err := f.read(ctx, c)
			if err != nil {
				return err
			}
			fresh = append(fresh, rows...)
			latest = max(latest, c.Seen)
			behind = behind || f.at[c.ID] < c.Seq
		}
	}
	if !behind {
		f.since = latest
	}
	slices.SortStableFunc(fresh, func(a, b Row) int { return a.Time.Compare(b.Time) })
	for _, row := range fresh {
		if err := f.each(row); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads what is new in a chain.
func (f *follower) read(ctx context.Context, c chainRow) (fresh []Row, err error) {
	if f.at[c.ID] >= c.Seq {
		return nil, nil
	}
	list, err := f.rows.Records(ctx, c.ID, f.at[c.ID], pageSize)
	if err == nil && len(list) < pageSize {
		f.at[c.ID] = c.Seq // also where retention was faster
	}
	for _, r := range list {
		f.at[c.ID] = max(f.at[c.ID], r.Seq)
		if row, ok := parseRow(r.Chain, r.Line); ok && f.filter.shows(&row) {
			fresh = append(fresh, row)
		}
	}
	return fresh, err
}
