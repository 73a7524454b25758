package doctor

import (
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// checkDocuments looks for the programs that read_document uses, and for the sandbox in which
// documents are read.
func (c *checkup) checkDocuments() {
	if p := (&kernel.Launcher{}).Probe(c.ctx); !p.Works {
		c.warn("documents", p.Advice, "they are read in a process without isolation: %s", p.Text)
	}
	var found, missing, packages []string
	for _, p := range document.Programs() {
		if name := p.Find(); name != "" {
			found = append(found, name)
			continue
		}
		missing = append(missing, strings.Join(p.Names, " or ")+" ("+p.For+")")
		packages = append(packages, p.Package)
	}
	if len(missing) > 0 {
		c.warn("documents", "install "+strings.Join(packages, ", ")+" to read more; the other formats need nothing",
			"not installed: %s", strings.Join(missing, "; "))
		return
	}
	c.ok("documents", "all formats: %s", strings.Join(slices.Compact(found), ", "))
}
