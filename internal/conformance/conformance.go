// Package conformance runs the protocol's own conformance suite, a program for Node that
// .ci/conformance-install fetches. It knows how to start the suite and its output, and no
// server. It is imported by tests only. Begin with [Install].
package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A Suite is an installed conformance suite.
type Suite struct{ node, program, expected string }

const patience = 30 * time.Second

// Install returns the suite. root is the directory of the repository, as seen from the
// test. The test is skipped where the suite cannot be installed.
func Install(t *testing.T, root string) Suite {
	t.Helper()
	if testing.Short() {
		needtest.Lacking(t, "node", "the conformance suite takes some seconds, and -short was given")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var complaints bytes.Buffer
	install := exec.CommandContext(ctx, filepath.Join(root, ".ci", "conformance-install"))
	install.Stderr = &complaints
	install.WaitDelay = patience
	out, err := install.Output()
	if err != nil {
		needtest.Lacking(t, "node", fmt.Sprintf("the conformance suite is not there: %v\n%s", err, complaints.Bytes()))
	}
	node, program, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return Suite{node, program, filepath.Join(root, "testdata", "conformance")}
}

// Node returns the program node, and the directory of the packages that are installed
// with the suite, such as the SDK of the protocol.
func (s Suite) Node() (program, modules string) {
	return s.node, filepath.Join(filepath.Dir(s.program), "..", "..", "..")
}

// A Check is one finding of the suite.
type Check struct {
	ID           string          `json:"id"`
	Status       string          `json:"status"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

// Expected reads the scenarios of a list in testdata/conformance that must pass, and the
// minimum of checks of each. Without it a suite that checks nothing would pass.
func (s Suite) Expected(t *testing.T, list string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.expected, list+".txt"))
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
			t.Fatalf("%s: %q: %v", list, line, err)
		}
	}
	if len(least) == 0 {
		t.Fatalf("no scenario of %s is expected", list)
	}
	return least
}

// Run runs scenarios against the server at url, and returns the checks by scenario. [Judge]
// reports failures.
func (s Suite) Run(t *testing.T, url string, which ...string) map[string][]Check {
	t.Helper()
	dir := t.TempDir()
	run := exec.CommandContext(t.Context(), s.node, append([]string{s.program, "server", "--url", url, "-o", dir},
		which...)...)
	run.WaitDelay = patience
	// A status of 1 says that a check failed. Judge decides which failures count.
	out, err := run.CombinedOutput()
	switch failed := (*exec.ExitError)(nil); {
	case errors.As(err, &failed) && failed.ExitCode() == 1:
		t.Logf("the suite says:\n%s", out)
	case err != nil:
		t.Errorf("the suite ended with %v:\n%s", err, out)
	}
	found := make(map[string][]Check)
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	for _, folder := range folders {
		name := named.FindStringSubmatch(folder.Name())
		if name == nil {
			t.Fatalf("the suite wrote %q, which belongs to no scenario", folder.Name())
		}
		raw, err := os.ReadFile(filepath.Join(dir, folder.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []Check
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", name[1], err)
		}
		found[name[1]] = checks
	}
	return found
}

// Judge compares the checks with the expected minimum. A failure of a check with its id in
// fixture is expected: it needs a tool that the server under test does not have.
func Judge(t *testing.T, found map[string][]Check, least map[string]int, fixture ...string) {
	t.Helper()
	needs := make(map[string]bool)
	for _, id := range fixture {
		needs[id] = true
	}
	for scenario, want := range least {
		passed := 0
		for _, c := range found[scenario] {
			switch {
			case c.Status == "SUCCESS":
				passed++
			case c.Status == "FAILURE" && !needs[c.ID]:
				t.Errorf("%s: %s: %s\n%s", scenario, c.ID, c.ErrorMessage, text.Clip(string(c.Details), 2000))
			case c.Status == "WARNING":
				t.Logf("%s: %s: warning: %s", scenario, c.ID, c.ErrorMessage)
			}
		}
		if passed < want {
			t.Errorf("%s: %d checks passed, there must be %d", scenario, passed, want)
		}
	}
}
