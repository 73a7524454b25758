package llm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// check finds out for doctor whether the providers of models can be used. It sends
// nothing, because requests cost money. key returns the key of a
// provider.
func check(settings func() Settings, key func(provider string) (string, error)) room.Check {
	return room.Check{Name: "models", Run: func(_ context.Context, f *room.Findings) {
		o, err := settings().Options()
		if err == nil && o.Providers == nil {
			return
		}
		if err == nil {
			_, err = NewModels(o)
		}
		if err != nil {
			f.Fail("correct the setting", "%v", err)
			return
		}
		for _, p := range o.Providers {
			o.checkProvider(f, p, key)
		}
	}}
}

func (o Options) checkProvider(f *room.Findings, p Provider, key func(string) (string, error)) {
	setting := "models.providers." + p.Name
	secret, err := key(p.Name)
	switch {
	case err != nil:
		f.Advise("set the secret that "+setting+".key refers to; until then these models cannot be used", "%v", err)
	case secret == "" && p.URL == "":
		f.Advise("set "+setting+".key", "%s has no key", p.Name)
	default:
		f.OK("%s has %s", p.Name, text.Plural(len(p.Models), "model"))
	}
	for _, model := range p.Models {
		name := p.Name + "/" + model
		if ending := Ending(name, EndOf(model)); ending != "" {
			f.Advise(fmt.Sprintf("replace it in %s.models", setting), "%s", ending)
		}
		if o.Unpriced(p, model) {
			f.Advise(fmt.Sprintf("set its price in %s.prices, such as {%s: 3/15}", setting, strings.TrimSpace(model)),
				"%s cannot be used: there is a budget in dollars, and its price is not known", name)
		}
	}
}

// endSoon is how long before the end of a model the operator is warned.
const endSoon = 60 * 24 * time.Hour

// Ending says that a model has ended, or ends soon. It returns "" for other models, and
// for those without an end.
func Ending(name string, end time.Time) string {
	switch {
	case end.IsZero() || time.Until(end) >= endSoon:
		return ""
	case time.Now().After(end):
		return fmt.Sprintf("%s has ended on %s", name, end.Format(time.DateOnly))
	}
	return fmt.Sprintf("%s ends on %s", name, end.Format(time.DateOnly))
}
