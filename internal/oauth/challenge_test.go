package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/mcp-tools/mcp-tools/policy"
)

func TestChallenge(t *testing.T) {
	const where = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
	is := newIssuer(t)
	config := is.config(newClock())
	config.ScopeProfiles["mcp:all"] = []string{policy.AnyProfile}
	v := verifier(t, config)
	cases := []struct {
		name   string
		err    error
		where  string
		status int
		header string
	}{
		{"no token", nil, where, http.StatusUnauthorized,
			`Bearer scope="mcp:all mcp:read mcp:work", resource_metadata="` + where + `"`},
		{"bad token", fmt.Errorf("at the door: %w", invalid("the token has expired")), where, http.StatusUnauthorized,
			`Bearer error="invalid_token", error_description="the token has expired", ` +
				`scope="mcp:all mcp:read mcp:work", resource_metadata="` + where + `"`},
		{"token of another kind", errors.New(`no "such" token`), where, http.StatusUnauthorized,
			`Bearer error="invalid_token", scope="mcp:all mcp:read mcp:work", resource_metadata="` + where + `"`},
		{"other profile", v.NeedProfile("coding"), where, http.StatusForbidden,
			`Bearer error="insufficient_scope", error_description="the token does not grant this profile", ` +
				`scope="mcp:work", resource_metadata="` + where + `"`},
		{"several scopes open it", v.NeedProfile("readonly"), "", http.StatusForbidden,
			`Bearer error="insufficient_scope", error_description="the token does not grant this profile", ` +
				`scope="mcp:read"`},
		{"only the widest scope opens it", v.NeedProfile("full"), "", http.StatusForbidden,
			`Bearer error="insufficient_scope", error_description="the token does not grant this profile", ` +
				`scope="mcp:all"`},
		{"issuer down", unavailable(errors.New("no route")), where, http.StatusServiceUnavailable, ""},
		{"address that breaks out", nil, "https://a/\", x=\"y", http.StatusUnauthorized,
			`Bearer scope="mcp:all mcp:read mcp:work"`},
		{"address with a line break", nil, "https://a/\r\nX: y", http.StatusUnauthorized,
			`Bearer scope="mcp:all mcp:read mcp:work"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, header := v.Challenge(c.err, c.where)
			if status != c.status || header != c.header {
				t.Errorf("got  %d %s\nwant %d %s", status, header, c.status, c.header)
			}
		})
	}
}

func TestNeedProfileWithoutScope(t *testing.T) {
	v := verifier(t, newIssuer(t).config(newClock()))
	status, header := v.Challenge(v.NeedProfile("full"), "")
	const want = `Bearer error="insufficient_scope", error_description="the token does not grant this profile"`
	if status != http.StatusForbidden || header != want {
		t.Errorf("got %d %s", status, header)
	}
}

func TestMetadata(t *testing.T) {
	is := newIssuer(t)
	got, err := json.Marshal(verifier(t, is.config(newClock())).Metadata(audience))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resource":"` + audience + `","authorization_servers":["` + is.URL + `"],` +
		`"scopes_supported":["mcp:read","mcp:work"],"bearer_methods_supported":["header"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
