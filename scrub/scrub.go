// Package scrub masks credentials in text.
//
// It knows the forms of credentials: the token formats of many services, private keys,
// passwords in URLs, headers and settings. Callers can add values that must never be shown. It
// does not know the origin or the reader of a text, reads no files, and keeps nothing of the
// text.
//
// A search is one pass. Every secret contains four bytes that identify its kind, the
// trigger. A filter of all triggers rejects ordinary text at a few cycles a byte, and
// only at a trigger a finder examines the text. Finders read a bounded piece of text
// and never start over, so time is linear.
//
// Begin with Scrubber.Text in this file, then read scan.go for the search,
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

// Options configure a Scrubber. The zero value masks all known kinds of credentials. Values that must be masked in any
// case, such as the secrets of the vault, are set later with [Scrubber.Set].
type Options struct {
	Allow []string // values that are not masked; with the prefix re: RE2 patterns of whole values
	Extra []Rule   // more secrets
}

// A Rule masks the match of its pattern, or of the pattern's first group. It sees one line at a
// time, at most 16 KiB of it; ^ also matches after the line marks of tools.
type Rule struct {
	Name    string
	Pattern string // RE2
	re      *regexp.Regexp
}

// A Scrubber masks secrets: credentials of known forms, credentials of the forms in
// [Options.Extra], and the values of [Scrubber.Set]. Ordinary text comes back unchanged. [New]
// makes one with options; the zero Scrubber and a nil one use the default options.
//
// A Scrubber may be used concurrently, also while values are set and removed. For a text in one
// piece call [Scrubber.Text]. A stream needs a [Writer], since half a secret matches no form.
type Scrubber struct {
	now   atomic.Pointer[program]
	fixed *program // without known values

	mu       sync.Mutex
	values   map[string][]valueForm
	sessions map[Session]*Scrubber
	uses     uint64 // of sessions

	parent *Scrubber // of the Scrubber of a session; nil for others
	memory memory    // of a session
}

// New returns a Scrubber, or an error if an option is invalid.
func New(o Options) (*Scrubber, error) {
	fixed, err := compile(o)
	if err != nil {
		return nil, err
	}
	s := &Scrubber{fixed: fixed}
	s.now.Store(fixed)
	return s, nil
}

// builtin returns the program of the default options.
var builtin = sync.OnceValue(func() *program { return newProgram() })

// newProgram returns a program for all built-in kinds of secrets.
func newProgram() *program {
	triggers := staticTriggers()
	return &program{
		triggers: triggers, index: newIndex(triggers),
		textPool: &sync.Pool{New: func() any { return new(text) }},
	}
}

func compile(o Options) (*program, error) {
	p := new(program)
	*p = *builtin()
	for _, r := range o.Extra {
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", r.Name, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("rule %q: pattern %q matches nothing at all; make it match one byte at least",
				r.Name, r.Pattern)
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

// staticTriggers returns the triggers of all built-in kinds.
func staticTriggers() []trigger {
	all := on(besideAKIA, 0, "akia") // before the family: it has the id alone
	for _, f := range families() {
		all = append(all, f.triggers()...)
	}
	return slices.Concat(all, shapeTriggers(), headerTriggers(), urlTriggers(), flagTriggers(), assignTriggers())
}

func (s *Scrubber) program() *program {
	if s == nil {
		return builtin()
	}
	if s.parent != nil {
		return s.memory.program(s.parent.program())
	}
	if p := s.now.Load(); p != nil {
		return p
	}
	return builtin()
}

// Text returns s with its secrets masked, or s itself if there is none.
func (s *Scrubber) Text(text string) string {
	out, _ := s.Count(text)
	return out
}

// Count is like Text, and returns the number of masked secrets.
func (s *Scrubber) Count(text string) (string, int) {
	p := s.program()
	spans := s.find(text)
	return p.render(text, 0, spans), len(spans)
}

// Report is like Text, and returns the number of secrets by kind, or nil. Secrets that have a
// mask with a mark are counted as "secret".
func (s *Scrubber) Report(text string) (string, map[string]int) {
	p := s.program()
	spans := s.find(text)
	marked := countMarked(text)
	if len(spans)+marked == 0 {
		return text, nil
	}
	found := make(map[string]int)
	if marked > 0 {
		found["secret"] = marked
	}
	for _, f := range spans {
		found[f.kind]++
	}
	return p.render(text, 0, spans), found
}

// find returns the secrets of text, in order and without overlaps.
func (s *Scrubber) find(text string) []span {
	spans := s.program().find(text)
	if s.learn(text, spans) {
		return s.program().find(text)
	}
	return spans
}

// learn remembers secrets of a text for the session, and reports whether there was a
// new one.
func (s *Scrubber) learn(text string, spans []span) bool {
	if s == nil || s.parent == nil || len(spans) == 0 {
		return false
	}
	return s.memory.learn(s.parent.program(), text, spans)
}

// find returns the secrets of s, in order and without overlaps.
func (p *program) find(s string) []span {
	spans, _ := p.search(s, 0, 0, false)
	return spans
}

// render returns s from at on with masks in place of the spans.
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
	if f.mask != "" {
		return f.mask
	}
	return Mask
}
