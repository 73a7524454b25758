package main

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/conformance"
)

// TestConformanceOfTheProgram lets the protocol's own conformance suite judge the program as
// it ships. Most scenarios need tools of the suite, which the fixture of package server has;
// what must pass here needs none. The suite cannot send a token, so a proxy adds it.
func TestConformanceOfTheProgram(t *testing.T) {
	suite := conformance.Install(t, "../..")
	r := serveRemote(t, "limits: {calls_per_minute: 100000}\n")
	token := r.log.find(t, `Token: (mcpt_\w+)`)
	proxy := httptest.NewServer(suiteProxy(t, r, token))
	defer proxy.Close()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			found := suite.Run(t, proxy.URL+"/mcp", "--requirements", revision)
			conformance.Judge(t, found, suite.Expected(t, "program-"+revision), needFixture()...)
		})
	}
}

// suiteProxy passes requests of the suite on to a server, with a token.
func suiteProxy(t *testing.T, r *remote, token string) *httputil.ReverseProxy {
	t.Helper()
	behind, err := url.Parse(strings.TrimSuffix(r.url, "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			front := p.In.Host
			p.SetURL(behind)
			p.Out.Header.Set("Authorization", "Bearer "+token)
			if strings.HasPrefix(front, "127.0.0.1:") || strings.HasPrefix(front, "localhost:") {
				p.Out.Host = behind.Host
			} else {
				p.Out.Host = front // one that the server must refuse
			}
			if origin := p.In.Header.Get("Origin"); strings.HasSuffix(origin, "://"+front) {
				p.Out.Header.Set("Origin", "http://"+p.Out.Host)
			}
		},
	}
}

// needFixture lists checks of these scenarios that fail because a tool of the suite is missing.
func needFixture() []string {
	return []string{
		"sep-2575-server-rejects-undeclared-capability",
		"sep-2575-missing-capability-http-400",
		"sep-2575-http-server-no-independent-requests-on-stream",
		"sep-2575-server-no-log-without-loglevel",
		"sep-2663-server-rejects-undeclared-client",
		"tasks-per-request-meta-opt-in",
		"tasks-server-directed-creation-no-hint",
		"sep-2663-legacy-task-param-ignored",
		"tasks-immediate-result-shortcut",
		"tasks-result-type-complete-on-non-task-responses",
		"sep-2663-durable-create-strong-consistency",
		"tasks-headers-tolerate-mcp-method-on-tools-call",
		"sep-2663-routing-headers-accepted-on-tasks-get",
		"sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
	}
}
