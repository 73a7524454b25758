package judge

import (
	"embed"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/table"
)

//go:embed programs.txt names.txt rules.txt
var tableFiles embed.FS

// knowledge has the facts about programs, and lists of names. It is read at the first
// judgement.
type knowledge struct {
	programs map[string]*program
	lists    map[string]map[string]bool
	prefixes map[string][]string // of lists: text before a *, or paths
}

var tables = sync.OnceValue(func() *knowledge {
	t := &knowledge{
		programs: map[string]*program{}, lists: map[string]map[string]bool{},
		prefixes: map[string][]string{},
	}
	for _, b := range table.Embedded(tableFiles, "programs.txt") {
		for name := range strings.FieldsSeq(b.Heading) {
			p := t.programs[name]
			if p == nil {
				p = &program{name: name, words: map[string][]string{}}
				t.programs[name] = p
			}
			for _, l := range b.Lines {
				p.add(l)
			}
		}
	}
	for name, p := range t.programs {
		if as := p.words["as"]; as != nil {
			t.programs[name] = t.programs[as[0]]
		}
	}
	for _, b := range table.Embedded(tableFiles, "names.txt") {
		name, set := b.Heading, map[string]bool{}
		for _, l := range b.Lines {
			for word := range strings.FieldsSeq(l.Text) {
				set[word] = true
				if prefix, ok := strings.CutSuffix(word, "*"); ok {
					t.prefixes[name] = append(t.prefixes[name], prefix)
				} else if len(word) > 1 && (word[0] == '~' || word[0] == '/' && word[len(word)-1] == '/') {
					t.prefixes[name] = append(t.prefixes[name], word)
				}
			}
		}
		t.lists[name] = set
	}
	return t
})

// inList reports whether a list of names.txt has a name.
func (t *knowledge) inList(list, name string) bool {
	set, ok := t.lists[list]
	if !ok {
		panic("judge: no list " + strconv.Quote(list))
	}
	return set[name] || slices.ContainsFunc(t.prefixes[list], func(p string) bool { return strings.HasPrefix(name, p) })
}

// inPaths reports whether a list of paths has an absolute clean path.
func (t *knowledge) inPaths(list, p string) bool {
	set := t.lists[list]
	if set[p] || set[path.Base(p)] {
		return true
	}
	return slices.ContainsFunc(t.prefixes[list], func(entry string) bool {
		switch rest, part := strings.CutPrefix(entry, "~"); {
		case !part:
			return below(p, strings.TrimSuffix(entry, "/"))
		case strings.HasSuffix(rest, "/"):
			return strings.Contains(p+"/", rest)
		default:
			return strings.HasSuffix(p, rest)
		}
	})
}

// A program is the entry of one program in the table.
type program struct {
	name    string
	words   map[string][]string // by the first word of their lines
	rules   []rule
	handler string // the Go function that judges the rest, or ""
}

// A rule is a line with an action.
type rule struct {
	keyword  string // if, unless, value, before, does
	patterns []string
	action   []string
}

// add adds a line of the table.
func (p *program) add(line table.Line) {
	keyword, rest := line.Keyword()
	switch keyword {
	case "if", "unless", "value", "before":
		patterns, action, ok := strings.Cut(rest, ": ")
		if !ok {
			panic("judge: a line without an action: " + line.Text)
		}
		p.rules = append(p.rules, rule{keyword, strings.Fields(patterns), strings.Fields(action)})
	case "does":
		p.rules = append(p.rules, rule{keyword: keyword, action: strings.Fields(rest)})
	case "go":
		p.handler = rest
	default:
		p.words[keyword] = append(p.words[keyword], strings.Fields(rest)...)
	}
}

func (p *program) has(keyword, word string) bool { return slices.Contains(p.words[keyword], word) }

// lines reports whether the program has a line with one of the keywords.
func (p *program) lines(keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { _, ok := p.words[k]; return ok })
}

// number returns the number that a line with this keyword begins with, and the
// words after it. It is -1 when there is no such line.
func (p *program) number(keyword string) (int, []string) {
	words, ok := p.words[keyword]
	if !ok {
		return -1, nil
	}
	if n, err := strconv.Atoi(words[0]); err == nil {
		return n, words[1:]
	}
	return 0, words
}

// run judges a call by the table, and returns the program's output.
func (j *judge) run(s *scope, p *program, c call) stream {
	args := c.rest()
	if len(args) == 1 && p.has("alone", args[0].text) || len(args) > 0 && p.has("begins", args[0].text) ||
		len(args) == 0 && p.has("begins", "none") {
		j.always = false
		return stream{}
	}
	in := p.parse(args)
	if in.unknown != "" {
		j.opaque("option " + in.unknown + " of " + c.name())
	}
	from := taint(0)
	if p.applyRules(j, s, c, in) {
		from = fromDecoder
	}
	if in.matches(p.words["stop"]...) {
		return stream{text: unknownFrom(from)}
	}
	j.operands(s, p, c, in)
	if h := j.handlers[p.handler]; h != nil {
		return h(j, s, p, c, in)
	}
	if n, _ := p.number("command"); n >= 0 {
		return j.wrapped(s, p, in, n)
	}
	if n, _ := p.number("shelltext"); n >= 0 && len(in.operands) > n {
		j.runText(s, joinArgs(in.operands[n:]))
	}
	if p.hasSubcommands() {
		from |= j.subcommand(s, p, c).taint()
	}
	switch out := p.words["output"]; {
	case out == nil:
	case out[0] == "none":
		return silent()
	case out[0] == "network":
		return unknownStream(fromNetwork)
	case out[0] == "stdin":
		return s.in
	case len(in.operands) == 0: // the text
		return textStream(out[0] + "\n")
	}
	if p.lines("operands") {
		from |= joinArgs(in.operands).taint()
	}
	return stream{text: unknownFrom(from)}
}

// wrapped judges the command in the operands of a program.
func (j *judge) wrapped(s *scope, p *program, in arguments, skip int) stream {
	j.always = false
	args := in.operands
	if in.unknown == "" {
		args = args[min(skip, len(args)):]
	}
	for p.lines("assignments") && len(args) > 1 && args[0].static() && strings.Contains(args[0].text, "=") {
		args = args[1:]
	}
	return j.inner(s, args)
}

// applyRules applies the lines with an action. It reports whether the program decodes its
// input.
func (p *program) applyRules(j *judge, s *scope, c call, in arguments) (decodes bool) {
	for _, r := range p.rules {
		switch r.keyword {
		case "value":
			for _, o := range in.opts {
				if o.hasValue && slices.ContainsFunc(r.patterns, o.matches) {
					j.act(s, c, in, r.action, o.value)
				}
			}
		case "before":
		case "does", "if", "unless":
			if !r.applies(in) {
				continue
			}
			decodes = decodes || r.action[0] == "decodes"
			j.act(s, c, in, r.action, arg{})
		}
	}
	return decodes
}

// applies reports whether the action of a line if, unless or does is to be taken.
// Patterns behind the word unless are exceptions.
func (r rule) applies(in arguments) bool {
	patterns, except := exceptions(r.patterns)
	return r.keyword == "does" || (in.matches(patterns...) && !in.matches(except...)) == (r.keyword == "if")
}

// exceptions divides words at the word unless.
func exceptions(words []string) (before, after []string) {
	if at := slices.Index(words, "unless"); at >= 0 {
		return words[:at], words[at+1:]
	}
	return words, nil
}

// operands applies the actions for operands: the line "target" to the destination, and the line
// "operands" to the others.
func (j *judge) operands(s *scope, p *program, c call, in arguments) {
	sources := in.operands
	if p.lines("target") {
		action, except := exceptions(p.words["target"])
		targets := in.values("-t", "--target-directory")
		switch n := len(sources); {
		case in.matches(except...):
			sources, targets = nil, sources
		case len(targets) == 0 && n > 0:
			sources, targets = sources[:n-1], sources[n-1:]
		}
		for _, t := range targets {
			j.act(s, c, in, action, t)
		}
		for _, f := range sources {
			j.keepContents(s, f, targets)
		}
	}
	skip, actions := p.number("operands")
	if skip < 0 {
		return
	}
	actions, except := exceptions(actions)
	if in.matches(except...) {
		skip = 0
	}
	for i, o := range sources[min(skip, len(sources)):] {
		j.act(s, c, in, actions[min(i, len(actions)-1):][:1], o)
	}
	for _, o := range in.opts {
		if o.given && !in.strict && actions[0] == "read" {
			j.read(s, o.value)
		}
	}
}

// act applies an action to a value or an operand, or to the whole call.
func (j *judge) act(s *scope, c call, in arguments, action []string, a arg) {
	switch verb := action[0]; verb {
	case "reads":
	case "writes":
		j.raise(tool.Writes, c.name()+" changes files")
	case "decodes":
		j.raise(tool.Writes, "unpacks "+joinArgs(in.operands).shown())
	case "destroys":
		j.raise(tool.Destroys, shorten(c.shown())+" cannot be undone")
	case "discards":
		why := shorten(c.shown()) + " overwrites what is not committed"
		if c.elsewhere || slices.ContainsFunc(s.dirs, func(d string) bool { return !j.inWorkspace(d) }) {
			j.raise(tool.Destroys, why)
		} else {
			j.raiseKept(tool.Destroys, why)
		}
	case "runs":
		j.raise(tool.Runs, "runs "+shorten(c.shown()))
	case "code":
		j.runsWorkspace("runs code: " + shorten(c.shown()))
	case "remote":
		j.reachesOthers(shorten(c.shown()) + " works with other machines")
	case "opaque":
		j.opaque(shorten(c.shown()))
	case "rule":
		if fits := func(p string) bool { return wildcard(p, a.text) }; len(action) == 2 ||
			slices.ContainsFunc(action[2:], fits) {
			j.hit(action[1], c.shown())
		}
	case "helper":
		j.always = false
		j.hit("helper_program", c.shown())
		j.glimpseAll(c.rest())
	case "glimpse":
		j.always = false
		j.glimpseAll(c.rest())
	case "dumps":
		j.dumps(c.name())
	case "shell":
		j.runText(s, a)
	case "inline":
		j.inlineCode(c.name(), a)
	case "module":
		j.runModule(s, a, in.operands)
	case "setting":
		j.gitSetting(a.text, true)
	case "compressor":
		if name, _, _ := strings.Cut(a.text, " "); !j.inList("compressors", name) {
			j.act(s, c, in, []string{"helper"}, a)
		}
	default:
		if !j.actOnFile(s, c, in, verb, a) {
			j.actOnNetwork(s, c, in, verb, a)
		}
	}
}

// actOnFile applies an action to a file that an argument names. It returns false
// for other actions.
func (j *judge) actOnFile(s *scope, c call, in arguments, verb string, a arg) bool {
	switch verb {
	case "read":
		j.read(s, a)
	case "write", "create", "empty", "store":
		switch {
		case verb == "empty":
			j.raise(tool.Destroys, "empties "+a.shown())
		case verb != "write" && (a.is("-") || j.locate(s, a) == rootPath):
			return true
		}
		j.write(s, a, c.name()+" writes")
		if verb == "store" {
			j.wrote(s, a, s.in)
		}
	case "into":
		j.writeInto(s, a)
	case "archive": // of tar
		switch {
		case a.is("-"):
		case strings.Contains(a.text, ":"):
			j.hit("remote_login", a.shown())
		case in.matches("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete", "--c*"):
			j.write(s, a, "writes the archive")
		default:
			j.read(s, a)
		}
	case "pack":
		where := j.locate(s, a)
		switch where {
		case insidePath, globPath, rootPath, harmlessPath, unknownPath:
		default:
			if where != tempPath || !j.req.Isolated {
				j.writeInto(s, a)
			}
		}
	case "local", "localdir":
		switch {
		case strings.Contains(a.text, ":"):
			j.hit("remote_login", a.shown())
		case verb == "local":
			j.read(s, a)
		default:
			j.writeInto(s, a)
		}
	case "remove":
		j.removes(s, a, in.matches("-r", "-R", "--r*") ||
			slices.ContainsFunc(in.all, func(a arg) bool { return a.starts("-") && !a.static() }))
	case "unlink":
		j.removes(s, a, false)
	case "fill": // the target of a move
		j.filled = append(j.filled, s.resolve(a.text)...)
		j.writeInto(s, a)
	case "vacate": // the source of a move
		if where := j.locate(s, a); where != insidePath && (where != tempPath || !j.req.Isolated) {
			j.removes(s, a, where != tempPath)
		}
	case "clears":
		if n := len(in.operands); n > 0 {
			j.removes(s, in.operands[n-1], true)
		}
	case "links": // a later write through a link goes elsewhere
		switch j.locate(s, a) {
		case insidePath, globPath, tempPath, harmlessPath:
		default:
			j.raise(tool.Destroys, "makes a link that leads out of the workspace: "+a.shown())
		}
	case "mode":
		if strings.Contains(a.text, "s") || len(a.text) > 3 && a.text[0] != '0' {
			j.hit("rights", "mode "+a.shown())
		}
	default:
		return false
	}
	return true
}

// hasSubcommands reports whether the table says something about subcommands.
func (p *program) hasSubcommands() bool {
	return p.lines("unlisted", "bare", "flags", "values") || p.lines(risks...)
}

// risks are the lists of subcommands.
var risks = []string{"reads", "writes", "code", "destroys", "installs", "remote", "runs"}

// subcommand judges a program by its subcommand.
func (j *judge) subcommand(s *scope, p *program, c call) stream {
	if p.lines("unlisted") && (len(c.args) < 2 || j.programs[p.name+"/"+c.args[1].text] == nil) {
		j.raise(tool.Runs, "runs "+shorten(c.shown()))
		return stream{}
	}
	args, ok := j.globalOptions(s, p, c)
	if !ok {
		return stream{}
	}
	if len(args) == 0 {
		if bare := p.words["bare"]; bare != nil {
			j.act(s, c, arguments{}, bare, arg{})
		}
		return stream{}
	}
	sub := args[0]
	if !sub.static() || sub.glob {
		j.opaque(c.name() + " " + sub.shown())
		return stream{}
	}
	in := parseLoose(args[1:], "")
	name, rest := sub.text, args[1:]
	child := j.programs[p.name+"/"+name]
	if len(in.operands) > 0 {
		two := name + "/" + in.operands[0].text
		if grandchild := j.programs[p.name+"/"+two]; grandchild != nil && (child == nil || !child.hasSubcommands()) {
			name, child, rest = two, grandchild, argsAfter(rest, in.operands[0].text)
		} else if p.risk(two) != "" {
			name = two
		}
	}
	if p.words["shows"] == nil && in.hasFlag("--help") && !p.has("code", sub.text) &&
		!strings.Contains(sub.text, "run") && !(child != nil && child.judgesAll()) {
		return stream{}
	}
	risk := p.risk(name)
	what := call{args: append([]arg{literal(c.name() + " " + strings.ReplaceAll(name, "/", " "))}, rest...),
		elsewhere: len(args) < len(c.args)-1}
	switch {
	case child == nil:
	case child.hasSubcommands():
		return j.run(s, child, what)
	case child.destroys(in):
		risk = "reads" // nothing worse than its own lines
	case in.matches(child.words["lists"]...):
		risk = "reads"
	case risk == "" && child.judgesAll() && len(args) == len(c.args)-1:
		risk = "reads"
	}
	switch risk {
	case "installs":
		j.always = false
		j.hit("install", what.shown())
	case "":
		j.raise(tool.Runs, "runs "+shorten(what.shown()))
	default:
		j.act(s, what, in, []string{risk}, arg{})
	}
	if child != nil {
		return j.run(s, child, what)
	}
	return stream{}
}

// judgesAll reports whether the lines of a subcommand say all about it.
func (p *program) judgesAll() bool { return p.handler != "" || p.words["command"] != nil }

// destroys reports whether a line of the program says that a call destroys.
func (p *program) destroys(in arguments) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return (r.action[0] == "destroys" || r.action[0] == "discards") && (r.keyword == "if" || r.keyword == "unless") && r.applies(in)
	})
}

// risk returns the list that a subcommand is in, or "".
func (p *program) risk(name string) string {
	if i := slices.IndexFunc(risks, func(list string) bool { return p.has(list, name) }); i >= 0 {
		return risks[i]
	}
	return ""
}

// globalOptions judges the options before a subcommand, and returns the arguments after them.
// It returns false when the program only shows something.
func (j *judge) globalOptions(s *scope, p *program, c call) ([]arg, bool) {
	args := c.rest()
	shows := p.words["shows"]
	if shows == nil {
		shows = []string{"--version", "--help", "-h", "-V"}
		if len(args) == 1 {
			shows = append(shows, "-v")
		}
	}
	for len(args) > 0 {
		a := args[0]
		name, text, given := strings.Cut(a.text, "=")
		value := a.with(text)
		switch {
		case !a.starts("-") && !a.starts("+"):
			return args, true
		case slices.Contains(shows, a.text):
			return nil, false
		case p.has("values", name):
			if !given && len(args) > 1 {
				args = args[1:]
				value = args[0]
			}
		case !p.has("flags", name):
			j.opaque("option " + a.shown() + " of " + c.name())
		}
		for _, r := range p.rules {
			if r.keyword == "before" && slices.Contains(r.patterns, name) {
				j.act(s, c, arguments{}, r.action, value)
			}
		}
		args = args[1:]
	}
	return nil, true
}

// argsAfter returns the arguments after a word.
func argsAfter(args []arg, word string) []arg {
	for i, a := range args {
		if a.is(word) {
			return args[i+1:]
		}
	}
	return nil
}
