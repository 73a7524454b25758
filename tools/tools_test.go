package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// property is the schema of one argument.
type property struct {
	Type        any                 `json:"type"`
	Description string              `json:"description"`
	Items       *property           `json:"items"`
	Properties  map[string]property `json:"properties"`
}

// TestArgumentsAreDescribed checks that every argument of every tool has a type
// and a description that stands alone, and that nested objects have properties.
func TestArgumentsAreDescribed(t *testing.T) {
	set, err := All(World{})
	if err != nil {
		t.Fatal(err)
	}
	for one := range set.All() {
		var arguments property
		if err := json.Unmarshal(one.Schema(), &arguments); err != nil {
			t.Fatal(err)
		}
		for _, problem := range arguments.problems("") {
			t.Errorf("%s: %s", one.Spec.Name, problem)
		}
	}
}

func (p property) problems(path string) []string {
	var found []string
	for name, inner := range p.Properties {
		at := path + name
		if inner.Type == nil {
			found = append(found, at+" has no type")
		}
		if words := len(strings.Fields(inner.Description)); words < 3 {
			found = append(found, fmt.Sprintf("%s is described in %d words, %q; write a phrase that stands alone", at, words, inner.Description))
		}
		if inner.Items != nil {
			if inner.Items.Type == "object" && inner.Items.Properties == nil {
				found = append(found, at+"[] is an object without properties")
			}
			found = append(found, inner.Items.problems(at+"[].")...)
		}
		found = append(found, inner.problems(at+".")...)
	}
	slices.Sort(found)
	return found
}
