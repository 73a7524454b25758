package policy

import (
	"fmt"
	"strings"
)

// An Effect is the effect of a step on the tool.
type Effect string

// The effects of steps.
const (
	Silent  Effect = "-"       // the step has no rule
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
	c := p.class(s)
	if c.profile == nil {
		text, _ := unknownProfile(s.Profile, nil)
		d.add("profile", Removes, text)
		return d
	}
	risk := p.catalogue.tools[i].Risk
	r := p.work(c, func(s step, before, after set) { d.addList(s, i, before.has(i), after.has(i)) })
	in, refusal := r.tools.has(i), p.catalogue.refusal(s.Narrow, i)
	d.addRequest(in, s.Narrow, refusal)
	d.Verdict = p.conclude(r, s.Narrow, i, risk)
	d.addAutonomy(in && refusal == "", r.limit.narrow(s.Narrow), risk)
	return d
}

func (d *Decision) add(name string, effect Effect, why string) {
	d.Steps = append(d.Steps, Step{name, effect, why})
}

func (d *Decision) addList(s step, i int, before, after bool) {
	if s.list == nil {
		d.add(s.name, Silent, s.absent)
		return
	}
	d.add(s.name, effectOf(before, after), s.list.cite(i)+" "+s.verb(s.list.holds.has(i)))
}

// verb returns the verb for the effect of the list on a tool that it holds, or
// does not hold.
func (s step) verb(holds bool) string {
	switch {
	case s.list.profile != nil && holds:
		return "holds it"
	case s.list.profile != nil:
		return "does not hold it"
	case !holds:
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

// addAutonomy adds the last step, which depends on whether the tool is still
// allowed.
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
