package tool

import (
	"context"
	"errors"
	"testing"
)

type plainDoer struct{}

func (plainDoer) Spec() Spec {
	return Spec{Name: "plain", Group: "test", Title: "plain", Doc: "It is plain.", Risk: Writes}
}

func (plainDoer) Do(context.Context, struct{}) (Result, error) { return Text("done"), nil }

// planned is a tool that returns the plan and the error that it holds.
type planned struct {
	plainDoer
	plan Plan
	err  error
}

func (p planned) Prepare(context.Context, struct{}) (Plan, error) { return p.plan, p.err }

func TestPrepareAlwaysHasARisk(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		tool Tool
		risk Risk
		err  error
	}{
		"Do":                  {New(plainDoer{}), Writes, nil},
		"a plan without risk": {Prepared(planned{}), Writes, nil},
		"a plan with a risk":  {Prepared(planned{plan: Plan{Risk: Reads}}), Reads, nil},
		"an error":            {Prepared(planned{err: broken}), Writes, broken},
		"an error and a risk": {Prepared(planned{plan: Plan{Risk: Reads}, err: broken}), Reads, broken},
	} {
		call, err := test.tool.Bind(nil, DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		plan, err := call.Prepare(t.Context())
		if plan.Risk != test.risk || !errors.Is(err, test.err) {
			t.Errorf("%s: %s, %v", name, plan.Risk, err)
		}
	}
}

func TestACallThatCannotBePreparedDoesNotRun(t *testing.T) {
	broken := errors.New("broken")
	ran := false
	run := func(context.Context) (Result, error) { ran = true; return Result{}, nil }
	call, err := Prepared(planned{plan: Plan{Run: run}, err: broken}).Bind(nil, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Run(t.Context()); !errors.Is(err, broken) || ran {
		t.Errorf("it ran: %t, %v", ran, err)
	}
}

func TestDifferentFactsHaveDifferentBases(t *testing.T) {
	if (Facts{}).Basis() != "" || Facts(nil).Basis() != "" {
		t.Error("no facts have a basis")
	}
	seen := map[string]Facts{}
	for _, facts := range []Facts{
		{"a": "b"}, {"a": "c"}, {"b": "a"}, {"a": ""}, {"": "a"}, {"ab": ""}, {"a": "b", "c": "d"},
		{"a": "bc", "": "d"}, {"a": "b\x00c", "d": ""},
	} {
		basis := facts.Basis()
		if other, taken := seen[basis]; taken {
			t.Errorf("%v and %v have one basis", facts, other)
		}
		seen[basis] = facts
		if again := facts.Basis(); again != basis {
			t.Errorf("%v has two bases", facts)
		}
	}
}
