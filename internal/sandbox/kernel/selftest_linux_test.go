package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/selftest"
)

// TestSelftest checks the test of sandboxes against one that isolates and one that does not.
func TestSelftest(t *testing.T) {
	l := &kernel.Launcher{}
	if f := needtest.Sandbox(t, l); !slices.Contains(f.Guarantees, sandbox.Processes) {
		needtest.Lacking(t, "namespaces", f.Text)
	}
	if err := selftest.Run(t.Context(), l, false); err != nil {
		t.Errorf("the kernel sandbox: %v", err)
	}
	if err := selftest.Run(t.Context(), &host.Launcher{}, false); err == nil || !strings.Contains(err.Error(), "can read") {
		t.Errorf("the host passes: %v", err)
	}
}
