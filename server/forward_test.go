package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// via is a tool that forwards.
type via struct{}

type viaArgs struct {
	Name      string                     `json:"name" jsonschema:"a tool"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty" jsonschema:"its arguments"`
}

func (via) Spec() tool.Spec {
	return tool.Spec{
		Name: "via", Group: "discovery", Title: "Via", Doc: "Calls a tool.", Risk: tool.Reads, Forwards: true,
	}
}

func (via) Do(_ context.Context, a viaArgs) (tool.Result, error) {
	return tool.Text("not forwarded: " + a.Name), nil
}

// counted is a tool that writes.
type counted struct{}

type countedArgs struct {
	Text string `json:"text" jsonschema:"any text"`
}

func (counted) Spec() tool.Spec {
	return tool.Spec{Name: "counted", Group: "fs", Title: "Counted", Doc: "Writes.", Risk: tool.Writes}
}

func (counted) Do(_ context.Context, a countedArgs) (tool.Result, error) {
	return tool.Text("got " + a.Text), nil
}

func TestForwardedCalls(t *testing.T) {
	set, err := tool.NewSet(tool.New(via{}), tool.New(counted{}))
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.Rules{Profiles: map[string]policy.ProfileRules{
		"short":     {Allow: policy.List{"*"}, Listed: policy.List{"via"}},
		"readonly2": {Extends: "readonly", Listed: policy.List{"via"}},
		"without":   {Allow: policy.List{"counted"}, Listed: policy.List{"via"}},
	}}
	b := newTestServer(t, func(c *Config) { c.Tools, c.Settings = set, testSettings(t, set, rules) })
	for _, c := range []struct{ profile, args, want string }{
		{"short", `{"name":"counted","arguments":{"text":"x"}}`, "got x"},
		{"short", `{"name":"counted","arguments":{"txt":"x"}}`, "counted({text: string /* any text */})"},
		{"short", `{"name":"via","arguments":{"name":"counted"}}`, "not forwarded: via"},
		{"short", `{"name":"other"}`, "not forwarded: other"},
		{"short", `{"nme":"counted"}`, `"nme"`},
		{"readonly2", `{"name":"counted","arguments":{"text":"x"}}`, "not forwarded: counted"},
		{"without", `{"name":"counted","arguments":{"text":"x"}}`, "there is no tool"},
	} {
		res := callTool(t, b, "via", c.args, func(r *Request) { r.Caller.Profile = c.profile }).Result
		if !strings.Contains(res.Text(), c.want) {
			t.Errorf("%s %s: got %q, want %q", c.profile, c.args, res.Text(), c.want)
		}
	}
	named := map[string]int{}
	for _, e := range b.audit.all() {
		named[e.Tool]++
	}
	if named["counted"] == 0 || named["via"] != 5 {
		t.Errorf("the audit log has calls of %v", named)
	}
}

func TestShortListsNameTheirTools(t *testing.T) {
	set, err := tool.NewSet(tool.New(via{}), tool.New(counted{}))
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.Rules{Profiles: map[string]policy.ProfileRules{
		"short": {Allow: policy.List{"*"}, Listed: policy.List{"via"}},
		"child": {Extends: "short", Autonomy: policy.ReadOnly},
	}}
	b := newTestServer(t, func(c *Config) { c.Tools, c.Settings = set, testSettings(t, set, rules) })
	for _, c := range []struct {
		profile string
		narrow  policy.Narrow
		want    string
	}{
		{"short", policy.Narrow{}, "via"},
		{"child", policy.Narrow{}, "via"},
		{"full", policy.Narrow{}, "counted"},
		{"short", policy.Narrow{Tools: []string{"counted"}}, "counted"},
	} {
		a := testAccess()
		a.Caller.Profile, a.Narrow = c.profile, c.narrow
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(b.ToolsList(a), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 1 || list.Tools[0].Name != c.want {
			t.Errorf("%s, %v: got %v, want only %s", c.profile, c.narrow, list.Tools, c.want)
		}
	}
}
