package doctor

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// checkProviders checks the providers of media: their keys, and when the models end that
// are asked. It sends nothing, because requests cost money.
func (c *checkup) checkProviders() {
	const check = "media"
	settings := c.settings.Config.Media
	if len(settings.Providers) == 0 {
		return
	}
	o, err := app.MediaOptions(settings)
	var p *provider.Providers
	if err == nil {
		p, err = provider.New(o)
	}
	if err != nil {
		c.fail(check, "correct the setting", "%v", err)
		return
	}
	for _, e := range o.Endpoints {
		setting := "media.providers." + e.Name
		key, err := c.env.MediaKey(c.settings.Config, e.Name)
		var tasks []string
		for _, t := range wire.Tasks() {
			for _, model := range p.Chain(t) {
				if strings.HasPrefix(model, e.Name+"/") {
					tasks = append(tasks, string(t))
					break
				}
			}
		}
		switch {
		case err != nil:
			c.warn(check, "set the secret that "+setting+".key refers to; until then the provider cannot be used", "%v",
				err)
		case key == "" && e.URL == "":
			c.warn(check, "set "+setting+".key; until then the provider cannot be used", "%s has no key", e.Name)
		case len(tasks) == 0:
			c.warn(check, "name it in media.chain, as "+e.Name+"/MODEL, or remove it", "%s is asked for nothing",
				e.Name)
		default:
			c.ok(check, "%s has %s: %s", e.Name, text.Plural(len(tasks), "task"), strings.Join(tasks, ", "))
		}
	}
	for _, t := range wire.Tasks() {
		for _, name := range p.Chain(t) {
			c.checkEnd(t, p, name)
		}
	}
}

// checkMediaPrograms looks for the programs with which media are read and made here.
func (c *checkup) checkMediaPrograms() {
	var found, missing []string
	for _, p := range []struct{ name, use string }{
		{"ffmpeg", "videos, and most formats of sound"}, {"espeak-ng", "speech without a provider"},
		{"dot", "diagrams in the language of Graphviz"},
	} {
		if _, err := exec.LookPath(p.name); err == nil {
			found = append(found, p.name)
		} else {
			missing = append(missing, fmt.Sprintf("%s (%s)", p.name, p.use))
		}
	}
	if len(missing) > 0 {
		c.warn("media", "install them if you need what they do", "not installed: %s", strings.Join(missing, ", "))
		return
	}
	c.ok("media", "programs: %s", strings.Join(found, ", "))
}

// checkEnd warns of a model that ends soon.
func (c *checkup) checkEnd(t wire.Task, p *provider.Providers, name string) {
	const check = "media"
	advice := fmt.Sprintf("name another model in media.chain.%s", t)
	switch end := p.EndOf(t, name); {
	case end.IsZero():
	case time.Now().After(end):
		c.warn(check, advice, "%s (%s) has ended on %s", name, t, end.Format(time.DateOnly))
	case time.Until(end) < endSoon:
		c.warn(check, advice, "%s (%s) ends on %s", name, t, end.Format(time.DateOnly))
	}
}
