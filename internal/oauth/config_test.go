package oauth

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
)

func TestConfig(t *testing.T) {
	good := func() Config {
		return Config{
			Issuer:        "https://login.example.com/tenant",
			Audiences:     []string{audience},
			ScopeProfiles: map[string][]string{"mcp:read": {"readonly"}},
			HTTP:          egresstest.Local(t),
		}
	}
	cases := []struct {
		name   string
		change func(*Config)
		want   string // in the error; empty for none
	}{
		{"good", func(*Config) {}, ""},

		{"no client", func(c *Config) { c.HTTP = nil }, "client"},
		{"no issuer", func(c *Config) { c.Issuer = "" }, "issuer"},
		{"issuer without scheme", func(c *Config) { c.Issuer = "login.example.com" }, "issuer"},
		{"issuer over http", func(c *Config) { c.Issuer = "http://login.example.com" }, "want https"},
		{"issuer that only begins like this machine", func(c *Config) { c.Issuer = "http://localhost.example.com" },
			"want https"},
		{"issuer with a query", func(c *Config) { c.Issuer += "?a=b" }, "query"},
		{"issuer with a fragment", func(c *Config) { c.Issuer += "#a" }, "fragment"},
		{"issuer with a user", func(c *Config) { c.Issuer = "https://a@login.example.com" }, "user"},
		{"issuer that is none", func(c *Config) { c.Issuer = "https://a b/%zz" }, "not a URL"},
		{"issuer on this machine", func(c *Config) { c.Issuer = "http://127.0.0.1:8080" }, ""},
		{"issuer on this machine, IPv6", func(c *Config) { c.Issuer = "http://[::1]:8080" }, ""},
		{"issuer on this machine by name", func(c *Config) { c.Issuer = "http://localhost:8080" }, ""},

		{"no audience", func(c *Config) { c.Audiences = nil }, "audience"},
		{"empty audience", func(c *Config) { c.Audiences = append(c.Audiences, "") }, "audience"},
		{"audience with space", func(c *Config) { c.Audiences = []string{"a "} }, "audience"},

		{"no scopes", func(c *Config) { c.ScopeProfiles = nil }, "no scope"},
		{"scope with space", func(c *Config) { c.ScopeProfiles["a b"] = []string{"x"} }, `"a b"`},
		{"scope with a quote", func(c *Config) { c.ScopeProfiles[`a"b`] = []string{"x"} }, "characters"},
		{"scope without profiles", func(c *Config) { c.ScopeProfiles["a"] = nil }, "no profile"},
		{"scope with an empty profile", func(c *Config) { c.ScopeProfiles["a"] = []string{""} }, "without a name"},
		{"offline_access", func(c *Config) { c.ScopeProfiles["offline_access"] = []string{"x"} }, "offline_access"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config := good()
			c.change(&config)
			v, err := New(config)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				v.Close()
				return
			}
			if err == nil || v != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("verifier %v, error %v; want one with %q", v, err, c.want)
			}
		})
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	_, err := New(Config{Issuer: "ftp://x"})
	for _, want := range []string{"ftp://x", "audience", "scope"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %s", err, want)
		}
	}
}
