package server

import (
	"cmp"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/conformance"
)

// TestConformance lets the protocol's own conformance suite judge our server.
// MCP_TOOLS_CONFORMANCE_RUNS says how often each revision is run.
func TestConformance(t *testing.T) {
	suite := conformance.Install(t, "..")
	runs, err := strconv.Atoi(cmp.Or(os.Getenv("MCP_TOOLS_CONFORMANCE_RUNS"), "1"))
	if err != nil || runs < 1 {
		t.Fatalf("MCP_TOOLS_CONFORMANCE_RUNS must be a positive number, not %q",
			os.Getenv("MCP_TOOLS_CONFORMANCE_RUNS"))
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			least := suite.Expected(t, revision)
			for run := range runs {
				t.Run(strconv.Itoa(run+1), func(t *testing.T) {
					found := suite.Run(t, serveFixture(t, newFixture(t))+"/mcp", "--requirements", revision)
					if _, asks := least[asksInPrompt]; asks {
						again := suite.Run(t, serveFixture(t, newAskingFixture(t))+"/mcp", "--scenario", asksInPrompt,
							"--spec-version", revision)
						found[asksInPrompt] = again[asksInPrompt]
					}
					conformance.Judge(t, found, least)
				})
			}
		})
	}
}

// asksInPrompt is the scenario with a prompt that asks something.
const asksInPrompt = "input-required-result-non-tool-request"

// loopbackListener listens on a free port of this machine.
func loopbackListener(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
