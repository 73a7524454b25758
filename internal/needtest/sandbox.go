package needtest

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// Sandbox skips a test if a sandbox does not work on this machine, and returns the result of its probe.
func Sandbox(t testing.TB, l sandbox.Launcher) sandbox.ProbeResult {
	t.Helper()
	f := l.Probe(t.Context())
	if !f.Works {
		Lacking(t, l.Name()+" sandbox", f.Text)
	}
	return f
}
