package judge

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// taint is where a text comes from that is not known.
type taint uint8

const (
	fromNetwork taint = 1 << iota
	fromDecoder
)

// unknown stands in a text for what is not known. No argument can hold it.
const unknown = "\x00"

// A value is what a variable holds: one text or, for an array, several.
type value struct {
	texts []string // what is not known in them is unknown
	taint taint
	glob  bool // a pattern that file names will have taken the place of
}

func known(text string) value { return value{texts: []string{text}} }

// first is what the plain name of the variable gives.
func (v value) first() string {
	if len(v.texts) == 0 {
		return ""
	}
	return v.texts[0]
}

func (v value) equal(w value) bool { return v.taint == w.taint && slices.Equal(v.texts, w.texts) }

// A stream is what a command can read from its stdin.
type stream struct {
	from  source
	text  string
	taint taint
}

// source says what is known of a stream.
type source uint8

const (
	nothing source = iota // not redirected: commands get no stdin
	exactly               // text
	anyText
	aFile // of the workspace or elsewhere: text is its path
)

// A scope is what is known of the shell at one point of the text.
type scope struct {
	vars    map[string]value
	aliases map[string]string
	funcs   map[string]*function
	zero    string   // $0
	params  []string // $1 and on; a text that is not known holds unknown
	dirs    []string // where the shell may be; none when it is not known
	before  []string // where cd - goes
	in      stream
}

// A function is one that the text declares.
type function struct {
	body *syntax.Stmt
	used bool
	busy int
}

// A branch counts in how many places a directory may be at most.
const maxDirs = 4

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

// merge makes s what it is when either s or other has happened.
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

// get is the value of a variable; what was never assigned is not known.
func (s *scope) get(name string) value {
	if v, ok := s.vars[name]; ok {
		return v
	}
	if name == "PWD" && len(s.dirs) == 1 {
		return known(s.dirs[0])
	}
	return value{texts: []string{unknown}}
}

// set keeps values small, so that doubling them does not end badly.
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

// cd goes to where a cd with these operands may go.
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

// resolve is where a path may lead; none when that is not known.
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
