package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
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

// TestStructuredContentHasItsSchema checks the zero value of the structured content
// of each tool against the schema that clients get.
func TestStructuredContentHasItsSchema(t *testing.T) {
	set, err := All(World{})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for one := range set.All() {
		if one.Spec.Output == nil {
			continue
		}
		checked++
		written, err := json.Marshal(one.OutputSchema())
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(written, &schema); err != nil || schema.Type != "object" {
			t.Fatalf("%s: %s, %v", one.Spec.Name, written, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", one.Spec.Name, err)
		}
		content, err := json.Marshal(one.Spec.Output)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte("null"), []byte("[]")) // tools make empty lists
		var plain any
		if err := json.Unmarshal(content, &plain); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(plain); err != nil {
			t.Errorf("%s: %s is not %s: %v", one.Spec.Name, content, written, err)
		}
	}
	if checked < 13 {
		t.Errorf("only %d tools have structured content", checked)
	}
}
