package doctor

import (
	"errors"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

// checkWeb looks for the browser, and for the secrets of the web tools. It makes no
// request.
func (c *checkup) checkWeb() {
	w := c.settings.Config.Web
	switch path, version, err := browser.Find(c.ctx, w.Browser.Path); {

	case err != nil && path == "" && w.Browser.Path != "":
		c.warn("browser",
			"correct web.browser.path, or remove it to use the browser that is found; the other tools work without",
			"there is no program %s", w.Browser.Path)
	case err != nil:
		c.warn("browser",
			"install Chromium (apt-get install chromium), or set web.browser.path; the other tools work without",
			"%s", tool.AsError(err).What)
	default:
		c.ok("browser", "%s at %s", terminal.OneLine(version), path)
		c.checkBrowserSandbox(w.Browser)
	}
	engines, _, err := search.Configured(w.Search, func(string, config.Secret) func() (string, error) { return nil })
	if err != nil {
		c.fail("search", "correct web.search", "%v", err)
		return
	}
	var names []string
	for _, e := range engines {
		names = append(names, e.Kind)
	}
	c.ok("search", "asks %s, in this order", strings.Join(names, ", "))
	c.checkWebSecrets(w)
}

// checkBrowserSandbox checks whether a browser can be isolated.
func (c *checkup) checkBrowserSandbox(b config.Browser) {
	err := browser.CheckIsolation(c.ctx)
	if err == nil {
		return
	}
	var known *tool.Error
	if !errors.As(err, &known) {
		c.warn("browser", "fix the cause; the other tools work without",
			"it is unknown whether a browser can be isolated: %v", err)
		return
	}
	advice := known.Next + "; or set web.browser.without_sandbox, for trusted pages"
	if b.Insecure {
		c.warn("browser", known.Next, "%s; it is started without, because of web.browser.without_sandbox", known.What)
		return
	}
	c.warn("browser", advice, "%s; no browser is started", known.What)
}

// checkWebSecrets checks whether each secret of the web tools exists.
func (c *checkup) checkWebSecrets(w config.Web) {
	type use struct {
		what string
		from config.Secret
	}
	var uses []use
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
		if _, err := u.from.Fetch(c.env.Sources(c.settings.Config.Vault)); err != nil {
			c.warn("web", "store it with mcp-tools secrets set, or as the reference says", "%s: %v", u.what, err)
			continue
		}
		found++
	}
	if found > 0 {
		c.ok("web", "%s found", text.Plural(found, "secret"))
	}
}
