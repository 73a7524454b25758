//go:build !linux

package kernel

import (
	"context"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// A finding is what works here: nothing.
type finding struct{}

type identities struct{}

var errLinux = errors.New("the kernel sandbox needs Linux")

// Probe finds that it does not work.
func (l *Launcher) Probe(context.Context) sandbox.Finding {
	return sandbox.Finding{
		Text:   "kernel: it needs Linux, so " + l.self()[0] + " cannot use it",
		Advice: "use sandbox docker",
	}
}

// Layout is empty.
func (*Launcher) Layout(sandbox.Directories) sandbox.Layout { return sandbox.Layout{} }

// Launch fails.
func (*Launcher) Launch(context.Context, sandbox.Walls) (sandbox.Link, error) { return nil, errLinux }

// Main fails.
func Main([]string) int { return 1 }
