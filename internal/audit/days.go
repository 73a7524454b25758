package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// In PostgreSQL the records are in partitions by day of UTC, so that retention drops a table in place of millions of
// rows. audit_record_rest has the records of days that were not prepared: days before the store had partitions, and
// days of wrong clocks.

// A day is the beginning of a day that has a table of its own.
type day struct{ time.Time }

const (
	dayTable  = "audit_record_20060102" // the name of its table, as a layout
	daysAhead = 3                       // prepared tables
)

func dayOf(t time.Time) day { return day{t.UTC().Truncate(24 * time.Hour)} }

func (d day) table() string { return d.Format(dayTable) }
func (d day) next() day     { return day{d.Add(24 * time.Hour)} }

// A dayEnd is the last record of a chain on a day.
type dayEnd struct {
	Chain, Seq int64
	Count      int64 // of its records on that day
	Whole      bool  // the chain ends there
}

// briefly makes a transaction fail that waits for a lock of a table: others that write records wait behind it.
const briefly = "SET LOCAL lock_timeout = 2000"

// MakeDays attaches tables for the next days. A day that has records already stays without a table.
func (s *storeRows) MakeDays(ctx context.Context, after time.Time) error {
	if s.store.Engine() != "postgres" {
		return nil
	}
	have, err := s.Days(ctx)
	if err != nil {
		return err
	}
	made := map[day]bool{}
	for _, d := range have {
		made[d] = true
	}
	for d := dayOf(after).next(); d.Before(after.Add(daysAhead * 24 * time.Hour)); d = d.next() {
		if made[d] {
			continue
		}
		if err := s.store.Update(ctx, func(t *store.Tx) error {
			if err := t.Lock("audit days"); err != nil {
				return err
			}
			var made, used bool
			if err := t.Row("SELECT to_regclass($1) IS NOT NULL, EXISTS (SELECT 1 FROM audit_record_rest WHERE at >= $2 AND at < $3)",
				[]any{d.table(), d.UnixMicro(), d.next().UnixMicro()}, &made, &used); err != nil || made || used {
				return err
			}
			for _, statement := range []string{
				briefly,
				"CREATE TABLE " + d.table() + " (LIKE audit_record INCLUDING ALL)",
				fmt.Sprintf("ALTER TABLE audit_record ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", d.table(),
					d.UnixMicro(), d.next().UnixMicro()),
			} {
				if _, err := t.Exec(statement); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Days returns the days that have tables.
func (s *storeRows) Days(ctx context.Context) (days []day, err error) {
	if s.store.Engine() != "postgres" {
		return nil, nil
	}
	names, err := list(ctx, s, store.One[string], `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'audit_record'::regclass AND c.relname <> 'audit_record_rest' ORDER BY c.relname`)
	for _, name := range names {
		d, err := time.Parse(dayTable, name)
		if err != nil {
			return nil, fmt.Errorf("the table of a day: %w", err)
		}
		days = append(days, day{d})
	}
	return days, err
}

// Ends returns where the chains of a day end.
func (s *storeRows) Ends(ctx context.Context, d day) ([]dayEnd, error) {
	return list(ctx, s, func(scan store.Scan) (e dayEnd, err error) {
		err = scan(&e.Chain, &e.Seq, &e.Count)
		return e, err
	}, "SELECT chain, max(seq), count(*) FROM "+d.table()+" GROUP BY chain ORDER BY chain")
}

// Drop drops the table of a day.
func (s *storeRows) Drop(ctx context.Context, key string, d day, ends []dayEnd, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		if err := addHeads(t, key, seal); err != nil {
			return err
		}
		var want, count int64
		for _, e := range ends {
			if want += e.Count; e.Whole {
				n, err := t.Exec("DELETE FROM audit_chain WHERE id = $1 AND seq = $2", e.Chain, e.Seq)
				if err == nil && n != 1 {
					err = errMoved
				}
				if err != nil {
					return err
				}
			}
			if _, err := t.Exec("DELETE FROM audit_record_rest WHERE chain = $1 AND seq <= $2", e.Chain, e.Seq); err != nil {
				return err
			}
		}
		if _, err := t.Exec(briefly); err != nil {
			return err
		}
		// Records that came since, from the journal of a process that died on that day, are not lost with the table.
		if _, err := t.Exec("LOCK TABLE " + d.table() + " IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		if err := t.Row("SELECT count(*) FROM "+d.table(), nil, &count); err != nil {
			return err
		}
		if count != want {
			return errMoved
		}
		_, err := t.Exec("DROP TABLE " + d.table())
		return err
	})
}

// dropDays drops the tables of days before minTime whose chains all verify and may be pruned. The records of
// other days are removed one by one, and then their empty tables.
func (p *pruner) dropDays(ctx context.Context) error {
	days, err := p.rows.Days(ctx)
	if err != nil {
		return err
	}
	for _, d := range days {
		if d.next().After(p.minTime) {
			break
		}
		if err := p.dropDay(ctx, d); err != nil {
			return fmt.Errorf("removing the day %s: %w", d.Format(time.DateOnly), err)
		}
	}
	return nil
}

func (p *pruner) dropDay(ctx context.Context, d day) error {
	ends, err := p.rows.Ends(ctx, d)
	if err != nil {
		return err
	}
	var heads []head
	var points []point
	for i := range ends {
		c, found, err := p.rows.Chain(ctx, ends[i].Chain)
		if err != nil {
			return err
		}
		if !found || p.foreign(c) {
			return nil
		}
		upTo, ok, err := p.verified(ctx, c, ends[i].Seq)
		if err != nil || !ok {
			return err
		}
		upTo.End = p.ended(c) && ends[i].Seq == c.Seq
		ends[i].Whole = upTo.End
		if points = append(points, upTo); len(points) == maxPoints {
			heads, points = append(heads, head{Kind: headPruned, Chains: points}), nil
		}
	}
	if len(points) > 0 {
		heads = append(heads, head{Kind: headPruned, Chains: points})
	}
	err = headWriter{p.rows, p.key, p.dir}.add(ctx, func(seal headsFunc) error {
		return p.rows.Drop(ctx, p.key.id(), d, ends, seal)
	}, heads...)
	if errors.Is(err, errMoved) {
		return nil // the next time
	}
	if err != nil {
		return err
	}
	for _, h := range heads {
		p.heads.add(h)
	}
	return nil
}

// verified reads a chain up to a record. Not ok means that it does not verify.
func (p *pruner) verified(ctx context.Context, c chainRow, seq int64) (upTo point, ok bool, err error) {
	w, upTo, ok := p.begin(c)
	for ok && int64(upTo.Seq) < seq {
		list, err := p.rows.Records(ctx, c.ID, int64(upTo.Seq), dayPage)
		if err != nil || len(list) == 0 {
			return upTo, false, err
		}
		for _, r := range list {
			if r.Seq > seq {
				break
			}
			if row, fits := w.stepRow(r); !fits || !row.Time.Before(p.minTime) {
				return upTo, false, nil
			}
			upTo.Seq, upTo.Mark, upTo.Bytes = w.number, w.last.String(), upTo.Bytes+int64(len(r.Line))
		}
	}
	return upTo, ok, nil
}

// dayPage is the number of records that verified reads at once.
const dayPage = 5000
