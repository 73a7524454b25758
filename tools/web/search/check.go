package search

import (
	"context"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
)

// Check lists the engines that the settings choose. It makes no request.
func Check(settings func() Settings) room.Check {
	return room.Check{Name: "search", Run: func(_ context.Context, f *room.Findings) {
		engines, _, err := Configured(settings(), func(string, config.Secret) func() (string, error) { return nil })
		if err != nil {
			f.Fail("correct web.search", "%v", err)
			return
		}
		var names []string
		for _, e := range engines {
			names = append(names, e.Kind)
		}
		f.OK("asks %s, in this order", strings.Join(names, ", "))
	}}
}
