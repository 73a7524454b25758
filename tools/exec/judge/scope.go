package judge

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// taint describes the origin of a text that is not known.
type taint uint8

const (
	fromNetwork taint = 1 << iota
	fromDecoder       // it was packed or encoded before
	scrambled         // the command itself holds it, in another form
)

// unknown stands for the parts of a text that are not known. Arguments cannot
// contain it.
const unknown = "\x00"

// A value is the value of a variable: one text or, for an array, several.
type value struct {
	texts []string // with unknown for each part that is not known
	taint taint
	glob  bool // a pattern, which the shell will have replaced by file names
}

func known(text string) value { return value{texts: []string{text}} }

// first returns what the plain name of the variable gives.
func (v value) first() string {
	if len(v.texts) == 0 {
		return ""
	}
	return v.texts[0]
}

func (v value) equal(w value) bool { return v.taint == w.taint && slices.Equal(v.texts, w.texts) }

// A stream is what a command reads from stdin, or writes to stdout.
type stream struct {
	from  streamKind
	text  string
	taint taint
}

// streamKind is how much of a stream is known.
type streamKind uint8

const (
	nothing streamKind = iota // not redirected: commands get no stdin
	exactly                   // its text
	anyText                   // only its taint
	aFile                     // the path of a file, in text
)

func silent() stream { return stream{from: exactly} }

// streamOf returns what reading a text gives.
func streamOf(a arg) stream {
	if a.static() {
		return stream{from: exactly, text: a.text, taint: a.taint}
	}
	return stream{from: anyText, taint: a.taint}
}

// and returns what is read when one stream follows another.
func (a stream) and(b stream) stream {
	switch {
	case a.from == nothing:
		return b
	case b.from == nothing:
		return a
	case a.from == exactly && b.from == exactly && len(a.text)+len(b.text) <= maxText:
		return stream{from: exactly, text: a.text + b.text, taint: a.taint | b.taint}
	}
	return stream{from: anyText, taint: a.taint | b.taint}
}

// A scope is the state of the shell at one point of the text, as far as it is
// known.
type scope struct {
	vars    map[string]value
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

const maxDirs = 4 // directories where the shell may be after branches

func (j *judge) newScope() *scope {
	s := &scope{
		vars:    map[string]value{"IFS": known(" \t\n"), "TMPDIR": known("/tmp")},
		aliases: map[string]string{},
		funcs:   map[string]*function{},
		zero:    "sh",
		dirs:    []string{path.Clean("/" + j.req.Dir)},
	}
	switch {
	case j.req.Open || len(j.req.Stdin) > maxText:
		s.in = stream{from: anyText}
	case j.req.Stdin != "":
		s.in = stream{from: exactly, text: j.req.Stdin}
	}
	if j.req.Home != "" {
		s.vars["HOME"] = known(j.req.Home)
	}
	for _, name := range j.req.Env {
		s.vars[name] = value{texts: []string{unknown}}
	}
	return s
}

func (s *scope) clone() *scope {
	c := *s
	c.vars, c.aliases = maps.Clone(s.vars), maps.Clone(s.aliases)
	c.funcs = maps.Clone(s.funcs)
	return &c
}

// merge makes s the state after either s or other has happened.
func (s *scope) merge(other *scope) {
	for name, v := range other.vars {
		if mine, ok := s.vars[name]; !ok || !mine.equal(v) {
			s.vars[name] = value{texts: []string{unknown}, taint: mine.taint | v.taint}
		}
	}
	for name := range s.vars {
		if _, ok := other.vars[name]; !ok {
			s.vars[name] = value{texts: []string{unknown}, taint: s.vars[name].taint}
		}
	}
	maps.Copy(s.aliases, other.aliases)
	maps.Copy(s.funcs, other.funcs)
	if len(s.dirs) == 0 || len(other.dirs) == 0 {
		s.dirs = nil
		return
	}
	dirs := slices.Clone(s.dirs)
	for _, d := range other.dirs {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	if len(dirs) > maxDirs {
		dirs = nil
	}
	s.dirs = dirs
}

// get returns the value of a variable, which is unknown if it was never assigned.
func (s *scope) get(name string) value {
	if v, ok := s.vars[name]; ok {
		return v
	}
	if name == "PWD" && len(s.dirs) == 1 {
		return known(s.dirs[0])
	}
	return value{texts: []string{unknown}}
}

// set sets a variable. Values stay small, so that doubling them ends.
func (s *scope) set(name string, v value) {
	size := 0
	for _, t := range v.texts {
		size += len(t)
	}
	if size > 32<<10 {
		v = value{texts: []string{unknown}, taint: v.taint}
	}
	s.vars[name] = v
}

// forget makes the variables unknown that a loop body may change.
func (s *scope) forget(nodes []*syntax.Stmt) {
	lose := func(name string) { s.vars[name] = value{texts: []string{unknown}, taint: s.vars[name].taint} }
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
				if len(n.Args) > 0 {
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
