// Package needtest skips tests that need a program or a feature that this machine does not
// have. Where everything is installed, as in CI, a skipped test would hide a failure:
// MCP_TOOLS_REQUIRE=all makes such tests fail instead. Begin with [Program].
package needtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Lacking skips a test, because what is missing. If the list MCP_TOOLS_REQUIRE has that name,
// or all, the test fails.
func Lacking(t testing.TB, what, why string) {
	t.Helper()
	required := strings.Split(os.Getenv("MCP_TOOLS_REQUIRE"), ",")
	if slices.Contains(required, "all") || slices.Contains(required, what) {
		t.Fatal(why)
	}
	t.Skip(why)
}

// GoRoot returns the directory of the Go toolchain, with the source of the standard library.
// The test is skipped without the go command.
func GoRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Program(t, "go"), "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// Program returns the path of a program, the first of its names that is installed.
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
