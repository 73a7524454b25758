package document

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/local"
)

// Check looks for the programs that readers use, and for the sandbox for reading documents.
func Check() room.Check {
	return room.Check{Name: "documents", Run: func(ctx context.Context, f *room.Findings) {
		if p := local.Launchers()[0].Probe(ctx); !p.Works {
			f.Advise(p.Advice, "they are read in a process without isolation: %s", p.Text)
		}
		var found, missing, packages []string
		for _, p := range Programs() {
			if name := p.Find(); name != "" {
				found = append(found, name)
				continue
			}
			missing = append(missing, strings.Join(p.Names, " or ")+" ("+p.For+")")
			packages = append(packages, p.Package)
		}
		if missing != nil {
			f.Advise("install "+strings.Join(packages, ", ")+" to read more; the other formats need nothing",
				"not installed: %s", strings.Join(missing, "; "))
			return
		}
		f.OK("all formats: %s", strings.Join(slices.Compact(found), ", "))
	}}
}
