// Package custom makes tools of definitions that the operator writes: a command, an HTTP
// request, or a script, each with placeholders for the arguments. No value can become
// more than the placeholder that it replaces: there is no shell, and a value is never
// searched for placeholders.
//
// definition.go defines definitions, template.go placeholders, run.go makes calls. Definitions
// are files, or rows of the store. Begin with [Parse] and [Tools].
package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/script"
)

// Group is the group of tools whose definition names none.
const Group = "custom"

const (
	maxDefinition  = 256 << 10 // bytes
	defaultTimeout = time.Minute
	maxTimeout     = 10 * time.Minute
	defaultOutput  = 100 << 10 // bytes
	maxOutput      = 4 << 20
)

// A Definition describes a tool. It has exactly one of Command, Request and Script.
type Definition struct {
	Name        string         `yaml:"name"`
	Title       string         `yaml:"title,omitempty"`
	Description string         `yaml:"description"`
	Parameters  map[string]any `yaml:"parameters,omitempty"` // JSON Schema of the arguments; nil: there are none
	Group       string         `yaml:"group,omitempty"`
	Risk        string         `yaml:"risk,omitempty"` // "": by its effect
	Agent       string         `yaml:"agent,omitempty"`
	Disabled    bool           `yaml:"disabled,omitempty"`
	Timeout     string         `yaml:"timeout,omitempty"`
	Output      int            `yaml:"output,omitempty"` // bytes that are returned at most

	Command []Words           `yaml:"command,omitempty"` // the program and its arguments
	Stdin   string            `yaml:"stdin,omitempty"`
	Dir     string            `yaml:"dir,omitempty"`     // relative to the workspace
	Env     map[string]string `yaml:"env,omitempty"`     // values may have {{secret:NAME}}
	Sandbox string            `yaml:"sandbox,omitempty"` // "host": outside of the sandbox, if the operator allows it

	Request *Request `yaml:"request,omitempty"`
	Script  string   `yaml:"script,omitempty"`
}

// Words are one argument, or several that are left out together if one of their
// placeholders has no value.
type Words []string

// UnmarshalYAML reads a text or a list of texts.
func (w *Words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]string)(w))
	}
	var one string
	if err := n.Decode(&one); err != nil {
		return err
	}
	*w = Words{one}
	return nil
}

// MarshalYAML writes the form that UnmarshalYAML reads.
func (w Words) MarshalYAML() (any, error) {
	if len(w) == 1 {
		return w[0], nil
	}
	return []string(w), nil
}

// A Request is an HTTP request. Header values may have {{secret:NAME}}.
type Request struct {
	Method  string            `yaml:"method,omitempty"` // "" is GET
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Body    any               `yaml:"body,omitempty"` // a text, or a value that is sent as JSON
}

// contentType returns the header in small letters.
func (r *Request) contentType() string {
	for name, value := range r.Headers {
		if strings.EqualFold(name, "Content-Type") {
			return strings.ToLower(value)
		}
	}
	return ""
}

// Parse reads a definition in YAML, or JSON, and checks it.
func Parse(text []byte) (Definition, error) {
	return ParseIn(text, func(word string) string { return word })
}

// ParseIn is Parse for a definition with files of its own: locate returns the path for a word of the command that
// names one.
func ParseIn(text []byte, locate func(word string) string) (Definition, error) {
	var d Definition
	if len(text) > maxDefinition {
		return d, fmt.Errorf("a definition has at most %d bytes", maxDefinition)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil {
		return d, fmt.Errorf("it cannot be read: %s",
			strings.ReplaceAll(err.Error(), "custom.Definition", "a definition"))
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return d, errors.New("it has a second document; a file defines one tool")
	}
	for _, words := range d.Command {
		for i, word := range words {
			words[i] = locate(word)
		}
	}
	return d, d.check()
}

// YAML returns the definition as [Parse] reads it.
func (d Definition) YAML() (string, error) {
	text, err := yaml.Marshal(d)
	return string(text), err
}

// check returns everything that is wrong with d.
func (d Definition) check() error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !isName(d.Name) {
		wrong("name is %q, it must be lower_snake_case of at most 64 characters", d.Name)
	}
	if strings.TrimSpace(d.Description) == "" {
		wrong("description is missing: models choose tools by it")
	}
	if d.Group != "" && !isName(d.Group) {
		wrong("group is %q, it must be lower_snake_case", d.Group)
	}
	if _, err := d.risk(); err != nil {
		problems = append(problems, err)
	}
	if limit, err := d.timeout(); err != nil || limit <= 0 || limit > maxTimeout {
		wrong("timeout is %q, it must be a duration such as 30s, at most %s", d.Timeout, maxTimeout)
	}
	if d.Output < 0 || d.Output > maxOutput {
		wrong("output is %d, it must be at most %d bytes", d.Output, maxOutput)
	}
	if err := tool.CheckSchema(d.schema()); err != nil {
		wrong("parameters: %w", err)
	}
	kinds := 0
	for _, has := range []bool{len(d.Command) > 0, d.Request != nil, d.Script != ""} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		wrong("it needs one of command, request and script")
	}
	if len(d.Command) == 0 && (d.Stdin+d.Dir+d.Sandbox != "" || len(d.Env) > 0) {
		wrong("stdin, dir, env and sandbox are only for a command")
	}
	problems = append(problems, d.checkCommand(), d.checkRequest(), d.checkPlaceholders())
	return errors.Join(problems...)
}

func isName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') &&
			(c < '0' || c > '9')
	})
}

func (d Definition) checkCommand() error {
	if len(d.Command) == 0 {
		return nil
	}
	first := d.Command[0]
	if len(first) != 1 || strings.TrimSpace(first[0]) == "" || strings.Contains(first[0], "{{") {
		return errors.New("command: the first word is the program, without placeholders")
	}
	if d.Sandbox != "" && d.Sandbox != "host" {
		return fmt.Errorf("sandbox is %q, it must be host or be left out", d.Sandbox)
	}
	if word := inlineCode(d.words()); word != "" {
		return fmt.Errorf("command: %s runs %q as code, so an argument could become code; write a script file, or pass "+
			"the argument in a word of its own, as in [sh, -c, 'echo \"$1\"', sh, '{{name}}']", first[0], word)
	}
	if filepath.IsAbs(d.Dir) || strings.Contains(d.Dir, "..") {
		return fmt.Errorf("dir is %q, it must be in the workspace", d.Dir)
	}
	for name, value := range d.Env {
		t, err := parse(value)
		if err != nil {
			return fmt.Errorf("env.%s: %w", name, err)
		}
		if t.hasSecret() && !filepath.IsAbs(first[0]) {
			return fmt.Errorf("command: a program that gets secrets needs its whole path, not %q", first[0])
		}
	}
	return nil
}

// words returns all words of the command.
func (d Definition) words() (all []string) {
	for _, words := range d.Command {
		all = append(all, words...)
	}
	return all
}

// Warning returns why an argument could become code in the command, although nothing is wrong for sure; "" if it
// cannot.
func (d Definition) Warning() string {
	word := ""
	if len(d.Command) > 0 {
		word = codeWord(d.words())
	}
	if word == "" {
		return ""
	}
	return fmt.Sprintf("%s may run %q as code, so an argument could become code; a script file gets it safely",
		d.Command[0][0], word)
}

// CheckScript returns why the script cannot be read, or nil.
func (d Definition) CheckScript() error { return script.Check(d.Script) }

func (d Definition) checkRequest() error {
	r := d.Request
	if r == nil {
		return nil
	}
	if strings.ContainsFunc(r.Method, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-'
	}) {
		return fmt.Errorf("request.method is %q, it must be a method such as GET", r.Method)
	}
	head, _, _ := strings.Cut(r.URL, "{{")
	u, err := url.Parse(head)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		head != r.URL && u.Path == "" && u.RawQuery == "" {
		return fmt.Errorf("request.url is %q, it must begin with http(s)://HOST/ without placeholders", r.URL)
	}
	for name, value := range r.Headers {
		if name == "" || strings.ContainsFunc(name+value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return fmt.Errorf("request.headers: %q is not a header", name)
		}
	}
	text, _ := r.Body.(string)
	trimmed := strings.TrimSpace(text)
	if strings.Contains(text, "{{") && (strings.Contains(r.contentType(), "json") ||
		strings.HasPrefix(trimmed, "{\"") || strings.HasPrefix(trimmed, "[")) {
		return errors.New("request.body: write JSON as a YAML value and not as a text, so that arguments are quoted")
	}
	return nil
}

// texts returns all texts with placeholders. Secrets are allowed where the value is true.
func (d Definition) texts() map[string]bool {
	all := map[string]bool{d.Stdin: false}
	for _, words := range d.Command {
		for _, word := range words {
			all[word] = false
		}
	}
	for _, value := range d.Env {
		all[value] = true
	}
	if r := d.Request; r != nil {
		all[r.URL] = false
		for _, value := range r.Headers {
			all[value] = true
		}
		eachText(r.Body, func(text string) { all[text] = false })
	}
	return all
}

func eachText(value any, f func(string)) {
	switch v := value.(type) {
	case string:
		f(v)
	case []any:
		for _, one := range v {
			eachText(one, f)
		}
	case map[string]any:
		for _, one := range v {
			eachText(one, f)
		}
	}
}

// checkPlaceholders finds placeholders that no argument can fill.
func (d Definition) checkPlaceholders() error {
	var problems []error
	properties, _ := d.Parameters["properties"].(map[string]any)
	texts := d.texts()
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		t, err := parse(text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, p := range t {
			_, known := properties[p.name]
			switch {
			case p.secret && !texts[text]:
				problems = append(problems, fmt.Errorf("{{secret:%s}} is only for env and request.headers", p.name))
			case p.name != "" && !p.secret && !known:
				problems = append(problems, fmt.Errorf("{{%s}} is not one of parameters.properties", p.name))
			}
		}
	}
	return errors.Join(problems...)
}

// schema returns the JSON Schema of the arguments. Arguments that it does not name are refused
// unless it says otherwise.
func (d Definition) schema() json.RawMessage {
	s := map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	maps.Copy(s, d.Parameters)
	text, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`null`) // keys that are not texts; CheckSchema refuses it
	}
	return text
}

// Secrets returns the names of the secrets that the tool uses.
func (d Definition) Secrets() []string {
	names := map[string]bool{}
	for text := range d.texts() {
		t, _ := parse(text) // was checked
		for _, p := range t {
			if p.secret {
				names[p.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Kind returns command, request or script.
func (d Definition) Kind() string {
	switch {
	case d.Script != "":
		return "script"
	case d.Request != nil:
		return "request"
	}
	return "command"
}

// Effect returns the risk of the tool in a word, such as reads.
func (d Definition) Effect() string {
	risk, err := d.risk()
	if err != nil {
		return d.Risk
	}
	return risk.String()
}

func (d Definition) risk() (tool.Risk, error) {
	switch d.Risk {
	case "reads":
		return tool.Reads, nil
	case "writes":
		return tool.Writes, nil
	case "destroys":
		return tool.Destroys, nil
	case "runs":
		return tool.Runs, nil
	case "":
		return d.usualRisk(), nil
	}
	return 0, fmt.Errorf("risk is %q, it must be reads, writes, destroys or runs", d.Risk)
}

func (d Definition) usualRisk() policy.Risk {
	switch {
	case d.Script != "": // its calls are rated one by one
		return tool.Reads
	case d.Request != nil && slices.Contains([]string{"", "GET", "HEAD"}, strings.ToUpper(d.Request.Method)):
		return tool.Reads
	}
	return tool.Runs
}

func (d Definition) timeout() (time.Duration, error) {
	if d.Timeout == "" {
		return defaultTimeout, nil
	}
	return time.ParseDuration(d.Timeout)
}
