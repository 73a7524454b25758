// Package judge predicts the effects of a command before it runs: its risk, the reason, and the
// deny group that refuses it, if any.
//
// It parses the text as a shell would, computes every word that is known beforehand, and judges
// every simple command in it, through wrappers, substitutions, here-documents and encodings. A
// word that is not known beforehand counts as running code. The package looks at no files and
// no processes. It is a guard against accidents; the sandbox of a command is the security
// boundary.
//
// Begin with [Judge]. shell.go walks the text, words.go expands words, call.go and program.go
// judge one command by the table in programs.txt, and rules.go has the rules that refuse
// commands.
package judge

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Request is a command to judge.
type Request struct {
	Command  string   // shell text; or
	Argv     []string // words that no shell reads
	Dir      string   // working directory, absolute, as the command sees it
	Roots    []string // directories that commands may change, the workspace first, as the command sees them
	Home     string   // as the command sees it; "" when it has none
	Env      []string // names of variables that the model sets
	Stdin    string   // readable for the command
	Open     bool     // more than Stdin may follow, and it is not known
	Isolated bool     // the command runs in a sandbox: it can change nothing but the roots
	Network  bool     // the command can reach other machines
	// Disposable reports whether git ignores the file or directory at an absolute path, or all
	// matches of a pattern, and tracks nothing in it. nil: nothing is disposable.
	Disposable func(path string) bool
	// Missing reports whether the command finds no program of a name in its PATH. nil: this is not known.
	Missing func(program string) bool
	// Exists reports whether there is a file at an absolute path. nil: this is not known.
	Exists func(path string) bool
}

// Mode chooses the commands that need approval beside risky ones.
type Mode uint8

// The modes.
const (
	Risky   Mode = iota // only commands that destroy or run code
	Unknown             // all commands outside of the allow list, except commands that only read
	Always              // everything
)

// Rules are the operator's settings.
type Rules struct {
	Groups map[string]Action // by deny group; a missing one has its defaults
	Allow  []Pattern
	Mode   Mode
	Ours   []string // absolute paths of this server's settings, secrets and data
}

// A Simple is a simple command that was found, with wrappers removed.
type Simple struct {
	Argv    []string // words; … stands for the parts of a word that are not known
	Static  bool     // Argv is the exact argv of the program
	Program string   // as it is called
}

// A Denial has the reason of a refusal, and advice.
type Denial struct {
	Group   string
	Rule    string
	Reason  string
	Instead string
}

// A Verdict is the result of judging a command.
type Verdict struct {
	Risk   tool.Risk
	Why    string   // the reason of the risk, for the approver
	Kept   bool     // it destroys only files of the workspace that have copies
	Denied *Denial  // why it is refused at every autonomy; nil when it is not
	Simple []Simple // all simple commands that were found
	Always bool     // a person may allow it for all times
	// Outside is the first file that it says it writes outside the roots and the home
	// directory; "" if there is none.
	Outside string
	// Guarded are the files that it says it writes although they make other programs
	// run code, relative to the root that holds them.
	Guarded []string
}

// Limits that keep judging fast.
const (
	maxText    = 100 << 10 // bytes of one text
	maxParsed  = 1 << 20   // bytes of all texts within it
	maxDepth   = 40        // of substitutions, functions and shells in shells
	maxLevel   = 2000      // of the grammar, where a && b && c counts as two
	maxNesting = 500       // of brackets
	maxSteps   = 20000     // simple commands and words that are judged
	maxSimple  = 200       // simple commands in a verdict
)

// Judge judges a command before it runs.
func Judge(r Request, rules Rules) Verdict {
	j := &judge{req: r, rules: rules, knowledge: tables(), handlers: handlers(), always: true}
	for _, name := range r.Env {
		j.requestVariable(name)
	}
	s := j.newScope()
	switch {
	case len(r.Argv) > 0:
		args := make([]arg, len(r.Argv))
		for i, a := range r.Argv {
			args[i] = literal(strings.ReplaceAll(a, globMark, unknown))
		}
		j.call(s, call{args: args})
	case strings.TrimSpace(r.Command) != "":
		j.text(s, r.Command)
	}
	j.uncalledFunctions(s)
	return j.verdict()
}

// judge is the state of one judgement.
type judge struct {
	*knowledge
	handlers map[string]handler
	req      Request
	rules    Rules

	risk   tool.Risk
	why    string
	final  bool // something is lost without a copy for undo
	denied *Denial
	found  []Simple
	always bool

	steps    int
	parsed   int // bytes
	depth    int
	level    int // of the grammar
	declared []*function
	files    map[string][]stream // files that the text itself may have written, by absolute path
	filled   []string            // absolute paths where the text itself moves something
	guarded  []string            // see Verdict.Guarded
	outside  string              // see Verdict.Outside
	// current collects the risk of the running simple command itself, so that
	// a pattern of the allow list counts for that command alone.
	current *finding
}

// A finding is the risk of one simple command, without the commands that it starts.
type finding struct {
	risk   tool.Risk
	why    string
	starts bool // an option makes it start another program
}

// raise records that the command has at least this risk. Destroyed files are lost.
func (j *judge) raise(risk tool.Risk, why string) {
	j.final = j.final || risk == tool.Destroys
	j.raiseKept(risk, why)
}

// raiseKept is raise for files that undo restores.
func (j *judge) raiseKept(risk tool.Risk, why string) {
	if j.current != nil {
		if risk > j.current.risk {
			j.current.risk, j.current.why = risk, why
		}
		return
	}
	if risk > j.risk {
		j.risk, j.why = risk, why
	}
}

// opaque records something that cannot be known before the command runs.
func (j *judge) opaque(what string) {
	j.always = false
	j.raise(tool.Runs, "cannot be known before it runs: "+what)
}

// runsWorkspace records that code of the workspace runs. A sandbox contains such code.
func (j *judge) runsWorkspace(what string) {
	if j.req.Isolated {
		j.raise(tool.Writes, what)
		return
	}
	j.raise(tool.Runs, what+", without a sandbox")
}

// reachesOthers records that the command works with other machines.
func (j *judge) reachesOthers(what string) {
	if j.req.Isolated && !j.req.Network {
		j.raise(tool.Writes, what)
		return
	}
	j.raise(tool.Runs, what)
}

// hit records that a rule of the deny groups applies.
func (j *judge) hit(name, what string) {
	group, r := ruleNamed(name)
	action, ok := j.rules.Groups[group]
	if !ok {
		action = r.Default
	}
	j.always = j.always && action == Off
	reason := r.Reason
	if what != "" {
		reason += ": " + shorten(what)
	}
	switch action {
	case Deny:
		if j.denied == nil {
			j.denied = &Denial{Group: group, Rule: r.Name, Reason: reason, Instead: r.Instead}
		}
		fallthrough
	case Ask:
		j.raise(tool.Runs, reason)
		if j.current != nil && name == "helper_program" {
			j.current.starts = true
		}
	}
}

// step counts work, and reports whether more of it may be done.
func (j *judge) step() bool {
	if j.steps++; j.steps > maxSteps {
		j.opaque("there is too much of it")
		return false
	}
	return true
}

// deeper runs f one level down, unless that is too deep.
func (j *judge) deeper(f func()) {
	if j.depth >= maxDepth {
		j.opaque("it is nested too deeply")
		return
	}
	j.depth++
	f()
	j.depth--
}

// verdict returns the findings.
func (j *judge) verdict() Verdict {
	v := Verdict{
		Risk: max(j.risk, tool.Reads), Why: j.why, Denied: j.denied, Simple: j.found, Guarded: j.guarded,
		Outside: j.outside,
	}
	v.Kept = v.Risk == tool.Destroys && !j.final
	if j.rules.Mode == Always && v.Risk < tool.Runs {
		v.Risk, v.Why = tool.Runs, "every command needs approval"
	}
	if v.Denied != nil {
		v.Risk, v.Why = tool.Runs, v.Denied.Reason
	}
	v.Always = j.always && v.Denied == nil && len(j.found) > 0
	for _, s := range j.found {
		v.Always = v.Always && s.Static && !StartsOthers(s.Program)
	}
	return v
}

// text judges shell text and returns its output. Either bash or a plain POSIX shell may run it:
// where they may disagree, both readings are judged.
func (j *judge) text(s *scope, text string) (out stream) {
	out = unknownStream(0)
	if j.parsed += len(text); len(text) > maxText || j.parsed > maxParsed || nesting(text) > maxNesting {
		j.opaque("it is too long or nested too deeply")
		return out
	}
	if strings.ContainsRune(text, 0) || hasMarks(text) {
		j.opaque("it contains a NUL or another character that no text has")
		return out
	}
	j.deeper(func() {
		outer := s.clone()
		file, err := parse(text, syntax.LangBash)
		if err != nil {
			j.opaque("the shell cannot parse it: " + parseProblem(err))
		}
		if file != nil {
			if doubtfulComment(text, file) {
				j.opaque("a # that shells may not take for a comment")
			}
			out = j.stmts(s, file.Stmts)
		}
		if err != nil || containsAny(text, "((", "&>", "$'", "[[", "|&", "function", "select", "coproc") {
			posix, err := parse(text, syntax.LangPOSIX)
			if err == nil {
				j.stmts(outer, posix.Stmts)
			}
		}
	})
	return out
}

func parse(text string, variant syntax.LangVariant) (*syntax.File, error) {
	comments := syntax.KeepComments(strings.Contains(text, "#"))
	return syntax.NewParser(syntax.Variant(variant), comments).Parse(strings.NewReader(text), "")
}

// doubtfulComment reports whether the parser took something for a comment that
// shells take for the rest of a word, so that the rest of the line does run. The
// parser does so after $x within brackets.
func doubtfulComment(text string, file *syntax.File) (found bool) {
	if !strings.Contains(text, "#") {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if !ok {
			return true
		}
		at := int(c.Hash.Offset())
		switch {
		case at == 0:
		case at > len(text) || strings.IndexByte(" \t\n;&|(<>", text[at-1]) < 0:
			found = true
		case at > 1 && text[at-1] == '\n' && text[at-2] == '\\':
			found = true
		}
		return true
	})
	return found
}

// nesting returns how deep brackets may be nested, ignoring quotes.
func nesting(text string) int {
	deep, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`':
			deep++
		case ')', '}', ']':
			deep = max(deep-1, 0)
		case '\n':
			if deep > 0 && i > 0 && text[i-1] == '\n' {
				deep-- // text with stray brackets is not nested
			}
		}
		deepest = max(deepest, deep)
	}
	return deepest
}

// parseProblem returns a parser's message without its position.
func parseProblem(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, ": "); ok {
		text = after
	}
	return shorten(text)
}

// shorten makes text fit to be quoted in a sentence.
func shorten(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func containsAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
