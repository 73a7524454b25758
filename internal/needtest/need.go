// Package needtest is for tests that need something of the machine. Without it
// they are skipped, so that anybody can run the tests; where everything has been
// installed, as in CI, a skip would hide a failure, and MCP_TOOLS_REQUIRE=all
// makes it one. Begin with [Program].
package needtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Lacking skips a test for want of something. When MCP_TOOLS_REQUIRE, a list,
// names it, or all, the test fails.
func Lacking(t testing.TB, what, why string) {
	t.Helper()
	required := strings.Split(os.Getenv("MCP_TOOLS_REQUIRE"), ",")
	if slices.Contains(required, "all") || slices.Contains(required, what) {
		t.Fatal(why)
	}
	t.Skip(why)
}

// GoRoot returns the directory of the Go toolchain, which holds the source of the
// standard library. The test is skipped without the go command.
func GoRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Program(t, "go"), "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// Program returns where a program is, by the first of its names that there is.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Lacking(t, names[0], strings.Join(names, " or ")+" is not installed")
	return ""
}
