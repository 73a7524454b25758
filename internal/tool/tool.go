package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// A Doer is what a tool's author writes: a Spec and what to do. A is the
// struct of its arguments; [New] derives the schema from it.
type Doer[A any] interface {
	Spec() Spec
	Do(ctx context.Context, args A) (Result, error)
}

// A Rater is a Doer that knows better than its Spec how risky one call is.
// The reason is shown to whoever approves. Rating must have no side effects:
// it may happen more often than the call.
type Rater[A any] interface {
	Rate(ctx context.Context, args A) (Risk, string)
}

// A Tool is a Doer that the pipeline can call without knowing its type.
// It is a value without state of its own, shared by all goroutines.
type Tool struct {
	Spec    Spec
	Rates   bool            // it says of each call how risky that is, often less than Spec.Risk
	schema  *schema         // of typed arguments
	printed json.RawMessage // as the model sees it
	err     error
	means   string // what the name says by which it was looked up, as JSON
	bind    func(raw json.RawMessage, limits Limits) (Call, error)
}

// New makes a Tool of d. What is wrong with d is reported by [NewSet].
func New[A any](d Doer[A]) Tool {
	t := Tool{Spec: d.Spec()}
	schema, err := derive(reflect.TypeFor[A]())
	if err != nil {
		t.err = fmt.Errorf("tool %q: %w", t.Spec.Name, err)
		return t
	}
	t.schema, t.printed = schema, schema.json()
	_, t.Rates = d.(Rater[A])
	t.bind = func(raw json.RawMessage, limits Limits) (Call, error) {
		args := new(A)
		if err := t.fill(reflect.ValueOf(args).Elem(), raw, limits); err != nil {
			return Call{}, err
		}
		call := Call{
			args: args,
			risk: t.Spec.Risk,
			run:  func(ctx context.Context) (Result, error) { return d.Do(ctx, *args) },
		}
		if rater, ok := d.(Rater[A]); ok {
			call.rate = func(ctx context.Context) (Risk, string) { return rater.Rate(ctx, *args) }
		}
		if termer, ok := d.(Termer[A]); ok {
			call.terms = func(ctx context.Context) (Terms, error) { return termer.Terms(ctx, *args) }
		}
		return call, nil
	}
	return t
}

// Bind checks raw against the tool's schema, mends what models typically get
// wrong, and returns the call ready to run. Its error is written for the model.
func (t Tool) Bind(raw json.RawMessage, limits Limits) (Call, error) {
	if t.Spec.MaxText > 0 {
		limits.Text = t.Spec.MaxText
	}
	return t.bind(t.said(raw), limits)
}

// Schema is the JSON Schema (2020-12) of the arguments.
func (t Tool) Schema() json.RawMessage { return t.printed }

// A Call is a tool with its arguments, checked and ready to run.
type Call struct {
	args  any
	risk  Risk
	run   func(context.Context) (Result, error)
	rate  func(context.Context) (Risk, string)
	terms func(context.Context) (Terms, error)
}

// Run does it.
func (c Call) Run(ctx context.Context) (Result, error) { return c.run(ctx) }

// Rate says how risky this very call is, and why.
func (c Call) Rate(ctx context.Context) (Risk, string) {
	if c.rate == nil {
		return c.risk, ""
	}
	return c.rate(ctx)
}

// JSON is the canonical form of the arguments: canonical names and types, in
// the order of the schema. Equal calls have equal JSON.
func (c Call) JSON() json.RawMessage {
	raw, err := json.Marshal(c.args)
	if err != nil { // only a value that no JSON could have filled
		return nil
	}
	return raw
}
