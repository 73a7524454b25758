package judge

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// taint describes the origin of a part of a text that is not known.
type taint uint8

const (
	fromNetwork taint = 1 << iota
	fromDecoder       // it was packed or encoded before
	scrambled         // the command itself holds it, in another form
)

// Texts have a mark for each part that is not known: one of the characters that
// Unicode reserves for internal use, chosen by the taint of the part. globMark in
// a variable says that the shell made its value of a pattern for file names.
const (
	firstMark = '\uFDD0'
	unknown   = "\uFDD0"
	globMark  = "\uFDDF"
)

func isMark(r rune) bool { return r >= firstMark && r < firstMark+8 }

// hasMarks reports whether text holds a character that marks use.
func hasMarks(text string) bool { return strings.Contains(text, globMark) || !isKnown(text) }

// unknownFrom returns a text that is not known at all.
func unknownFrom(t taint) string { return string(firstMark + rune(t)) }

// isKnown reports whether the whole text is known.
func isKnown(text string) bool {
	return strings.IndexByte(text, unknown[0]) < 0 || !strings.ContainsFunc(text, isMark)
}

// taintOf returns the taints of the parts that are not known.
func taintOf(text string) (t taint) {
	if isKnown(text) {
		return 0
	}
	for _, r := range text {
		if isMark(r) {
			t |= taint(r - firstMark)
		}
	}
	return t
}

// A stream is the stdin or stdout of a command.
type stream struct {
	given bool   // false: not redirected, or not worked out
	text  string // with marks
	file  string // where it comes from, if that is a file with unknown contents
}

func textStream(text string) stream { return stream{given: true, text: text} }
func unknownStream(t taint) stream  { return textStream(unknownFrom(t)) }
func silent() stream                { return textStream("") }
func (a stream) known() bool        { return a.given && a.file == "" && isKnown(a.text) }
func (a stream) taint() taint       { return taintOf(a.text) }
func known(text string) expand.Variable {
	return expand.Variable{Set: true, Kind: expand.String, Str: text}
}

// and returns the input of two streams in a row.
func (a stream) and(b stream) stream {
	switch {
	case !a.given:
		return b
	case !b.given:
		return a
	case a.file+b.file == "" && len(a.text)+len(b.text) <= maxText:
		return textStream(a.text + b.text)
	}
	return unknownStream(a.taint() | b.taint())
}

// A scope is the state of the shell at one point of the text, as far as it is
// known.
type scope struct {
	vars    map[string]expand.Variable
	aliases map[string]string
	funcs   map[string]*function
	zero    string   // $0
	params  []string // $1 and on
	dirs    []string // directories where the shell may be; none when they are not known
	before  []string // where cd - goes
	in      stream
}

// A function is a function that the text declares.
type function struct {
	body *syntax.Stmt
	used bool
	busy int
}

const (
	maxDirs  = 4        // directories where the shell may be after branches
	maxValue = 32 << 10 // bytes of a variable, so that doubling it ends
)

func (j *judge) newScope() *scope {
	s := &scope{
		vars:    map[string]expand.Variable{"IFS": known(" \t\n"), "TMPDIR": known("/tmp")},
		aliases: map[string]string{},
		funcs:   map[string]*function{},
		zero:    "sh",
		dirs:    []string{path.Clean("/" + j.req.Dir)},
	}
	switch {
	case j.req.Open || len(j.req.Stdin) > maxText || hasMarks(j.req.Stdin):
		s.in = unknownStream(0)
	case j.req.Stdin != "":
		s.in = textStream(j.req.Stdin)
	}
	if j.req.Home != "" {
		s.vars["HOME"] = known(j.req.Home)
	}
	for _, name := range j.req.Env {
		s.vars[name] = known(unknown)
	}
	return s
}

func (s *scope) clone() *scope {
	c := *s
	c.vars, c.aliases, c.funcs = maps.Clone(s.vars), maps.Clone(s.aliases), maps.Clone(s.funcs)
	return &c
}

// first returns the value of the plain name of a variable.
func first(v expand.Variable) string {
	if len(v.List) > 0 {
		return v.List[0]
	}
	return v.Str
}

// whole returns the text of all elements of a variable.
func whole(v expand.Variable) string { return v.Str + strings.Join(v.List, " ") }

// merge makes s the state after either s or other has happened.
func (s *scope) merge(other *scope) {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(s.vars)), slices.Collect(maps.Keys(other.vars))) {
		a, here := s.vars[name]
		b, there := other.vars[name]
		if here != there || a.Str != b.Str || !slices.Equal(a.List, b.List) {
			s.vars[name] = known(unknownFrom(taintOf(whole(a)) | taintOf(whole(b))))
		}
	}
	maps.Copy(s.aliases, other.aliases)
	maps.Copy(s.funcs, other.funcs)
	dirs := slices.Clone(s.dirs)
	for _, d := range other.dirs {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	if len(s.dirs) == 0 || len(other.dirs) == 0 || len(dirs) > maxDirs {
		dirs = nil
	}
	s.dirs = dirs
}

// get returns the value of a variable. It is unknown if the variable was never assigned.
func (s *scope) get(name string) expand.Variable {
	if v, ok := s.vars[name]; ok {
		return v
	}
	if name == "PWD" && len(s.dirs) == 1 {
		return known(s.dirs[0])
	}
	return known(unknown)
}

func (s *scope) set(name string, v expand.Variable) {
	if text := whole(v); len(text) > maxValue {
		v = known(unknownFrom(taintOf(text)))
	}
	s.vars[name] = v
}

// forget makes the variables unknown that a loop body may change.
func (s *scope) forget(nodes []*syntax.Stmt) {
	lose := func(name string) { s.vars[name] = known(unknownFrom(taintOf(whole(s.vars[name])))) }
	for _, stmt := range nodes {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil {
					lose(n.Name.Value)
				}
			case *syntax.WordIter:
				lose(n.Name.Value)
			case *syntax.CallExpr:
				if len(n.Args) == 0 {
					break
				}
				switch n.Args[0].Lit() {
				case "read", "mapfile", "readarray", "getopts", "printf", "let", "unset":
					for _, w := range n.Args[1:] {
						if name := w.Lit(); syntax.ValidName(name) {
							lose(name)
						}
					}
				case "cd", "pushd", "popd":
					s.dirs = nil
				}
			}
			return true
		})
	}
}

// cd changes to where a cd with this operand may go.
func (s *scope) cd(to arg) {
	old := s.dirs
	switch {
	case to.text == "-":
		s.dirs = s.before
	case !to.static() || to.glob:
		s.dirs = nil
	default:
		s.dirs = s.resolve(to.text)
	}
	s.before = old
}

// resolve returns the absolute paths that a path may stand for; none when that
// is not known.
func (s *scope) resolve(p string) []string {
	if strings.HasPrefix(p, "/") {
		return []string{path.Clean(p)}
	}
	var all []string
	for _, d := range s.dirs {
		all = append(all, path.Join(d, p))
	}
	return all
}

// Get returns a variable or parameter, or the home directory of a user. It makes
// a scope the environment of the package expand.
func (s *scope) Get(name string) expand.Variable {
	switch name {
	case "@", "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: append([]string{}, s.params...)}
	case "#":
		return known(strconv.Itoa(len(s.params)))
	case "0":
		return known(s.zero)
	case "IFS":
		if v := s.get(name); isKnown(v.Str) {
			return v
		}
		return known(" \t\n")
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		switch {
		case user == "+":
			return s.get("PWD")
		case user == "root":
			return known("/root")
		case syntax.ValidName(user):
			return known("/home/" + user)
		}
		return known("~" + user)
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(s.params) {
			return known(s.params[n-1])
		}
		return known("")
	}
	return s.get(name)
}

// Each is part of the interface of the package expand, for ${!x*}.
func (s *scope) Each(func(name string, v expand.Variable) bool) {}

// Set sets a variable for ${x:=word}.
func (s *scope) Set(name string, v expand.Variable) error {
	s.set(name, v)
	return nil
}
