package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// maxComplaint bounds what an error repeats of the validator's message, in bytes.
const maxComplaint = 400

// NewForeign makes a Tool with a schema from elsewhere: another server, or an
// operator. Its arguments are checked and never corrected, since their meaning is
// not known. [NewSet] reports what is wrong with the schema.
func NewForeign(
	spec Spec, schema json.RawMessage, do func(ctx context.Context, args json.RawMessage) (Result, error),
) Tool {
	compiled, err := compile(schema)
	form := &argsForm{printed: schema}
	t := Tool{Spec: spec, form: func() *argsForm { return form }}
	if err != nil {
		form.err = fmt.Errorf("tool %q: its schema does not compile: %w", spec.Name, err)
		return t
	}
	var line bytes.Buffer // a message is one line
	if json.Compact(&line, schema) == nil {
		form.printed = line.Bytes()
	}
	t.bind = func(raw json.RawMessage, limits Limits) (Call, error) {
		value, err := decode(raw)
		if err != nil {
			return Call{}, Errorf(Invalid, "the arguments of %s are not JSON: %v", spec.Name, err).
				Try("send one JSON object")
		}
		b := binder{limits: limits}
		if object, ok := value.(map[string]any); ok && len(object) > limits.Params {
			return Call{}, Errorf(Invalid, "%s got %d arguments, the maximum is %d", spec.Name, len(object),
				limits.Params)
		}
		if why := b.excess(value, 0); why != "" {
			return Call{}, Errorf(Invalid, "the arguments of %s: a value %s", spec.Name, why)
		}
		args, err := json.Marshal(value) // sorted: equal calls are equal
		if err != nil {
			return Call{}, err
		}
		var plain any // the validator does not know json.Number
		if err := json.Unmarshal(args, &plain); err != nil {
			return Call{}, err
		}
		if err := compiled.Validate(plain); err != nil {
			return Call{}, Errorf(Invalid, "%s: %s", spec.Name, text.Clip(err.Error(), maxComplaint)).
				Try("see the tool's input schema")
		}
		return Call{
			args: json.RawMessage(args), risk: spec.Risk,
			prepare: func(context.Context) (Plan, error) {
				return Plan{Run: func(ctx context.Context) (Result, error) { return do(ctx, args) }}, nil
			},
		}, nil
	}
	return t
}

// compile resolves a schema. It accepts JSON Schema 2020-12 and draft-07, and
// loads nothing: references must stay within the schema.
func compile(schema json.RawMessage) (*jsonschema.Resolved, error) {
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return nil, err
	}
	if parsed.Type != "object" {
		return nil, errors.New(`it must be an object with "type": "object"`)
	}
	return parsed.Resolve(nil)
}
