package egresstest

import (
	"net/url"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress"
)

// Local returns a client, until the end of the test, that reaches the servers of this machine at some URLs, and public
// addresses.
func Local(t testing.TB, urls ...string) *egress.Client {
	t.Helper()
	return Within(t, egress.Limits{}, urls...)
}

// Within is Local with limits.
func Within(t testing.TB, limits egress.Limits, urls ...string) *egress.Client {
	t.Helper()
	var rules egress.Rules
	for _, one := range urls {
		u, err := url.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		rules.AllowPrivate = append(rules.AllowPrivate, u.Host)
	}
	c, err := egress.NewClient(egress.ClientOptions{
		Limits: limits, Rules: func(string) (egress.Rules, error) { return rules, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
