package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An effect is the effect of a command, from the least to the worst.
type effect uint8

const (
	unlisted effect = iota // it is not allowed
	reads
	changes
	deletes
)

// A preset has the facts about a program that many people use.
type preset struct {
	grammar
	reads, changes, deletes []string // patterns
	refused                 []refusal
	hints                   []refusal // the reason why a command is not allowed
	doing                   string    // why its changes need a second look
	env                     []string  // NAME=value that it always gets
	seconds                 int
	twin                    [2]string // the second variable gets the file of the first
	// check covers cases beyond the patterns: it returns an error, or the effect of the
	// command.
	check func(l line, p Program) (effect, error)
}

// A refusal says why some commands are not run.
type refusal struct {
	why      string
	patterns []string
}

// A verdict is the effect of a command, or the reason why it does not run.
type verdict struct {
	effect effect
	why    string
	err    error
}

// program is a Program with its patterns read.
type program struct {
	Program
	preset  preset
	allow   []rule // nil: the listed commands
	listed  map[effect][]rule
	refused []rule
	hints   []rule
	reads   []rule // of the operator
	wrong   error  // in its configuration
}

// judge returns the effect of a command, or the reason why it does not run. args are the
// arguments of the program.
func (p program) judge(args []string) verdict {
	if p.wrong != nil {
		return verdict{err: tool.Errorf(tool.Unavailable, "%s is configured wrongly: %v", p.Name, p.wrong).
			Try("the operator corrects exec.programs")}
	}
	l := p.preset.read(args)
	if r, found := first(p.refused, func(r rule) bool { return r.denies(l, p.preset.grammar) }); found {
		return p.refuse(r.why)
	}
	v := verdict{effect: p.effect(l)}
	if v.effect == unlisted {
		return p.unknown(l)
	}
	if p.preset.check != nil {
		worse, err := p.preset.check(l, p.Program)
		if err != nil {
			return verdict{err: err}
		}
		if worse != unlisted {
			v.effect = worse
		}
	}
	v.why = p.reason(v.effect)
	if _, own := first(p.reads, func(r rule) bool { return r.allows(l) }); v.effect == reads && !own {
		for _, f := range l.flags {
			if !p.preset.knows(f.name) {
				v.effect, v.why = changes, fmt.Sprintf("%s gets %s, which may change its effect", p.Name, f.name)
			}
		}
	}
	return v
}

// effect returns the most dangerous known effect of a command, if it is allowed at all.
func (p program) effect(l line) effect {
	fits := func(r rule) bool { return r.allows(l) }
	if len(l.words) == 0 && len(l.flags) == 1 && l.has("--version --help") {
		return reads
	}
	known := unlisted
	for _, e := range []effect{reads, changes, deletes} {
		if slices.ContainsFunc(p.listed[e], fits) {
			known = e
		}
	}
	switch {
	case p.allow == nil:
		return known
	case !slices.ContainsFunc(p.allow, fits):
		return unlisted
	}
	if known == unlisted {
		return changes
	}
	return known
}

func (p program) reason(e effect) string {
	switch e {
	case reads:
		return p.Name + " only reads here"
	case deletes:
		return p.Name + " deletes something, with its credentials"
	}
	if p.preset.doing != "" {
		return p.preset.doing
	}
	return p.Name + " acts with its credentials"
}

func (p program) refuse(why string) verdict {
	return verdict{err: tool.Errorf(tool.Refused, "%s does not run this: %s", p.Name, why).
		Try("do it another way, or ask the user to")}
}

// unknown returns the verdict on a command outside of the allowed ones.
func (p program) unknown(l line) verdict {
	if r, found := first(p.hints, func(r rule) bool { return r.denies(l, p.preset.grammar) }); found {
		return p.refuse(r.why)
	}
	if len(l.words) > 0 && !l.words[0].sure || len(l.words) > 1 && !l.words[1].sure && p.starts(l.words[0].text) {
		return verdict{err: tool.Errorf(tool.Refused, "the effect of %s is not clear", p.Name).
			Try("write the words of the command first and its flags after them, with --flag=value")}
	}
	what := "that"
	if len(l.words) > 0 {
		what = fmt.Sprintf("%q", joined(l.words))
	}
	return verdict{err: tool.Errorf(tool.Refused, "%s is not among the commands of %s that are allowed here", what, p.Name).
		Try("it may do: %s", p.offer(l))}
}

func joined(words []word) string {
	var texts []string
	for _, w := range words[:min(len(words), 3)] {
		texts = append(texts, w.text)
	}
	text := strings.Join(texts, " ")
	return text[:min(len(text), 80)]
}

// starts reports whether some allowed command has more words than this one.
func (p program) starts(text string) bool {
	return slices.ContainsFunc(p.offered(), func(r rule) bool { return len(r.words) > 1 && matches(r.words[0], text) })
}

func (p program) offered() []rule {
	if p.allow != nil {
		return p.allow
	}
	return slices.Concat(p.listed[reads], p.listed[changes], p.listed[deletes])
}

// offer lists the allowed commands, first the commands with the named thing.
func (p program) offer(l line) string {
	const most = 400
	near, far := "", ""
	for _, r := range p.offered() {
		text := r.String()
		if len(r.words) > 1 && matches(r.words[0], l.word(0)) {
			near += ", " + text
		} else if !strings.Contains(far+",", ", "+text+",") {
			far += ", " + text
		}
	}
	text := strings.TrimPrefix(near, ", ")
	if text == "" {
		text = strings.TrimPrefix(far, ", ")
	}
	if len(text) > most {
		text = text[:strings.LastIndex(text[:most], ", ")+1] + " ..."
	}
	return text
}

// String returns the pattern as it was written.
func (r rule) String() string {
	var parts []string
	for _, w := range r.words {
		parts = append(parts, strings.Join(w, "|"))
	}
	for _, f := range r.flags {
		text := strings.Join(f.names, "|")
		if f.values != nil {
			text += "=" + strings.Join(f.values, "|")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
