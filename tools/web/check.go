package web

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Check checks whether each secret of the web tools exists. fetch fetches one.
func Check(settings func() Settings, fetch func(config.Secret) error) room.Check {
	return room.Check{Name: "web", Run: func(_ context.Context, f *room.Findings) {
		uses := make(map[string]config.Secret)
		s := settings()
		for name, key := range s.Search.Keys {
			uses["web.search.keys."+name] = key
		}
		for name, c := range s.Credentials {
			uses["web.credentials."+name] = c.Secret
		}
		found := 0
		for _, setting := range config.Sorted(uses) {
			if uses[setting] == "" {
				continue
			}
			if err := fetch(uses[setting]); err != nil {
				f.Advise("store it with mcp-tools secrets set, or as the reference says", "%s: %v", setting, err)
				continue
			}
			found++
		}
		if found > 0 {
			f.OK("%s found", text.Plural(found, "secret"))
		}
	}}
}
