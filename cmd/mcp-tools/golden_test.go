package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/tokencount"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

func allTools(t *testing.T) *tool.Set {
	t.Helper()
	set, err := tools.All(tools.World{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestGoldenSchemas compares every tool in tools/list with its file. A file without a
// tool fails too.
func TestGoldenSchemas(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "schema")
	known := map[string]bool{}
	for tool := range allTools(t).All() {
		described := server.Describe(tool, false)
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, described, "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		known[tool.Spec.Name+".json"] = true
		golden.Check(t, filepath.Join(dir, tool.Spec.Name+".json"), pretty.Bytes())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("%s belongs to no tool; delete it", filepath.Join(dir, e.Name()))
		}
	}
}

// budgets has the most tokens of a list. Tools are paid for in every turn of every
// conversation.
func budgets() map[string]int { return map[string]int{"coding": 7500, "full": 10500, "lean": 1000} }

// TestGoldenProfiles holds, for every built-in profile, its tools and
// what their list costs.
func TestGoldenProfiles(t *testing.T) {
	set := allTools(t)
	rules, problems := policy.Compile(policy.Rules{}, set.Catalogue())
	if rules == nil {
		t.Fatal(problems)
	}
	var b strings.Builder
	for _, p := range rules.Profiles() {
		names, bytes, tokens := profileCost(t, set, rules, p.Name)
		fmt.Fprintf(&b, "%s: %d tools, %d bytes, about %d tokens for the model\n", p.Name, len(names), bytes, tokens)
		for _, name := range names {
			fmt.Fprintf(&b, "  %s\n", name)
		}
		if most := budgets()[p.Name]; most > 0 && tokens > most {
			t.Errorf("the list of %s costs about %d tokens, the most is %d", p.Name, tokens, most)
		}
		if p.Name == "minimal" && len(names) != 1 {
			t.Errorf("minimal has %d tools: %v", len(names), names)
		}
	}
	golden.Check(t, filepath.Join("..", "..", "testdata", "profiles.txt"), []byte(b.String()))
}

func profileCost(
	t *testing.T, set *tool.Set, rules *policy.Policy, profile string,
) (names []string, bytes, tokens int) {
	t.Helper()
	for tool := range set.All() {
		subject := policy.Subject{Profile: profile}
		if tool.Spec.Internal || rules.Verdict(subject, tool.Spec.Name) == policy.Deny ||
			!rules.Lists(subject, tool.Spec.Name, false) {
			continue
		}
		described := server.Describe(tool, false)
		names, bytes, tokens = append(names, tool.Spec.Name), bytes+len(described), tokens+tokencount.Tool(described)
	}
	return names, bytes, tokens
}

// TestGoldenCommandGroups keeps the table of what is refused true.
func TestGoldenCommandGroups(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| group | is about | refused | asked about | with `deny` also refused |\n|---|---|---|---|---|\n")
	for _, g := range judge.Groups() {
		by := map[judge.Action][]string{}
		for _, r := range g.Rules {
			by[r.Default] = append(by[r.Default], r.Reason)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", g.Name, g.For, strings.Join(by[judge.Deny], "; "),
			strings.Join(by[judge.Ask], "; "), strings.Join(by[judge.Off], "; "))
	}
	golden.CheckPart(t, filepath.Join("..", "..", "docs", "commands.md"), "groups", b.String())
}
