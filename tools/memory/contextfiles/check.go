package contextfiles

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Check reads the context files in the directories of the settings. agents returns the agents of the settings.
func Check(agents func() []Agent) room.Check {
	return room.Check{Name: "agents", Run: func(_ context.Context, f *room.Findings) {
		all := agents()
		for _, a := range all {
			if a.Dir == "" {
				continue
			}
			if list, err := New(nil, all).Directory(a.Name); err != nil {
				f.Fail("correct the file, or agents.files", "%s in %s: %v", a.Name, a.Dir, err)
			} else {
				f.OK("%s has %s in %s", a.Name, text.Plural(len(list), "context file"), a.Dir)
			}
		}
	}}
}
