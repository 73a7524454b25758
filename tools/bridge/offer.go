package bridge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxTools       = 1000     // of one server
	maxSchema      = 64 << 10 // bytes of the schema of a tool
	maxDescription = 2000     // bytes of a description that models see
	maxTitle       = 100
	maxOffered     = 200 // bytes of the name that a server gives a tool
	maxToolName    = 64  // of SERVER__tool, as models allow
)

// An Offered is a tool as a server has listed it.
type Offered struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations Annotations     `json:"annotations,omitzero"`
}

// Annotations are a server's statements about its tool. The operator decides how far they are
// believed.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  bool   `json:"idempotentHint,omitempty"`
}

// digestOfJSON identifies all that models and rules go by.
func (o Offered) digest() string {
	raw, err := json.Marshal(o)
	if err != nil { // the schemas were read as JSON
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// readOffer reads a list of tools, without the secrets in it. Tools that cannot be used are left out, with the
// reason.
func readOffer(list []json.RawMessage, scrub func([]byte) []byte) (tools []Offered, problems []string) {
	seen := make(map[string]bool)
	for _, sent := range list {
		var named struct {
			Name string `json:"name"`
		}
		raw := scrub(sent)
		var one Offered
		var more struct {
			Execution struct {
				Tasks string `json:"taskSupport"`
			} `json:"execution"`
		}
		if json.Unmarshal(sent, &named) != nil || json.Unmarshal(raw, &one) != nil || json.Unmarshal(raw, &more) != nil {
			problems = append(problems, "a tool is not described as MCP has it")
			continue
		}
		shown, _ := tool.Clean(text.Clip(one.Name, maxOffered))
		switch {
		case named.Name != one.Name: // models allow no [REDACTED] in a name
			problems = append(problems, "the name of a tool has a secret in it")
		case strings.TrimSpace(one.Name) == "" || len(one.Name) > maxOffered || shown != one.Name:
			problems = append(problems, fmt.Sprintf("a tool has the unusable name %q", shown))
		case seen[one.Name]:
			problems = append(problems, fmt.Sprintf("two tools have the name %q", shown))
		case hidesNames(one.Input) || hidesNames(one.Output):
			problems = append(problems, fmt.Sprintf("the schema of %q has a name with hidden characters", shown))
		case more.Execution.Tasks == "required":
			problems = append(problems, fmt.Sprintf("%q runs as a task only, which is not supported", shown))
		case len(one.Input)+len(one.Output) > maxSchema:
			problems = append(problems, fmt.Sprintf("the schema of %q has more than %s", shown, text.Bytes(maxSchema)))
		default:
			var compact bytes.Buffer // so that spaces make no difference
			if json.Compact(&compact, one.Input) == nil {
				one.Input = compact.Bytes()
			}
			tools = append(tools, one)
		}
		seen[one.Name] = true
	}
	slices.SortStableFunc(tools, func(a, b Offered) int { return strings.Compare(a.Name, b.Name) })
	return tools, problems
}

// hidesNames reports whether a name in a schema has characters that people do not see. Unlike other texts it cannot be
// cleaned, because the server would not know it.
func hidesNames(schema json.RawMessage) bool {
	if clean, _ := tool.Clean(string(schema)); clean == string(schema) && !bytes.ContainsRune(schema, '\\') {
		return false
	}
	var value any
	return json.Unmarshal(schema, &value) == nil && hidesName(value)
}

func hidesName(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, hidesName)
	case map[string]any:
		for name, one := range v {
			if tool.Visible(name) != name || strings.ContainsAny(name, "\n\t") || hidesName(one) {
				return true
			}
		}
	}
	return false
}

// A Change is the difference of a tool from the accepted one.
type Change struct {
	Tool   string
	Before *Offered // nil: it is new
	After  *Offered // nil: the server has it no more
}

// changes returns the differences of an offer from the accepted one, by name.
func changes(accepted, offered []Offered) (all []Change) {
	before := make(map[string]*Offered, len(accepted))
	for i := range accepted {
		before[accepted[i].Name] = &accepted[i]
	}
	for i := range offered {
		was := before[offered[i].Name]
		delete(before, offered[i].Name)
		if was == nil || was.digest() != offered[i].digest() {
			all = append(all, Change{offered[i].Name, was, &offered[i]})
		}
	}
	for name, was := range before {
		all = append(all, Change{name, was, nil})
	}
	slices.SortStableFunc(all, func(a, b Change) int { return strings.Compare(a.Tool, b.Tool) })
	return all
}

// Diff writes a change for a person, without characters that hide something.
func (c Change) Diff() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.Tool, c.state())
	for _, line := range c.lines() {
		fmt.Fprintf(&b, "  %s %s\n", line[:1], line[1:])
	}
	return b.String()
}

// lines returns the lines that a tool has no more, each after a -, and the new ones, each after a +.
func (c Change) lines() (lines []string) {
	if c.After == nil {
		return nil
	}
	before, after := linesOf(c.Before), linesOf(c.After)
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "-"+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			lines = append(lines, "+"+line)
		}
	}
	return lines
}

// digest identifies the new state of a tool.
func (c Change) digest() string {
	if c.After == nil {
		return "gone"
	}
	return c.After.digest()
}

// digests returns the digest of each change by its tool.
func digests(all []Change) map[string]string {
	list := make(map[string]string)
	for _, c := range all {
		list[c.Tool] = c.digest()
	}
	return list
}

// seenOf returns an id of changes. It proves that an operator has seen exactly these changes.
func seenOf(all []Change) string { return digestOfJSON(digests(all))[:16] }

// Differences returns the changes that wait for an operator, and the changes that one has refused.
func (st Status) Differences() (all []room.Difference) {
	for i, c := range slices.Concat(st.Held, st.Refused) {
		all = append(all, room.Difference{
			In: st.Name, Of: c.Tool, State: c.state(), Lines: c.lines(), Seen: seenOf([]Change{c}), Refused: i >= len(st.Held),
		})
	}
	return all
}

func (c Change) state() string {
	switch {
	case c.Before == nil:
		return "new"
	case c.After == nil:
		return "gone"
	}
	return "changed"
}

// linesOf returns the lines of a tool for the comparison.
func linesOf(o *Offered) (lines []string) {
	if o == nil {
		return nil
	}
	add := func(what, value string) {
		for line := range strings.SplitSeq(value, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, what+": "+tool.Visible(line))
			}
		}
	}
	add("title", cmp.Or(o.Title, o.Annotations.Title))
	add("description", o.Description)
	add("risk", riskOf(o.Annotations).String())
	for _, schema := range []struct {
		what string
		raw  json.RawMessage
	}{{"input", o.Input}, {"output", o.Output}} {
		var indented bytes.Buffer
		if len(schema.raw) > 0 && json.Indent(&indented, schema.raw, "", " ") == nil {
			add(schema.what, indented.String())
		}
	}
	return lines
}

// riskOf returns the risk that annotations stand for.
func riskOf(a Annotations) tool.Risk {
	switch {
	case a.ReadOnly:
		return tool.Reads
	case a.Destructive != nil && !*a.Destructive:
		return tool.Writes
	}
	return tool.Runs
}

// serve returns the tools for callers: accepted tools that are offered unchanged.
func serve(accepted, offered []Offered) (usable []Offered) {
	now := make(map[string]string, len(offered))
	for _, o := range offered {
		now[o.Name] = o.digest()
	}
	for _, o := range accepted {
		if now[o.Name] == o.digest() {
			usable = append(usable, o)
		}
	}
	return usable
}

// escapes are the sequences that terminals act on.
var escapes = text.Pattern("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\a\x1b]*(\a|\x1b\\\\)?|[@-Z\\\\-_])")

// cleaned returns text of a server as models see it: without characters that people do not see, and
// bounded.
func cleaned(from string, max int) string {
	if strings.ContainsRune(from, '\x1b') {
		from = escapes().ReplaceAllString(from, "")
	}
	from, _ = tool.Clean(from)
	return text.Clip(strings.TrimSpace(from), max)
}

// cleanedSchema returns a schema whose texts are cleaned. One without such text stays as it is.
func cleanedSchema(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\u`)) && cleaned(string(raw), len(raw)) == string(raw) {
		return raw
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return raw
	}
	clean, err := json.Marshal(cleanedValue(value))
	if err != nil {
		return raw
	}
	return clean
}

func cleanedValue(value any) any {
	switch v := value.(type) {
	case string:
		return cleaned(v, maxDescription)
	case []any:
		for i := range v {
			v[i] = cleanedValue(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = cleanedValue(v[name])
		}
	}
	return value
}

// checkedSchema returns the schema that arguments are checked against. Servers fill in defaults, and many list
// properties that have one as required.
func checkedSchema(schema json.RawMessage) json.RawMessage {
	if tool.CheckSchema(schema) != nil { // the server checks its arguments
		return json.RawMessage(`{"type":"object"}`)
	}
	var value any
	if !bytes.Contains(schema, []byte(`"required"`)) || !bytes.Contains(schema, []byte(`"default"`)) ||
		json.Unmarshal(schema, &value) != nil {
		return schema
	}
	withoutDefaults(value)
	relaxed, err := json.Marshal(value)
	if err != nil || tool.CheckSchema(relaxed) != nil {
		return schema
	}
	return relaxed
}

// withoutDefaults removes properties with defaults from the required ones of schemas.
func withoutDefaults(value any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			withoutDefaults(one)
		}
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		if required, ok := v["required"].([]any); ok {
			v["required"] = slices.DeleteFunc(required, func(name any) bool {
				key, _ := name.(string)
				property, _ := properties[key].(map[string]any)
				_, ok := property["default"]
				return ok
			})
		}
		for _, one := range v {
			withoutDefaults(one)
		}
	}
}

// toolName returns the name of a tool for callers. A long one is cut, and ends with a digest.
func toolName(server, name string) string {
	full := server + "__" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	if len(full) <= maxToolName {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	return full[:maxToolName-9] + "_" + hex.EncodeToString(sum[:4])
}
