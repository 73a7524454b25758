package exec

import (
	"context"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
)

type fixedTier struct {
	sandbox.Launcher
	name  string
	found sandbox.ProbeResult
}

func (f fixedTier) Name() string                              { return f.name }
func (f fixedTier) Probe(context.Context) sandbox.ProbeResult { return f.found }
func (fixedTier) Layout(sandbox.Directories) sandbox.Layout   { return sandbox.Layout{} }

func TestWhere(t *testing.T) {
	works := sandbox.ProbeResult{Works: true, Proxy: true, Guarantees: []sandbox.Guarantee{sandbox.Files, sandbox.Network}}
	broken := sandbox.ProbeResult{Text: "broken"}
	host := fixedTier{name: "host", found: sandbox.ProbeResult{Works: true}}
	strict := []sandbox.Guarantee{sandbox.Files}
	for _, tt := range []struct {
		system   string
		first    fixedTier
		policy   commands.Policy
		sentence string
		advice   string
	}{
		{"linux", fixedTier{name: "kernel", found: works}, commands.Policy{Require: strict}, "run in the sandbox kernel, of Linux: it isolates files, network; network: ask", ""},
		{"linux", fixedTier{name: "kernel", found: broken}, commands.Policy{Mode: "auto", Require: strict}, "are refused: no sandbox (auto) isolates files", "user namespaces"},
		{"darwin", fixedTier{name: "seatbelt", found: works}, commands.Policy{}, "run in the sandbox seatbelt, of macOS", ""},
		{"darwin", fixedTier{name: "seatbelt", found: broken}, commands.Policy{}, "are refused", "sandbox-exec"},
		{"darwin", fixedTier{name: "docker", found: works}, commands.Policy{}, "the sandbox docker, a container", ""},
		{"windows", fixedTier{name: "docker", found: broken}, commands.Policy{}, "are refused", "Docker Desktop"},
		{"windows", host, commands.Policy{Mode: "host"}, "without isolation: as this user, with its files and network; Windows ends them", "Docker Desktop"},
		{"linux", host, commands.Policy{Mode: "host"}, "run on the host without isolation", "namespaces"},
		{"linux", host, commands.Policy{Mode: "off"}, "are disabled", ""},
		{"linux", fixedTier{name: "kubernetes", found: sandbox.ProbeResult{Works: true}}, commands.Policy{}, "a pod: it isolates nothing; network: off", ""},
	} {
		sentence, advice := where(t.Context(), sandbox.NewTiers(tt.first, host), tt.policy, "ask", tt.system)
		if !strings.Contains(sentence, tt.sentence) || !strings.Contains(advice, tt.advice) || tt.advice == "" && advice != "" {
			t.Errorf("%s, %s: %q; %q", tt.system, tt.first.name, sentence, advice)
		}
	}
}
