package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestWatching types answers, and looks at what a person sees.
func TestWatching(t *testing.T) {
	place := approvals.New(approvals.Options{DB: storetest.Open(t, t.TempDir())})
	defer place.Close()
	ask := func() string {
		id, err := place.Ask(t.Context(), approvals.Call{
			Tool: "launch", Title: "Launch", Risk: "runs", Principal: "a/u", Session: "s", Digest: "d",
			Shown: `{"path":"x"}`, Args: json.RawMessage(`{"path":"x"}`),
		}, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	var out, said strings.Builder
	w := &watch{
		app: &CLI{
			Env:    app.Env{In: os.Stdin, Out: &out, Err: &said, Getenv: func(string) string { return "" }},
			output: "text",
		}, store: place,
		seen: map[string]string{}, lines: make(chan string),
	}
	show := func() {
		t.Helper()
		if err := w.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]approvals.State{
		"y\n": approvals.Allowed, "S\n": approvals.Allowed, "n use y\n": approvals.Denied,
		"a\n": approvals.Allowed, "\n": approvals.Open, "?\n": approvals.Open, "d\n": approvals.Open,
		"yesterday\n": approvals.Open,
	} {
		id := ask()
		show()
		wantText(t, out.String(), id)
		if w.since.IsZero() {
			t.Error("the time when it was shown is not set")
		}
		w.since = time.Now().Add(time.Hour)
		w.take(t.Context(), typed) // before anybody can have read it
		if q, err := place.Get(t.Context(), id, approver()); err != nil || q.State != approvals.Open {
			t.Errorf("%q counts before the question was read: %+v, %v", typed, q, err)
		}
		w.since, w.taken = time.Time{}, time.Time{}
		w.take(t.Context(), typed)
		q, err := place.Get(t.Context(), id, approver())
		if err != nil || q.State != want {
			t.Errorf("%q: %+v, %v", typed, q, err)
		}
		if want == approvals.Denied && q.Decision.Reason != "use y" {
			t.Errorf("the reason is %q", q.Decision.Reason)
		}
		if again := w.asking.ID == id; again != (want == approvals.Open && typed != "\n") {
			t.Errorf("%q: asks again: %t", typed, again)
		}
		if err := place.Withdraw(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		show()
	}
	for _, want := range []string{"n REASON  deny it", "Digest: d"} {
		wantText(t, out.String()+said.String(), want)
	}
	id := ask()
	show()
	if err := place.Withdraw(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	show()
	wantText(t, said.String(), id+" was answered elsewhere, or has expired")
	w.take(t.Context(), "y\n") // to nothing
	if w.asking.ID != "" {
		t.Error("it still asks")
	}
	if w.taken.IsZero() {
		t.Error("the time when it was withdrawn is not set")
	}
	id = ask() // In the place of the one that has gone just now
	show()
	w.since, w.taken = time.Time{}, time.Now().Add(time.Hour)
	w.take(t.Context(), "y\n")
	if q, err := place.Get(t.Context(), id, approver()); err != nil || q.State != approvals.Open {
		t.Errorf("what was typed for the one before counts: %+v, %v", q, err)
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
