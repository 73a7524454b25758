package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// NewForeign makes a Tool with a schema from elsewhere: another server, or an
// operator. Its arguments are checked and never corrected, since their meaning is
// not known. [NewSet] reports what is wrong with the schema.
func NewForeign(
	spec Spec, schema json.RawMessage, do func(ctx context.Context, args json.RawMessage) (Result, error),
) Tool {
	t := Tool{Spec: spec, printed: schema}
	compiled, err := compile(schema)
	if err != nil {
		t.err = fmt.Errorf("tool %q: its schema does not compile: %w", spec.Name, err)
		return t
	}
	t.bind = func(raw json.RawMessage, limits Limits) (Call, error) {
		value, err := decode(raw)
		if err != nil {
			return Call{}, Errorf(Invalid, "the arguments of %s are not JSON: %v", spec.Name, err).
				Try("send one JSON object")
		}
		b := binder{limits: limits}
		if object, ok := value.(map[string]any); ok && len(object) > limits.Params {
			return Call{}, Errorf(Invalid, "%s got %d arguments, the maximum is %d", spec.Name, len(object), limits.Params)
		}
		if why := b.excess(value, 0); why != "" {
			return Call{}, Errorf(Invalid, "the arguments of %s: a value %s", spec.Name, why)
		}
		if err := compiled.Validate(value); err != nil {
			return Call{}, Errorf(Invalid, "%s: %s", spec.Name, validationText(err)).Try("see the tool's input schema")
		}
		args, err := json.Marshal(value) // sorted, so that equal calls have equal JSON
		if err != nil {
			return Call{}, err
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

// compile compiles a schema. It is JSON Schema 2020-12, as the protocol says,
// unless the schema names another version. compile loads nothing.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	if object, ok := doc.(map[string]any); !ok || object["type"] != "object" {
		return nil, errors.New(`it must be an object with "type": "object"`)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("tool:///schema", doc); err != nil {
		return nil, err
	}
	return c.Compile("tool:///schema")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema must be complete; %q is not loaded", url)
}

// validationText returns what the validator found, on one line.
func validationText(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(invalid.Error()) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && len(lines) < maxProblems {
			lines = append(lines, rest)
		}
	}
	return strings.Join(lines, "; ")
}
