package profiles

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// newProfiles returns profiles whose seal is the place and a turned text.
func newProfiles(t *testing.T) (*Profiles, string) {
	dir := filepath.Join(t.TempDir(), Dir)
	turn := func(plain []byte) []byte {
		out := bytes.Clone(plain)
		for i := range out {
			out[i] ^= 0x55
		}
		return out
	}
	return &Profiles{
		Dir: func() (string, error) { return dir, nil },
		Seal: func(_ context.Context, bound string, plain []byte) ([]byte, error) {
			return append([]byte(bound+"\n"), turn(plain)...), nil
		},
		Open: func(_ context.Context, bound string, sealed []byte) ([]byte, error) {
			at, rest, _ := bytes.Cut(sealed, []byte("\n"))
			if string(at) != bound {
				return nil, errors.New("it was moved")
			}
			return turn(rest), nil
		},
	}, dir
}

func take(t *testing.T, p *Profiles, k Key) *Held {
	t.Helper()
	h, err := p.Take(k, "first")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestProfiles(t *testing.T) {
	p, dir := newProfiles(t)
	work := Key{"agent", "ann", "work"}
	h := take(t, p, work)
	if content, err := h.Load(t.Context()); err != nil || content != nil {
		t.Errorf("a new profile has %q, %v", content, err)
	}
	if _, err := p.Take(work, "second"); tool.AsError(err).Kind != tool.Conflict || !strings.Contains(err.Error(), "conversation first since") {
		t.Errorf("it is taken twice: %v", err)
	}
	if err := p.Remove(work); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("one that was never saved is removed: %v", err)
	}
	if err := h.Save(t.Context(), []byte("the login\n")); err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(work); tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("one that is open is removed: %v", err)
	}
	list, err := p.List()
	if err != nil || len(list) != 1 || list[0].Key != work || list[0].Size != 10 || list[0].Holder == nil || list[0].Holder.Session != "first" {
		t.Errorf("the list is %+v, %v", list, err)
	}
	h.Release()
	h.Release()

	// A write that was interrupted leaves the former content.
	if err := os.WriteFile(h.path+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = take(t, p, work)
	if content, err := h.Load(t.Context()); err != nil || string(content) != "the login\n" {
		t.Errorf("it has %q, %v", content, err)
	}
	h.Release()

	// The file of one owner does not open for another one.
	other := take(t, p, Key{"agent", "bob", "work"})
	content, err := os.ReadFile(h.path)
	if err == nil {
		err = os.WriteFile(other.path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if content, err := other.Load(t.Context()); tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("the file of another user opens: %q, %v", content, err)
	}
	other.Release()
	if list, err := p.List(); err != nil || len(list) != 1 {
		t.Errorf("the list has what was copied: %+v, %v", list, err)
	}

	if err := p.Remove(work); err != nil {
		t.Error(err)
	}
	if list, err := p.List(); err != nil || len(list) != 0 {
		t.Errorf("after the removal: %+v, %v", list, err)
	}
	take(t, p, Key{"agent", "ann", "unused"}).Release()
	left, err := filepath.Glob(filepath.Join(dir, "*"+lockEnding))
	if err != nil || len(left) > 1 { // that of the copied file
		t.Errorf("locks are left: %q, %v", left, err)
	}
}

func TestNumberOfProfiles(t *testing.T) {
	p, _ := newProfiles(t)
	for i := range maxProfile + 1 {
		h, err := p.Take(Key{"agent", "ann", strings.Repeat("x", i%30+1) + string(rune('a'+i/30))}, "one")
		if i == maxProfile {
			if tool.AsError(err).Kind != tool.TooLarge {
				t.Errorf("one too many: %v", err)
			}
			return
		}
		if err == nil {
			err = h.Save(t.Context(), []byte("x"))
			h.Release()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestVerbs(t *testing.T) {
	p, dir := newProfiles(t)
	h := take(t, p, Key{"agent", "ann", "work"})
	if err := h.Save(t.Context(), []byte("login")); err != nil {
		t.Fatal(err)
	}
	r := Room()
	host := &room.Host{Data: func() (string, error) { return filepath.Dir(dir), nil }}
	call := func(verb, args string) (tool.Result, error) {
		v, _ := r.Verb(verb)
		plan, err := r.Prepare(t.Context(), v, host, []byte(args))
		if err != nil {
			return tool.Result{}, err
		}
		return plan.Run(t.Context())
	}
	got, err := call("profiles", `{}`)
	if table, ok := got.Data.(room.Table); err != nil || !ok || len(table.Rows) != 2 || !strings.Contains(table.Rows[1][5], "conversation first") {
		t.Errorf("profiles: %+v, %v", got.Data, err)
	}
	if _, err := call("remove", `{"name":"work","agent":"agent","user":"ann"}`); tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("remove while it is open: %v", err)
	}
	h.Release()
	if _, err := call("remove", `{"name":"work","agent":"agent","user":"bob"}`); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("remove of another user: %v", err)
	}
	if _, err := call("remove", `{"name":"work","agent":"agent","user":"ann"}`); err != nil {
		t.Error(err)
	}
}
