// Package policy decides about the use of tools: for a subject and a tool it returns allow, ask
// or deny, with the steps that led there. It knows the rules and the facts about tools in them.
// It reads no files, runs no tools, asks no person, and does not know how a caller was
// authenticated.
//
// Begin with [Compile]. It makes a [Policy] from [Rules] and a [Catalogue]; then read steps.go,
// the order of the steps.
package policy

import (
	"fmt"
	"slices"
	"sync"
)

// A Verdict is the result of a decision. The zero Verdict is Deny, so that a forgotten decision refuses.
type Verdict uint8

// The verdicts, from the least to the most permissive.
const (
	Deny  Verdict = iota
	Ask           // a person has to approve the call
	Allow         // no approval is needed
)

func (v Verdict) String() string {
	switch v {
	case Deny:
		return "deny"
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// MarshalText writes the verdict as a word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Subject is the caller that a decision is about. Rules name its profile, its agent, the provider of its model and
// its chat. For the call of a subagent the server decides about each outer caller too, and the strictest verdict
// counts.
type Subject struct {
	Profile  string // as chosen by flag, path or token; "" leaves it to the rules
	Agent    string
	Provider string // of the model
	Group    string // id of the chat
	InGroup  bool   // the chat is a group
	Person   string // the speaker in the chat
	Depth    int    // 1 and more for subagents
	Leaf     bool   // a subagent that may not start others
	Apart    bool   // a subagent that works in a workspace of its own: it may run commands there
	Narrow   Narrow
}

// Narrow has the restrictions of a request. Its entries are entries of a [List]. Entries
// without a match are ignored, and nothing is widened.
type Narrow struct {
	Tools    []string // only these and the tools of Toolsets; nil for no such limit
	Toolsets []string // only these groups and Tools; nil for no such limit
	Exclude  []string // not these
	ReadOnly bool     // only tools that read
}

// Empty reports whether n restricts nothing.
func (n Narrow) Empty() bool {
	return n.Tools == nil && n.Toolsets == nil && len(n.Exclude) == 0 && !n.ReadOnly
}

// A Policy decides about calls. [Compile] makes one from rules and the tools of the server.
//
// Before a call, [Policy.For] decides about the call with its own risk. For lists of tools,
// [Policy.Verdict] decides about the riskiest call of a tool. Both deny a tool that the
// catalogue does not have.
//
// A Policy is safe for concurrent use and does not change: changed rules need a new one. The
// zero Policy denies everything.
type Policy struct {
	catalogue Catalogue

	profiles map[string]*profile
	ordered  []string // names of profiles
	fallback *profile // of callers without a chosen profile

	providers map[string]*provider
	agents    map[string]*agent
	chats     map[string]*chat
	writers   map[string][]string // by chat

	allow, deny, hard, also  *clause
	subagents, apart, leaves *clause
	limit                    limit

	mu     sync.RWMutex
	worked map[Class]*rights // a cache
}

// Verdict returns the decision about the riskiest call of a tool, or about its calls that
// read if the others are for file writers and the subject is none. A tool that is not in
// the catalogue is denied.
func (p *Policy) Verdict(s Subject, name string) Verdict {
	i, ok := p.catalogue.names[name]
	if !ok {
		return Deny
	}
	r, rated := p.rightsOf(p.Class(s)), p.catalogue.tools[i].Risk
	if r.reader && p.catalogue.tools[i].Rates && p.catalogue.forWriters(i, rated) {
		rated = Reads
	}
	return p.conclude(r, s.Narrow, i, rated)
}

// For returns the decision about one call with the risk rated, as the tool rated
// it. A rating can turn allow into ask and ask into allow, but never allows a
// tool that its own risk or any rule denies.
func (p *Policy) For(s Subject, name string, rated Risk) Verdict {
	i, ok := p.catalogue.names[name]
	if !ok {
		return Deny
	}
	return p.conclude(p.rightsOf(p.Class(s)), s.Narrow, i, rated)
}

// Lists reports whether tools/list shows a tool that the subject may use. A profile can list
// few tools and leave the others to the tools of the group discovery; these are shown only
// then. A request that names tools sees these. If search is set the tools of other servers are
// left to tool_search too.
func (p *Policy) Lists(s Subject, name string, search bool) bool {
	i, ok := p.catalogue.names[name]
	if !ok {
		return false
	}
	if s.Narrow.Tools != nil || s.Narrow.Toolsets != nil {
		return true
	}
	group := p.catalogue.tools[i].Group
	short, listed := search, !search || group != Bridged
	for _, applied := range p.profilesOf(p.Class(s)) {
		if applied != nil && applied.listed != nil {
			short, listed = true, listed && applied.listed.holds.has(i)
		}
	}
	return listed && (short || group != groupDiscovery)
}

// Unmatched returns the entries of the request's restrictions that match no tool for the
// subject. A tool that the subject may not use counts as missing.
func (p *Policy) Unmatched(s Subject) (entries []string) {
	n, r := s.Narrow, p.rightsOf(p.Class(s))
	check := func(list []string, matches func([]string, int) bool) {
		for _, entry := range list {
			found := false
			for i, t := range p.catalogue.tools {
				found = found || matches([]string{entry}, i) && p.conclude(r, Narrow{}, i, t.Risk) != Deny
			}
			if !found {
				entries = append(entries, entry)
			}
		}
	}
	check(n.Tools, p.catalogue.anyMatches)
	check(n.Toolsets, p.catalogue.anyToolset)
	check(n.Exclude, p.catalogue.anyMatches)
	return entries
}

func (p *Policy) conclude(r *rights, n Narrow, i int, rated Risk) Verdict {
	if !r.tools.has(i) || p.catalogue.refusal(n, i) != "" || r.reader && p.catalogue.forWriters(i, rated) {
		return Deny
	}
	level := r.limit.narrow(n).level
	if level.verdict(p.catalogue.tools[i].Risk) == Deny {
		return Deny
	}
	return level.verdict(rated)
}

// A Class holds all subjects with the same rules, before their requests narrow them. Subjects
// that the rules do not name share a class, so the number of classes is bounded.
type Class struct {
	profile  *profile // nil if it does not exist
	provider *provider
	agent    *agent
	chat     *chat
	chosen   bool // the profile was chosen for the subject
	subagent bool
	leaf     bool
	apart    bool
	reader   bool // not a file writer of the chat
}

// Class returns the class of a subject.
func (p *Policy) Class(s Subject) Class {
	c := Class{
		profile:  p.fallback,
		provider: p.providers[s.Provider],
		agent:    p.agents[s.Agent],
		chat:     p.chats[s.Group],
		subagent: s.Depth > 0 || s.Leaf,
		leaf:     s.Leaf,
		apart:    s.Apart,
		reader:   p.readsOnly(s),
	}
	if s.Profile != "" {
		c.profile, c.chosen = p.profiles[s.Profile], true
	}
	return c
}

// readsOnly reports whether a subject is in a chat with file writers and is none of them.
func (p *Policy) readsOnly(s Subject) bool {
	writers, ok := p.writers[s.Group]
	if !ok && s.InGroup {
		writers, ok = p.writers[anyGroup]
	}
	return ok && !slices.Contains(writers, s.Person)
}

// anyGroup stands for the group chats whose writers are not listed.
const anyGroup = "*"

// rights are the tools and the autonomy of a class, before a request narrows
// them.
type rights struct {
	tools  set
	limit  limit
	reader bool
}

func (p *Policy) rightsOf(c Class) *rights {
	p.mu.RLock()
	r := p.worked[c]
	p.mu.RUnlock()
	switch {
	case r != nil:
		return r
	case p.worked == nil:
		return new(rights)
	}
	r = p.work(c, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worked[c] = r
	return r
}
