package memory

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A fake is Memories that return what a test sets, and record the request.
type fake struct {
	found  Found
	doc    Document
	stored Stored
	gone   []Document
	err    error
	asked  any
}

func (m *fake) Search(_ context.Context, q Query) (Found, error)  { m.asked = q; return m.found, m.err }
func (m *fake) Get(_ context.Context, p string) (Document, error) { m.asked = p; return m.doc, m.err }
func (m *fake) Store(_ context.Context, w Write) (Stored, error)  { m.asked = w; return m.stored, m.err }
func (m *fake) Forget(_ context.Context, f Forget) ([]Document, error) {
	m.asked = f
	return m.gone, m.err
}
func (m *fake) Undo(_ context.Context, p string) (Document, error) {
	m.asked = "undo " + p
	return m.doc, m.err
}

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func deployed() Document {
	return Document{
		Path: "memory/deploy.md", Owner: tool.Owner{Agent: "a", User: "ada"}, Version: 3, Updated: now,
		Author: Author{"ada", "s1"}, Text: "# Deploy\n\nmake release\n", Category: Core, Tags: []string{"ops", "make"},
	}
}

// call runs a tool as the pipeline does.
func call(t *testing.T, m Memories, name, args string) (string, error) {
	t.Helper()
	set, err := tool.NewSet(Tools(m)...)
	if err != nil {
		t.Fatal(err)
	}
	one, ok := set.Lookup(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	bound, err := one.Bind([]byte(args), tool.DefaultLimits())
	if err != nil {
		return "", err
	}
	res, err := bound.Run(t.Context())
	return res.Text(), err
}

func TestToolResults(t *testing.T) {
	hit := Hit{Path: "memory/deploy.md", From: 12, To: 30, Category: Core, Score: 0.618,
		Headings: []string{"Deploy", "Roll\nback"}, Snippet: "use\u202e `make`\nthen", Updated: now}
	theirs := Hit{Path: "MEMORY.md", From: 1, To: 1, Shared: true, Category: Daily, Score: 0.2, Snippet: "x",
		Updated: now}
	expiring := deployed()
	expiring.Expires = now
	long := deployed()
	long.Text = strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	for name, c := range map[string]struct {
		m    *fake
		tool string
		args string
		want string
	}{
		"found": {&fake{found: Found{Hits: []Hit{hit, theirs}, More: true, Duplicates: []string{"memory/copy.md"}, Behind: true}},
			"memory_search", `{"query": "deploy"}`,
			"memory/deploy.md#L12-30  2026-03-04  Deploy > Roll back\n  use<U+202E> `make` then\nMEMORY.md#L1-1  2026-03-04  shared  daily\n  x\n" +
				"[nearly the same left out: memory/copy.md]\n[there are more hits; send the path of one document, or ask more exactly]\n[the latest changes are not indexed yet and may be missing: search again in a moment]"},
		"forming": {&fake{found: Found{Hits: []Hit{theirs}, Unembedded: true}}, "memory_search", `{"query": "x"}`,
			"MEMORY.md#L1-1  2026-03-04  shared  daily\n  x\n[recently stored memories are found by exact words only for the moment]"},
		"full": {&fake{found: Found{Hits: []Hit{theirs}, More: true}}, "memory_search", `{"query": "x", "limit": 1}`,
			"MEMORY.md#L1-1  2026-03-04  shared  daily\n  x\n[there are more hits; raise limit, or ask more exactly]"},
		"nothing": {&fake{found: Found{Total: 3}}, "memory_recall", `{"query": "deplyo"}`,
			`no memory matches "deplyo" in 3 documents; try other words`},
		"too early": {&fake{found: Found{Total: 3, Suggestions: []string{"deploy"}, Behind: true}}, "memory_search",
			`{"query": "deplyo"}`,
			"no memory matches \"deplyo\" so far\n[the latest changes are not indexed yet and may be missing: search again in a moment]"},
		"near": {&fake{found: Found{Total: 3, Suggestions: []string{"deploy"}}}, "memory_search",
			`{"query": "deplyo"}`, `no memory matches "deplyo"; similar words that occur: deploy`},
		"empty": {&fake{}, "memory_search", `{"query": "deplyo"}`,
			`no memory matches "deplyo"; the memory is empty`},
		"bounds": {&fake{found: Found{Total: 3, Suggestions: []string{"deploy"}}}, "memory_search",
			`{"query": "deploy", "min_score": 2}`,
			`no memory matches "deploy"; try without kind, path, since and min_score`},
		"narrowed": {&fake{}, "memory_search", `{"query": "deplyo", "kind": "daily"}`,
			`no memory matches "deplyo"; try without kind, path, since and min_score`},
		"get": {&fake{doc: deployed()}, "memory_get", `{"path": "deploy"}`,
			"[memory/deploy.md, version 3, 2026-03-04 05:06 by ada in s1, core, tags ops make]\n# Deploy\n\nmake release\n"},
		"get lines": {&fake{doc: deployed()}, "memory_get", `{"path": "deploy", "from": 3, "lines": 5}`,
			"[memory/deploy.md, version 3, 2026-03-04 05:06 by ada in s1, core, tags ops make: lines 3-3 of 3]\nmake release\n"},
		"get a place": {&fake{doc: deployed()}, "memory_get", `{"path": "memory/deploy.md#L1-2"}`,
			"[memory/deploy.md, version 3, 2026-03-04 05:06 by ada in s1, core, tags ops make: lines 1-2 of 3]\n# Deploy\n\n"},
		"get CRLF": {&fake{doc: Document{Path: "memory/x.md", Version: 1, Updated: now, Text: "a\r\nb\r\n",
			Category: Core}}, "memory_get", `{"path": "x"}`,
			"[memory/x.md, version 1, 2026-03-04 05:06, shared, core]\na\nb\n"},
		"get past the end": {&fake{doc: deployed()}, "memory_get", `{"path": "deploy", "from": 9}`,
			"[memory/deploy.md, version 3, 2026-03-04 05:06 by ada in s1, core, tags ops make: it has only 3 lines]"},
		"stored": {&fake{stored: Stored{Document: expiring, Similar: []string{"memory/x.md"}}}, "memory_store",
			`{"key": "deploy", "content": "x"}`,
			"stored memory/deploy.md, version 3, expires 2026-03-04 05:06\n[nearly the same text is in memory/x.md; if one is enough, forget the other]"},
		"unchanged": {&fake{stored: Stored{Document: deployed(), Unchanged: true}}, "memory_store",
			`{"key": "deploy", "content": "x"}`, "memory/deploy.md has this content since version 3"},
		"forgot": {&fake{gone: []Document{deployed()}}, "memory_forget", `{"key": "deploy"}`,
			"forgot memory/deploy.md (version 3): # Deploy\n[send undo: true with a path to restore it]"},
		"would forget": {&fake{gone: []Document{deployed()}}, "memory_forget", `{"query": "deploy", "dry_run": true}`,
			"would forget memory/deploy.md (version 3): # Deploy"},
		"forgot none": {&fake{}, "memory_forget", `{"query": "deploy"}`,
			`no memory of yours contains all the words of "deploy"`},
		"undone": {&fake{doc: deployed()}, "memory_forget", `{"path": "deploy", "undo": true}`,
			"memory/deploy.md is as it was before, now version 3; a second undo reverts this"},
	} {
		got, err := call(t, c.m, c.tool, c.args)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	got, err := call(t, &fake{doc: long}, "memory_get", `{"path": "deploy"}`)
	if err != nil || !strings.HasSuffix(got, "[continue with from: 328]") ||
		!strings.Contains(got, "lines 1-327 of 1000]") {
		t.Errorf("%s ... %s, %v", got[:120], got[len(got)-40:], err)
	}
}

func TestToolArguments(t *testing.T) {
	for args, want := range map[string]Query{
		`{"query": "x"}`: {Text: "x", Limit: 6},
		`{"q": "x", "max_results": 500, "category": "Daily", "path": "p", "since": "2026-01-31", "min_score": 0.5}`: {
			Text: "x", Limit: 50, Category: Daily, Path: "p", MinScore: 0.5,
			Since: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		},
	} {
		m := &fake{}
		if _, err := call(t, m, "memory_search", args); err != nil || m.asked != want {
			t.Errorf("%s: %+v, %v", args, m.asked, err)
		}
	}
	m := &fake{}
	s := memorySearch{m, func() time.Time { return now }}
	if _, err := s.Do(t.Context(), memorySearchArgs{Query: "x", Since: "2w"}); err != nil ||
		!m.asked.(Query).Since.Equal(now.Add(-14*24*time.Hour)) {
		t.Errorf("%+v, %v", m.asked, err)
	}
	if _, err := s.Do(t.Context(), memorySearchArgs{Query: "x", Until: "2026-01-31"}); err != nil ||
		!m.asked.(Query).Until.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", m.asked, err)
	}
	if _, err := call(t, m, "memory_store", `{"key": "k", "content": "x", "tags": "a, b c,d"}`); err != nil ||
		!cmp.Equal(m.asked.(Write).Tags, []string{"a", " b c", "d"}) {
		t.Errorf("%+v, %v", m.asked, err)
	}
	w := memoryStore{m, func() time.Time { return now }}
	day := 24 * time.Hour
	for text, want := range map[string]time.Time{
		"never": {}, "30d": now.Add(30 * day), "90m": now.Add(90 * time.Minute), "30 days": now.Add(30 * day),
		"1 hour": now.Add(time.Hour), "2 Weeks": now.Add(14 * day), "1mo": now.AddDate(0, 1, 0),
		"2026-04-01": time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := w.expiry(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if got, err := w.expiry(""); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"2026-03-01", "soon", "-3d", "0d", "3x", "99999999999d", "3 ds", "d", "5",
		"9999999999999999999 days", "-3 days", "3 days ago", "2026-13-01"} {
		if got, err := w.expiry(text); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
	for _, bad := range [][2]string{
		{"memory_search", `{"query": " "}`}, {"memory_search", `{"query": "x", "kind": "secret"}`},
		{"memory_search", `{"query": "x", "since": "soon"}`},
		{"memory_store", `{"key": "k", "content": " "}`},
		{"memory_store", `{"key": "k", "content": "x", "category": "none"}`},
		{"memory_forget", `{}`}, {"memory_forget", `{"key": "k", "query": "q"}`},
		{"memory_forget", `{"query": "q", "undo": true}`},
		{"memory_forget", `{"key": "k", "undo": true, "dry_run": true}`},
	} {
		m := &fake{}
		if text, err := call(t, m, bad[0], bad[1]); err == nil || tool.AsError(err).Kind != tool.Invalid ||
			m.asked != nil {
			t.Errorf("%s%s: %q, %v", bad[0], bad[1], text, err)
		}
	}
	broken := errors.New("broken")
	for _, one := range []string{"memory_search", "memory_get", "memory_store", "memory_forget"} {
		args := map[string]string{"memory_search": `{"query": "x"}`, "memory_get": `{"path": "x"}`,
			"memory_store": `{"key": "k", "content": "x"}`, "memory_forget": `{"key": "k"}`}
		if _, err := call(t, &fake{err: broken}, one, args[one]); !errors.Is(err, broken) {
			t.Errorf("%s: %v", one, err)
		}
	}
}

func FuzzTime(f *testing.F) {
	for _, text := range []string{"2026-01-31", "7d", "36h", "2w", "-1d", "1e9d", "9223372036854775807w"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, sign := range []string{"", "-"} {
			if at, err := parseTime(text, now, sign); err == nil && (at.IsZero() || at.Equal(now)) {
				t.Errorf("%q is %v", text, at)
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add("memory/a.md#L3-7")
	f.Add("#L-1")
	f.Fuzz(func(t *testing.T, text string) {
		path, from, to := splitLines(text)
		if from < 0 || to < 0 || !strings.HasPrefix(text, path) {
			t.Errorf("%q is %q, %d, %d", text, path, from, to)
		}
		showDocument(deployed(), from, to)
	})
}
