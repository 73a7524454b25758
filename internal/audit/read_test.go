package audit

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// history is a log of three processes over six seconds: x1 y1 z1 x2 y2 z2 ...
func history(t *testing.T, dir string, each int) {
	t.Helper()
	var logs []*Log
	for range 3 {
		logs = append(logs, open(t, dir, Options{SegmentBytes: 1000}))
	}
	for i := 1; i <= each; i++ {
		for j, l := range logs {
			add(t, l, fmt.Sprintf("%c%d", 'x'+j, i))
			time.Sleep(time.Second)
		}
	}
	for _, l := range logs {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		history(t, dir, 6)
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
			rows, err := Tail(t.Context(), dir, tt.n, tt.filter)
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

func TestTailReadsBackOverLongAndStrangeLines(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for i := range 200 {
		if err := l.Append(t.Context(), Record{Call: fmt.Sprint(i), Error: strings.Repeat("\x01", i*37)}); err != nil {
			t.Fatal(err)
		}
	}
	path := files(t, dir)[0]
	strange := strings.Repeat("x", 3*maxLine) + "\n\n{}\n" + strings.Repeat("y", maxLine) + "\n" + "half a line"
	write(t, path, append(read(t, path), strange...))
	got := calls(t, dir)
	if len(got) != 200 || got[0] != "0" || got[199] != "199" {
		t.Errorf("%d rows %q", len(got), got)
	}
}

func TestReadingNothing(t *testing.T) {
	dir := t.TempDir()
	if rows, err := Tail(t.Context(), dir, 5, nil); err != nil || len(rows) > 0 {
		t.Errorf("rows %v, %v", rows, err)
	}
	if r, err := Verify(t.Context(), dir); err != nil || !r.OK() {
		t.Errorf("report %v, %v", r, err)
	}
	if n, err := Export(t.Context(), dir, new(bytes.Buffer), JSONL, time.Time{}, time.Time{}); err != nil || n.Rows > 0 {
		t.Errorf("export %v, %v", n, err)
	}
}

func TestReadersStopWithTheirContext(t *testing.T) {
	dir, _ := sample(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, tailErr := Tail(ctx, dir, 5, nil)
	_, verifyErr := Verify(ctx, dir)
	_, exportErr := Export(ctx, dir, new(bytes.Buffer), JSONL, time.Time{}, time.Time{})
	for _, err := range []error{tailErr, verifyErr, exportErr, Follow(ctx, dir, 0, nil, nil)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one := open(t, dir, Options{SegmentBytes: 1000})
		add(t, one, "a", "b", "c")
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		done := make(chan error)
		go func() {
			done <- Follow(ctx, dir, 2, func(r *Row) bool { return r.Call != "hidden" }, func(r Row) error {
				got = append(got, r.Call)
				return nil
			})
		}()
		synctest.Wait()
		add(t, one, "d", "e", "f", "g", "hidden") // across a rotation
		time.Sleep(time.Second)
		two := open(t, dir, Options{})
		add(t, two, "h")
		add(t, one, "i")
		time.Sleep(time.Second)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if text := strings.Join(got, " "); text != "b c d e f g h i" && text != "b c d e f g i h" {
			t.Errorf("rows %q", text)
		}
	})
}

func TestFollowWaitsForTheRestOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 3, Options{})
		path := files(t, dir)[0]
		whole := read(t, path)
		half := bytes.LastIndex(whole, []byte(`"call":"2"`))
		write(t, path, whole[:half])
		stop := errors.New("enough")
		var got []string
		done := make(chan error)
		go func() {
			done <- Follow(t.Context(), dir, 10, nil, func(r Row) error {
				if got = append(got, r.Call); len(got) == 3 {
					return stop
				}
				return nil
			})
		}()
		time.Sleep(time.Second)
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(whole[half:]); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != stop || strings.Join(got, " ") != "0 1 2" {
			t.Errorf("rows %q, %v", got, err)
		}
	})
}

func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		start := time.Now()
		history(t, dir, 4)
		var out bytes.Buffer
		n, err := Export(t.Context(), dir, &out, JSONL, start.Add(2*time.Second), start.Add(9*time.Second))
		if err != nil || n.Rows != 7 || n.Skipped != 0 {
			t.Errorf("%+v, %v", n, err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			var r Row
			if err := json.Unmarshal([]byte(line), &r); err != nil || len(r.Chain) != chainIDLen || len(r.Hash) != markLen {
				t.Errorf("line %s: %v", line, err)
			}
			got = append(got, r.Call)
		}
		if text := strings.Join(got, " "); text != "z1 x2 y2 z2 x3 y3 z3" {
			t.Errorf("rows %q", text)
		}
		if _, err := Export(t.Context(), dir, &out, "xml", time.Time{}, time.Time{}); err == nil {
			t.Error("xml was accepted")
		}
	})
}

func TestExportToASpreadsheet(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	add(t, l, "=cmd|' /C calc'!A0", "two\nlines, and \"quotes\"")
	path := files(t, dir)[0]
	write(t, path, append(read(t, path), "rubbish\n"...))
	var out bytes.Buffer
	n, err := Export(t.Context(), dir, &out, CSV, time.Time{}, time.Time{})
	if err != nil || n.Rows != 2 || n.Skipped != 1 {
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
