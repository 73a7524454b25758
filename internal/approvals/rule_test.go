package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

func always(like Like) Answer { return Answer{Allow: true, Scope: Always, Like: like} }

func withArgs(raw, digest string) func(*Call) {
	return func(c *Call) { c.Args, c.Digest = json.RawMessage(raw), digest }
}

func TestWhatARuleAllows(t *testing.T) {
	exact := always(Like{})
	src := always(Like{Match: map[string]string{"path": "src/*"}, Any: []string{"content"}})
	deep := always(Like{Match: map[string]string{"path": "src/**"}})
	for name, test := range map[string]struct {
		answer Answer
		change func(*Call)
		want   bool
	}{
		"the same":               {exact, func(*Call) {}, true},
		"another session":        {exact, func(c *Call) { c.Session = "t" }, true},
		"a lower risk":           {exact, func(c *Call) { c.Risk = "writes" }, true},
		"other arguments":        {exact, func(c *Call) { c.Digest = "d2" }, false},
		"other facts":            {exact, func(c *Call) { c.Basis = "b2" }, false},
		"a higher risk":          {exact, func(c *Call) { c.Risk = "runs" }, false},
		"another caller":         {exact, func(c *Call) { c.Principal = "a/v" }, false},
		"another profile":        {exact, func(c *Call) { c.Profile = "full" }, false},
		"another workspace":      {exact, func(c *Call) { c.Workspace = "/v" }, false},
		"another tool":           {exact, func(c *Call) { c.Tool = "exec" }, false},
		"only once":              {exact, func(c *Call) { c.Once = true }, false},
		"fits":                   {src, withArgs(`{"path":"src/b.go","content":"y"}`, "d2"), true},
		"a directory below":      {src, withArgs(`{"path":"src/b/c.go","content":"y"}`, "d2"), false},
		"outside":                {src, withArgs(`{"path":"b.go","content":"y"}`, "d2"), false},
		"out and about":          {src, withArgs(`{"path":"src/..","content":"y"}`, "d2"), false},
		"one argument more":      {src, withArgs(`{"path":"src/b.go","content":"y","force":true}`, "d2"), false},
		"one argument less":      {src, withArgs(`{"content":"y"}`, "d2"), false},
		"no text":                {src, withArgs(`{"path":["src/b.go"],"content":"y"}`, "d2"), false},
		"free and missing":       {src, withArgs(`{"path":"src/b.go"}`, "d2"), true},
		"the rest the same":      {deep, withArgs(`{"path":"src/b/c.go","content":"x"}`, "d2"), true},
		"the rest not the same":  {deep, withArgs(`{"path":"src/b/c.go","content":"y"}`, "d2"), false},
		"the rest missing":       {deep, withArgs(`{"path":"src/b/c.go"}`, "d2"), false},
		"hidden characters":      {deep, withArgs(`{"path":"src/\u202eb","content":"x"}`, "d2"), false},
		"not even an object":     {deep, withArgs(`[]`, "d2"), false},
		"an argument by another": {deep, withArgs(`{"path":"src/b.go","Content":"x"}`, "d2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := placeIn(t, t.TempDir()).server(t)
			id := mustAsk(t, s, someCall())
			d, err := s.Answer(t.Context(), id, test.answer, ann)
			if err != nil {
				t.Fatal(err)
			}
			rule, ok, err := s.Allowed(t.Context(), someCall(test.change))
			if err != nil || ok != test.want || ok && rule.ID != d.Rule {
				t.Errorf("allowed %t by %+v, %v", ok, rule, err)
			}
		})
	}
}

func testRulesEnd(t *testing.T, p place) {
	server := p.server(t)
	day := Answer{Allow: true, Scope: Always, Until: in(24 * time.Hour)}
	d, err := server.Answer(t.Context(), mustAsk(t, server, someCall()), day, ann)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := server.Rules(t.Context())
	if err != nil || len(rules) != 1 || rules[0].By != "ann" || rules[0].Shown == "" {
		t.Fatalf("%+v, %v", rules, err)
	}
	if _, err := server.Forget(t.Context(), d.Rule); err != nil {
		t.Fatal(err)
	}
	id := mustAsk(t, server, someCall())
	for brief := time.Second; brief < hang; brief *= 2 { // long enough for it to be taken
		d, err = server.Answer(t.Context(), id, Answer{Allow: true, Scope: Always, Until: in(brief)}, ann)
		if late := (RuleError{}); !errors.As(err, &late) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the rule to expire", func() bool {
		_, ok, err := server.Allowed(t.Context(), someCall())
		return !ok && err == nil
	})
	if _, err := server.Forget(t.Context(), d.Rule); !errors.Is(err, ErrUnknown) {
		t.Errorf("an expired rule is forgotten: %v", err)
	}
	if d, err = server.Answer(t.Context(), mustAsk(t, server, someCall()), day, ann); err != nil {
		t.Fatal(err)
	}
	if _, err := p.person().Forget(t.Context(), d.Rule); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := server.Allowed(t.Context(), someCall()); ok {
		t.Error("a rule that was forgotten allows")
	}
}

func testARuleForASession(t *testing.T, p place) {
	server, other := p.server(t), p.elsewhere(t)
	if _, err := other.Answer(t.Context(), mustAsk(t, server, someCall()), Answer{Allow: true, Scope: Session},
		ann); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := server.Allowed(t.Context(), someCall()); !ok || err != nil {
		t.Errorf("it does not count: %v", err)
	}
	if _, ok, _ := server.Allowed(t.Context(), someCall(func(c *Call) { c.Session = "t" })); ok {
		t.Error("it counts in another session")
	}
	if _, ok, _ := other.Allowed(t.Context(), someCall()); ok {
		t.Error("it counts on another server")
	}
	for _, session := range []string{"another", someCall().Session} { // the server of the second was killed
		r := Room(nil, func(context.Context, *room.Host) (map[string]bool, error) {
			return map[string]bool{session: true}, nil
		})
		verb, _ := r.Verb("rules")
		plan, err := r.Prepare(t.Context(), verb, &room.Host{Store: p.db}, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Run(t.Context())
		table, _ := got.Data.(room.Table)
		if rules, _ := table.Items.([]Rule); err != nil || (len(rules) == 1) != (session == "another") {
			t.Errorf("with the end of the session %s listed are %+v, %v", session, rules, err)
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if rules, err := other.Rules(t.Context()); err != nil || len(rules) != 0 {
		t.Errorf("it outlives its server: %+v, %v", rules, err)
	}
}

func testRulesThatCannotBe(t *testing.T, p place) {
	s := p.server(t)
	id := mustAsk(t, s, someCall())
	for name, test := range map[string]struct {
		answer Answer
		want   string
	}{
		"past":         {Answer{Allow: true, Scope: Always, Until: in(-time.Hour)}, "within a year"},
		"too long":     {Answer{Allow: true, Scope: Always, Until: in(400 * 24 * time.Hour)}, "within a year"},
		"odd scope":    {Answer{Allow: true, Scope: "forever"}, `"forever"`},
		"no argument":  {always(Like{Any: []string{"mode"}}), `no argument "mode"`},
		"no such text": {always(Like{Match: map[string]string{"mode": "*"}}), `no argument "mode"`},
		"both":         {always(Like{Any: []string{"path"}, Match: map[string]string{"path": "*"}}), "use one of them"},
		"empty":        {always(Like{Match: map[string]string{"path": ""}}), "1 to"},
		"hidden":       {always(Like{Match: map[string]string{"path": "a\u200b"}}), "invisible"},
		"stars":        {always(Like{Match: map[string]string{"path": "a***"}}), "three stars"},
	} {
		for what, try := range map[string]func() error{
			"Answer":  func() error { _, err := s.Answer(t.Context(), id, test.answer, ann); return err },
			"Preview": func() error { _, err := s.Preview(t.Context(), id, test.answer, ann); return err },
		} {
			err := try()
			if wrong := (RuleError{}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	once := mustAsk(t, s, someCall(func(c *Call) { c.Once = true }))
	if _, err := s.Answer(t.Context(), once, always(Like{}), ann); !errors.Is(err, ErrOnce) {
		t.Errorf("what may only be allowed once: %v", err)
	}
	if q, err := s.Get(t.Context(), id, ann); err != nil || q.State != Open {
		t.Errorf("a mistake decided it: %+v, %v", q, err)
	}
	if rules, err := s.Rules(t.Context()); err != nil || len(rules) != 0 {
		t.Errorf("rules were made: %+v, %v", rules, err)
	}
	rule, err := s.Preview(t.Context(), id, always(Like{Any: []string{"content"}}), ann)
	if err != nil || rule.Same["path"] == "" || rule.Same["content"] != "" {
		t.Errorf("preview %+v, %v", rule, err)
	}
}

// A ruleRow is the row of a rule.
type ruleRow struct{ ID, Scope, Owner, Principal, Tool, Rule string }

func TestRulesThatCannotBeReadAllowNothing(t *testing.T) {
	p := placeIn(t, t.TempDir())
	server := p.server(t)
	if _, err := server.Answer(t.Context(), mustAsk(t, server, someCall()), always(Like{}), ann); err != nil {
		t.Fatal(err)
	}
	var kept ruleRow
	err := p.db.Row(t.Context(), "SELECT "+ruleColumns+" FROM approval_rule", nil,
		&kept.ID, &kept.Scope, &kept.Owner, &kept.Principal, &kept.Tool, &kept.Rule)
	if err != nil {
		t.Fatal(err)
	}
	for name, rule := range map[string]func(*ruleRow){
		"as it was": func(*ruleRow) {},
		"cut off":   func(r *ruleRow) { r.Rule = r.Rule[:len(r.Rule)/2] },
		"empty":     func(r *ruleRow) { r.Rule = "" },
		"null":      func(r *ruleRow) { r.Rule = "null" },
		"unknown word": func(r *ruleRow) {
			r.Rule = strings.Replace(r.Rule, `"tool"`, `"allow":"all","tool"`,
				1)
		},
		"a word twice":        func(r *ruleRow) { r.Rule = strings.Replace(r.Rule, `"tool"`, `"tool":"x","tool"`, 1) },
		"another's":           func(r *ruleRow) { r.Rule = strings.Replace(r.Rule, `"a/u"`, `"a/v"`, 1) },
		"another id":          func(r *ruleRow) { r.ID = "aaaaaaaaaaaa" },
		"of another tool":     func(r *ruleRow) { r.Rule = strings.Replace(r.Rule, `"write_file"`, `"exec"`, 1) },
		"of a wider scope":    func(r *ruleRow) { r.Scope, r.Owner = string(Session), server.desk.ID() },
		"of another's server": func(r *ruleRow) { r.Owner = "aaaaaaaaaaaa" },
	} {
		changed := kept
		rule(&changed)
		if err := p.db.Update(t.Context(), func(tx *store.Tx) error {
			_,
				err := tx.Exec("UPDATE approval_rule SET id = $1, scope = $2, owner = $3, principal = $4, tool = $5, rule = $6",
				changed.ID, changed.Scope, changed.Owner, changed.Principal, changed.Tool, changed.Rule)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := server.Allowed(t.Context(), someCall()); ok != (name == "as it was") || (err == nil) != ok {
			t.Errorf("%s: allowed %t, %v", name, ok, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "abc", true}, {"a*", "a/b", false}, {"**", "a/b", true},
		{"a/**", "a/b/c", true}, {"a/**", "a", false}, {"**/c", "a/b/c", true}, {"**/c", "c", false},
		{"**c", "c", true},
		{"a?c", "abc", true}, {"a?c", "a/c", false}, {"a?c", "aäc", true}, {"*", "", true}, {"*.go", "a.go", true},
		{"*.go", "a.gox", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false}, {"*a*a*a*", "aa", false},
		{"git **", "git push origin main", true}, {"a[b]", "a[b]", true}, {"a[b]", "ab", false}, {"A", "a", false},
		{"**", "a/../b", false}, {"**", `a\b`, false}, {"**", "a\nb", false}, {"**", "..", false}, {"**", "a..b", true},
	} {
		if got := matchesPattern(test.pattern, test.text); got != test.want {
			t.Errorf("%q and %q: %t", test.pattern, test.text, got)
		}
	}
}

// FuzzPatterns compares with what a pattern of plain characters must mean, and
// with the promise that nothing fits that could be another place.
func FuzzPatterns(f *testing.F) {
	for _, seed := range [][2]string{{"src/**", "src/a/b"}, {"*a*b", "xaxb"}, {"?", "/"}, {"**/..", "a/.."},
		{"ä*", "äö"}, {"\xff", "\x93"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 1000 || checkPattern(pattern) != nil || !json.Valid([]byte(`"`+text+`"`)) {
			return
		}
		got := matchesPattern(pattern, text)
		if got && strings.Contains("/"+text+"/", "/../") {
			t.Errorf("%q fits %q", text, pattern)
		}
		if !strings.ContainsAny(pattern, "*?") && got && pattern != text {
			t.Errorf("%q fits %q", text, pattern)
		}
		if got && !matchesPattern("**", text) {
			t.Errorf("%q fits %q, but not everything", text, pattern)
		}
		if got && !strings.Contains(pattern, "**") && strings.Count(text, "/") != strings.Count(pattern, "/") {
			t.Errorf("%q fits %q with other slashes", text, pattern)
		}
	})
}
