package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/tricktest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestPublicAddresses(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.215.14": true, "100.63.255.255": true, "100.128.0.0": true,
		"172.15.255.255": true, "172.32.0.0": true,
		"192.0.1.0": true, "198.17.255.255": true, "198.20.0.0": true, "223.255.255.255": true, "11.0.0.0": true,
		"168.63.129.15":   true,
		"2606:4700::1111": true, "2001:200::1": true, "2a00:1450::1": true, "3ffe::1": true, "2001:db7::1": true,
		"2003::1": true, "2606:4700::8000:5efe:1:1": true,
		"198.18.0.0": false, "198.19.255.255": false, "127.0.0.1": false, "::1": false, "::ffff:8.8.8.8": false,
		"64:ff9b::8.8.8.8": false, "2002:808:808::": false,
		"2001:1ff::1": false, "2001:db8:ffff::": false, "3fff:0fff::": false, "4000::": false, "1fff::1": false,
		"fe80::1%lo": false, "2606:4700::1%lo": false,
		"::8.8.8.8": false, "255.255.255.255": false, "2606:4700::5efe:808:808": false,
	} {
		a := netip.MustParseAddr(addr)
		if got := isPublic(a); got != want {
			t.Errorf("%s: public is %t", addr, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		rules Rules
		yes   string
		no    string
	}{
		{Rules{}, "example.org:443 a.example.org:22 8.8.8.8:53 [2606:4700::1111]:443", "localhost:80 127.0.0.1:80"},
		{Rules{Allow: []string{"example.org"}}, "example.org:443 EXAMPLE.org.:80",
			"www.example.org:443 notexample.org:443 example.org.evil.com:443 8.8.8.8:53"},
		{Rules{Allow: []string{"*.Example.org"}}, "a.example.org:1 a.b.example.org:2",
			"example.org:443 aexample.org:443 x.example.org.com:1"},
		{Rules{Allow: []string{"example.org:443", "b\u00fccher.example:80"}},
			"example.org:443 xn--bcher-kva.example:80 B\u00dcCHER.example:80",
			"example.org:80 xn--bcher-kva.example:81"},
		{Rules{Deny: []string{"*.example.org", "*:25", "8.8.8.8", "[2606:4700::1111]:443"}},
			"example.org:443 8.8.4.4:53 [2606:4700::1111]:80",
			"a.example.org:443 example.com:25 8.8.8.8:53 [2606:4700::1111]:443 [2606:4700:0::1111]:443"},
		{Rules{Allow: []string{"*"}, Deny: []string{"example.org"}}, "a.org:1", "example.org:1 127.0.0.1:1"},
		{Rules{Allow: []string{"127.0.0.1", "localhost", "*.local", "10.0.0.1:80"}}, "",
			"127.0.0.1:80 localhost:80 x.local:80 10.0.0.1:80"},
		{Rules{AllowPrivate: []string{"10.0.0.1:80", "db.lan:5432", "[fd00::1]:1"}},
			"10.0.0.1:80 DB.lan.:5432 [fd00:0::1]:1 example.org:1",
			"10.0.0.1:81 db.lan:5433 x.db.lan:5432 [fd00::1]:2 [::ffff:10.0.0.1]:80"},
		{Rules{AllowPrivate: []string{"10.0.0.1:80"}, Deny: []string{"10.0.0.1"}}, "", "10.0.0.1:80"},
		{Rules{AllowPrivate: []string{"127.0.0.1:80", "127.0.0.1:81"}, Own: []uint16{80}}, "127.0.0.1:81",
			"127.0.0.1:80"},
	}
	for _, test := range tests {
		r, err := test.rules.parse()
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range []string{test.yes, test.no} {
			for _, text := range strings.Fields(list) {
				target, err := ParseTarget(text)
				if err == nil {
					err = r.checkName(target)
				}
				if (err == nil) != (i == 0) {
					t.Errorf("%+v: %s: %v", test.rules, text, err)
				}
			}
		}
	}
}

func TestBadRules(t *testing.T) {
	for name, r := range map[string]Rules{
		"empty": {Allow: []string{""}}, "star": {Allow: []string{"a*.org"}}, "stars": {Deny: []string{"*.*.org"}},
		"url":  {Allow: []string{"https://example.org"}},
		"port": {Allow: []string{"example.org:99999"}}, "no port": {Deny: []string{"example.org:"}},
		"bracket": {Allow: []string{"[*"}}, "brackets": {Allow: []string{"[*]:80"}},
		"bracketed name": {Allow: []string{"[example.org]"}}, "zero": {Deny: []string{"*:0"}},
		"octal":                {Allow: []string{"0177.0.0.1"}},
		"beneath an address":   {Allow: []string{"*.10.0.0.1"}},
		"private without port": {AllowPrivate: []string{"10.0.0.1"}},
		"private pattern":      {AllowPrivate: []string{"*.lan:80"}},
		"metadata":             {AllowPrivate: []string{"169.254.169.254:80"}},
		"metadata 6":           {AllowPrivate: []string{"[fd00:ec2::254]:80"}},
		"alibaba":              {AllowPrivate: []string{"100.100.100.200:80"}},
		"unspecified":          {AllowPrivate: []string{"0.0.0.0:80"}},
		"mapped":               {AllowPrivate: []string{"[::ffff:10.0.0.1]:80"}},
		"zone":                 {AllowPrivate: []string{"[fe80::1%eth0]:80"}},
	} {
		if d, err := NewDialer(r, nil); err == nil {
			t.Errorf("%s: %+v", name, d.rules)
		}
	}
}

// TestPrivateNames checks that names in AllowPrivate may have any private address, but
// not one of a metadata service or of our own ports.
func TestPrivateNames(t *testing.T) {
	r, err := Rules{AllowPrivate: []string{"m.example.com:80", "m.example.com:8080"}, Own: []uint16{8080}}.parse()
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]string{
		"10.0.0.1": "80 8080", "127.0.0.1": "80", "::ffff:127.0.0.1": "80", "fd00::1": "80 8080", "8.8.8.8": "80 8080",
		"::1":             "80",
		"169.254.169.254": "", "::ffff:169.254.169.254": "", "fd00:ec2::254": "", "100.100.100.200": "", "0.0.0.0": "",
		"::": "", "224.0.0.1": "", "fe80::1": "", "255.255.255.255": "",
	} {
		var got []string
		for _, port := range []string{"80", "8080"} {
			target, err := NewTarget("m.example.com", port)
			if err != nil {
				t.Fatal(err)
			}
			if r.checkAddress(target, netip.MustParseAddr(addr)) == nil {
				got = append(got, port)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %s: %q, want %q", addr, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"Example.ORG.:443": "example.org:443", "[2606:4700:0:0::1111]:1": "[2606:4700::1111]:1",
		"8.8.8.8:65535": "8.8.8.8:65535", "a_b.example.org:1": "a_b.example.org:1",
		"B\u00dcCHER.example:80": "xn--bcher-kva.example:80",
		"example.org":            "", "example.org:0": "", "example.org:65536": "", "example.org:+80": "",
		"example.org: 80": "", "example.org:http": "", "::1:80": "", "[8.8.8.8]:1": "",
		"[example.org]:1": "", "": "", ":80": "", "a:b:80": "", "example.org:0x50": "",
	} {
		got, err := ParseTarget(text)
		if err == nil && got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err != nil && kindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzHost(f *testing.F) {
	hosts, _ := tricktest.Hosts()
	for _, host := range hosts {
		f.Add(host)
	}
	r, err := Rules{}.parse()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		target, err := NewTarget(host, "80")
		if err != nil {
			return
		}
		again, err := NewTarget(target.Host, "80")
		if err != nil || again != target {
			t.Fatalf("%q is %+v, which is %+v, %v", host, target, again, err)
		}
		if parsed, err := ParseTarget(target.String()); err != nil || parsed != target {
			t.Fatalf("%q is shown as %q, which is %+v, %v", host, target.String(), parsed, err)
		}
		a, err := netip.ParseAddr(target.Host)
		if (err == nil) != target.Addr.IsValid() || a != target.Addr {
			t.Fatalf("%q: %+v", host, target)
		}
		if err == nil && r.checkName(target) == nil && !isPublic(a) {
			t.Fatalf("%q is let through", host)
		}
		if strings.ContainsAny(target.Host, "\x00 /@%?#\r\n\t") {
			t.Fatalf("%q is %q", host, target.Host)
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, text := range []string{"[*", "[*]:80", "example.org", "*.example.org:443", "*", "*:25", "[::1]:80", "::1",
		"[::1]", "a:b", "*.*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePattern(text)
		if err == nil && p.host == "" && !strings.HasPrefix(text, "*") {
			t.Fatalf("%q matches everything", text)
		}
	})
}

func TestHosts(t *testing.T) {
	hosts, err := ParseHosts([]string{"api.example.org:443", "*.Example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range []string{"API.example.org.:443 a.example.com:80 a.b.example.com:1",
		"api.example.org:80 example.com:443 api.example.org.evil.com:443 notexample.com:443 xapi.example.org:443"} {
		for _, text := range strings.Fields(list) {
			if to, err := ParseTarget(text); err != nil || hosts.Has(to) != (i == 0) {
				t.Errorf("%s: %t, %v", text, i != 0, err)
			}
		}
	}
	if to, _ := ParseTarget("example.org:443"); (Hosts{}).Has(to) {
		t.Error("an empty list has hosts")
	}
	if _, err := ParseHosts([]string{"https://example.org"}); err == nil {
		t.Error("a URL is no pattern")
	}
}
