package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestSchemasThatCannotBeChecked: schemas that refer to themselves, and those that cannot be bounded, are refused.
func TestSchemasThatCannotBeChecked(t *testing.T) {
	for name, schema := range map[string]string{
		"a property is itself":    `{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`,
		"all of the root":         `{"type":"object","allOf":[{"$ref":"#"}]}`,
		"two definitions":         `{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}},"not":{"$ref":"#/$defs/a"}}`,
		"an anchor":               `{"type":"object","$defs":{"a":{"$anchor":"a","oneOf":[{"$ref":"#a"}]}},"properties":{"x":{"$ref":"#a"}}}`,
		"if":                      `{"type":"object","if":{"then":{"$ref":"#"}}}`,
		"draft 7":                 `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"x":{"$ref":"#"}}}`,
		"a dynamic reference":     `{"type":"object","$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}`,
		"an inner id":             `{"type":"object","$defs":{"a":{"$id":"http://x.test/a","$ref":"#"}}}`,
		"another document":        `{"type":"object","properties":{"x":{"$ref":"http://x.test/y"}}}`,
		"a place that is missing": `{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}}}`,
		"a pattern like a bomb":   `{"type":"object","properties":{"x":{"pattern":"(x{100}){100}"}}}`,
		"patternProperties":       `{"type":"object","patternProperties":{"(x{100}){100}":{}}}`,
	} {
		if err := CheckSchema(json.RawMessage(schema)); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// TestArgumentsThatCostTooMuch: the cost of a check is known before it begins.
func TestArgumentsThatCostTooMuch(t *testing.T) {
	levels := `"a0":{"type":"number"}`
	for i := 1; i <= 10; i++ {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i-1)
		levels += fmt.Sprintf(`,"a%d":{"anyOf":[%s]}`, i, strings.Repeat(ref+",", 9)+ref)
	}
	nested := strings.Repeat(`{"x":`, 400) + "1" + strings.Repeat("}", 400)
	long := strings.Repeat("x", 100<<10)
	for name, c := range map[string][2]string{
		"ten levels of ten":     {`{"type":"object","$defs":{` + levels + `},"properties":{"x":{"$ref":"#/$defs/a10"}}}`, `{"x":"a"}`},
		"a tree of choices":     {`{"type":"object","$defs":{"n":{"anyOf":[` + strings.Repeat(`{"properties":{"x":{"$ref":"#/$defs/n"}}},`, 9) + `{}]}},"properties":{"x":{"$ref":"#/$defs/n"}}}`, nested},
		"a long text, printed":  {`{"type":"object","properties":{"x":{"anyOf":[` + strings.Repeat(`{"type":"number"},`, 3000) + `{}]}}}`, `{"x":"` + long + `"}`},
		"a long pattern":        {`{"type":"object","properties":{"x":{"pattern":"(a?){900}b"}}}`, `{"x":"` + long + `"}`},
		"deeper than the stack": {`{"type":"object","$defs":{"n":{"allOf":[{"allOf":[{"properties":{"x":{"$ref":"#/$defs/n"}}}]}]}},"properties":{"x":{"$ref":"#/$defs/n"}}}`, nested},
	} {
		checker, err := NewChecker(json.RawMessage(c[0]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(c[1]), &value); err != nil {
			t.Fatal(err)
		}
		if err := checker.Check(value); err == nil || !strings.Contains(err.Error(), "too many ways") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestTreesAreChecked: a schema that refers to itself for a part of the value is checked.
func TestTreesAreChecked(t *testing.T) {
	tree := `{"type":"object","$defs":{"n":{"type":"object","properties":{"value":{"type":"number"},` +
		`"next":{"$ref":"#/$defs/n"}}}},"properties":{"x":{"$ref":"#/$defs/n"}}}`
	checker, err := NewChecker(json.RawMessage(tree))
	if err != nil {
		t.Fatal(err)
	}
	for value, fits := range map[string]bool{
		`{"x":{"next":{"next":{"value":1}}}}`: true, `{"x":{"next":{"next":{"value":"1"}}}}`: false,
	} {
		var decoded any
		if err := json.Unmarshal([]byte(value), &decoded); err != nil {
			t.Fatal(err)
		}
		if got := checker.Check(decoded) == nil; got != fits {
			t.Errorf("%s: fits is %t", value, got)
		}
	}
}

// TestTextsBecomeWhatTheSchemaWants: a text that stands for a number, a boolean, a list or an object is converted
// where the schema wants that; all others stay.
func TestTextsBecomeWhatTheSchemaWants(t *testing.T) {
	checker, err := NewChecker(json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"},
		"i":{"type":"integer"},"b":{"type":"boolean"},"l":{"type":"array","items":{"type":"number"}},
		"o":{"type":"object","properties":{"n":{"type":"number"}}},"s":{"type":"string"},"a":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		`{"n":"2"}`: `{"n":2}`, `{"n":" 2.50 "}`: `{"n":2.5}`, `{"i":"9007199254740993"}`: `{"i":9007199254740993}`,
		`{"i":"2.5"}`: `{"i":"2.5"}`, `{"n":"NaN"}`: `{"n":"NaN"}`, `{"b":"True"}`: `{"b":true}`, `{"b":"yes"}`: `{"b":"yes"}`,
		`{"l":["1",2]}`: `{"l":[1,2]}`, `{"l":"[\"1\"]"}`: `{"l":[1]}`, `{"o":"{\"n\":\"1\"}"}`: `{"o":{"n":1}}`,
		`{"s":"2","a":"2"}`: `{"a":"2","s":"2"}`, `{"n":"+05"}`: `{"n":5}`,
	} {
		value, err := decode(json.RawMessage(from))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(checker.converted(checker.root, value))
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, want %s (%v)", from, got, want, err)
		}
	}
}
