package sandbox_test

import (
	"context"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// A launcher of this example works if it is named kernel.
type launcher struct {
	sandbox.Launcher
	name string
}

func (l launcher) Name() string { return l.name }

func (l launcher) Probe(context.Context) sandbox.ProbeResult {
	if l.name == sandbox.Docker {
		return sandbox.ProbeResult{Text: "the engine does not respond"}
	}
	return sandbox.ProbeResult{Works: true, Guarantees: []sandbox.Guarantee{sandbox.Files, sandbox.Network}}
}

// The strongest sandbox that works is chosen; the note says why it is none of the stronger ones.
func ExampleTiers_Choose() {
	tiers := sandbox.NewTiers(launcher{name: sandbox.Docker}, launcher{name: sandbox.Kernel})
	tier, note, err := tiers.Choose(context.Background(), sandbox.Auto, sandbox.Files)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tier.Name())
	fmt.Println(note)

	_, _, err = tiers.Choose(context.Background(), sandbox.Kernel, sandbox.Memory)
	fmt.Println(err)
	// Output:
	// kernel
	// docker: the engine does not respond
	// unavailable: the kernel sandbox does not work: it cannot guarantee "memory", which this profile requires; the operator finds the cause with mcp-tools doctor
}
