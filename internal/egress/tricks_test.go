package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/tricktest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestTricks(t *testing.T) {
	s := listen(t)
	hosts, answers := tricktest.Hosts()
	if len(hosts) < 80 {
		t.Fatalf("only %d tricks", len(hosts))
	}
	d := dialer(t, Rules{}, answers)
	address := proxy(t, ProxyOptions{Dialer: d})
	asked := 0
	for _, host := range hosts {
		if conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, s.port)); err == nil ||
			kindOf(err) != tool.Refused && kindOf(err) != tool.Invalid {
			t.Errorf("%q: %v %v; want it refused", host, conn, err)
		}
		target, err := NewTarget(host, s.port)
		if err == nil {
			if conn, err := d.Dial(t.Context(), target); err == nil || kindOf(err) != tool.Refused {
				t.Errorf("%q: %v %v; want it refused", host, conn, err)
			}
		}
		for _, way := range []string{"connect", "get"} {
			conn, err := through(t, address, way, host, s.port)
			if err == nil {
				t.Errorf("%q by %s: it is connected", host, way)
			}
			_ = conn.Close()
			asked++
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("what is inside was reached %d times", n)
	}
	t.Logf("%d hosts, %d requests", len(hosts), asked)
}

// TestTrickProtocolsReachAllowedServers checks that the same protocols reach a server that is allowed. Otherwise the
// test above would prove nothing.
func TestTrickProtocolsReachAllowedServers(t *testing.T) {
	s := listen(t)
	d := dialer(t, Rules{Allow: []string{"nothing.example"},
		AllowPrivate: []string{"127.0.0.1:" + s.port, "Model.Lan.:" + s.port, "models:" + s.port, "[::1]:" + s.port}},
		map[string][]string{"model.lan": {"127.0.0.1"}, "models": {"127.0.0.3 127.0.0.1"}})
	address := proxy(t, ProxyOptions{Dialer: d})
	for _, host := range []string{"127.0.0.1", "127.0.0.1.", "model.lan", "MODEL.lan.", "models"} {
		for _, way := range []string{"dial", "connect"} {
			var conn net.Conn
			var err error
			if way == "dial" {
				conn, err = d.DialContext(t.Context(), "tcp", host+":"+s.port)
			} else {
				conn, err = through(t, address, way, host, s.port)
			}
			if err != nil {
				t.Errorf("%s by %s: %v", host, way, err)
				continue
			}
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Errorf("%s by %s: %v", host, way, err)
			}
			_ = conn.Close()
		}
	}
	other := listen(t)
	for _, host := range []string{"127.0.0.1", "model.lan"} {
		if _, err := d.DialContext(t.Context(), "tcp", host+":"+other.port); kindOf(err) != tool.Refused {
			t.Errorf("another port of %s: %v", host, err)
		}
	}
	if other.reached.Load() > 0 || s.reached.Load() == 0 {
		t.Errorf("reached %d and %d", s.reached.Load(), other.reached.Load())
	}
}

// TestRebinding resolves a name to a public address first, then to a private one.
func TestRebinding(t *testing.T) {
	s := listen(t)
	r := &names{answers: map[string][]string{"rebind.example.com": {"93.184.215.14 127.0.0.1", "127.0.0.1",
		"::1 10.0.0.1"}}}
	d, err := NewDialer(Rules{}, r)
	if err != nil {
		t.Fatal(err)
	}
	target, err := ParseTarget("rebind.example.com:" + s.port)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.lookup(t.Context(), target)
	if err != nil || len(found) != 1 || found[0].String() != "93.184.215.14" {
		t.Errorf("%v, %v; want the public one alone", found, err)
	}
	for _, to := range []string{"127.0.0.1:" + s.port, "[::1]:" + s.port, "[::ffff:127.0.0.1]:" + s.port,
		"93.184.215.14:1", "169.254.169.254:" + s.port, "nonsense"} {
		if err := d.control(target)(t.Context(), "tcp4", to, nil); kindOf(err) != tool.Refused {
			t.Errorf("what is dialled in the end is %s: %v", to, err)
		}
	}
	if err := d.control(target)(t.Context(), "tcp4", "93.184.215.14:"+s.port, nil); err != nil {
		t.Error(err)
	}
	// race gets an address that lookup would have refused.
	if conn, err := d.race(t.Context(), target,
		[]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}); kindOf(err) != tool.Refused {
		t.Errorf("%v, %v", conn, err)
	}
	for range 2 {
		if _, err := d.Dial(t.Context(), target); kindOf(err) != tool.Refused {
			t.Errorf("it is inside now: %v", err)
		}
	}
	if s.reached.Load() > 0 {
		t.Error("what is inside was reached")
	}
	for _, name := range r.asked {
		if name != "rebind.example.com." {
			t.Errorf("%q was looked up: it may be found beneath a domain of this network", name)
		}
	}
}

func TestPrivateAddressesHaveOneError(t *testing.T) {
	d := dialer(t, Rules{}, map[string][]string{"a.example.com": {"10.0.0.1"}, "b.example.com": {"127.0.0.1"}})
	want := ""
	for _, host := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[fd00:ec2::254]", "localhost",
		"x.internal", "a.example.com", "b.example.com"} {
		_, err := d.DialContext(t.Context(), "tcp", host+":80")
		if kindOf(err) != tool.Refused {
			t.Fatalf("%s: %v", host, err)
		}
		got := strings.ReplaceAll(err.Error(), host+":80", "HOST")
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: %s\nothers: %s", host, got, want)
		}
	}
}

func TestEndOfCall(t *testing.T) {
	s := listen(t)
	d := dialer(t, Rules{AllowPrivate: []string{"127.0.0.1:" + s.port}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+s.port); kindOf(err) != tool.Cancelled {
		t.Error(err)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "none.example.com:80"); kindOf(err) != tool.NotFound {
		t.Error(err)
	}
}
