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

func TestSSEPostsAreNarrowed(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	type headers = map[string]string
	for name, test := range map[string]struct {
		opening, posting headers
		want, change     string
	}{
		"by the post":    {nil, headers{"X-MCP-Tools": "echo,long"}, "[echo long]", "no such tool"},
		"by the opening": {headers{"X-MCP-Tools": "echo,change"}, nil, "[echo change]", "changed it"},
		"by both alike": {headers{"X-MCP-Tools": "echo,change"}, headers{"X-MCP-Tools": "echo,change"},
			"[echo change]", "changed it"},
		"never widened": {headers{"X-MCP-Tools": "echo"}, headers{"X-MCP-Readonly": "false"}, "[echo]",
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

// TestSSEPostsThatNarrowOtherwiseAreRefused opens a stream with restrictions and
// posts with others.
func TestSSEPostsThatNarrowOtherwiseAreRefused(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice")
	v.path, v.header = "/sse", map[string]string{"X-MCP-Tools": "echo"}
	e := v.listen(t, "")
	defer e.close()
	v.path = expect(t, e.data, "the address to post to")
	for name, value := range map[string]string{
		"X-MCP-Tools": "echo,change", "X-MCP-Exclude-Tools": "echo", "X-MCP-Readonly": "1", "X-MCP-Toolsets": "test",
	} {
		v.header = map[string]string{name: value}
		if got := v.post(callLine("2", "change", `{"text":"it"}`)); got.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
