package policy

import "strings"

// A clause is one compiled list of the rules: the registered tools that it
// names. The nil clause is an absent list.
type clause struct {
	path    string
	entries []entry
	holds   set
	builtIn bool     // not in the settings, so its entries have no line
	profile *profile // instead of entries, if the list is a whole profile
}

type entry struct {
	text  string
	holds set
}

// tools returns the tools of the clause; an absent list has none.
func (c *clause) tools() set {
	if c == nil {
		return nil
	}
	return c.holds
}

// keep returns the tools of s that the clause names, or s if the list is absent.
func (c *clause) keep(s set) set {
	if c == nil {
		return s
	}
	return s.and(c.holds)
}

// drop returns s without the tools of the clause.
func (c *clause) drop(s set) set { return s.minus(c.tools()) }

// cite returns the entry that decides about tool i, or the list if no entry does.
func (c *clause) cite(i int) string {
	if c.profile != nil {
		return c.profile.cite(i)
	}
	for n, e := range c.entries {
		switch {
		case !e.holds.has(i):
		case c.builtIn:
			return strings.TrimSpace(c.path + " " + quote(e.text))
		default:
			return item(c.path, n) + " " + quote(e.text)
		}
	}
	return c.path
}

// clause compiles the list at path and reports its problems.
func (k *compiler) clause(path string, list List) *clause {
	c := k.read(path, list)
	if c == nil {
		return nil
	}
	for i, e := range c.entries {
		if text, nearest := k.catalogue.unknown(e.text); text != "" {
			k.report(Error, item(path, i), text, nearest)
		} else if e.holds.empty() {
			k.report(Warning, item(path, i), quote(e.text)+" names no tool that is registered", "")
		}
	}
	return c
}

// builtin compiles a built-in list, which may name tools that are not registered.
func (k *compiler) builtin(path string, list List) *clause {
	c := k.read(path, list)
	c.builtIn = true
	return c
}

func (k *compiler) read(path string, list List) *clause {
	if list == nil {
		return nil
	}
	c := &clause{path: path, holds: k.catalogue.none()}
	for _, text := range list {
		e := entry{text, k.catalogue.selected(text)}
		c.entries = append(c.entries, e)
		c.holds = c.holds.or(e.holds)
	}
	return c
}
