package egress

import (
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	hosts, err := ParseHosts([]string{"api.example.org:443", "*.Example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range []string{"API.example.org.:443 a.example.com:80 a.b.example.com:1", "api.example.org:80 example.com:443 api.example.org.evil.com:443 notexample.com:443 xapi.example.org:443"} {
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
