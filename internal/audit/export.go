package audit

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Format is how Export writes rows.
type Format string

const (
	JSONL Format = "jsonl" // the lines as they are, with the chain in front
	CSV   Format = "csv"   // with a line of names; cells that a spreadsheet would run begin with '
)

// Exported counts what Export came by.
type Exported struct {
	Rows    int
	Skipped int // lines that are none of ours; Verify names them
}

// Export writes the rows of all chains in [since, until) to w, by time. A zero
// time is no limit. It needs memory for some hundred rows, and keeps nobody from
// writing meanwhile. Nothing is verified. Without rows there is no log yet.
func (db *DB) Export(ctx context.Context, w io.Writer, as Format, since, until time.Time) (done Exported, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	write, flush, err := exporter(out, as)
	if err != nil {
		return done, err
	}
	at := position{At: math.MinInt64}
	if !since.IsZero() {
		at.At = since.UnixMicro() - 1
		at.Chain = math.MaxInt64
	}
	for more := db != nil; more; {
		list, err := db.rows.After(ctx, at, pageSize)
		if err != nil {
			return done, fmt.Errorf("reading the audit log: %w", err)
		}
		more = len(list) == pageSize
		for _, r := range list {
			if at = r.position(); !until.IsZero() && at.At >= until.UnixMicro() {
				more = false
				break
			}
			row, ok := parseRow(r.Chain, r.Line)
			if !ok {
				done.Skipped++
				continue
			}
			if err := write(&row); err != nil {
				return done, fmt.Errorf("writing the export: %w", err)
			}
			done.Rows++
		}
	}
	if err := flush(); err != nil {
		return done, fmt.Errorf("writing the export: %w", err)
	}
	return done, nil
}

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

func csvNames() []string {
	return []string{
		"chain", "seq", "ts", "phase", "call", "parent", "kind", "tool", "alias", "agent", "user", "session", "transport",
		"profile", "risk", "verdict", "approval", "outcome", "args_digest", "result_digest", "args",
		"bytes", "redactions", "duration_ms", "error", "trace", "prev", "hash",
	}
}

func csvRow(r *Row) []string {
	cells := []string{
		r.Chain, strconv.FormatUint(r.Seq, 10), r.Time.Format(timeFormat), string(r.Phase), r.Call, r.Parent, r.Kind, r.Tool, r.Alias,
		r.Agent, r.User, r.Session, r.Transport, r.Profile, r.Risk, r.Verdict, r.Approval, r.Outcome,
		r.ArgsDigest, r.ResultDigest, r.ArgsShape, strconv.FormatInt(r.Bytes, 10), strconv.Itoa(r.Redactions),
		strconv.FormatFloat(r.Duration, 'f', -1, 64), r.Error, r.Trace, r.Prev, r.Hash,
	}
	for i, cell := range cells {
		cells[i] = escapeFormula(cell)
	}
	return cells
}

// escapeFormula keeps a spreadsheet from taking a stranger's words for a formula.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
