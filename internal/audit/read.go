package audit

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

// A Filter selects rows; nil selects all.
type Filter func(*Row) bool

func (f Filter) shows(r *Row) bool { return f == nil || f(r) }

// Tail returns the last n rows that filter selects, of all chains, sorted by
// time. It skips lines that are not records and verifies nothing.
func (db *DB) Tail(ctx context.Context, n int, filter Filter) ([]Row, error) {
	return db.TailSince(ctx, n, time.Time{}, filter)
}

// TailSince is Tail for the rows after a time. It stops reading at that time, so a filter
// that matches few rows does not read the whole log. The zero time means no limit.
func (db *DB) TailSince(ctx context.Context, n int, since time.Time, filter Filter) ([]Row, error) {
	var found []Row
	at := position{At: math.MaxInt64}
	for db != nil && len(found) < n {
		list, err := db.rows.Before(ctx, at, pageSize)
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		for _, r := range list {
			at = r.position()
			if !since.IsZero() && at.At < since.UnixMicro() {
				n = len(found)
				break
			}
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

// Count returns how often a tool was called for a caller, and how often with the
// arguments of a digest. Calls that did not run are not counted.
func (db *DB) Count(ctx context.Context, tool, agent, user, digest string) (same, all int, err error) {
	return db.rows.Count(ctx, callerKey(tool, agent, user), digest[:min(digestLen, len(digest))])
}

// followEvery is the interval of Follow's reads of an index for new rows.
const followEvery = 250 * time.Millisecond

// Follow calls each with the last n rows and then with new ones of all processes, until ctx
// ends or each returns an error. Follow returns that error. Rows that are read together are
// sorted by time.
func (db *DB) Follow(ctx context.Context, n int, filter Filter, each func(Row) error) error {
	f := &follower{rows: db.rows, at: map[int64]int64{}}
	err := f.eachChain(ctx, func(c chainRow) error { f.at[c.ID] = c.Seq; return nil })
	if err != nil {
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
	for {
		if err := clock.Sleep(ctx, followEvery); err != nil {
			return err
		}
		fresh, err := f.read(ctx, filter)
		if err != nil {
			return err
		}
		for _, row := range fresh {
			if err := each(row); err != nil {
				return err
			}
		}
	}
}

// clockSlack is longer than a transaction and than seenEvery: a chain is visible
// after the commit, with the time before it.
const clockSlack = time.Minute

// A follower knows how far it has read each chain. It does not use the times of records: they
// are committed in another order.
type follower struct {
	rows  rowStore
	at    map[int64]int64 // last record by chain
	since int64           // the latest seen of all chains
}

// eachChain calls f for the chains that may have changed since the last call.
func (f *follower) eachChain(ctx context.Context, each func(chainRow) error) error {
	from := chainRow{Seen: math.MinInt64, ID: math.MinInt64}
	if f.since > 0 { // it may be in the future if a clock was set back
		from.Seen = min(f.since, time.Now().UnixMilli()) - clockSlack.Milliseconds()
	}
	for {
		list, err := f.rows.Seen(ctx, from.Seen, from.ID, pageSize)
		if err != nil {
			return err
		}
		for _, c := range list {
			if err := each(c); err != nil {
				return err
			}
			from, f.since = c, max(f.since, c.Seen)
		}
		if len(list) < pageSize {
			return nil
		}
	}
}

// read returns the new rows of all chains.
func (f *follower) read(ctx context.Context, filter Filter) (fresh []Row, err error) {
	err = f.eachChain(ctx, func(c chainRow) error {
		for f.at[c.ID] < c.Seq {
			list, err := f.rows.Records(ctx, c.ID, f.at[c.ID], pageSize)
			if err != nil {
				return err
			}
			for _, r := range list {
				f.at[c.ID] = r.Seq
				if row, ok := parseRow(r.Chain, r.Line); ok && filter.shows(&row) {
					fresh = append(fresh, row)
				}
			}
			if len(list) < pageSize {
				f.at[c.ID] = max(f.at[c.ID], c.Seq) // retention may have removed some
			}
		}
		return nil
	})
	slices.SortStableFunc(fresh, func(a, b Row) int { return a.Time.Compare(b.Time) })
	return fresh, err
}

// A Format is an output format of Export.
type Format string

const (
	JSONL Format = "jsonl" // the lines of the log, with the chain added
	CSV   Format = "csv"   // with a header; cells that look like formulas begin with '
)

// Exported is the result of Export.
type Exported struct {
	Rows    int
	Skipped int // lines that are not records; Verify reports them
}

// Export writes the rows of all chains in [since, until) to w, sorted by time. A
// zero time means no limit. It needs memory for some hundred rows, and verifies
// nothing.
func (db *DB) Export(ctx context.Context, w io.Writer, as Format, since, until time.Time) (done Exported, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	write, flush, err := exporter(out, as)
	if err != nil {
		return done, err
	}
	done.Skipped, err = db.Between(ctx, since, until, func(r *Row) error {
		if err := write(r); err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		done.Rows++
		return nil
	})
	if err != nil {
		return done, err
	}
	if err := flush(); err != nil {
		return done, fmt.Errorf("writing the export: %w", err)
	}
	return done, nil
}

// Between calls each with the rows of all chains in [since, until), sorted by time, until it returns an error. A zero
// time means no limit. skipped counts lines that are not records.
func (db *DB) Between(ctx context.Context, since, until time.Time, each func(*Row) error) (skipped int, err error) {
	at := position{At: math.MinInt64}
	if !since.IsZero() {
		at.At = since.UnixMicro() - 1
		at.Chain = math.MaxInt64
	}
	for more := db != nil; more; {
		list, err := db.rows.After(ctx, at, pageSize)
		if err != nil {
			return skipped, fmt.Errorf("reading the audit log: %w", err)
		}
		more = len(list) == pageSize
		for _, r := range list {
			if at = r.position(); !until.IsZero() && at.At >= until.UnixMicro() {
				return skipped, nil
			}
			row, ok := parseRow(r.Chain, r.Line)
			if !ok {
				skipped++
				continue
			}
			if err := each(&row); err != nil {
				return skipped, err
			}
		}
	}
	return skipped, nil
}

// Running reports whether a chain has not ended: its process runs, or was killed and left a journal that is not
// recovered yet.
func (db *DB) Running(ctx context.Context, chain string) (bool, error) {
	id, ok := chainID(chain)
	if !ok {
		return false, nil
	}
	c, found, err := db.rows.Chain(ctx, id)
	if err != nil {
		return false, fmt.Errorf("reading the audit log: %w", err)
	}
	return found && !c.Ended, nil
}

// A Cursor reads each record of all chains once, whatever its time is. It is not safe for concurrent use.
type Cursor struct{ f follower }

// NewCursor returns a cursor at the end of the log.
func (db *DB) NewCursor(ctx context.Context) (*Cursor, error) {
	c := &Cursor{follower{rows: db.rows, at: map[int64]int64{}}}
	return c, c.f.eachChain(ctx, func(one chainRow) error { c.f.at[one.ID] = one.Seq; return nil })
}

// Passed reports whether the cursor has passed a record.
func (c *Cursor) Passed(r *Row) bool {
	id, _ := chainID(r.Chain)
	return int64(r.Seq) <= c.f.at[id]
}

// Next returns the records that were added since the last call, sorted by time.
func (c *Cursor) Next(ctx context.Context) ([]Row, error) { return c.f.read(ctx, nil) }

func exporter(out *bufio.Writer, as Format) (write func(*Row) error, flush func() error, err error) {
	switch as {
	case JSONL:
		return func(r *Row) error {
			_, err := fmt.Fprintf(out, "{\"chain\":%q,%s\n", r.Chain, r.line[1:])
			return err
		}, out.Flush, nil
	case CSV:
		cells := csv.NewWriter(out)
		flush = func() error {
			cells.Flush()
			return cells.Error() // of out as well: the writer flushes it
		}
		return func(r *Row) error { return cells.Write(csvRow(r)) }, flush, cells.Write(csvNames())
	}
	return nil, nil, fmt.Errorf("export format %q is not known; use %q or %q", as, JSONL, CSV)
}

// csvNames returns the columns: the chain, and the fields of a line in their order.
func csvNames() []string {
	return strings.Fields(`chain seq ts phase call parent kind tool alias agent user session transport profile risk
		verdict approval outcome args_digest result_digest about args head end bytes redactions repeats duration_ms tokens cost
		error trace prev hash`)
}

func csvRow(r *Row) []string {
	fields := map[string]any{}
	_ = json.Unmarshal([]byte(r.line), &fields) // parseRow has decoded it
	fields["chain"] = r.Chain
	cells := csvNames()
	for i, name := range cells {
		switch v := fields[name].(type) {
		case string:
			cells[i] = escapeFormula(v)
		case float64:
			cells[i] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			cells[i] = ""
		}
	}
	return cells
}

// escapeFormula keeps a spreadsheet from evaluating a cell.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
