package policy

import (
	"fmt"
	"strings"
)

// An action is the effect of a step on the tools that its list names.
type action uint8

const (
	narrows action = iota // only these stay
	removes               // these are removed
	adds                  // these are added
)

// A step is one list at its position in the order.
type step struct {
	name   string
	action action
	list   *clause
}

func (s step) apply(in set) set {
	switch s.action {
	case removes:
		return s.list.drop(in)
	case adds:
		return in.or(s.list.tools())
	}
	return s.list.keep(in)
}

// steps is the order of every decision. Only also_allow can add tools; the steps
// before and after it can only remove. Lists that are not set are left out.
func (p *Policy) steps(c Class) (all []step) {
	add := func(name string, does action, list *clause) {
		if list != nil {
			all = append(all, step{name, does, list})
		}
	}
	var ofProvider provider
	if c.provider != nil {
		ofProvider = *c.provider
	}
	var ofAgent agent
	if c.agent != nil {
		ofAgent = *c.agent
	}
	profiles := p.profilesOf(c)
	for _, applied := range profiles {
		name := "profile"
		if applied != c.profile {
			name = "provider profile"
		}
		add(name, narrows, applied.list)
	}
	add("allow", narrows, p.allow)
	add("provider allow", narrows, ofProvider.allow)
	add("agent allow", narrows, ofAgent.allow)
	add("agent's provider allow", narrows, ofAgent.byProvider[c.provider])
	if c.chat != nil {
		add("group allow", narrows, c.chat.allow)
	}
	add("deny", removes, p.deny)
	add("agent deny", removes, ofAgent.deny)
	add("also_allow", adds, p.also)
	add("agent also_allow", adds, ofAgent.also)
	add("deny_hard", removes, p.hard)
	switch {
	case c.subagent && c.apart:
		add("subagent deny", removes, p.apart)
	case c.subagent:
		add("subagent deny", removes, p.subagents)
	}
	if c.leaf {
		add("leaf deny", removes, p.leaves)
	}
	return all
}

// profilesOf returns the profiles that apply to c. The profile of a provider
// replaces the default, but can only narrow a profile that was chosen for the caller.
func (p *Policy) profilesOf(c Class) []*profile {
	switch {
	case c.provider == nil || c.provider.profile == nil || c.provider.profile == c.profile:
		return []*profile{c.profile}
	case c.chosen:
		return []*profile{c.profile, c.provider.profile}
	}
	return []*profile{c.provider.profile}
}

// work applies the steps to the registered tools. It calls see, unless nil, for
// each step with the tools before and after it.
func (p *Policy) work(c Class, see func(s step, before, after set)) *rights {
	r := &rights{reader: c.reader}
	if c.profile == nil {
		return r
	}
	r.tools, r.limit = p.catalogue.all(), p.limit
	for _, s := range p.steps(c) {
		before := r.tools
		r.tools = s.apply(before)
		if see != nil {
			see(s, before, r.tools)
		}
	}
	for _, applied := range p.profilesOf(c) {
		r.limit = r.limit.lower(applied.limit.level, applied.limit.by)
	}
	return r
}

// narrow returns the limit for a request that narrows itself.
func (l limit) narrow(n Narrow) limit {
	if n.ReadOnly {
		return l.lower(ReadOnly, "this request")
	}
	return l
}

// refusal returns the reason why a request excludes tool i, or "".
func (c *Catalogue) refusal(n Narrow, i int) string {
	if n.Tools != nil || n.Toolsets != nil {
		// Without read_result a caller could not read on in a long result.
		if c.tools[i].Group != groupResults && !c.anyMatches(n.Tools, i) && !c.anyToolset(n.Toolsets, i) {
			return "the request names other tools"
		}
	}
	if c.anyMatches(n.Exclude, i) {
		return "the request excludes it"
	}
	return ""
}

func (c *Catalogue) anyMatches(entries []string, i int) bool {
	for _, entry := range entries {
		if c.matches(entry, i) {
			return true
		}
	}
	return false
}

// anyToolset reports a match also for the plain names of groups.
func (c *Catalogue) anyToolset(groups []string, i int) bool {
	for _, name := range groups {
		if kind, _ := split(name); kind == "" && c.inGroup(name, i) || kind != "" && c.matches(name, i) {
			return true
		}
	}
	return false
}

// An Effect is the effect of a step on the tool.
type Effect string

// The effects of steps.
const (
	Silent  Effect = "-"       // the request does not narrow itself
	Keeps   Effect = "keeps"   // allowed before and after
	Removes Effect = "removes" // allowed before, denied after
	Adds    Effect = "adds"    // denied before, allowed after
	Out     Effect = "out"     // denied before and after
	Asks    Effect = "asks"    // allowed if a person approves
)

// A Step is one part of a decision.
type Step struct {
	Name   string `json:"name"`
	Effect Effect `json:"effect"`
	Why    string `json:"why"`
}

// A Decision is a verdict with its steps.
type Decision struct {
	Tool    string  `json:"tool"`
	Verdict Verdict `json:"verdict"`
	Steps   []Step  `json:"steps"`
}

// String writes the verdict on one line and each step on another.
func (d Decision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.Tool, d.Verdict)
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "  %-22s  %-7s  %s\n", s.Name, s.Effect, s.Why)
	}
	return b.String()
}

// Explain returns the decision of Verdict with every step.
func (p *Policy) Explain(s Subject, name string) Decision {
	d := Decision{Tool: name}
	i, ok := p.catalogue.names[name]
	if !ok {
		d.add("registered", Removes, "there is no tool "+quote(name))
		return d
	}
	c := p.Class(s)
	if c.profile == nil {
		text, _ := unknownProfile(s.Profile, nil)
		d.add("profile", Removes, text)
		return d
	}
	risk := p.catalogue.tools[i].Risk
	r := p.work(c, func(s step, before, after set) {
		d.add(s.name, effectOf(before.has(i), after.has(i)), s.list.cite(i)+" "+s.verb(s.list.holds.has(i)))
	})
	in, refusal := r.tools.has(i), p.catalogue.refusal(s.Narrow, i)
	if r.reader && p.catalogue.forWriters(i, risk) {
		d.add("file writers", effectOf(in, false), "writers lets others in this chat only read")
		in = false
	}
	d.addRequest(in, s.Narrow, refusal)
	d.Verdict = p.conclude(r, s.Narrow, i, risk)
	d.addAutonomy(in && refusal == "", r.limit.narrow(s.Narrow), risk)
	return d
}

func (d *Decision) add(name string, effect Effect, why string) {
	d.Steps = append(d.Steps, Step{name, effect, why})
}

// verb returns the verb for the effect of the list on a tool that it names, or
// does not name.
func (s step) verb(named bool) string {
	switch {
	case !named:
		return "does not name it"
	case s.action == removes:
		return "takes it away"
	case s.action == adds:
		return "adds it"
	}
	return "names it"
}

func effectOf(before, after bool) Effect {
	switch {
	case before && after:
		return Keeps
	case before:
		return Removes
	case after:
		return Adds
	}
	return Out
}

func (d *Decision) addRequest(in bool, n Narrow, refusal string) {
	switch {
	case refusal != "":
		d.add("request", effectOf(in, false), refusal)
	case n.Empty():
		d.add("request", Silent, "does not narrow itself")
	default:
		d.add("request", effectOf(in, in), "does not narrow it away")
	}
}

// addAutonomy adds the last step. It depends on whether the tool is still allowed.
func (d *Decision) addAutonomy(in bool, l limit, risk Risk) {
	effect := Out
	if in {
		effect = effectOfVerdict(d.Verdict)
	}
	d.add("autonomy", effect, fmt.Sprintf("%s says %s, and the tool %s", l.by, l.level, risk))
}

func effectOfVerdict(v Verdict) Effect {
	switch v {
	case Allow:
		return Keeps
	case Ask:
		return Asks
	}
	return Removes
}
