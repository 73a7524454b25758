package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools"
)

// tricks are hosts by which somebody may try to get inside. Names have the
// address that they are at.
const tricks = `
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.0.0.01 127.0.0.001 127.000.000.001 127.0.0.2 127.255.255.255
2130706433 02130706433 017700000001 0x7f000001 0X7F000001 0x7f.1 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0177.0.0.1 0177.0.0.0x1 0177.0x0.1 00000177.0.0.1
127.0.0.1.0 127.0.0.256 256.256.256.256 1.2.3 0x 0x. 127.0.0.0x1 4294967297 127..0.1 .127.0.0.1 127.0.0.1..
0 0.0.0.0 0x0 00 0.0 000.000.000.000 0.0.0.0. 0.1.2.3
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 100.64.0.1 100.127.255.255
169.254.169.254 169.254.0.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 100.100.100.200 168.63.129.16 192.0.0.192
192.0.0.1 192.0.0.170 192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 198.19.255.255 192.88.99.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0001 ::127.0.0.1 ::7f00:1
::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:127.0.0.1 ::ffff:0:127.0.0.1 ::ffff:8.8.8.8 ::ffff:169.254.169.254
64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a9fe:a9fe:: 2001:0:7f00:1:: 2001::1 2001:10::1 2001:db8::1
fe80::1 fe80::1%lo fe80::1%25lo ::1%lo 2606:4700::1%eth0 fec0::1 fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 ff02::1 100::1 3fff::1 5f00::1 4000::1
2606:4700::5efe:7f00:1 2606:4700::200:5efe:10.0.0.1 ::5efe:127.0.0.1
localhost LOCALHOST localhost. LocalHost. localhost.localdomain a.localhost x.y.localhost. ip6-localhost broadcasthost
metadata metadata.google.internal METADATA.GOOGLE.INTERNAL. instance-data.ec2.internal kubernetes.default.svc.cluster.local printer.local router.lan
host.docker.internal gateway.docker.internal intranet db nas.home router.home.arpa wiki.corp
127.0.0.1.nip.io=127.0.0.1 app.127-0-0-1.sslip.io=127.0.0.1 localtest.me=127.0.0.1 lvh.me=::1 meta.nip.io=169.254.169.254 ten.example.com=10.0.0.1
mapped.example.com=::ffff:127.0.0.1 nat64.example.com=64:ff9b::7f00:1 sixtofour.example.com=2002:7f00:1:: zero.example.com=0.0.0.0 six-zero.example.com=::
ula.example.com=fd00:ec2::254 bench.example.com=198.18.0.7 cgnat.example.com=100.100.100.200 azure.example.com=168.63.129.16 trailing.example.com.=127.0.0.1
１２７.0.0.1 127。0。0。1 127．0．0．1 ①②⑦.0.0.1 ⑯⑨.254.169.254 ｌｏｃａｌｈｏｓｔ loc\u00adalhost ⓛocalhost 127.0.0\u00ad.1 0ｘ7f.1 localhost\u3002
user@127.0.0.1 example.com@127.0.0.1 127.0.0.1#example.com 127.0.0.1?x 127.0.0.1/ example.com\x00.127.0.0.1 127.0.0.1\x00.example.com
127.0.0.1%00 %31%32%37.0.0.1 127.0.0.1\t \\127.0.0.1 127.0.0.1\\ [::1] [127.0.0.1] exa\u0000mple.com example.com\r\nX:y -a.example.com a-.example.com a..example.com
\xff.example.com \u202e1.0.0.721 xn--a.\u0131.localhost \u2024\u2024 ..`

func unquote(text string) string {
	return strings.NewReplacer(`\x00`, "\x00", `\u0000`, "\x00", `\xff`, "\xff", `\t`, "\t", `\r\n`, "\r\n", `\u00ad`, "\u00ad", `\u3002`, "\u3002",
		`\u202e`, "\u202e", `\u0131`, "\u0131", `\u2024`, "\u2024", `\\`, `\`).Replace(text)
}

// trickHosts are the hosts of tricks, and what a resolver says to them.
func trickHosts() (hosts []string, answers map[string][]string) {
	answers = map[string][]string{}
	for _, text := range strings.Fields(tricks) {
		host, addr, named := strings.Cut(text, "=")
		host = unquote(host)
		hosts = append(hosts, host)
		if !named {
			addr = "127.0.0.1" // if it should be looked up at all
		}
		answers[strings.TrimSuffix(strings.ToLower(host), ".")] = []string{addr}
	}
	return append(hosts, "", " ", strings.Repeat("a", 64)+".example.com", strings.Repeat("a.", 127)+"com", strings.Repeat("1.", 2000)+"1"), answers
}

func TestTricks(t *testing.T) {
	s := listen(t)
	hosts, answers := trickHosts()
	if len(hosts) < 80 {
		t.Fatalf("only %d tricks", len(hosts))
	}
	d := dialer(t, Rules{}, answers)
	address, visits := proxy(t, ProxyOptions{Dialer: d})
	asked := 0
	for _, host := range hosts {
		if conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, s.port)); err == nil || kindOf(err) != tools.Refused && kindOf(err) != tools.Invalid {
			t.Errorf("%q: %v %v; want it refused", host, conn, err)
		}
		target, err := NewTarget(host, s.port)
		if err == nil {
			if conn, err := d.Dial(t.Context(), target); err == nil || kindOf(err) != tools.Refused {
				t.Errorf("%q: %v %v; want it refused", host, conn, err)
			}
		}
		for _, way := range []string{"connect", "get", "socks"} {
			conn, err := through(t, address, way, host, s.port)
			if err == nil {
				t.Errorf("%q by %s: it is connected", host, way)
			}
			_ = conn.Close()
			asked++
		}
	}
	for _, v := range visits() {
		if v.Err == nil || v.Received > 0 {
			t.Errorf("%+v", v)
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("what is inside was reached %d times", n)
	}
	t.Logf("%d hosts, %d requests", len(hosts), asked)
}

// TestHonest is what makes the table above worth something: the same ways lead
// there when they may.
func TestHonest(t *testing.T) {
	s := listen(t)
	d := dialer(t, Rules{Allow: []string{"nothing.example"}, AllowPrivate: []string{"127.0.0.1:" + s.port, "Model.Lan.:" + s.port, "models:" + s.port, "[::1]:" + s.port}},
		map[string][]string{"model.lan": {"127.0.0.1"}, "models": {"127.0.0.3 127.0.0.1"}})
	address, _ := proxy(t, ProxyOptions{Dialer: d})
	for _, host := range []string{"127.0.0.1", "127.0.0.1.", "model.lan", "MODEL.lan.", "models"} {
		for _, way := range []string{"dial", "connect", "socks"} {
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
		if _, err := d.DialContext(t.Context(), "tcp", host+":"+other.port); kindOf(err) != tools.Refused {
			t.Errorf("another port of %s: %v", host, err)
		}
	}
	if other.reached.Load() > 0 || s.reached.Load() == 0 {
		t.Errorf("reached %d and %d", s.reached.Load(), other.reached.Load())
	}
}

// TestRebinding has a name that is public when it is asked about first.
func TestRebinding(t *testing.T) {
	s := listen(t)
	r := &names{answers: map[string][]string{"rebind.example.com": {"93.184.215.14 127.0.0.1", "127.0.0.1", "::1 10.0.0.1"}}}
	d, err := NewDialer(Rules{}, r)
	if err != nil {
		t.Fatal(err)
	}
	target, err := ParseTarget("rebind.example.com:" + s.port)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.lookup(t.Context(), "tcp", target)
	if err != nil || len(found) != 1 || found[0].String() != "93.184.215.14" {
		t.Errorf("%v, %v; want the public one alone", found, err)
	}
	for _, to := range []string{"127.0.0.1:" + s.port, "[::1]:" + s.port, "[::ffff:127.0.0.1]:" + s.port, "93.184.215.14:1", "169.254.169.254:" + s.port, "nonsense"} {
		if err := d.control(target)(t.Context(), "tcp4", to, nil); kindOf(err) != tools.Refused {
			t.Errorf("what is dialled in the end is %s: %v", to, err)
		}
	}
	if err := d.control(target)(t.Context(), "tcp4", "93.184.215.14:"+s.port, nil); err != nil {
		t.Error(err)
	}
	// race is given an address that lookup would not have let through.
	if conn, err := d.race(t.Context(), "tcp", target, []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}); kindOf(err) != tools.Refused {
		t.Errorf("%v, %v", conn, err)
	}
	for range 2 {
		if _, err := d.Dial(t.Context(), target); kindOf(err) != tools.Refused {
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

func TestInsideIsOneAnswer(t *testing.T) {
	d := dialer(t, Rules{}, map[string][]string{"a.example.com": {"10.0.0.1"}, "b.example.com": {"127.0.0.1"}})
	want := ""
	for _, host := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[fd00:ec2::254]", "localhost", "x.internal", "a.example.com", "b.example.com"} {
		_, err := d.DialContext(t.Context(), "tcp", host+":80")
		if kindOf(err) != tools.Refused {
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
	if _, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+s.port); kindOf(err) != tools.Cancelled {
		t.Error(err)
	}
	if _, err := d.DialContext(t.Context(), "udp", "127.0.0.1:"+s.port); kindOf(err) != tools.Invalid {
		t.Error(err)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "none.example.com:80"); kindOf(err) != tools.NotFound {
		t.Error(err)
	}
	if _, err := d.DialContext(t.Context(), "tcp6", "127.0.0.1:"+s.port); err == nil {
		t.Error("tcp6 reaches IPv4")
	}
}
