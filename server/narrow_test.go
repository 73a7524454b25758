package server

import (
	"fmt"
	"net/http"
	"testing"
)

// narrowedList is what tools/list and a call of change come to for a post with
// the given headers, on a stream that was opened with others.
func narrowedList(t *testing.T, s *site, opening, posting map[string]string) (names []string, change string) {
	t.Helper()
	v := s.visitor("alice")
	v.path, v.header = "/sse", opening
	e := v.listen(t, "")
	if e.status != http.StatusOK {
		t.Fatalf("the stream got %d", e.status)
	}
	defer e.close()
	poster := *v
	poster.path, poster.header = expect(t, e.data, "the address to post to"), nil
	poster.post(handshake("2024-11-05", "{}")[0])
	expect(t, e.data, "the handshake")
	poster.header = posting
	poster.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, tool := range read(t, expect(t, e.data, "the list")).Result.Tools {
		names = append(names, tool.Name)
	}
	poster.post(callLine("2", "change", `{"text":"it"}`))
	if r := read(t, expect(t, e.data, "the call")); r.Error != nil {
		return names, "no such tool"
	} else {
		return names, r.text()
	}
}

func TestSSEPostsAreNarrowedByBothRequests(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	type headers = map[string]string
	for name, test := range map[string]struct {
		opening, posting headers
		want, change     string
	}{
		"by the post":    {nil, headers{"X-MCP-Tools": "echo,long"}, "[echo long]", "no such tool"},
		"by the opening": {headers{"X-MCP-Tools": "echo,change"}, nil, "[echo change]", "changed it"},
		"by two lists": {headers{"X-MCP-Tools": "echo,change"}, headers{"X-MCP-Tools": "long,echo"},
			"[echo]", "no such tool"},
		"by lists of two kinds": {headers{"X-MCP-Tools": "echo,change"}, headers{"X-MCP-Toolsets": "test"},
			"[echo change]", "changed it"},
		"by lists without a word": {headers{"X-MCP-Tools": "echo"}, headers{"X-MCP-Tools": "long"}, "[]",
			"no such tool"},
		"by an empty list": {headers{"X-MCP-Tools": "echo"}, headers{"X-MCP-Tools": ""}, "[]", "no such tool"},
		"never widened": {headers{"X-MCP-Tools": "echo"}, headers{"X-MCP-Readonly": "false"}, "[echo]",
			"no such tool"},
		"by exclusion": {headers{"X-MCP-Tools": "echo,change"}, headers{"X-MCP-Exclude-Tools": "change"},
			"[echo]", "no such tool"},
		"by exclusion, opening": {headers{"X-MCP-Exclude-Tools": "change"}, headers{"X-MCP-Tools": "echo,change"},
			"[echo]", "no such tool"},
		"by reading only": {headers{"X-MCP-Tools": "echo,change"}, headers{"X-MCP-Readonly": "1"}, "[echo]",
			"no such tool"},
		"by reading only, first": {headers{"X-MCP-Readonly": "1"}, headers{"X-MCP-Tools": "echo,change"}, "[echo]",
			"no such tool"},
	} {
		t.Run(name, func(t *testing.T) {
			names, change := narrowedList(t, s, test.opening, test.posting)
			if fmt.Sprint(names) != test.want || change != test.change {
				t.Errorf("got %v and %q, want %s and %q", names, change, test.want, test.change)
			}
		})
	}
}
