package egress

import (
	"net/http"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools"
)

// TestRequestsAreCheckedByTheirWords has nothing looked up: a name alone can
// tell somebody something.
func TestRequestsAreCheckedByTheirWords(t *testing.T) {
	resolver := &names{}
	c, err := NewClient(ClientOptions{Resolver: resolver, Rules: func(profile string) (Rules, error) {
		return Rules{Deny: []string{"*.denied.example"}, AllowPrivate: []string{"10.0.0.1:8080"}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, test := range []struct {
		request outbound.Request
		want    tools.Kind
	}{
		{outbound.Request{URL: "https://a.example/"}, ""},
		{outbound.Request{URL: "http://10.0.0.1:8080/"}, ""},
		{outbound.Request{URL: "http://10.0.0.1:8081/"}, tools.Refused},
		{outbound.Request{URL: "http://169.254.169.254/latest/"}, tools.Refused},
		{outbound.Request{URL: "http://db.internal/"}, tools.Refused},
		{outbound.Request{URL: "https://a.denied.example/"}, tools.Refused},
		{outbound.Request{URL: "https://a.example:22/"}, tools.Refused},
		{outbound.Request{URL: "http://2130706433/"}, tools.Invalid},
		{outbound.Request{URL: "gopher://a.example/"}, tools.Invalid},
		{outbound.Request{URL: "https://a.example/", Method: "CONNECT"}, tools.Refused},
		{outbound.Request{URL: "https://a.example/", Header: http.Header{"Cookie": {"a=b"}}}, tools.Refused},
	} {
		if err := c.Check(t.Context(), test.request); kindOf(err) != test.want {
			t.Errorf("%+v: %v", test.request, err)
		}
	}
	if len(resolver.asked) > 0 {
		t.Errorf("%q were looked up", resolver.asked)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c.Check(t.Context(), outbound.Request{URL: "https://a.example/"}) == nil {
		t.Error("a closed client would send it")
	}
}
