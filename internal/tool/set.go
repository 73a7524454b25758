package tool

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/mcp-tools/mcp-tools/policy"
)

// A Set holds every tool of the server, by its name and by the names that other
// systems gave it. [NewSet] makes one and checks the tools; [Set.Lookup] finds
// the tool of a call. A Set does not change, so all goroutines may use it.
type Set struct {
	ordered []Tool
	byName  map[string]int
	aliases map[string]int
}

// NewSet returns a Set of tools, or an error with every mistake in them: duplicate
// names, missing risks and descriptions, arguments without a schema.
func NewSet(all ...Tool) (*Set, error) {
	s := &Set{byName: make(map[string]int), aliases: make(map[string]int)}
	var problems []error
	for _, t := range all {
		problems = append(problems, t.Spec.check(t.foreign))
		if t.known == nil {
			problems = append(problems, t.checkForm())
		}
		if _, taken := s.byName[t.Spec.Name]; taken {
			problems = append(problems, fmt.Errorf("two tools have the name %q", t.Spec.Name))
		}
		s.byName[t.Spec.Name] = len(s.ordered)
		s.ordered = append(s.ordered, t)
	}
	for i, t := range s.ordered {
		for _, alias := range t.Spec.Also {
			if other, taken := s.aliases[alias]; taken {
				first := s.ordered[other].Spec.Name
				problems = append(problems,
					fmt.Errorf("tools %q and %q both accept the name %q", first, t.Spec.Name, alias))
			}
			if _, taken := s.byName[alias]; taken {
				problems = append(problems,
					fmt.Errorf("tool %q accepts the name %q, which is the name of another tool", t.Spec.Name, alias))
			}
			s.aliases[alias] = i
		}
		problems = append(problems, t.Spec.checkMeans())
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("the tools have mistakes:\n%w", err)
	}
	return s, nil
}

// Lookup finds a tool by its own name or by one of its other names.
func (s *Set) Lookup(name string) (Tool, bool) {
	i, ok := s.byName[name]
	if !ok {
		i, ok = s.aliases[name]
	}
	if !ok {
		return Tool{}, false
	}
	t := s.ordered[i]
	t.means = t.Spec.Means[name]
	return t, true
}

// All yields the tools in the best order for learning them.
func (s *Set) All() iter.Seq[Tool] { return slices.Values(s.ordered) }

// Len returns the number of tools.
func (s *Set) Len() int { return len(s.ordered) }

// Catalogue returns the tools as rules can name them.
func (s *Set) Catalogue() policy.Catalogue { return Catalogue(s.ordered) }

// Catalogue returns tools as rules can name them.
func Catalogue(list []Tool) policy.Catalogue {
	all := make([]policy.Tool, len(list))
	for i, t := range list {
		all[i] = policy.Tool{Name: t.Spec.Name, Also: t.Spec.Also, Group: t.Spec.Group, Risk: t.Spec.Risk,
			Rates: t.Rates}
	}
	return policy.NewCatalogue(all)
}

// Names returns the names of the tools, in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.ordered))
	for i, t := range s.ordered {
		names[i] = t.Spec.Name
	}
	return names
}
