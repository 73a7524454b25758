package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestReplicasShareTheirTokens makes a token on one and revokes it on another.
func TestReplicasShareTheirTokens(t *testing.T) {
	pg := storetest.Postgres(t)
	settings := "store: {dsn: '" + pg.DSN("postgres") + "'}\n"
	one, two := serveRemote(t, settings), serveRemote(t, settings)
	first := one.log.find(t, `Token: (mcpt_\w+)`)
	if two.log.has("Token: ") {
		t.Error("the second replica made a first token too")
	}
	two.wants("/mcp", first, http.StatusOK)
	token := one.token("--name", "x", "--store", pg.DSN("postgres"))
	two.wants("/mcp", token, http.StatusOK)
	if err := two.run(t.Context(), new(strings.Builder), "token", "revoke", "x", "--store", pg.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	one.wants("/mcp", token, http.StatusUnauthorized)

	// Where nobody knows whom to let in, nobody is, and not for good.
	pg.Stop(t, "fast")
	body := one.wants("/mcp", first, http.StatusServiceUnavailable)
	if body != "tokens cannot be checked at the moment; try again later\n" {
		t.Errorf("it says %q", body)
	}
	one.log.find(t, `a token could not be checked.*asking the table of tokens`)
	if res, _ := one.post("/mcp", first, "tools/list", ""); res.Header.Get("WWW-Authenticate") != "" {
		t.Error("the client is told that its token is bad")
	}
	pg.Start(t)
	one.wants("/mcp", first, http.StatusOK)
	one.wants("/mcp", token, http.StatusUnauthorized)
}
