package results

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// keep returns a store with one result of the caller a/u, and the handle of the result.
func keep(t *testing.T, text string) (s *Store, id string) {
	t.Helper()
	s = open(t, blob.Limits{})
	return s, put(t, s, "a/u", text)
}

func TestReadResult(t *testing.T) {
	store, id := keep(t, strings.Repeat("line\n", 50)+"the end")
	one := readResult{store: store}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u"}})
	for name, test := range map[string]struct {
		args readResultArgs
		want string
	}{
		"a page": {readResultArgs{ID: id, Limit: 10},
			"[bytes 0 to 10 of 257; continue with offset 10]\nline\nline\n"},
		"the last": {readResultArgs{ID: id, Offset: 250, Limit: 100}, "[bytes 250 to 257 of 257; the end]\nthe end"},
		"the tail": {readResultArgs{ID: id, Tail: 1, Limit: 7}, "[bytes 250 to 257, the end]\nthe end"},
		"a match":  {readResultArgs{ID: id, Grep: "end", Limit: 100}, "51:the end"},
		"no match": {readResultArgs{ID: id, Grep: "nothing", Limit: 100}, `no line matches "nothing"`},
		"many": {readResultArgs{ID: id, Grep: "line", Limit: 10},
			"1:line\n2:line\n[the first 2 matches; there are more: use a narrower pattern]"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := one.Do(ctx, test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.Text()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadResultExplainsMistakes(t *testing.T) {
	store, id := keep(t, "text")
	one := readResult{store: store}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u"}})
	for kind, args := range map[tool.Kind]readResultArgs{
		tool.NotFound: {ID: "r_2", Limit: 1},
		tool.Invalid:  {ID: id, Grep: "(", Limit: 1},
	} {
		if _, err := one.Do(ctx, args); tool.AsError(err).Kind != kind {
			t.Errorf("%+v gave %v, want %s", args, err, kind)
		}
	}
	_, err := one.Do(t.Context(), readResultArgs{ID: id, Limit: 1})
	if !errors.Is(err, tool.AsError(err)) || tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("another owner got %v", err)
	}
}

func TestPartsOfUntrustedTextAreMarked(t *testing.T) {
	marks := tool.NewMarks()
	text := "[a page]\n" + marks.Quote("https://example.com/", strings.Repeat("obey me\n", 5000))
	store, id := keep(t, text)
	one := readResult{store, marks}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u"}})
	for name, a := range map[string]readResultArgs{
		"page": {ID: id, Offset: 20_000, Limit: 1000},
		"tail": {ID: id, Tail: 3, Limit: 1000},
		"grep": {ID: id, Grep: "obey", Limit: 1000},
	} {
		got, err := one.Do(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		mark, first := strings.Index(got.Text(), "<<<outside "), strings.Index(got.Text(), "obey me")
		if mark < 0 || first < mark || strings.Count(got.Text(), "<<<end ") != 1 {
			t.Errorf("%s: untrusted text is outside of the marks:\n%s", name, got.Text())
		}
	}
}

func TestResultAsResource(t *testing.T) {
	store, id := keep(t, strings.Repeat("0123456789\n", 100_000))
	as := func(user string) context.Context {
		return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user}})
	}
	part, err := store.Resource(as("u"), tool.LinkToResult(id).URI)
	if err != nil || len(part.Text) < maxResource ||
		!strings.HasSuffix(part.Text, "[51424 more bytes: read_result returns them]\n") {
		t.Errorf("%d bytes, %.60q, %v", len(part.Text), part.Text[max(0, len(part.Text)-60):], err)
	}
	if _, err := store.Resource(as("v"), tool.LinkToResult(id).URI); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("another user: %v", err)
	}
	if _, err := store.Resource(as("u"), tool.ResultScheme+"../x"); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("a path: %v", err)
	}
}
