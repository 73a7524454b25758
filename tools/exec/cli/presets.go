package cli

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed presets.txt
var presetsFile embed.FS

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets())) }

// presets returns the presets of presets.txt by their names.
var presets = sync.OnceValue(func() map[string]preset {
	content, err := presetsFile.ReadFile("presets.txt")
	if err != nil {
		panic("cli: " + err.Error()) // it is part of this program
	}
	all := map[string]preset{}
	name, p := "", preset{}
	var patterns *string // where lines indented twice go
	var env string
	finish := func() {
		if name != "" {
			p.env = append(everywhere(), strings.FieldsFunc(env, func(r rune) bool { return r == '\n' })...)
			p.check = checkOf(name)
			all[name] = p
		}
		p, env = preset{}, ""
	}
	for line := range strings.Lines(string(content)) {
		text := strings.TrimSpace(line)
		keyword, rest, _ := strings.Cut(text, " ")
		switch {
		case text == "" || text[0] == '#':
		case strings.HasPrefix(line, "\t\t"):
			*patterns += text + "\n"
		case strings.HasPrefix(line, "\t"):
			patterns = p.set(keyword, rest, &env)
		default:
			finish()
			name = text
		}
	}
	finish()
	return all
})

// set sets what a line of presets.txt says, and returns where the lines below
// it go.
func (p *preset) set(keyword, rest string, env *string) *string {
	lists := map[string]*string{
		"values": &p.values, "plain": &p.plain, "others": &p.others, "texts": &p.texts, "prelude": &p.prelude,
		"flags": &p.flags,
	}
	switch keyword {
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
		return env
	case "reads":
		return &p.reads
	case "changes":
		return &p.changes
	case "deletes":
		return &p.deletes
	case "refused":
		p.refused = append(p.refused, refusal{why: rest})
		return &p.refused[len(p.refused)-1].patterns
	case "hint":
		p.hints = append(p.hints, refusal{why: rest})
		return &p.hints[len(p.hints)-1].patterns
	default:
		list, known := lists[keyword]
		if !known {
			panic("cli: presets.txt: " + keyword)
		}
		*list = strings.TrimSpace(*list + " " + rest)
	}
	return nil
}
