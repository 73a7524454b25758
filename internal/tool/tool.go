package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Doer is the part of a tool that its author writes: a Spec, and a method
// that does the work. A is the struct of the arguments; [New] derives the
// schema from it: the names from the json tags, the descriptions from the
// jsonschema tags. A field without omitempty is required.
//
// Do gets arguments that match the schema. It returns an [Error] for a failure
// that the model should read; of other errors the model sees only that the
// tool failed.
type Doer[A any] interface {
	Spec() Spec
	Do(ctx context.Context, args A) (Result, error)
}

// A Preparer is a tool with calls that differ in risk, or depend on more than
// their arguments. [Prepared] makes a Tool of it.
//
// Prepare examines the arguments and the world once and returns the plan of the call. It has no
// side effects that anything outside could notice: it looks up no host name, sends no request
// and reads no secret. It is called before the policy decides, and once more after a person was
// asked, since the world may have changed in between. An error refuses the call, and no person
// is asked; the Plan that comes with it needs only a Risk: the policy uses it to decide whether
// the caller may read the error.
type Preparer[A any] interface {
	Spec() Spec
	Prepare(ctx context.Context, args A) (Plan, error)
}

// A Plan is a prepared call: its risk, the reason for the risk, and a function that runs it. Making a plan has no side
// effects, because a call may be prepared and never run: the policy may deny it, or a person. After an approval the
// call is prepared again, and it runs only if the Facts of both plans are equal.
type Plan struct {
	Risk Risk   // of this call; zero stands for the Risk of the Spec
	Why  string // the reason for Risk, shown to the approver
	Kept bool   // undo restores the state before the call
	Once bool   // an approval counts for this call only and cannot become a rule
	// Ask names the effect that a person must approve in any case, even if the policy allows
	// the call; "" for none. The audit log has it.
	Ask string
	// Facts returns the facts that an approval depends on beside the arguments. It is called
	// only if the policy asks for an approval, before the question and again before Run: the
	// call does not run if the facts have changed. An error refuses the call. Nil stands for no
	// facts.
	Facts func(ctx context.Context) (Facts, error)
	// Run executes the call.
	Run func(ctx context.Context) (Result, error)
}

// Facts are the facts that an approval covers in addition to the arguments, by name, such as
// the file of a program name. The approver sees them.
type Facts map[string]string

// Basis returns a digest of the facts, "" if there are none.
func (f Facts) Basis() string {
	if len(f) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, text := range []string{name, f[name]} {
			sum := sha256.Sum256([]byte(text)) // of fixed length, so that names and values cannot run together
			h.Write(sum[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Tool is a Doer or a Preparer that the pipeline can call without knowing its type. [New] and
// [Prepared] make one, and a [Set] holds the tools of the server. It is a value without state,
// shared by all goroutines.
type Tool struct {
	Spec    Spec
	Rates   bool             // it rates each call, often lower than Spec.Risk
	Tasks   TaskKeeper       // of its tasks; nil if it has none
	form    func() *argsForm // derived at the first call; a reader of the Spec alone does not pay for it
	known   json.RawMessage  // the schema as the model sees it, if it was not derived
	foreign bool             // its schema is from elsewhere
	means   string           // the arguments that the name of the lookup implies, as JSON
	bind    func(raw json.RawMessage, limits Limits) (Call, error)
}

// An argsForm is the form of a tool's arguments.
type argsForm struct {
	schema  *schema         // of typed arguments
	printed json.RawMessage // as the model sees it
	err     error
}

func newForm(args reflect.Type, tool string) *argsForm {
	schema, err := derive(args)
	if err != nil {
		return &argsForm{err: fmt.Errorf("tool %q: %w", tool, err)}
	}
	return &argsForm{schema: schema, printed: schema.json()}
}

// New makes a Tool of d. [NewSet] reports errors in d.
func New[A any](d Doer[A]) Tool {
	return newTool(d, d.Spec(), reflect.TypeFor[A](), func(_ context.Context, args any) (Plan, error) {
		return Plan{Run: func(ctx context.Context) (Result, error) { return d.Do(ctx, *args.(*A)) }}, nil
	})
}

// Prepared makes a Tool of p. [NewSet] reports errors in p.
func Prepared[A any](p Preparer[A]) Tool {
	t := newTool(p, p.Spec(), reflect.TypeFor[A](), func(ctx context.Context, args any) (Plan, error) {
		return p.Prepare(ctx, *args.(*A))
	})
	t.Rates = true
	return t
}

// newTool makes a Tool of impl, whose arguments have the type args. prepare gets a pointer to them.
// It is not generic, so that the program has its code once and not for each tool.
func newTool(impl any, spec Spec, args reflect.Type, prepare func(context.Context, any) (Plan, error)) Tool {
	t := Tool{Spec: spec, form: sync.OnceValue(func() *argsForm { return newForm(args, spec.Name) })}
	t.Tasks, _ = impl.(TaskKeeper)
	t.bind = func(raw json.RawMessage, limits Limits) (Call, error) {
		value := reflect.New(args)
		if err := t.fill(value.Elem(), raw, limits); err != nil {
			return Call{}, err
		}
		bound := value.Interface()
		return Call{
			args: bound, risk: spec.Risk,
			prepare: func(ctx context.Context) (Plan, error) { return prepare(ctx, bound) },
		}, nil
	}
	return t
}

// Bind checks raw against the schema of the tool, corrects common mistakes of
// models, and returns the call. Its error is written for the model.
func (t Tool) Bind(raw json.RawMessage, limits Limits) (Call, error) {
	if t.Spec.MaxText > 0 {
		limits.Text = t.Spec.MaxText
	}
	return t.bind(t.withMeaning(raw), limits)
}

// OutputSchema returns the JSON Schema of the structured content, or nil.
func (t Tool) OutputSchema() any {
	if t.Spec.Output == nil {
		return nil
	}
	return outputSchema(reflect.TypeOf(t.Spec.Output))
}

// outputSchema derives the schema of a type from its form as JSON.
func outputSchema(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return outputSchema(t.Elem())
	case reflect.String:
		return map[string]any{"type": kindString}
	case reflect.Bool:
		return map[string]any{"type": kindBoolean}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": kindInteger}
	case reflect.Float64:
		return map[string]any{"type": kindNumber}
	case reflect.Slice:
		return map[string]any{"type": kindArray, "items": outputSchema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": kindObject, "additionalProperties": outputSchema(t.Elem())}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return map[string]any{"type": kindString, "format": "date-time"}
		}
		properties, required := map[string]any{}, []string{}
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			properties[name] = outputSchema(f.Type)
			if options == "" {
				required = append(required, name)
			}
		}
		return map[string]any{"type": kindObject, "properties": properties, "required": required}
	}
	return map[string]any{} // any value
}

// Schema returns the JSON Schema (2020-12) of the arguments.
func (t Tool) Schema() json.RawMessage {
	if t.known != nil {
		return t.known
	}
	return t.form().printed
}

// WithSchema returns t with a schema that was derived earlier, or t if schema is
// empty. [NewSet] does not check it again.
func (t Tool) WithSchema(schema json.RawMessage) Tool {
	if len(schema) > 0 {
		t.known = schema
	}
	return t
}

// A Call is a tool with its arguments, checked and ready to be prepared.
type Call struct {
	args    any
	risk    Risk // of the Spec
	prepare func(context.Context) (Plan, error)
}

// Prepare returns the plan of this call. The Risk of the plan is valid, also
// with an error.
func (c Call) Prepare(ctx context.Context) (Plan, error) {
	plan, err := c.prepare(ctx)
	if !plan.Risk.Valid() {
		plan.Risk = c.risk
	}
	return plan, err
}

// Run prepares the call and runs it, without policy and approval.
func (c Call) Run(ctx context.Context) (Result, error) {
	plan, err := c.Prepare(ctx)
	if err != nil {
		return Result{}, err
	}
	return plan.Run(ctx)
}

// JSON returns the canonical form of the arguments: canonical names and types, in
// the order of the schema. Equal calls have equal JSON. A json.RawMessage is as it was sent.
func (c Call) JSON() json.RawMessage {
	raw, err := json.Marshal(c.args)
	if err != nil { // only a value that no JSON could have filled
		return nil
	}
	return raw
}
