package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// probe is a tool with an argument of every kind.
type probe struct{}

type probeArgs struct {
	Path    string            `json:"path" jsonschema:"a file" alias:"file_path,filename"`
	Limit   int               `json:"limit,omitempty" jsonschema:"how many" min:"1" max:"600" default:"20"`
	Ratio   float64           `json:"ratio,omitempty" jsonschema:"how much" min:"0"`
	Deep    bool              `json:"deep,omitempty" jsonschema:"also below"`
	Mode    string            `json:"mode,omitempty" jsonschema:"in which way" enum:"fast,careful"`
	Names   []string          `json:"names,omitempty" jsonschema:"some names" maxitems:"3"`
	Edits   []probeEdit       `json:"edits,omitempty" jsonschema:"changes"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"variables"`
	Body    json.RawMessage   `json:"body,omitempty" jsonschema:"anything"`
	Timeout *int              `json:"timeout_seconds,omitempty" jsonschema:"seconds"`
	Short   string            `json:"short,omitempty" jsonschema:"brief" maxlen:"4"`
}

type probeEdit struct {
	Old string `json:"old_string" jsonschema:"before" alias:"oldText"`
	New string `json:"new_string" jsonschema:"after"`
}

func (probe) Spec() Spec {
	return Spec{Name: "probe", Group: "test", Title: "Probe", Doc: "Probes.", Risk: Reads, Also: []string{"Probe"}}
}

func (probe) Prepare(_ context.Context, a probeArgs) (Plan, error) {
	plan := Plan{Run: func(context.Context) (Result, error) {
		text, err := json.Marshal(a)
		return Text(string(text)), err
	}}
	if a.Deep {
		plan.Risk, plan.Why = Runs, "it goes deep"
	}
	return plan, nil
}

func run(t *testing.T, tool Tool, args string) (string, error) {
	t.Helper()
	call, err := tool.Bind(json.RawMessage(args), DefaultLimits())
	if err != nil {
		return "", err
	}
	res, err := call.Run(t.Context())
	return res.Text(), err
}

func TestBindMendsWhatModelsGetWrong(t *testing.T) {
	const bare = `{"path":"a","limit":20}`
	for name, test := range map[string]struct{ args, want string }{
		"as it should be":       {`{"path":"a"}`, bare},
		"a number as a string":  {`{"path":"a","limit":"42"}`, `{"path":"a","limit":42}`},
		"a whole float":         {`{"path":"a","limit":42.0}`, `{"path":"a","limit":42}`},
		"a boolean as a string": {`{"path":"a","deep":"True"}`, `{"path":"a","limit":20,"deep":true}`},
		"a string as a number":  {`{"path":42}`, `{"path":"42","limit":20}`},
		"one value for a list":  {`{"path":"a","names":"x"}`, `{"path":"a","limit":20,"names":["x"]}`},
		"a list as JSON text": {`{"path":"a","names":"[\"x\",\"y\"]"}`,
			`{"path":"a","limit":20,"names":["x","y"]}`},
		"an object as JSON text": {`{"path":"a","env":"{\"K\":\"v\"}"}`, `{"path":"a","limit":20,"env":{"K":"v"}}`},
		"one object for a list": {`{"path":"a","edits":{"oldText":"x","new_string":"y"}}`,
			`{"path":"a","limit":20,"edits":[{"old_string":"x","new_string":"y"}]}`},
		"all arguments as a string": {`"{\"path\":\"a\"}"`, bare},
		"an alias":                  {`{"file_path":"a"}`, bare},
		"another case":              {`{"Path":"a","timeoutSeconds":5}`, `{"path":"a","limit":20,"timeout_seconds":5}`},
		"null for nothing":          {`{"path":"a","limit":null,"mode":null}`, bare},
		"an enum in another case":   {`{"path":"a","mode":"FAST"}`, `{"path":"a","limit":20,"mode":"fast"}`},
		"anything": {`{"path":"a","body":{"n":12345678901234567890}}`,
			`{"path":"a","limit":20,"body":{"n":12345678901234567890}}`},
		"the order of keys": {`{"path":"a","body":{"z":1,"a":[{"y":2,"b":3}]}}`,
			`{"path":"a","limit":20,"body":{"z":1,"a":[{"y":2,"b":3}]}}`},
		"the order of keys in a string": {`"{\"path\":\"a\",\"body\":{\"z\":1,\"a\":2}}"`,
			`{"path":"a","limit":20,"body":{"z":1,"a":2}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, Prepared(probe{}), test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// bareProbe takes a text in place of its arguments.
type bareProbe struct{ probe }

func (bareProbe) Spec() Spec {
	s := probe{}.Spec()
	s.Bare = "path"
	return s
}

func TestBareText(t *testing.T) {
	for args, want := range map[string]string{
		`"a b"`: `{"path":"a b","limit":20}`, `"{\"path\":\"c\"}"`: `{"path":"c","limit":20}`,
	} {
		if got, err := run(t, Prepared(bareProbe{}), args); err != nil || got != want {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
}

func TestBindExplainsEverythingElse(t *testing.T) {
	for name, test := range map[string]struct{ args, want string }{
		"nothing": {`{}`,
			`invalid: probe: "path" is missing; the arguments were empty; send at least {"path":"..."}`},
		"no arguments at all": {``,
			`invalid: probe: "path" is missing; the arguments were empty; send at least {"path":"..."}`},
		"too much": {`{"path":"a","limit":900}`,
			`invalid: probe: "limit" is 900, the maximum is 600`},
		"too little": {`{"path":"a","limit":0}`,
			`invalid: probe: "limit" is 0, the minimum is 1`},
		"a fraction": {`{"path":"a","limit":1.5}`,
			`invalid: probe: "limit" must be a whole number, not the number 1.5`},
		"an unknown name": {`{"path":"a","limt":1}`,
			`invalid: probe: there is no argument "limt" (did you mean "limit"?)`},
		"an unknown enum": {`{"path":"a","mode":"carful"}`,
			`invalid: probe: "mode" is "carful", it must be one of fast, careful (did you mean "careful"?)`},
		"twice": {`{"path":"a","file_path":"b"}`,
			`invalid: probe: "file_path" and "path" are the same argument; send one`},
		"the wrong kind": {`{"path":["a"]}`,
			`invalid: probe: "path" must be a string, not an array of 1`},
		"too many entries": {`{"path":"a","names":["1","2","3","4"]}`,
			`invalid: probe: "names" has 4 entries, the maximum is 3`},
		"too long": {`{"path":"a","short":"12345"}`,
			`invalid: probe: "short" is 5 bytes long, the maximum is 4`},
		"deep inside": {`{"path":"a","edits":[{"old_string":"x"}]}`,
			`invalid: probe: "edits[0].new_string" is missing; send at least {"path":"..."}`},
		"too deep": {`{"path":"a","body":[[[[[[1]]]]]]}`,
			`invalid: probe: "body" is nested more than 5 levels deep`},
		"an array": {`[1]`,
			`invalid: probe: the arguments must be an object, not an array of 1; send at least {"path":"..."}`},
		"not JSON": {`{"path":`,
			`invalid: the arguments of probe are not JSON: unexpected EOF; send one JSON object`},
		"two values": {`{"path":"a"}{"path":"b"}`,
			`invalid: the arguments of probe are not JSON: text follows the first value; send one JSON object`},
		"several mistakes": {`{"limit":0,"mode":"x"}`,
			`invalid: probe: "limit" is 0, the minimum is 1; "mode" is "x", it must be one of fast, careful; "path" is missing; send at least {"path":"..."}`},
		"a number out of range": {`{"path":"a","timeout_seconds":1e300}`,
			`invalid: probe: "timeout_seconds" must be a whole number, not the number 1e300`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, Prepared(probe{}), test.args)
			if err == nil {
				t.Fatal("the mistake was accepted")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSchemaSaysWhatBindAccepts(t *testing.T) {
	tool := Prepared(probe{})
	if _, err := compile(tool.Schema()); err != nil {
		t.Errorf("the schema does not compile: %v", err)
	}
	for _, want := range []string{
		`"limit":{"type":"integer","description":"how many","minimum":1,"maximum":600,"default":20}`,
		`"mode":{"type":"string","description":"in which way","enum":["fast","careful"]}`,
		`"env":{"type":"object","description":"variables","additionalProperties":{"type":"string"}}`,
		`"body":{"type":["string","number","boolean","object","array"],"description":"anything"}`,
		`"required":["path"],"additionalProperties":false}`,
	} {
		if !bytes.Contains(tool.Schema(), []byte(want)) {
			t.Errorf("the schema lacks %s:\n%s", want, tool.Schema())
		}
	}
	if bytes.Contains(tool.Schema(), []byte("file_path")) {
		t.Error("the schema lists an alias: the model would pay for it twice")
	}
}

func TestPrepareRatesThisCall(t *testing.T) {
	for args, want := range map[string]Risk{`{"path":"a"}`: Reads, `{"path":"a","deep":true}`: Runs} {
		call, err := Prepared(probe{}).Bind(json.RawMessage(args), DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if plan, _ := call.Prepare(t.Context()); plan.Risk != want {
			t.Errorf("%s: rated %s, want %s", args, plan.Risk, want)
		}
	}
}

func TestEqualCallsHaveEqualJSON(t *testing.T) {
	var forms []string
	for _, args := range []string{`{"path":"a","limit":"5"}`, `{ "limit":5.0, "filename":"a" }`} {
		call, err := Prepared(probe{}).Bind(json.RawMessage(args), DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, string(call.JSON()))
	}
	if forms[0] != forms[1] {
		t.Errorf("%s differs from %s", forms[0], forms[1])
	}
}

// careless is a tool without nearly everything that is required.
type careless struct{}

func (careless) Spec() Spec { return Spec{Name: "Bad-Name"} }

func (careless) Do(context.Context, struct {
	X chan int `json:"x" jsonschema:"no"`
	Y string   `json:"y"`
	Z string
},
) (Result, error) {
	return Result{}, nil
}

func TestSetRefusesWhatIsMissing(t *testing.T) {
	_, err := NewSet(New(careless{}), Prepared(probe{}), Prepared(probe{}))
	if err == nil {
		t.Fatal("the set was accepted")
	}
	for _, want := range []string{
		"not lower_snake_case", "no group", "no title", "no description", "no risk",
		"has no JSON Schema", "needs a jsonschema tag", "needs a json tag", `two tools have the name "probe"`,
		`both accept the name "Probe"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

func TestLookupKnowsOtherNames(t *testing.T) {
	set, err := NewSet(Prepared(probe{}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"probe": true, "Probe": true, "prob": false, "": false} {
		if _, ok := set.Lookup(name); ok != want {
			t.Errorf("Lookup(%q) = %v, want %v", name, ok, want)
		}
	}
}

// spoken is a tool with aliases that select an action.
type spoken struct{ Doer[spokenArgs] }

type spokenArgs struct {
	Do    string   `json:"do" jsonschema:"what" list:"words"`
	Words []string `json:"words,omitempty" jsonschema:"each"`
}

func (spoken) Spec() Spec {
	return Spec{
		Name: "spoken", Group: "test", Title: "Spoken", Doc: "Does.", Risk: Reads, Also: []string{"Stop"},
		Means: map[string]string{"Stop": `{"do":"stop"}`},
	}
}

func (spoken) Do(_ context.Context, a spokenArgs) (Result, error) {
	return Text(a.Do + strings.Join(a.Words, "+")), nil
}

func TestNamesMayMeanArguments(t *testing.T) {
	set, err := NewSet(New[spokenArgs](spoken{}))
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		`Stop {}`: "stop", `Stop {"do":"go"}`: "go", `Stop "{\"words\":\"x\"}"`: "stopx", `Stop `: "stop",
		`spoken {"do":"go"}`: "go", `spoken {}`: "invalid", `Stop 7`: "invalid", `Stop {`: "invalid",
	} {
		name, args, _ := strings.Cut(call, " ")
		tool, _ := set.Lookup(name)
		got, err := run(t, tool, args)
		if err != nil {
			got = string(AsError(err).Kind)
		}
		if got != want {
			t.Errorf("%s: %q, %v", call, got, err)
		}
	}
	bad := New(spoken{})
	bad.Spec.Means = map[string]string{"Stop": `7`, "other": `{}`}
	if _, err := NewSet(bad); err == nil || strings.Count(err.Error(), "Means[") != 2 {
		t.Error(err)
	}
}

// TestListInsteadOfString goes where lists belong.
func TestListInsteadOfString(t *testing.T) {
	tool := New[spokenArgs](spoken{})
	if text, err := run(t, tool, `{"do":["a","b"]}`); err == nil {
		t.Errorf("%q without what is required", text)
	}
	if text, err := run(t, tool, `{"do":["a"],"words":["b"]}`); err == nil ||
		!strings.Contains(err.Error(), "same argument") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestForeignToolsAreCheckedAsTheyAre(t *testing.T) {
	spec := Spec{Name: "other", Group: "test", Title: "Other", Doc: "Others.", Risk: Reads}
	echo := func(_ context.Context, args json.RawMessage) (Result, error) { return Text(string(args)), nil }
	tool := NewForeign(spec,
		json.RawMessage(`{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}`), echo)
	if got, err := run(t, tool, `{"n":1}`); err != nil || got != `{"n":1}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := run(t, tool, `{"n":"1"}`); AsError(err).Kind != Invalid || !strings.Contains(err.Error(), "/n") {
		t.Errorf("a wrong argument gave %v", err)
	}
	for _, broken := range []string{`{"type":"object","properties":{"a":{"type":5}}}`,
		`{"type":"object","$ref":"http://localhost/x"}`, `[]`, `{`} {
		if _, err := NewSet(NewForeign(spec, json.RawMessage(broken), echo)); err == nil {
			t.Errorf("the schema %s was accepted", broken)
		}
	}
}

func TestForeignToolsHaveSignatures(t *testing.T) {
	schema := `{"type":"object","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},
		"properties":{"path":{"type":"string","description":"a  file */ here"},"n":{"type":["integer","null"],"default":3,
		"maximum":9},"odd-name":{"enum":["a",1]},"either":{"type":"array","items":{"anyOf":[{"type":"string"},
		{"const":true}]}},"tree":{"$ref":"#/$defs/node"},"free":{"type":"object","additionalProperties":{"type":"number"}}},
		"required":["path"]}`
	spec := Spec{Name: "git-hub__Read", Group: "mcp", Title: "Read", Doc: "Reads a file.", Risk: Runs}
	one := NewForeign(spec, json.RawMessage(schema), nil)
	if _, err := NewSet(one); err != nil {
		t.Fatal(err)
	}
	want := "// Reads a file.\ngit-hub__Read({path: string /* a file * / here */, n?: integer|null /* default 3, at most 9 */, " +
		`"odd-name"?: "a"|1, either?: (string|true)[], tree?: {next?: {next?: {next?: any}}}, ` +
		"free?: {[key: string]: number}})"
	if got := one.Signature(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := one.ParameterText(); !strings.Contains(got, "either") || !strings.Contains(got, "a  file") {
		t.Errorf("the search reads %q", got)
	}
	wide := strings.Repeat(`"p%":{"$ref":"#/$defs/w"},`, 1)
	var members []string
	for i := range 40 {
		members = append(members, strings.TrimSuffix(strings.ReplaceAll(wide, "%", strconv.Itoa(i)), ","))
	}
	all := strings.Join(members, ",")
	wide = `{"type":"object","$defs":{"w":{"type":"object","properties":{` + all + `}}},"properties":{` + all + `}}`
	if got := NewForeign(spec, json.RawMessage(wide), nil).Signature(); len(got) > 20_000 {
		t.Errorf("the signature of a schema that branches has %d bytes", len(got))
	}
	if _, err := NewSet(NewForeign(Spec{Name: "a b", Group: "mcp", Title: "A", Doc: "A.", Risk: Runs},
		json.RawMessage(schema), nil)); err == nil {
		t.Error("a name with a space was accepted")
	}
}

func TestErrorsHaveTwoReaders(t *testing.T) {
	cause := errors.New("open /srv/secret/a.txt: permission denied")
	shown := Errorf(NotFound, "no file %q", "a.txt").Try("call list_files").Because(cause)
	if got := Failure(shown).Text(); got != `not_found: no file "a.txt"; call list_files` {
		t.Errorf("the model reads %q", got)
	}
	if !errors.Is(shown, cause) {
		t.Error("the log cannot find the cause")
	}
	for name, test := range map[string]struct {
		err  error
		kind Kind
	}{
		"an error of ours":     {fmt.Errorf("reading: %w", cause), Internal},
		"a deadline":           {fmt.Errorf("x: %w", context.DeadlineExceeded), Timeout},
		"a cancellation":       {context.Canceled, Cancelled},
		"a wrapped tool error": {fmt.Errorf("x: %w", shown), NotFound},
	} {
		if got := Failure(test.err); got.Kind != test.kind || strings.Contains(got.Text(), "/srv") {
			t.Errorf("%s: %s %q", name, got.Kind, got.Text())
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read_file", "write_file", "session_status", "datetime"}
	for name, want := range map[string]string{
		"readfile": "read_file", "raed_file": "read_file", "Read-File": "read_file", "status": "session_status",
		"date_time": "datetime", "zzz": "", "": "", strings.Repeat("x", 100_000): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzBind(f *testing.F) {
	tool := Prepared(probe{})
	for _, seed := range []string{`{}`, `{"path":"a"}`, `"{}"`, `{"edits":"[{}]"}`, `{"body":[[1]],"limit":"9"}`,
		`{"path":1e999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		call, err := tool.Bind(raw, DefaultLimits())
		if err != nil {
			if AsError(err).Kind != Invalid || len(err.Error()) > 20_000 {
				t.Fatalf("a bad error: %.200q", err.Error())
			}
			return
		}
		again, err := tool.Bind(call.JSON(), DefaultLimits())
		if err != nil {
			t.Fatalf("%s was accepted, its canonical form %s is not: %v", raw, call.JSON(), err)
		}
		if string(again.JSON()) != string(call.JSON()) {
			t.Fatalf("%s is not stable: %s", call.JSON(), again.JSON())
		}
	})
}

type hiding struct {
	Shown string `json:"shown,omitempty" jsonschema:"a word"`
	Other bool   `json:"other,omitempty" jsonschema:"known elsewhere" hidden:"true" alias:"-o"`
}

type hider struct{ got hiding }

func (h *hider) Spec() Spec { return Spec{Name: "hider", Doc: "Hides.", Risk: Reads} }
func (h *hider) Do(_ context.Context, a hiding) (Result, error) {
	h.got = a
	return Result{}, nil
}

func TestHiddenParametersAreTakenAndNotShown(t *testing.T) {
	h := &hider{}
	tool := New[hiding](h)
	if schema := string(tool.Schema()); strings.Contains(schema, "other") || !json.Valid(tool.Schema()) {
		t.Errorf("shown: %s", schema)
	}
	c, err := tool.Bind(json.RawMessage(`{"-o":true}`), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err != nil || !h.got.Other {
		t.Errorf("%+v, %v", h.got, err)
	}
	if _, err := tool.Bind(json.RawMessage(`{"nonsense":1}`), DefaultLimits()); err == nil ||
		strings.Contains(err.Error(), "other") {
		t.Error(err)
	}
}
