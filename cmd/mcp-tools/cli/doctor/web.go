package doctor

import (
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// checkWeb checks whether each secret of the web tools exists.
func (c *checkup) checkWeb() {
	type use struct {
		what string
		from config.Secret
	}
	var uses []use
	w := c.settings.Config.Web
	for name, key := range w.Search.Keys {
		uses = append(uses, use{"web.search.keys." + name, key})
	}
	for name, c := range w.Credentials {
		uses = append(uses, use{"web.credentials." + name, c.Secret})
	}
	found := 0
	for _, u := range uses {
		if u.from == "" {
			continue
		}
		if _, err := u.from.Fetch(c.env.Sources(c.settings.Config)); err != nil {
			c.warn("web", "store it with mcp-tools secrets set, or as the reference says", "%s: %v", u.what, err)
			continue
		}
		found++
	}
	if found > 0 {
		c.ok("web", "%s found", text.Plural(found, "secret"))
	}
}
