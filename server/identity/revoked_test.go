package identity

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// TestNarrowedToken: work that a token has begun does not keep a profile that the settings have taken from the token.
func TestNarrowedToken(t *testing.T) {
	full := tool.Grant{Caller: tool.Caller{Profile: "full"}}
	subagent := tool.Grant{Caller: tool.Caller{Profile: "readonly"}, Within: []policy.Subject{{Profile: "full"}}}
	for _, test := range []struct {
		profiles []string
		grant    tool.Grant
		why      string
	}{
		{[]string{"readonly", "full"}, full, ""},
		{[]string{"*"}, full, ""},
		{[]string{"*"}, tool.Grant{}, ""},
		{[]string{"readonly"}, full, `may no longer use the profile "full"`},
		{[]string{"readonly"}, subagent, `may no longer use the profile "full"`},
		{nil, full, "no longer in the settings"},
	} {
		listed := map[string]config.Token{}
		if test.profiles != nil {
			listed["ci"] = config.Token{Profiles: test.profiles}
		}
		why := narrowed(listed, "ci", test.grant)
		if !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%v: got %q, want %q", test.profiles, why, test.why)
		}
	}
}
