// Package scrub takes credentials out of text.
//
// It knows what credentials look like: the token formats of many services,
// private keys, passwords in addresses, headers and settings; and it can be
// told values that must never be seen. It does not know where a text comes
// from or goes to, reads no files, and keeps nothing of what it sees.
//
// A search is one pass. Every secret has four bytes that it cannot do without,
// its trigger; a filter of all triggers passes over ordinary text at a few
// cycles a byte, and only at a trigger does a finder look closer. Finders read
// a bounded piece of text and never start over, so time is linear.
//
// Begin with Scrubber.Text in this file, then scan.go for the search,
// families.go for the list of token formats and assign.go for name=value.
package scrub

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Options say how to scrub. The zero value is the default.
type Options struct {
	Hex   Hex      // "" is HexLines
	Kinds bool     // masks say what they hide: [REDACTED:github_token]
	Allow []string // values never hidden; those that begin with re: are RE2 patterns of whole values
	Extra []Rule   // further secrets
}

// A Rule hides what its pattern matches, or what the first group of it does.
// Rules see one line at a time, at most 16 KiB of it; ^ is also where a line
// begins behind the number or the sign that a tool shows it with.
type Rule struct {
	Name    string
	Pattern string // RE2
	re      *regexp.Regexp
}

// A Scrubber hides secrets. It may be used by many goroutines at once, while
// values are set and removed. The zero Scrubber and a nil one hide what the
// default options hide.
type Scrubber struct {
	now   atomic.Pointer[program]
	fixed *program // without dynamic values

	mu     sync.Mutex
	values map[string][]writing
}

// New is an error when an option makes no sense.
func New(o Options) (*Scrubber, error) {
	fixed, err := compile(o)
	if err != nil {
		return nil, err
	}
	s := &Scrubber{fixed: fixed}
	s.now.Store(fixed)
	return s, nil
}

// builtin is the program of the default options.
var builtin = newProgram(HexLines)

// newProgram looks for all secrets known by their look.
func newProgram(h Hex) *program {
	triggers := staticTriggers()
	return &program{
		triggers: triggers, index: newIndex(triggers), run: runFinder(h), texts: &sync.Pool{New: func() any { return new(text) }},
	}
}

func compile(o Options) (*program, error) {
	if !slices.Contains([]Hex{"", HexLines, HexStrict, HexOff}, o.Hex) {
		return nil, fmt.Errorf("hex is %q; use %q, %q or %q", o.Hex, HexLines, HexStrict, HexOff)
	}
	p := new(program)
	*p = *builtin
	p.run, p.kinds = runFinder(o.Hex), o.Kinds
	for _, r := range o.Extra {
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", r.Name, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("rule %q: pattern %q matches nothing at all; make it match one byte at least", r.Name, r.Pattern)
		}
		if !inMask.all(r.Name) || r.Name == "" || len(r.Name) > 64 {
			return nil, fmt.Errorf("rule %q: a name has up to 64 letters, digits and . _ - @", r.Name)
		}
		p.extra = append(p.extra, Rule{r.Name, r.Pattern, re})
	}
	var err error
	p.allow, err = newAllow(o.Allow)
	return p, err
}

// staticTriggers are those of all secrets known by their look.
func staticTriggers() []trigger {
	var all []trigger
	for _, f := range families() {
		all = append(all, f.triggers()...)
	}
	return slices.Concat(all, shapeTriggers(), headerTriggers(), urlTriggers(), flagTriggers(), assignTriggers())
}

func (s *Scrubber) program() *program {
	if s != nil {
		if p := s.now.Load(); p != nil {
			return p
		}
	}
	return builtin
}

// Text is s with its secrets hidden, or s itself when there is none.
func (s *Scrubber) Text(text string) string {
	out, _ := s.Count(text)
	return out
}

// Count is Text, and how many secrets were hidden.
func (s *Scrubber) Count(text string) (string, int) {
	p := s.program()
	spans := p.find(text)
	return p.render(text, 0, spans), len(spans)
}

// Report is Text, and how many secrets of each kind were hidden; nil for none.
func (s *Scrubber) Report(text string) (string, map[string]int) {
	p := s.program()
	spans := p.find(text)
	if len(spans) == 0 {
		return text, nil
	}
	found := make(map[string]int)
	for _, f := range spans {
		found[f.kind]++
	}
	return p.render(text, 0, spans), found
}

// Error is err with its secrets hidden. Its causes can no longer be reached:
// their texts are not scrubbed. It is err itself when there is none.
func (s *Scrubber) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := s.Text(text)
	if clean == text {
		return err
	}
	return cleanError(clean)
}

type cleanError string

func (e cleanError) Error() string { return string(e) }

// find is every secret of s, in order and apart from each other.
func (p *program) find(s string) []span {
	spans, _ := p.search(s, 0, 0, false)
	return spans
}

// render is s from at on with masks in the place of spans.
func (p *program) render(s string, at int, spans []span) string {
	if len(spans) == 0 {
		return s[at:]
	}
	var b strings.Builder
	b.Grow(len(s) - at)
	for _, f := range spans {
		b.WriteString(s[at:f.from])
		b.WriteString(p.mask(f))
		at = f.to
	}
	b.WriteString(s[at:])
	return b.String()
}

func (p *program) mask(f span) string {
	switch {
	case f.mask != "":
		return f.mask
	case p.kinds:
		return maskHead + ":" + f.kind + "]"
	}
	return Mask
}
