package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestTailLeavesOutIntentsWithAnOutcome: people see the intent of a call that has not ended; programs see all.
func TestTailLeavesOutIntentsWithAnOutcome(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir)
	l, err := Open(Options{DB: NewDB(s), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Record{
		{Call: "a", Phase: Intent, Tool: "one"}, {Call: "b", Phase: Intent, Tool: "two"},
		{Call: "a", Phase: Done, Tool: "three", Outcome: "ok"}, {Call: "c", Phase: Done, Tool: "four", Outcome: "ok"},
	} {
		if err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := Room(nil)
	tail, _ := r.Verb("tail")
	plan, err := r.Prepare(t.Context(), tail, &room.Host{Store: s, Data: func() (string, error) { return dir, nil }}, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	var all, shown []string
	_, err = plan.Run(room.Streaming(t.Context(), func(r tool.Result) error {
		row := r.Data.(Row)
		all = append(all, row.Tool)
		if strings.Contains(r.Text(), row.Tool) {
			shown = append(shown, row.Tool)
		}
		return nil
	}))
	if want := []string{"one", "two", "three", "four"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("programs see %q, want %q: %v", all, want, err)
	}
	if want := []string{"two", "three", "four"}; !slices.Equal(shown, want) {
		t.Errorf("people see %q, want %q", shown, want)
	}
}

func TestTailIsBounded(t *testing.T) {
	for _, n := range []int{-1, maxLines + 1} {
		if _, err := new(operator).tail(t.Context(), tailArgs{Lines: n}); tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%d lines: %v", n, err)
		}
	}
}
