package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A vault whose key is lost is emptied after a confirmation that names what is lost, and works again.
func TestReset(t *testing.T) {
	v := fresh(t)
	forgotten := 0
	others := []Dependents{
		{Lost: func(context.Context, *store.Store) (string, error) { return "7 long results", nil },
			Forget: func(*store.Tx) error { forgotten++; return nil }},
		{Lost: func(context.Context, *store.Store) (string, error) { return "", nil }},
	}
	o := &operator{v, others}
	_, err := o.prepareReset(t.Context(), struct{}{})
	says(t, err, "no key that could be lost")
	set(t, v, "app", "opensesame", "deploy", "swordfish")
	_, err = o.prepareReset(t.Context(), struct{}{})
	says(t, err, "the key of the vault is here", "secrets remove")

	sealed, err := v.Seal(t.Context(), "row 1", []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(v.config.Dir, keyName)); err != nil {
		t.Fatal(err)
	}
	again := New(v.config) // another process
	again.config.Keys = new(Keys)
	o = &operator{again, others}
	plan, err := o.prepareReset(t.Context(), struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"2 secrets (app, deploy)", "7 long results", "another machine or a backup"} {
		if !strings.Contains(plan.Ask, word) {
			t.Errorf("%q lacks %q", plan.Ask, word)
		}
	}
	if list, err := again.List(t.Context()); err != nil || len(list) != 2 || forgotten != 0 {
		t.Errorf("before the answer: %v, %d, %v", list, forgotten, err)
	}
	done, err := plan.Run(t.Context())
	if err != nil || forgotten != 1 || !strings.Contains(done.Text(), "2 secrets") {
		t.Errorf("%q, %d, %v", done.Text(), forgotten, err)
	}
	if list, err := again.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after it: %v, %v", list, err)
	}
	if _, err := again.Open(t.Context(), "row 1", sealed); !errors.Is(err, ErrLocked) {
		t.Errorf("what was sealed before: %v", err)
	}
	set(t, again, "next", "opensesame")
	holds(t, again, "next", "opensesame")
	if names, err := again.Names(t.Context()); err != nil || len(names) != 1 || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "next") }) {
		t.Errorf("%q, %v", names, err)
	}
	// A process that still has the lost key in memory seals with the new one, a second later.
	v.config.Keys.asked = v.config.Keys.asked.Add(-currentFor)
	if sealed, err = v.Seal(t.Context(), "row 2", []byte("text")); err != nil {
		t.Fatal(err)
	}
	if plain, err := again.Open(t.Context(), "row 2", sealed); string(plain) != "text" || err != nil {
		t.Errorf("sealed after the reset: %q, %v", plain, err)
	}
}

// A key that was found and rotated while the person was asked is not removed.
func TestResetIsForTheKeyThatWasAskedAbout(t *testing.T) {
	v := fresh(t)
	set(t, v, "app", "opensesame")
	if err := v.reset(t.Context(), "another key", nil); !errors.Is(err, errAgain) {
		t.Errorf("got %v", err)
	}
	holds(t, v, "app", "opensesame")
}
