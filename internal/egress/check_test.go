package egress

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
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
		want    tool.Kind
	}{
		{outbound.Request{URL: "https://a.example/"}, ""},
		{outbound.Request{URL: "http://10.0.0.1:8080/"}, ""},
		{outbound.Request{URL: "http://10.0.0.1:8081/"}, tool.Refused},
		{outbound.Request{URL: "http://169.254.169.254/latest/"}, tool.Refused},
		{outbound.Request{URL: "http://db.internal/"}, tool.Refused},
		{outbound.Request{URL: "https://a.denied.example/"}, tool.Refused},
		{outbound.Request{URL: "https://a.example:22/"}, tool.Refused},
		{outbound.Request{URL: "http://2130706433/"}, tool.Invalid},
		{outbound.Request{URL: "gopher://a.example/"}, tool.Invalid},
		{outbound.Request{URL: "https://a.example/", Method: "CONNECT"}, tool.Refused},
		{outbound.Request{URL: "https://a.example/", Header: http.Header{"Cookie": {"a=b"}}}, tool.Refused},
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

// TestRefusalsWithoutWords has somebody else told why, before whoever asked is
// answered.
func TestRefusalsWithoutWords(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := dead.Addr().String()
	_ = dead.Close()
	for _, test := range []struct {
		request, status, to string
		kind                tool.Kind
	}{
		{"GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", "403", "10.0.0.1:80", tool.Refused},
		{"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n", "403", "10.0.0.1:443", tool.Refused},
		{"GET http://" + gone + "/ HTTP/1.1\r\nHost: " + gone + "\r\n\r\n", "502", gone, tool.Unavailable},
		{"GET http://x.example/ HTTP/1.1\r\nHost: x.example\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n", "431", ":0", tool.TooLarge},
	} {
		var told atomic.Value
		address, _ := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{gone}}, nil), Refused: func(to Target, err error) {
			told.Store(to.String() + " " + string(kindOf(err)))
		}})
		answer := raw(t, address, test.request)
		if !strings.HasPrefix(answer, "HTTP/1.1 "+test.status+" ") || !strings.HasSuffix(answer, "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") {
			t.Errorf("%.40q is answered with %q", test.request, answer)
		}
		if want := test.to + " " + string(test.kind); told.Load() != want {
			t.Errorf("%.40q: told is %v, want %s", test.request, told.Load(), want)
		}
	}
}
