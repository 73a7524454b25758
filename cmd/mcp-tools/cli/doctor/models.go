package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// endSoon is how long before the end of a model the operator is warned.
const endSoon = 60 * 24 * time.Hour

// checkModels checks the providers of language models. It sends nothing, because
// requests cost money.
func (c *checkup) checkModels() {
	const check = "models"
	if len(c.settings.Config.Models.Providers) == 0 {
		return
	}
	o, err := app.ModelOptions(c.settings.Config.Models)
	if err == nil {
		_, err = llm.NewModels(o)
	}
	if err != nil {
		c.fail(check, "correct the setting", "%v", err)
		return
	}
	for _, p := range o.Providers {
		setting := "models.providers." + p.Name
		key, err := c.env.ModelKey(c.settings.Config, p.Name)
		switch {
		case err != nil:
			c.warn(check, "set the secret that "+setting+".key refers to; until then these models cannot be used", "%v",
				err)
		case key == "" && p.URL == "":
			c.warn(check, "set "+setting+".key", "%s has no key", p.Name)
		default:
			c.ok(check, "%s has %s", p.Name, text.Plural(len(p.Models), "model"))
		}
		for _, model := range p.Models {
			c.checkModel(setting, p, model, o.Unpriced(p, model))
		}
	}
}

func (c *checkup) checkModel(setting string, p llm.Provider, model string, unpriced bool) {
	const check = "models"
	name := p.Name + "/" + model
	advice := fmt.Sprintf("replace it in %s.models", setting)
	switch end := llm.EndOf(model); {
	case end.IsZero():
	case time.Now().After(end):
		c.warn(check, advice, "%s has ended on %s", name, end.Format(time.DateOnly))
	case time.Until(end) < endSoon:
		c.warn(check, advice, "%s ends on %s", name, end.Format(time.DateOnly))
	}
	if unpriced {
		c.warn(check, fmt.Sprintf("set its price in %s.prices, such as {%s: 3/15}", setting, strings.TrimSpace(model)),
			"%s cannot be used: there is a budget in dollars, and its price is not known", name)
	}
}
