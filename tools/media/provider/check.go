package provider

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// Check reports to doctor whether the providers of media can be used: their keys, and the end
// dates of their models. It sends nothing, because requests cost money. It also looks for the
// programs that read and make media on this machine. setup returns the options without keys,
// and key returns the key of a provider.
func Check(setup func() (Options, error), key func(provider string) (string, error)) room.Check {
	return room.Check{Name: "media", Run: func(_ context.Context, f *room.Findings) {
		checkPrograms(f)
		o, err := setup()
		if err == nil && o.Endpoints == nil {
			return
		}
		var p *Providers
		if err == nil {
			p, err = New(o)
		}
		if err != nil {
			f.Fail("correct the setting", "%v", err)
			return
		}
		for _, e := range o.Endpoints {
			p.checkEndpoint(f, e, key)
		}
		for _, t := range wire.Tasks() {
			for _, name := range p.Chain(t) {
				if ending := llm.Ending(fmt.Sprintf("%s (%s)", name, t), p.EndOf(t, name)); ending != "" {
					f.Advise(fmt.Sprintf("name another model in media.chain.%s", t), "%s", ending)
				}
			}
		}
	}}
}

func (p *Providers) checkEndpoint(f *room.Findings, e Endpoint, key func(string) (string, error)) {
	setting := "media.providers." + e.Name
	secret, err := key(e.Name)
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
		f.Advise("set the secret that "+setting+".key refers to; until then the provider cannot be used", "%v", err)
	case secret == "" && e.URL == "":
		f.Advise("set "+setting+".key; until then the provider cannot be used", "%s has no key", e.Name)
	case len(tasks) == 0:
		f.Advise("name it in media.chain, as "+e.Name+"/MODEL, or remove it", "%s is asked for nothing", e.Name)
	default:
		f.OK("%s has %s: %s", e.Name, text.Plural(len(tasks), "task"), strings.Join(tasks, ", "))
	}
}

func checkPrograms(f *room.Findings) {
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
	if missing != nil {
		f.Advise("install them if you need these media", "not installed: %s", strings.Join(missing, ", "))
		return
	}
	f.OK("programs: %s", strings.Join(found, ", "))
}
