package tool

import (
	"context"
	"testing"
)

type plainDoer struct{}

func (plainDoer) Spec() Spec {
	return Spec{Name: "plain", Group: "test", Title: "plain", Doc: "It is plain.", Risk: Reads}
}

func (plainDoer) Do(context.Context, struct{}) (Result, error) { return Result{}, nil }

type boundDoer struct{ plainDoer }

func (boundDoer) Terms(context.Context, struct{}) (Terms, error) {
	return Terms{Facts: map[string]string{"Binary": "/bin/x"}, Once: true}, nil
}

func TestTerms(t *testing.T) {
	for name, test := range map[string]struct {
		tool  Tool
		facts int
		once  bool
	}{
		"without": {New(plainDoer{}), 0, false},
		"with":    {New(boundDoer{}), 1, true},
	} {
		call, err := test.tool.Bind(nil, DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		terms, err := call.Terms(t.Context())
		if err != nil || len(terms.Facts) != test.facts || terms.Once != test.once || (terms.Basis() == "") != (test.facts == 0) {
			t.Errorf("%s: %+v %q, %v", name, terms, terms.Basis(), err)
		}
	}
}

func TestABasisIsOfItsFactsAlone(t *testing.T) {
	seen := map[string]map[string]string{}
	for _, facts := range []map[string]string{
		{"a": "b"}, {"a": "c"}, {"b": "a"}, {"a": ""}, {"": "a"}, {"ab": ""}, {"a": "b", "c": "d"}, {"a": "bc", "": "d"}, {"a": "b\x00c", "d": ""},
	} {
		basis := Terms{Facts: facts}.Basis()
		if other, taken := seen[basis]; taken {
			t.Errorf("%v and %v have one basis", facts, other)
		}
		seen[basis] = facts
		if again := (Terms{Facts: facts}).Basis(); again != basis {
			t.Errorf("%v has two", facts)
		}
	}
}
