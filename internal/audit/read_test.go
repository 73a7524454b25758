package audit

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// history is a log of three processes over some seconds: x1 y1 z1 x2 y2 z2 ...
func (w *world) history(t *testing.T, each int) (start time.Time) {
	t.Helper()
	start = time.Now().Add(-time.Hour).Truncate(time.Second)
	now := start
	var logs []*Log
	for range 3 {
		l := w.open(t, Options{})
		l.now = func() time.Time { return now }
		logs = append(logs, l)
	}
	for i := 1; i <= each; i++ {
		for j, l := range logs {
			acknowledge(t, l, fmt.Sprintf("%c%d", 'x'+j, i))
			now = now.Add(time.Second)
		}
	}
	for _, l := range logs {
		end(t, l)
	}
	return start
}

func TestTail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history(t, 6)
		tests := []struct {
			n      int
			filter Filter
			want   string
		}{
			{0, nil, ""},
			{4, nil, "z5 x6 y6 z6"},
			{1000, nil, "x1 y1 z1 x2 y2 z2 x3 y3 z3 x4 y4 z4 x5 y5 z5 x6 y6 z6"},
			{2, func(r *Row) bool { return strings.HasPrefix(r.Call, "x") }, "x5 x6"},
			{1, func(r *Row) bool { return r.Call == "y1" }, "y1"},
			{1, func(r *Row) bool { return false }, ""},
		}
		for _, tt := range tests {
			rows, err := w.db().Tail(t.Context(), tt.n, tt.filter)
			var got []string
			for _, r := range rows {
				got = append(got, r.Call)
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("the last %d are %q, want %q (%v)", tt.n, got, tt.want, err)
			}
		}
	})
}

func TestReadingPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{})
		const n = 2*pageSize + 7
		for i := range n {
			acknowledge(t, l, fmt.Sprint(i))
		}
		end(t, l)
		w.exec(t, "INSERT INTO audit_record (chain, seq, at, who, what, line) VALUES (1, 1, 1, 0, '', 'rubbish')")
		got := w.calls(t)
		if len(got) != n || got[0] != "0" || got[n-1] != fmt.Sprint(n-1) {
			t.Errorf("%d rows %q", len(got), got)
		}
		var out bytes.Buffer
		if done, err := w.db().Export(t.Context(), &out, JSONL, time.Time{}, time.Time{}); err != nil ||
			done.Rows != n || done.Skipped != 1 {
			t.Errorf("%+v, %v", done, err)
		}
		if lines := strings.Count(out.String(), "\n"); lines != n {
			t.Errorf("%d lines", lines)
		}
	})
}

func TestReadingEmptyLog(t *testing.T) {
	w := newWorld(t, "")
	if rows, err := w.db().Tail(t.Context(), 5, nil); err != nil || len(rows) > 0 {
		t.Errorf("rows %v, %v", rows, err)
	}
	w.green(t, 0)
	if n, err := w.db().Export(t.Context(), new(bytes.Buffer), JSONL, time.Time{}, time.Time{}); err != nil ||
		n.Rows > 0 {
		t.Errorf("export %v, %v", n, err)
	}
}

func TestReadingWithEndedContext(t *testing.T) {
	w := newWorld(t, "")
	w.chain(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, tailErr := w.db().Tail(ctx, 5, nil)
	_, verifyErr := w.db().Verify(ctx, w.dir, nil)
	_, exportErr := w.db().Export(ctx, new(bytes.Buffer), JSONL, time.Time{}, time.Time{})
	for _, err := range []error{tailErr, verifyErr, exportErr, w.db().Follow(ctx, 0, nil, nil)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

func TestFollow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		one := w.open(t, Options{})
		add(t, one, "a", "b", "c")
		got, done := make(chan string), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			done <- w.db().Follow(ctx, 2, func(r *Row) bool { return r.Call != "hidden" }, func(r Row) error {
				got <- r.Call
				return nil
			})
		}()
		want := func(calls ...string) {
			t.Helper()
			for _, call := range calls {
				if g := <-got; g != call {
					t.Fatalf("%s comes, and not %s", g, call)
				}
			}
		}
		want("b", "c")
		add(t, one, "d", "hidden", "e")
		want("d", "e")
		two := w.open(t, Options{})
		var many []string
		for i := range 2*pageSize + 3 {
			many = append(many, fmt.Sprint(i))
		}
		add(t, two, many...)
		want(many...)
		// The clock of this machine is slow: its records are still found.
		two.now = func() time.Time { return time.Now().Add(-24 * time.Hour) }
		add(t, two, "f")
		want("f")
		add(t, one, "g")
		want("g")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestFollowEndsWithError(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	add(t, l, "a")
	enough := errors.New("enough")
	if err := w.db().Follow(t.Context(), 1, nil, func(Row) error { return enough }); err != enough {
		t.Error(err)
	}
	err := w.db().Follow(t.Context(), 1, nil, func(r Row) error {
		if r.Call == "b" {
			return enough
		}
		add(t, l, "b")
		return nil
	})
	if err != enough {
		t.Error(err)
	}
}

func TestExport(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		start := w.history(t, 4)
		var out bytes.Buffer
		n, err := w.db().Export(t.Context(), &out, JSONL, start.Add(2*time.Second), start.Add(9*time.Second))
		if err != nil || n.Rows != 7 || n.Skipped != 0 {
			t.Errorf("%+v, %v", n, err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			var r Row
			if err := json.Unmarshal([]byte(line), &r); err != nil || len(r.Chain) != nameLen ||
				len(r.Hash) != linkLen {
				t.Errorf("line %s: %v", line, err)
			}
			got = append(got, r.Call)
		}
		if text := strings.Join(got, " "); text != "z1 x2 y2 z2 x3 y3 z3" {
			t.Errorf("rows %q", text)
		}
		if _, err := w.db().Export(t.Context(), &out, "xml", time.Time{}, time.Time{}); err == nil {
			t.Error("xml was accepted")
		}
	})
}

func TestExportToASpreadsheet(t *testing.T) {
	w := newWorld(t, "")
	w.chain(t, "=cmd|' /C calc'!A0", "two\nlines, and \"quotes\"")
	var out bytes.Buffer
	n, err := w.db().Export(t.Context(), &out, CSV, time.Time{}, time.Time{})
	if err != nil || n.Rows != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	cells, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(cells) != 3 {
		t.Fatalf("cells %q, %v", cells, err)
	}
	if cells[0][4] != "call" || cells[1][4] != "'=cmd|' /C calc'!A0" || cells[2][4] != "two\nlines, and \"quotes\"" {
		t.Errorf("cells %q", cells)
	}
}

func TestCount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{})
		digest, other := strings.Repeat("ab", 16), strings.Repeat("cd", 16)
		for _, r := range []Record{
			{Phase: Done, Tool: "exec", Agent: "a", User: "u", ArgsDigest: digest},
			{Phase: Done, Tool: "exec", Agent: "a", User: "u", ArgsDigest: digest, Outcome: "refused"},
			{Phase: Done, Tool: "exec", Agent: "a", User: "u", ArgsDigest: other},
			{Phase: Done, Tool: "exec", Agent: "a", User: "u"},
			{Phase: Intent, Tool: "exec", Agent: "a", User: "u", ArgsDigest: digest},
			{Phase: Done, Tool: "exec", Agent: "a", User: "u", ArgsDigest: digest, Outcome: "asked"},
			{Phase: Done, Tool: "exec", Agent: "b", User: "u", ArgsDigest: digest},
			{Phase: Done, Tool: "read", Agent: "a", User: "u", ArgsDigest: digest},
		} {
			if err := l.Append(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		stored(t, l)
		same, all, err := w.db().Count(t.Context(), "exec", "a", "u", digest+digest)
		if err != nil || same != 2 || all != 4 {
			t.Errorf("%d of %d, %v", same, all, err)
		}
		w.green(t, 8)
	})
}

func TestChainNames(t *testing.T) {
	for _, at := range []time.Time{fixedTime(), time.UnixMilli(0), time.Date(9999, 1, 1, 0, 0, 0, 0,
		time.UTC).Add(-time.Millisecond)} {
		id := newChainID(at)
		name := chainName(id)
		if got, ok := chainID(name); !ok || got != id || len(name) != nameLen {
			t.Errorf("%s is %d, not %d", name, got, id)
		}
	}
	for _, name := range []string{"", "x", "20260102T030405.000Z", "20260102T030405.000Z-123",
		"20260102T030405.000Z-1234567", "20260102T030405.0Z-12345"} {
		if id, ok := chainID(name); ok {
			t.Errorf("%q is %d", name, id)
		}
	}
}

// TestFollowAfterClockSetBack follows a log whose last record has a time in the future.
func TestFollowAfterClockSetBack(t *testing.T) {
	w := newWorld(t, "")
	w.chain(t, "before")
	w.exec(t, "UPDATE audit_chain SET seen = seen + $1", time.Hour.Milliseconds())
	found := errors.New("found")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := w.db().Follow(ctx, 1, nil, func(r Row) error {
		if r.Call == "after" {
			return found
		}
		w.chain(t, "after")
		return nil
	})
	if !errors.Is(err, found) {
		t.Errorf("following ended with %v", err)
	}
}

// TestRunningChains checks that chains run until their process ends them, and if it was killed until the recovery.
func TestRunningChains(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		logs := []*Log{w.chain(t, "a"), w.open(t, Options{}), w.open(t, Options{})}
		add(t, logs[1], "b")
		add(t, logs[2], "c")
		expect := func(when, want string) {
			t.Helper()
			got := ""
			rows, err := w.db().Tail(t.Context(), 10, nil)
			for _, r := range rows {
				running, problem := w.db().Running(t.Context(), r.Chain)
				if err = errors.Join(err, problem); running {
					got += r.Call
				}
			}
			if err != nil || got != want {
				t.Errorf("%s: %q run, want %q (%v)", when, got, want, err)
			}
		}
		kill(t, logs[2])
		expect("after a kill", "bc")
		if _, err := w.db().Recover(t.Context(), w.dir); err != nil {
			t.Fatal(err)
		}
		expect("after the recovery", "b")
		end(t, logs[1])
		expect("at the end", "")
		if running, err := w.db().Running(t.Context(), "no chain"); running || err != nil {
			t.Errorf("no chain: %v, %v", running, err)
		}
	})
}

// TestCursor checks that a cursor reads each record once, also one whose time is before that of others.
func TestCursor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history(t, 2)
		cursor, err := w.db().NewCursor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		if _, err := w.db().Between(t.Context(), time.Time{}, time.Time{}, func(r *Row) error {
			if cursor.Passed(r) {
				passed++
			}
			return nil
		}); err != nil || passed != 6 {
			t.Errorf("%d of 6 records are passed, %v", passed, err)
		}
		late := w.open(t, Options{})
		late.now = func() time.Time { return time.Now().Add(-2 * time.Hour) }
		for _, want := range []string{"late", ""} {
			if want != "" {
				add(t, late, want)
			}
			got := ""
			rows, err := cursor.Next(t.Context())
			for _, r := range rows {
				if got += r.Call; !cursor.Passed(&r) {
					t.Errorf("%s is not passed", r.Call)
				}
			}
			if err != nil || got != want {
				t.Errorf("next is %q, want %q (%v)", got, want, err)
			}
		}
		end(t, late)
	})
}
