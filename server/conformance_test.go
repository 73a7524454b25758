package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// TestConformance lets the protocol's own conformance suite judge our server.
// The suite is a program for Node, which .ci/conformance-install fetches.
// MCP_TOOLS_CONFORMANCE_RUNS says how often each revision is run.
func TestConformance(t *testing.T) {
	if testing.Short() {
		needtest.Lacking(t, "node", "the conformance suite takes some seconds, and -short was given")
	}
	node, suite := installSuite(t)
	runs, err := strconv.Atoi(cmp.Or(os.Getenv("MCP_TOOLS_CONFORMANCE_RUNS"), "1"))
	if err != nil || runs < 1 {
		t.Fatalf("MCP_TOOLS_CONFORMANCE_RUNS must be a positive number, not %q",
			os.Getenv("MCP_TOOLS_CONFORMANCE_RUNS"))
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			least := leastPassed(t, revision)
			for run := range runs {
				t.Run(strconv.Itoa(run+1), func(t *testing.T) {
					found := runSuite(t, node, suite, newFixture(t), "--requirements", revision)
					if _, asks := least[asksInPrompt]; asks {
						again := runSuite(t, node, suite, newAskingFixture(t), "--scenario", asksInPrompt,
							"--spec-version", revision)
						found[asksInPrompt] = again[asksInPrompt]
					}
					judge(t, found, least)
				})
			}
		})
	}
}

// asksInPrompt is the scenario whose prompt asks something.
const asksInPrompt = "input-required-result-non-tool-request"

// installSuite returns the paths of Node and of the suite.
func installSuite(t *testing.T) (node, suite string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var complaints bytes.Buffer
	install := exec.CommandContext(ctx, "../.ci/conformance-install")
	install.Stderr = &complaints
	install.WaitDelay = hang
	out, err := install.Output()
	if err != nil {
		needtest.Lacking(t, "node", fmt.Sprintf("the conformance suite is not there: %v\n%s", err, complaints.Bytes()))
	}
	node, suite, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return node, suite
}

// leastPassed reads how many checks of each scenario must pass. Without it a
// suite that checks nothing would pass.
func leastPassed(t *testing.T, revision string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../testdata/conformance", revision+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	least := make(map[string]int)
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if least[name], err = strconv.Atoi(count); err != nil {
			t.Fatalf("%s: %q: %v", revision, line, err)
		}
	}
	if len(least) == 0 {
		t.Fatalf("no scenario of %s is expected", revision)
	}
	return least
}

// A check is one finding of the suite.
type check struct {
	ID           string          `json:"id"`
	Status       string          `json:"status"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

var runFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// runSuite runs scenarios against a server of their own, and returns what was
// found, by scenario. What failed is for judge to tell.
func runSuite(t *testing.T, node, suite string, b *testServer, which ...string) map[string][]check {
	t.Helper()
	dir := t.TempDir()
	run := exec.CommandContext(t.Context(), node, append([]string{suite, "server",
		"--url", serveFixture(t, b) + "/mcp", "-o", dir}, which...)...)
	run.WaitDelay = hang
	// A status of 1 says that something failed. What counts of that, judge finds out.
	out, err := run.CombinedOutput()
	switch failed := (*exec.ExitError)(nil); {
	case errors.As(err, &failed) && failed.ExitCode() == 1:
		t.Logf("the suite says:\n%s", out)
	case err != nil:
		t.Errorf("the suite ended with %v:\n%s", err, out)
	}
	found := make(map[string][]check)
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		name := runFolder.FindStringSubmatch(folder.Name())
		if name == nil {
			t.Fatalf("the suite wrote %q, which belongs to no scenario", folder.Name())
		}
		raw, err := os.ReadFile(filepath.Join(dir, folder.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", name[1], err)
		}
		found[name[1]] = checks
	}
	return found
}

// judge compares what was found with what must pass.
func judge(t *testing.T, found map[string][]check, least map[string]int) {
	t.Helper()
	for scenario, want := range least {
		passed := 0
		for _, c := range found[scenario] {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "FAILURE":
				t.Errorf("%s: %s: %s\n%s", scenario, c.ID, c.ErrorMessage, text.Clip(string(c.Details), 2000))
			case "WARNING":
				t.Logf("%s: %s: warning: %s", scenario, c.ID, c.ErrorMessage)
			}
		}
		if passed < want {
			t.Errorf("%s: %d checks passed, there must be %d", scenario, passed, want)
		}
	}
}

// loopbackListener listens on a free port of this machine.
func loopbackListener(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
