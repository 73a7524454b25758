// Package search searches files for lines: which of a list of files have lines
// that match a pattern, which lines, and what is around them.
//
// It knows how to search fast. A pattern is taken apart (literal.go) into texts
// of which a match must hold one; they are looked for by their rarest byte
// (needle.go). What they find, or everything when there is no such text, goes
// through an automaton over bytes that is built while it runs (program.go,
// dfa.go). Package regexp, which is the meaning of a pattern, decides only what
// the automaton leaves open (exact.go). It does not know which files there are
// and who may see them, and keeps nothing between calls.
//
// A line ends at "\n"; a "\r" before that belongs to the end, unless the
// pattern names "\r". Files with a NUL in their first 8 KiB are not searched,
// others up to the line of the first NUL.
//
// Begin with [Compile] and [Matcher.Search].
package search

import (
	"cmp"
	"context"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxPattern = 4 << 10 // emitBytes
	maxPage    = 1 << 29 // of Limit, and of Offset
	// maxProgram bounds what a pattern may become when its repetitions are
	// written out.
	maxProgram = 5_000
	// maxSteps bounds the time that package regexp takes for one text, which
	// nothing can interrupt: the length of the program times that of the text.
	maxSteps = 1<<31 - 1

	defaultLimit   = 100
	defaultMaxLine = 300
	// wholeFile is how much of a file is held at most: when matches may span
	// lines, or a line is as long. What is beyond counts as a line of its own.
	wholeFile = 16 << 20
)

// A Query says what to look for and how much of it to return.
type Query struct {
	Pattern    string // RE2, or plain text when Literal
	Literal    bool
	IgnoreCase bool
	Word       bool // no letter, digit or underscore just before or after a match
	Multiline  bool // lineMatches may span lines, and . matches line ends
	Mode       Mode
	Context    int   // addLines around a match
	Limit      int   // matching lines, or files when Mode is not fs.Content; 100 when 0
	Offset     int   // how many of those to leave out first
	MaxLine    int   // emitBytes of a line that are shown; 300 when 0
	MaxFile    int64 // larger files count as unread; 0: none, or 16 MiB when Multiline
}

// A Matcher is a Query made ready. It may be used from many goroutines.
type Matcher struct {
	q         Query
	tree      *syntax.Regexp
	keepCR    bool // "\r" before "\n" is part of the line
	prefilter prefilter
	prog      *program
	exact     exact
}

// prefilter is the way to the lines that match.
type prefilter struct {
	needles []needle // every match holds one of them; empty: nothing is known
	certain bool     // and each of them is a match
}

// Compile makes a query ready. Its errors are for whoever wrote the pattern.
func Compile(q Query) (*Matcher, error) {
	q.Mode = cmp.Or(q.Mode, Content)
	q.Limit = min(cmp.Or(max(q.Limit, 0), defaultLimit), maxPage)
	q.MaxLine = cmp.Or(max(q.MaxLine, 0), defaultMaxLine)
	q.Offset, q.Context = min(max(q.Offset, 0), maxPage), max(q.Context, 0)
	if q.Multiline && (q.MaxFile <= 0 || q.MaxFile > wholeFile) {
		q.MaxFile = wholeFile
	}
	if q.Mode != Content && q.Mode != Names && q.Mode != Count {
		return nil, tool.Errorf(tool.Invalid, "no mode %q", q.Mode).Try("take %s, %s or %s", Content, Names, Count)
	}
	p, err := parse(q)
	if err != nil {
		return nil, err
	}
	m := &Matcher{q: q, tree: p.tree, keepCR: p.namesCR}
	least := p.tree
	if !q.Word {
		least = trim(p.tree)
	}
	m.prog = compile(least, options{multiline: q.Multiline, word: q.Word, keepCR: m.keepCR})
	if len(m.prog.insts) > maxProgram {
		return nil, tooLarge()
	}
	if q.Multiline {
		m.q.MaxFile = min(q.MaxFile, int64(maxSteps/len(m.prog.insts)))
	}
	if m.exact, err = newExact(p.text, q, len(m.prog.insts)); err != nil {
		return nil, tooLarge().Because(err)
	}
	m.prefilter = prefilterFor(least, q.Multiline || m.keepCR)
	if q.Word && len(m.prefilter.needles) > 1 {
		m.prefilter.certain = false // offset one place one of them may be a word and another not
	}
	return m, nil
}

// Regexp is the pattern as it is searched for, in simple operators: every
// match of the Matcher is one of it, possibly with more around it. Callers do
// not change it.
func (m *Matcher) Regexp() *syntax.Regexp { return m.tree }

// Bytes searches content as a file with that name. At most Offset+Limit+1
// matching lines are returned in mode fs.Content; ok is false when none matches.
func (m *Matcher) Bytes(name string, content []byte) (FileMatches, bool) {
	w, p := newWorker(m), m.newPage(0, m.maxMatches(), maxHeldBytes)
	got, err := w.text(context.Background(), &memorySource{text: content}, m.maxMatches(), p)
	if err != nil || got.matches == 0 {
		return FileMatches{}, false
	}
	found := FileMatches{Name: name, Matches: got.matches, Binary: got.binary}
	if p != nil {
		found.Lines = p.lines
	}
	return found, true
}

// maxMatches is how many matching lines of one file there is a use for.
func (m *Matcher) maxMatches() int {
	switch m.q.Mode {
	case Names:
		return 1
	case Count:
		return int(^uint(0) >> 1)
	}
	return m.q.Offset + m.q.Limit + 1
}

// parsed is a pattern taken in.
type parsed struct {
	tree    *syntax.Regexp // simplified
	text    string         // the same for package regexp
	namesCR bool
}

func parse(q Query) (parsed, error) {
	switch {
	case q.Pattern == "":
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern is empty").Try("say what to look for")
	case len(q.Pattern) > maxPattern:
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern has %d bytes, the most is %d", len(q.Pattern), maxPattern).Try("look for a part of it")
	case strings.ContainsRune(q.Pattern, 0):
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern holds a NUL, and files that hold one are not searched").Try("leave it out")
	case !utf8.ValidString(q.Pattern):
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern is not valid UTF-8").Try("write it in UTF-8")
	}
	text, flags := q.Pattern, syntax.Perl
	if q.Literal {
		text = regexp.QuoteMeta(text)
	}
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	if q.Multiline {
		flags = flags&^syntax.OneLine | syntax.DotNL
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return parsed{}, badPattern(err)
	}
	if instCount(tree) > maxProgram {
		return parsed{}, tooLarge()
	}
	p := parsed{namesCR: mentions(tree, '\r')}
	switch {
	case !q.Multiline && mentions(tree, '\n'):
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern holds a line break, and lines are searched one by one").
			Try("set multiline, or look for one of the lines")
	case q.Multiline && !p.namesCR:
		tree = eitherLineEnd(tree)
	}
	p.tree, p.text = tree.Simplify(), tree.String()
	return p, nil
}

func tooLarge() *tool.Error {
	return tool.Errorf(tool.Invalid, "the pattern is too large when its repetitions are written out").Try("repeat less, or use * and +")
}

func badPattern(err error) error {
	what := err.Error()
	if known, ok := err.(*syntax.Error); ok {
		what = known.Code.String()
		if known.Expr != "" {
			what += ": " + known.Expr
		}
	}
	if len(what) > 200 {
		what = strings.ToValidUTF8(what[:200], "") + "..."
	}
	return tool.Errorf(tool.Invalid, "the pattern is not a regular expression that RE2 takes (%s)", what).
		Try("mend it, or set literal to look for it as it is written")
}
