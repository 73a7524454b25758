package custom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for the tools that they define. dir returns the directory
// with files of definitions, and taken reports whether a tool of the program has a name.
func Room(dir func() (string, error), taken func(name string) bool) *room.Room {
	o := &operator{dir: dir, taken: taken}
	return &room.Room{
		Name: "custom", Title: "Manage tools that you define",
		Doc: `custom manages tools that you define: commands, HTTP requests and scripts with
placeholders for arguments. A definition is a file in the directory tools.d beside the
settings, or a row of the store, which all servers on it have. Running servers notice
changes.`,
		Open: func(h *room.Host) error { o.rows, o.data = Rows{Store: h.Store}, h.Data; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the tools that you have defined", Risk: tool.Reads, Where: room.Operator,
			}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Print a definition of the store", Args: []string{"name"}, Risk: tool.Reads,
				Where: room.Operator,
			}, o.show),
			room.Do(room.Verb{
				Name: "test", Title: "Check a definition, and show the effects of a call",
				Args: []string{"file", "arguments..."}, Files: []string{"file"}, Risk: tool.Reads, Where: room.Operator,
				Doc: `test checks a definition. With arguments, as NAME=VALUE or one JSON object, it shows
the effects of a call, and does nothing. To make a call use mcp-tools call NAME.`,
				Example: `  mcp-tools custom test weather.yaml city="New York"`,
			}, o.test),
			room.Do(room.Verb{
				Name: "add", Title: "Add a definition to the store, or replace one", Args: []string{"file"},
				Files: []string{"file"}, Risk: tool.Writes, Where: room.Operator,
			}, o.add),
			room.Do(room.Verb{
				Name: "import", Title: "Import tools of goclaw, which are shell commands with {{.key}}",
				Args: []string{"file"}, Files: []string{"file"}, Risk: tool.Writes, Where: room.Operator,
				Doc: `import reads tools of goclaw as JSON: one, or a list. A shell command that is one
program with arguments becomes a command without a shell. Others are refused, with the
reason. - reads stdin.`,
			}, o.importSeeds),
			room.Do(room.Verb{
				Name: "enable", Title: "Enable a tool of the store", Args: []string{"name"}, Risk: tool.Writes,
				Where: room.Operator,
			}, o.enable),
			room.Do(room.Verb{
				Name: "disable", Title: "Disable a tool of the store", Args: []string{"name"}, Risk: tool.Writes,
				Where: room.Operator,
			}, o.disable),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove a tool of the store", Args: []string{"name"}, Risk: tool.Destroys,
				Where: room.Operator,
			}, o.remove),
		},
	}
}

// operator has the verbs of custom tools.
type operator struct {
	dir   func() (string, error)
	taken func(name string) bool
	rows  Rows
	data  func() (string, error) // the data directory
}

// A Sheet describes a definition to programs.
type Sheet struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Kind        string `json:"kind"`
	Risk        string `json:"risk"`
	Agent       string `json:"agent,omitempty"`
	Disabled    bool   `json:"disabled"`
	Definition  string `json:"definition"`      // YAML
	Place       string `json:"place,omitempty"` // file or store, in a list
	State       string `json:"state,omitempty"` // in a list: enabled, disabled, or why it is left out
}

func (d Definition) sheet() (Sheet, error) {
	text, err := d.YAML()
	return Sheet{
		Name: d.Name, Description: d.Description, Kind: d.Kind(), Risk: d.Effect(), Agent: d.Agent, Disabled: d.Disabled,
		Definition: text,
	}, err
}

// list describes the definitions in files and in the store. Invalid definitions make it fail,
// with the valid ones in the result.
func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	dir, err := o.dir()
	if err != nil {
		return tool.Result{}, err
	}
	files, wrong := LoadDir(dir)
	rows, wrongRows := o.rows.List(ctx)
	if wrong = errors.Join(wrong, wrongRows); wrong != nil && len(files)+len(rows) == 0 {
		return tool.Result{}, wrong
	}
	var sheets []Sheet
	seen := make(map[string]bool)
	for i, d := range slices.Concat(files, rows) {
		s, err := d.sheet()
		if err != nil {
			return tool.Result{}, err
		}
		if s.Place = "store"; i < len(files) {
			s.Place = "file"
		}
		switch {
		case d.Disabled:
			s.State = "disabled"
		case o.taken(d.Name) || seen[d.Name]:
			s.State = "left out: the name is taken"
		default:
			s.State, seen[d.Name] = "enabled", true
		}
		sheets = append(sheets, s)
	}
	none := fmt.Sprintf("There are no custom tools; write a file in %s, or use mcp-tools custom add.", dir)
	r := room.Rows(sheets, none, []string{"NAME", "KIND", "STATE", "PLACE", "FOR"}, func(s Sheet) []string {
		agent := "all agents"
		if s.Agent != "" {
			agent = "agent " + s.Agent
		}
		return []string{s.Name, s.Kind, s.State, s.Place, agent}
	})
	if wrong != nil {
		r = room.Beside(r, "%v", wrong)
		r.Failed = true
	}
	return r, nil
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"the tool, as in list"`
}

func (o *operator) show(ctx context.Context, a nameArgs) (tool.Result, error) {
	d, err := o.get(ctx, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	s, err := d.sheet()
	return tool.Text(s.Definition).With(s), err
}

// get returns a definition of the store.
func (o *operator) get(ctx context.Context, name string) (Definition, error) {
	d, err := o.rows.Get(ctx, name)
	return d, missing(name, err)
}

// missing names the tool in the error about one that the store does not have.
func missing(name string, err error) error {
	if errors.Is(err, ErrUnknown) {
		return tool.Errorf(tool.NotFound, "%q: %v", name, ErrUnknown).Try("mcp-tools custom list shows all")
	}
	return err
}

// read reads a definition, in YAML or JSON, that could be used.
func (o *operator) read(text string) (Definition, error) {
	d, err := Parse([]byte(text))
	if err != nil {
		return d, room.Mistake("%v", err)
	}
	return d, o.check(d)
}

// check returns why a definition cannot be used, or nil.
func (o *operator) check(d Definition) error {
	if o.taken(d.Name) {
		return room.Mistake("there is a tool %q already; choose another name", d.Name)
	}
	if err := d.CheckScript(); err != nil {
		return room.Mistake("script: %v", err)
	}
	return nil
}

type testArgs struct {
	File      string   `json:"file" jsonschema:"the definition, in YAML or JSON"`
	Arguments []string `json:"arguments,omitempty" jsonschema:"arguments as NAME=VALUE, or one JSON object"`
}

func (o *operator) test(_ context.Context, a testArgs) (tool.Result, error) {
	d, err := o.read(a.File)
	if err != nil {
		return tool.Result{}, err
	}
	s, err := d.sheet()
	if err != nil {
		return tool.Result{}, err
	}
	r := room.Said(map[string]any{"tool": s}, "the definition is right: a %s named %s", d.Kind(), d.Name)
	if len(a.Arguments) > 0 {
		raw, err := testArguments(d, a.Arguments)
		if err != nil {
			return tool.Result{}, err
		}
		does, err := Preview(d, raw)
		if err != nil {
			return tool.Result{}, room.Mistake("%v", err)
		}
		r = room.Said(map[string]any{"tool": s, "call": does}, "%s", does)
	}
	if why := d.Warning(); why != "" {
		r = room.Beside(r, "warning: %s", why)
	}
	return r, nil
}

// testArguments reads NAME=VALUE, where values are texts if the definition says so, else JSON if they
// are.
func testArguments(d Definition, words []string) (json.RawMessage, error) {
	if len(words) == 1 && strings.HasPrefix(words[0], "{") {
		return json.RawMessage(words[0]), nil
	}
	properties, _ := d.Parameters["properties"].(map[string]any)
	all := map[string]any{}
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return nil, room.Mistake("%q is not NAME=VALUE", word)
		}
		all[name] = value
		property, _ := properties[name].(map[string]any)
		if property["type"] != "string" && json.Valid([]byte(value)) {
			all[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(all)
}

type fileArgs struct {
	File string `json:"file" jsonschema:"the definition, in YAML or JSON"`
}

func (o *operator) add(ctx context.Context, a fileArgs) (tool.Result, error) {
	d, err := o.read(a.File)
	if err != nil {
		return tool.Result{}, err
	}
	return o.put(ctx, d, "in the store")
}

// put adds a definition to the store, or replaces one. state is said about the tool.
func (o *operator) put(ctx context.Context, d Definition, state string) (tool.Result, error) {
	dir, err := o.data()
	if err != nil {
		return tool.Result{}, err
	}
	if err := errors.Join(Mark(dir), o.rows.Put(ctx, d)); err != nil {
		return tool.Result{}, err
	}
	s, err := d.sheet()
	return room.Said(s, "tool %s is %s", d.Name, state), err
}

type importArgs struct {
	File  string `json:"file" jsonschema:"the tools, as JSON"`
	Check bool   `json:"check,omitempty" jsonschema:"only show the converted definitions"`
}

// An imported tool is one that was converted, or refused.
type imported struct {
	Name       string   `json:"name"`
	Definition string   `json:"definition,omitempty"`
	Secrets    []string `json:"secrets,omitempty"` // to set in the vault
	Refused    string   `json:"refused,omitempty"`
}

func (o *operator) importSeeds(ctx context.Context, a importArgs) (tool.Result, error) {
	seeds, err := ParseSeeds([]byte(a.File))
	if err != nil {
		return tool.Result{}, room.Mistake("%v", err)
	}
	all, lines, refused := []imported{}, "", ""
	n := 0
	for _, seed := range seeds {
		one := imported{Name: seed.Name}
		d, secrets, err := Convert(seed)
		if err == nil && !a.Check {
			if err = o.check(d); err == nil {
				_, err = o.put(ctx, d, "")
			}
		}
		if err == nil {
			one.Name, one.Secrets = d.Name, secrets
			one.Definition, err = d.YAML()
		}
		if err != nil {
			one.Refused = reason(err)
			n++
			refused += fmt.Sprintf("%s is refused: %s\n", seed.Name, one.Refused)
		}
		all = append(all, one)
		lines += one.lines(a.Check)
	}
	r := room.Said(all, "%s", lines)
	if n > 0 {
		r = room.Beside(r, "%s%d of %d tools were refused", refused, n, len(seeds))
		r.Failed = true
	}
	return r, nil
}

// reason returns the text of an error without its kind.
func reason(err error) string {
	if known := (*tool.Error)(nil); errors.As(err, &known) {
		return known.What
	}
	return err.Error()
}

// lines describes an imported tool, as it would become if check is set.
func (i imported) lines(check bool) string {
	if i.Refused != "" {
		return ""
	}
	if check {
		return "---\n" + i.Definition
	}
	text := fmt.Sprintf("tool %s is in the store\n", i.Name)
	for _, name := range i.Secrets {
		text += fmt.Sprintf("  set its value: mcp-tools secrets set %s\n", name)
	}
	return text
}

func (o *operator) enable(ctx context.Context, a nameArgs) (tool.Result, error) {
	return o.turn(ctx, a.Name, false, "enabled")
}

func (o *operator) disable(ctx context.Context, a nameArgs) (tool.Result, error) {
	return o.turn(ctx, a.Name, true, "disabled")
}

func (o *operator) turn(ctx context.Context, name string, disabled bool, state string) (tool.Result, error) {
	d, err := o.get(ctx, name)
	if err != nil {
		return tool.Result{}, err
	}
	d.Disabled = disabled
	return o.put(ctx, d, state)
}

func (o *operator) remove(ctx context.Context, a nameArgs) (tool.Result, error) {
	err := missing(a.Name, o.rows.Remove(ctx, a.Name))
	return room.Said(map[string]string{"removed": a.Name}, "tool %s is removed", a.Name), err
}
