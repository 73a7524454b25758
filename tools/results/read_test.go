package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// shelf is a Store of one result.
type shelf struct{ owner, text string }

func (s shelf) check(owner, id string) error {
	if owner != s.owner || id != "r_1" {
		return fs.ErrNotExist
	}
	return nil
}

func (s shelf) Page(owner, id string, offset int64, limit int) (Page, error) {
	end := min(int(offset)+limit, len(s.text))
	return Page{s.text[offset:end], offset, int64(end), int64(len(s.text))}, s.check(owner, id)
}

func (s shelf) Tail(owner, id string, _, limit int) (Page, error) {
	from := max(0, len(s.text)-limit)
	return Page{s.text[from:], int64(from), int64(len(s.text)), int64(len(s.text))}, s.check(owner, id)
}

func (s shelf) Grep(_ context.Context, owner, id, pattern string, _, _ int) (Found, error) {
	if pattern == "(" {
		return Found{}, fmt.Errorf("%w: missing )", ErrPattern)
	}
	found := Found{All: true}
	for i, line := range strings.Split(s.text, "\n") {
		if strings.Contains(line, pattern) {
			found.Lines = append(found.Lines, Line{i + 1, line, true})
			found.Matches++
		}
	}
	return found, s.check(owner, id)
}

func TestReadResult(t *testing.T) {
	one := readResult{store: shelf{"a/u", strings.Repeat("line\n", 50) + "the end"}}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u"}})
	for name, test := range map[string]struct {
		args readResultArgs
		want string
	}{
		"a page":   {readResultArgs{ID: "r_1", Limit: 10}, "[bytes 0 to 10 of 257; go on with offset 10]\nline\nline\n"},
		"the last": {readResultArgs{ID: "r_1", Offset: 250, Limit: 100}, "[bytes 250 to 257 of 257; the end]\nthe end"},
		"the tail": {readResultArgs{ID: "r_1", Tail: 1, Limit: 7}, "[bytes 250 to 257, the end]\nthe end"},
		"a match":  {readResultArgs{ID: "r_1", Grep: "end", Limit: 100}, "51:the end"},
		"no match": {readResultArgs{ID: "r_1", Grep: "nothing", Limit: 100}, `no line matches "nothing"`},
		"many":     {readResultArgs{ID: "r_1", Grep: "line", Limit: 10}, "1:line\n2:line\n[the first 2 matches; there are more: make the pattern narrower]"},
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
	one := readResult{store: shelf{"a/u", "text"}}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u"}})
	for kind, args := range map[tool.Kind]readResultArgs{
		tool.NotFound: {ID: "r_2", Limit: 1},
		tool.Invalid:  {ID: "r_1", Grep: "(", Limit: 1},
	} {
		if _, err := one.Do(ctx, args); tool.AsError(err).Kind != kind {
			t.Errorf("%+v gave %v, want %s", args, err, kind)
		}
	}
	_, err := one.Do(t.Context(), readResultArgs{ID: "r_1", Limit: 1})
	if !errors.Is(err, tool.AsError(err)) || tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("another owner got %v", err)
	}
}

func TestWhatStrangersWroteStaysBetweenMarks(t *testing.T) {
	marks := tool.NewMarks()
	text := "[a page]\n" + marks.Quote("https://example.com/", strings.Repeat("obey me\n", 5000))
	one := readResult{shelf{"a/u", text}, marks}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u"}})
	for name, a := range map[string]readResultArgs{
		"page": {ID: "r_1", Offset: 20_000, Limit: 1000},
		"tail": {ID: "r_1", Tail: 3, Limit: 1000},
		"grep": {ID: "r_1", Grep: "obey", Limit: 1000},
	} {
		got, err := one.Do(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		mark, first := strings.Index(got.Text(), "<<<outside "), strings.Index(got.Text(), "obey me")
		if mark < 0 || first < mark || strings.Count(got.Text(), "<<<end ") != 1 {
			t.Errorf("%s: a stranger's words are outside of marks:\n%s", name, got.Text())
		}
	}
}
