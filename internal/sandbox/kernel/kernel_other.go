//go:build !linux

package kernel

import (
	"context"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// A finding is empty: nothing works here.
type finding struct{}

type identities struct{}

var errLinux = errors.New("the kernel sandbox needs Linux")

// Probe reports that Linux is required.
func (l *Launcher) Probe(context.Context) sandbox.ProbeResult {
	return sandbox.ProbeResult{
		Text:   "kernel: it needs Linux, so " + self() + " cannot use it",
		Advice: "use sandbox docker",
	}
}

// Layout returns an empty layout.
func (*Launcher) Layout(sandbox.Directories) sandbox.Layout { return sandbox.Layout{} }

// Launch returns an error.
func (*Launcher) Launch(context.Context, sandbox.Spec) (sandbox.Link, error) { return nil, errLinux }

// Main returns an error code.
func Main([]string) int { return 1 }
