package fleet

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// far is a launcher of sandboxes on machines that do not exist.
type far struct{ sandbox.Launcher }

func (far) Name() string { return "docker" }

func (far) Launch(_ context.Context, s sandbox.Spec) (sandbox.Link, error) {
	if s.ID == "broken" {
		return nil, errors.New("broken")
	}
	return farLink{}, nil
}

func (far) Hosts(context.Context) []sandbox.HostState {
	return []sandbox.HostState{{Name: "tcp://a:2376", Tier: "docker", Sandboxes: 2, Free: 3 << 30},
		{Name: "tcp://b:2376", Tier: "docker", Problem: "it cannot be reached"}}
}

type farLink struct{ io.ReadWriter }

func (farLink) Close() error                    { return nil }
func (farLink) Guarantees() []sandbox.Guarantee { return nil }
func (farLink) Carries() sandbox.Carried        { return sandbox.Carried{Host: "tcp://a:2376"} }

func TestPlaces(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		here, there := New(s, slog.New(slog.DiscardHandler)), New(s, slog.New(slog.DiscardHandler))
		l := here.Keep(far{})
		link, err := l.Launch(t.Context(), sandbox.Spec{ID: "one", Owner: "ann", Session: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := link.(sandbox.Carrier); !ok || c.Carries().Host != "tcp://a:2376" {
			t.Errorf("%T is no carrier", link)
		}
		if _, err := l.Launch(t.Context(), sandbox.Spec{ID: "broken"}); err == nil {
			t.Error("a broken launch succeeds")
		}
		list := func(want ...string) {
			t.Helper()
			all, err := List(t.Context(), s)
			var got []string
			for _, p := range all {
				got = append(got, p.ID+" "+p.Host+" "+p.Owner+" "+p.Session)
			}
			if err != nil || strings.Join(got, ";") != strings.Join(want, ";") {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		list("one tcp://a:2376 ann s1")
		here.renew()
		list("one tcp://a:2376 ann s1")
		if err := link.Close(); err != nil {
			t.Fatal(err)
		}
		list()
		link, _ = l.Launch(t.Context(), sandbox.Spec{ID: "two"})
		defer link.Close()
		if err := s.Update(t.Context(), func(tx *store.Tx) error { // as if its server had been killed a minute ago
			_, err := tx.Exec("UPDATE sandbox_place SET until = {{now}} - 1")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		list()

		r := Room(func() ([]sandbox.Launcher, error) { return []sandbox.Launcher{far{}}, nil })
		call := func(verb, host string) (string, error) {
			t.Helper()
			v, ok := r.Verb(verb)
			if !ok {
				t.Fatalf("there is no verb %s", verb)
			}
			args := "{}"
			if host != "" {
				args = `{"host":"` + host + `"}`
			}
			plan, err := r.Prepare(t.Context(), v, &room.Host{Store: s}, []byte(args))
			if err != nil {
				return "", err
			}
			res, err := plan.Run(room.As(t.Context(), room.Person{Name: "op"}))
			if err != nil {
				return "", err
			}
			table, ok := res.Data.(room.Table)
			if !ok {
				return "", nil
			}
			var lines []string
			for _, row := range table.Rows {
				lines = append(lines, strings.Join(row, "|"))
			}
			return strings.Join(lines, "\n"), nil
		}
		if _, err := call("drain", "tcp://c:2376"); tool.AsError(err).Kind != tool.NotFound || !strings.Contains(tool.AsError(err).Next, "tcp://b:2376") {
			t.Errorf("%v", err)
		}
		got, err := call("drain", "tcp://a:2376")
		if want := "HOST|TIER|STATE|SANDBOXES|FREE MEMORY\ntcp://a:2376|docker|drained by op|2|3072 MiB\ntcp://b:2376|docker|it cannot be reached||"; got != want || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if !there.Drained(t.Context(), "tcp://a:2376") || there.Drained(t.Context(), "tcp://b:2376") {
			t.Error("another replica does not know what is drained")
		}
		if got, err := call("undrain", "tcp://a:2376"); err != nil || !strings.Contains(got, "tcp://a:2376|docker|ready|2") {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := call("undrain", "tcp://a:2376"); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("%v", err)
		}
	})
}
