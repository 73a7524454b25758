// Package search searches a list of files for lines that match a pattern, and returns the lines
// with their context.
//
// It is fast because it reads few bytes more than once. It extracts from a pattern a set of
// literals, one of which is in every match, and finds those by their rarest byte
// (prefilter.go). The lines with a literal, or all lines if there are none, are matched by a
// lazily built DFA over bytes (program.go, dfa.go). Package regexp defines the meaning of a
// pattern, and decides the few lines that the DFA cannot decide (lines.go). The idea of the DFA
// is that of github.com/google/codesearch, package regexp, by Russ Cox; the code is our own.
// This package does not know which files exist or who may see them, and keeps nothing between
// calls.
//
// A line ends with "\n". A "\r" before it belongs to the line end, unless the pattern
// contains "\r". A file with a NUL in its first 8 KiB is not searched; another file
// is searched up to the line of its first NUL.
//
// Begin with [Compile] and [Matcher.Search].
package search

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

const (
	maxPattern = 4 << 10 // bytes
	maxPage    = 1 << 29 // maximum Limit and Offset
	// maxProgram is the maximum number of instructions of a pattern after its
	// repetitions are expanded.
	maxProgram = 5_000
	// maxSteps limits the time of package regexp for one text, which cannot be interrupted: the
	// length of the program times the length of the text.
	maxSteps = 1<<31 - 1

	defaultLimit   = 100
	defaultMaxLine = 300
	// wholeFile is the maximum number of bytes of a file to hold, if matches may span
	// lines or a line is that long. A longer line is split.
	wholeFile = 16 << 20
)

// A Query selects the lines, the files, and the size of the result.
type Query struct {
	Pattern    string // RE2 syntax, or plain text if Literal
	Literal    bool
	IgnoreCase bool
	Word       bool // the match must not be next to a letter, digit or underscore
	Multiline  bool // matches may span lines, and . matches line ends
	Mode       Mode
	Context    int   // lines to return around a match
	Limit      int   // maximum number of matching lines, or of files if Mode is not Content; default 100
	Offset     int   // number of those to skip
	MaxLine    int   // bytes to return of a line; default 300
	MaxFile    int64 // larger files count as unread; 0 means no limit, or 16 MiB if Multiline
	// Documents has the text of files that are not text; nil has none.
	Documents Documents
	// Secrets finds the secrets of files, which are masked in lines and do not match; nil has no known values.
	Secrets *scrub.Scrubber

	// Package workspace uses the following fields to list the files to search.
	Path    string   // directory or file
	Globs   []string // a file must match one of these; one that begins with ! excludes
	Types   []string // a file must be of one of these types: go, py, js, ...
	Hidden  bool     // include names that begin with a dot
	Ignored bool     // include files that .gitignore excludes
}

// A Matcher is a compiled Query. It is safe for concurrent use.
type Matcher struct {
	q         Query
	tree      *syntax.Regexp
	keepCR    bool // "\r" before "\n" is part of the line
	prefilter prefilter
	prog      *program
	exact     exact
	blanked   func() *exact // for text with secrets, see blank.go
}

// A prefilter finds the lines that may match.
type prefilter struct {
	needles []needle // every match contains one of them; empty if nothing is known
	certain bool     // and each of them is a match
}

// Compile compiles a query. Its errors can be returned to the author of the pattern.
func Compile(q Query) (*Matcher, error) {
	q.Mode = cmp.Or(q.Mode, Content)
	q.Limit = min(cmp.Or(max(q.Limit, 0), defaultLimit), maxPage)
	q.MaxLine = cmp.Or(max(q.MaxLine, 0), defaultMaxLine)
	q.Offset, q.Context = min(max(q.Offset, 0), maxPage), max(q.Context, 0)
	if q.Multiline && (q.MaxFile <= 0 || q.MaxFile > wholeFile) {
		q.MaxFile = wholeFile
	}
	if q.Mode != Content && q.Mode != Names && q.Mode != Count {
		return nil, tool.Errorf(tool.Invalid, "no mode %q", q.Mode).Try("use %s, %s or %s", Content, Names, Count)
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
	m.blanked = sync.OnceValue(func() *exact {
		e, err := newExact(withoutOpaque(p.tree, q.Word).String(), q, len(m.prog.insts))
		if err != nil { // nothing matches next to a secret
			return &exact{first: regexp.MustCompile(noMatch), next: regexp.MustCompile(noMatch), maxBytes: 1}
		}
		return &e
	})
	m.prefilter = prefilterFor(least, q.Multiline || m.keepCR)
	if q.Word && len(m.prefilter.needles) > 1 {
		m.prefilter.certain = false // at one position, one needle may be a whole word and another not
	}
	return m, nil
}

// Regexp returns the simplified pattern. Every match of the Matcher is within a match
// of it. Callers must not change it.
func (m *Matcher) Regexp() *syntax.Regexp { return m.tree }

// maxMatches returns how many matching lines of one file are needed.
func (m *Matcher) maxMatches() int {
	switch m.q.Mode {
	case Names:
		return 1
	case Count:
		return int(^uint(0) >> 1)
	}
	return m.q.Offset + m.q.Limit + 1
}

// parsed is a parsed pattern.
type parsed struct {
	tree    *syntax.Regexp // simplified
	text    string         // for package regexp
	namesCR bool           // the pattern contains "\r"
}

func parse(q Query) (parsed, error) {
	switch {
	case q.Pattern == "":
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern is empty").Try("give the text to search for")
	case len(q.Pattern) > maxPattern:
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern has %d bytes, the maximum is %d",
			len(q.Pattern), maxPattern).
			Try("search for a part of it")
	case strings.ContainsRune(q.Pattern, 0):
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern has a NUL character; binary files are not searched").
			Try("remove it")
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
		return parsed{}, tool.Errorf(tool.Invalid, "the pattern has a line break, but lines are searched one by one").
			Try("set multiline, or search for one of the lines")
	case q.Multiline && !p.namesCR:
		tree = eitherLineEnd(tree)
	}
	p.tree, p.text = tree.Simplify(), tree.String()
	return p, nil
}

func tooLarge() *tool.Error {
	return tool.Errorf(tool.Invalid, "the pattern is too large after its repetitions are expanded").
		Try("use fewer repetitions, or * and +")
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
	return tool.Errorf(tool.Invalid, "the pattern is not a valid RE2 regular expression (%s)", what).
		Try("correct it, or set literal to search for it as plain text")
}

// A Mode selects the form of the result.
type Mode string

// The modes.
const (
	Content Mode = "content" // lines
	Names   Mode = "files"   // files with a match
	Count   Mode = "count"   // files with their number of matches
)

// Found is the result of a search. Its files are ordered by name. Its JSON is for programs.
type Found struct {
	Files   []FileMatches `json:"files"`
	Matches int           `json:"-"` // matching lines in the files that were read
	// More reports that there are more results, from Offset plus those returned on. The
	// search stops when it has enough.
	More     bool          `json:"more"`
	Searched int           `json:"searched"`          // files that were searched, or known not to match
	Unread   int           `json:"unread,omitempty"`  // files that could not be read
	Waiting  int           `json:"waiting,omitempty"` // documents that were not searched: the next call converts more
	Failed   []UnreadError `json:"-"`                 // the first documents that could not be read, with the reasons
	Unlisted []string      `json:"-"`                 // directories that could not be read
}

// FileMatches are the matches in one file.
type FileMatches struct {
	Name     string `json:"name"`
	Matches  int    `json:"matches"`            // matching lines
	Lines    []Line `json:"lines,omitempty"`    // in mode Content
	Binary   bool   `json:"-"`                  // the file has a match and is not text
	Document bool   `json:"document,omitempty"` // the lines are those of its text
}

// A Line is a matching line, or a line of its context.
type Line struct {
	Number int    `json:"number"`
	Part   string `json:"part,omitempty"` // of a document, such as page 3
	Text   string `json:"text"`
	Match  bool   `json:"match"`         // otherwise it is context
	Cut    int    `json:"cut,omitempty"` // bytes of the line that are not shown
	Column int    `json:"-"`             // where Text begins if a long line was cut at its start; 0 otherwise
}
