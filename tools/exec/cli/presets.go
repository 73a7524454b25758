package cli

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/tools/exec/table"
)

//go:embed presets.txt
var presetsFile embed.FS

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets())) }

// presets returns the presets of presets.txt by their names.
var presets = sync.OnceValue(func() map[string]preset {
	all := map[string]preset{}
	for _, b := range table.Embedded(presetsFile, "presets.txt") {
		p := preset{env: everywhere(), check: checkOf(b.Heading)}
		for _, l := range b.Lines {
			p.set(l)
		}
		all[b.Heading] = p
	}
	return all
})

// set applies a line of presets.txt.
func (p *preset) set(l table.Line) {
	lists := map[string]*string{
		"values": &p.values, "plain": &p.plain, "others": &p.others, "texts": &p.texts, "prelude": &p.prelude,
		"flags": &p.flags,
	}
	switch keyword, rest := l.Keyword(); keyword {
	case "single":
		p.single = true
	case "dashes":
		p.dashes = true
	case "seconds":
		p.seconds, _ = strconv.Atoi(rest) // a test reads all presets
	case "twin":
		p.twin[0], p.twin[1], _ = strings.Cut(rest, " ")
	case "doing":
		p.doing = rest
	case "env":
		p.env = append(p.env, l.Entries...)
	case "reads":
		p.reads = append(p.reads, l.Entries...)
	case "changes":
		p.changes = append(p.changes, l.Entries...)
	case "deletes":
		p.deletes = append(p.deletes, l.Entries...)
	case "refused":
		p.refused = append(p.refused, refusal{rest, l.Entries})
	case "hint":
		p.hints = append(p.hints, refusal{rest, l.Entries})
	default:
		list, known := lists[keyword]
		if !known {
			panic("cli: presets.txt: " + keyword)
		}
		*list = strings.TrimSpace(*list + " " + rest)
	}
}
