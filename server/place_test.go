package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/policy"
)

// placed is a site whose rules depend on the place of a caller, and guests whose tokens
// name one.
func placed(t *testing.T) *site {
	t.Helper()
	b := newTestServer(t, func(c *Config) {
		c.Settings = testSettings(t, c.Tools, policy.Rules{
			ByProvider: map[string]policy.ProviderRules{"acme": {Allow: policy.List{"echo", "change"}}},
			Groups:     map[string]policy.List{"team": {"echo", "long"}},
		})
	})
	list := guests()
	list["program"] = Identity{ID: "t8", Agent: "a", User: "u", Profiles: []string{policy.AnyProfile}, Structured: true}
	list["pinned"] = Identity{
		ID: "t7", Agent: "a", User: "pia", Profiles: []string{policy.AnyProfile},
		Place: Place{Provider: "acme", Chat: "team", PeerKind: "group"},
	}
	return openSiteOf(t, b, func(h *HTTP) { h.Identities = list })
}

// metaList is tools/list with members of _meta.
func metaList(meta string) string {
	return strings.Replace(modernLine("1", "tools/list", ""), `"progressToken"`, meta+`"progressToken"`, 1)
}

func TestTheRulesKnowThePlaceOfARequest(t *testing.T) {
	noLeaks(t)
	s := placed(t)
	type headers = map[string]string
	for name, test := range map[string]struct {
		token  string
		header headers
		meta   string
		want   string // the first tools, or the status
	}{
		"nowhere":                   {"alice", nil, "", "many"},
		"a provider":                {"alice", headers{"X-MCP-Provider": "acme"}, "", "[change echo]"},
		"a chat":                    {"alice", headers{"X-MCP-Chat": "team"}, "", "[echo long]"},
		"both":                      {"alice", headers{"X-MCP-Chat": "team", "X-MCP-Provider": "acme"}, "", "[echo]"},
		"one in the header":         {"alice", headers{"X-MCP-Chat": "team"}, `"mcp-tools/provider":"acme",`, "[echo]"},
		"in _meta":                  {"alice", nil, `"mcp-tools/chat":"team",`, "[echo long]"},
		"another chat":              {"alice", headers{"X-MCP-Chat": "other"}, "", "many"},
		"by the token":              {"pinned", nil, "", "[echo]"},
		"the same again":            {"pinned", headers{"X-MCP-Chat": "team"}, `"mcp-tools/provider":"acme",`, "[echo]"},
		"not the token's chat":      {"pinned", headers{"X-MCP-Chat": "other"}, "", "403"},
		"not the token's provider":  {"pinned", headers{"X-MCP-Provider": "other"}, "", "403"},
		"not a group":               {"pinned", headers{"X-MCP-Peer-Kind": "direct"}, "", "403"},
		"another sender":            {"pinned", headers{"X-MCP-Sender": "ann"}, "", "403"},
		"the user as the sender":    {"pinned", headers{"X-MCP-Sender": "pia"}, "", "[echo]"},
		"no kind":                   {"alice", headers{"X-MCP-Peer-Kind": "crowd"}, "", "403"},
		"two lines":                 {"alice", nil, `"mcp-tools/chat":"a\nb",`, "400"},
		"_meta against the header":  {"alice", headers{"X-MCP-Chat": "team"}, `"mcp-tools/chat":"other",`, "400"},
		"_meta against the token":   {"pinned", nil, `"mcp-tools/chat":"other",`, "400"},
		"a sender where it is open": {"alice", headers{"X-MCP-Chat": "team", "X-MCP-Sender": "ann"}, "", "[echo long]"},
	} {
		t.Run(name, func(t *testing.T) {
			v := s.visitor(test.token)
			v.header = test.header
			a := v.modern("tools/list", "").post(metaList(test.meta))
			got := fmt.Sprint(a.status)
			if a.status == http.StatusOK {
				var names []string
				for _, one := range read(t, string(a.body)).Result.Tools {
					names = append(names, one.Name)
				}
				slices.Sort(names)
				if got = fmt.Sprint(names); len(names) > 2 {
					got = "many"
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s: %.200s", got, test.want, a.body)
			}
		})
	}
}

// TestASessionStaysInItsPlace opens a session in a chat.
func TestASessionStaysInItsPlace(t *testing.T) {
	noLeaks(t)
	s := placed(t)
	v := s.visitor("alice")
	v.header = map[string]string{"X-MCP-Chat": "team"}
	v.hello(t, "2025-11-25")
	count := func(header map[string]string) int {
		v.header = header
		a := v.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if a.status != http.StatusOK {
			return -a.status
		}
		return len(read(t, string(a.body)).Result.Tools)
	}
	if got := count(nil); got != 2 {
		t.Errorf("without the header there are %d tools", got)
	}
	if got := count(map[string]string{"X-MCP-Provider": "acme"}); got != 1 {
		t.Errorf("with a provider there are %d tools", got)
	}
	if got := count(map[string]string{"X-MCP-Chat": "other"}); got != -http.StatusForbidden {
		t.Errorf("in another chat there are %d tools", got)
	}
}

func TestATokenAsksForStructuredContent(t *testing.T) {
	noLeaks(t)
	s := placed(t)
	for token, want := range map[string]bool{"alice": false, "program": true} {
		call := s.visitor(token).hello(t, "2025-11-25").post(callLine("2", "leaks", `{}`)).body
		if strings.Contains(call, `"structuredContent":{"deep":["[REDACTED`) != want {
			t.Errorf("%s: %s", token, call)
		}
	}
}
