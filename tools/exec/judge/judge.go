// Package judge says what a command would do before it runs: how risky it is,
// why, and whether one of the deny groups refuses it.
//
// It parses the text as a shell would, works out every word that can be known
// beforehand, and judges every simple command in it on its own, through
// wrappers, substitutions, here-documents and encodings. What it cannot tell
// beforehand, it counts as running code. It knows no files, no processes, no
// walls and no people: it is a guard against accidents, and the walls that a
// command runs behind are the boundary.
//
// Begin with [Judge]; walk.go goes through the text, expand.go works out words,
// simple.go judges one command by the tables in programs.go, wrappers.go and
// the files beside them, and groups.go has everything that is refused.
package judge

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Request is a command that somebody wants to run.
type Request struct {
	Command string   // shell text; or
	Argv    []string // what never meets a shell
	Dir     string   // working directory, absolute, as the command sees it
	Roots   []string // directories that commands may change, the workspace first, as they see them
	Home    string   // as the command sees it; "" when it has none
	Env     []string // names of variables that the model sets
	Stdin   string   // what the command can read
	Open    bool     // more than Stdin may follow: nobody knows what
	Sealed  bool     // there are walls: nothing but the roots can be changed
	Network bool     // the command can reach others
}

// Mode says what is asked about beside what is risky.
type Mode uint8

// The modes.
const (
	Risky   Mode = iota // only what destroys or runs code
	Unknown             // everything that the allow list does not name, or that only reads
	Always              // everything
)

// Rules are what the operator wants.
type Rules struct {
	Groups map[string]Action // a missing one has its default
	Allow  []Pattern
	Mode   Mode
}

// A Simple is a simple command that was found, wrappers looked through.
type Simple struct {
	Argv    []string // words that are not static have … where nothing is known
	Static  bool     // all of Argv is what the program will get
	Program string   // what is started, as it is called
}

// A Denial says why a command is refused, and what to do instead.
type Denial struct {
	Group   string
	Rule    string
	Reason  string
	Instead string
}

// A Verdict is what became of a command.
type Verdict struct {
	Risk   tool.Risk // what the pipeline goes by
	Why    string    // for the person who is asked: what makes it so risky
	Denied *Denial   // refused at every autonomy; nil when it is not
	Simple []Simple  // all that was found
	Always bool      // a person may allow it for good
}

// What a text may be at most, so that judging it stays quick.
const (
	maxText    = 100 << 10
	maxParsed  = 1 << 20 // of all texts within it
	maxDepth   = 40      // of substitutions, functions and shells in shells
	maxLevel   = 2000    // of the grammar, where a && b && c counts as two
	maxNesting = 500     // of brackets
	maxSteps   = 20000   // simple commands and words that are judged
	maxSimple  = 200     // simple commands that are told
)

// Judge says what a command would do.
func Judge(r Request, rules Rules) Verdict {
	j := &judge{req: r, rules: rules, programs: programs(), always: true}
	for _, name := range r.Env {
		j.requestEnv(name)
	}
	s := j.newScope()
	switch {
	case len(r.Argv) > 0:
		args := make([]arg, len(r.Argv))
		for i, a := range r.Argv {
			args[i] = literal(a)
		}
		j.call(s, call{args: args})
	case strings.TrimSpace(r.Command) != "":
		j.text(s, r.Command)
	}
	j.idle(s)
	return j.verdict()
}

// judge is one judgement.
type judge struct {
	req      Request
	rules    Rules
	programs map[string]program

	risk   tool.Risk
	why    string
	denied *Denial
	found  []Simple
	always bool

	steps    int
	parsed   int // bytes
	depth    int
	level    int // of the grammar
	declared []*function
	files    map[string][]stream // what the text itself may have written, by absolute path
	// own collects what the running simple command itself was found to be, so
	// that a pattern of the allow list can speak for it alone.
	own *finding
}

// A finding is how risky one simple command is, without what it starts.
type finding struct {
	risk   tool.Risk
	why    string
	starts bool // it was told to start another program
}

// raise notes that something is at least so risky.
func (j *judge) raise(risk tool.Risk, why string) {
	if j.own != nil {
		if risk > j.own.risk {
			j.own.risk, j.own.why = risk, why
		}
		return
	}
	if risk > j.risk {
		j.risk, j.why = risk, why
	}
}

// opaque notes something that cannot be told beforehand.
func (j *judge) opaque(what string) {
	j.always = false
	j.raise(tool.Runs, "cannot be told before it runs: "+what)
}

// hit notes that a rule of the deny groups applies.
func (j *judge) hit(r rule, what string) {
	action, ok := j.rules.Groups[r.group]
	if !ok {
		action = r.action
	}
	j.always = j.always && action == Off
	reason := r.reason
	if what != "" {
		reason += ": " + shorten(what)
	}
	switch action {
	case Deny:
		if j.denied == nil {
			j.denied = &Denial{Group: r.group, Rule: r.name, Reason: reason, Instead: r.instead}
		}
		fallthrough
	case Ask:
		j.raise(tool.Runs, reason)
		if j.own != nil && r == helper {
			j.own.starts = true
		}
	}
}

// step counts work, and says whether there may be more.
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

// verdict sums up.
func (j *judge) verdict() Verdict {
	v := Verdict{Risk: max(j.risk, tool.Reads), Why: j.why, Denied: j.denied, Simple: j.found}
	if j.rules.Mode == Always && v.Risk < tool.Runs {
		v.Risk, v.Why = tool.Runs, "everything is asked about"
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

// text judges shell text and returns what it writes. The text may meet bash or
// a plain POSIX shell, and they disagree on some of it: where it holds such a
// thing both are asked.
func (j *judge) text(s *scope, text string) (out stream) {
	out.from = anyText
	if j.parsed += len(text); len(text) > maxText || j.parsed > maxParsed || nesting(text) > maxNesting {
		j.opaque("it is too long or nested too deeply")
		return out
	}
	if strings.ContainsRune(text, 0) {
		j.opaque("there is a NUL in it")
		return out
	}
	j.deeper(func() {
		outer := s.clone()
		file, err := parse(text, syntax.LangBash)
		if err != nil {
			j.opaque("the shell cannot parse it: " + parseProblem(err))
		}
		if file != nil {
			if doubtful(text, file) {
				j.opaque("a # that shells may not take for a comment")
			}
			out = j.stmts(s, file.Stmts)
		}
		if err != nil || disputed(text) {
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

// doubtful reports whether the parser took something for a comment that shells
// take for the rest of a word: then what follows on the line does run. The
// parser is known to do so after $x within brackets.
func doubtful(text string, file *syntax.File) (found bool) {
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

// disputed reports whether shells may read the text differently.
func disputed(text string) bool {
	for _, mark := range []string{"((", "&>", "$'", "[[", "|&", "function", "select", "coproc"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// nesting is how deep brackets may go at most, quotes not looked at.
func nesting(text string) int {
	deep, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`':
			deep++
		case ')', '}', ']':
			deep = max(deep-1, 0)
		case '\n':
			if deep > 0 && i > 0 && text[i-1] == '\n' {
				deep-- // text with stray brackets is no nesting
			}
		}
		most = max(most, deep)
	}
	return most
}

// parseProblem is what a parser has to say, without where.
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
