package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v3"
)

// LoadOptions say where settings come from.
type LoadOptions struct {
	// the file that was asked for; empty: the environment's, else the usual one if it is there
	Path      string
	Getenv    func(name string) string // the environment; nil: nothing is set
	Overrides map[string]string        // values of flags, by key
}

// Loaded is what Load found.
type Loaded struct {
	Config Config
	Path   string // the file that was read; empty when there was none
	// where each setting's value comes from, by key: FILE:LINE, a variable, a flag, or "default"
	Source map[string]string

	options LoadOptions
	place   string // where the file is, or would be
	lines   map[string]int
	digest  [sha256.Size]byte // of the file
}

// Sources that are neither a file, nor a variable, nor a flag with a name.
const (
	byDefault   = "default"
	commandLine = "command line"
)

// Default returns the settings that hold when nobody sets any.
func Default() Config {
	var c Config
	d := newDecoder(byDefault, origin{})
	for _, s := range settings() {
		d.preset(s.field, s.of(&c))
	}
	return c
}

// preset gives v its declared default.
func (d *decoder) preset(f field, v reflect.Value) {
	if f.preset != "" {
		d.overlay(f, "", f.preset, v)
	}
}

// Load reads the settings. A flag wins over the environment, the environment
// over the file, the file over the defaults. The error is Problems when the
// settings are at fault, all of them at once.
func Load(o LoadOptions) (*Loaded, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	l, err := load(o, nil)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// load reads the settings, for the first time or after before. Its result
// knows the file's place and digest even when there is an error.
func load(o LoadOptions, before *Loaded) (*Loaded, error) {
	l := &Loaded{Config: Default(), Source: make(map[string]string), options: o}
	for _, s := range settings() {
		l.Source[s.Key] = byDefault
	}
	problems, err := l.readFile(before)
	if err != nil {
		return l, err
	}
	problems = append(problems, l.readEnvironment()...)
	problems = append(problems, l.readOverrides()...)
	if len(problems) == 0 {
		problems = l.check()
	}
	if len(problems) > 0 {
		return l, problems
	}
	return l, nil
}

// readFile takes what the file says, if there is one. What was lost by
// accident must not lift any rule: a file that was there before has to be
// there still, and to say something.
func (l *Loaded) readFile(before *Loaded) (Problems, error) {
	place, asked := l.options.file(runtime.GOOS)
	if place == "" {
		return nil, nil
	}
	place, err := filepath.Abs(place)
	if err != nil {
		return nil, fmt.Errorf("finding the configuration: %w", err)
	}
	l.place = place
	again := before != nil && before.Path != ""
	text, err := readAll(place)
	if errors.Is(err, fs.ErrNotExist) && !asked && !again {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	l.Path, l.digest = place, sha256.Sum256(text)
	if again && len(text) == 0 && l.digest != before.digest {
		return Problems{{Source: place, Text: "the file has become empty; to return to the defaults, write a comment into it"}}, nil
	}
	return l.take(text), nil
}

// take takes what the text of the file says.
func (l *Loaded) take(text []byte) Problems {
	root, problem := parse(text, l.Path)
	if problem != nil {
		return Problems{*problem}
	}
	d := newDecoder(l.Path, origin{filepath.Dir(l.Path), l.options.home()})
	if root != nil {
		d.section(spot{node: root}, reflect.ValueOf(&l.Config).Elem())
	}
	l.lines = d.lines
	for key := range l.Source {
		if line, ok := d.lines[key]; ok {
			l.Source[key] = fmt.Sprintf("%s:%d", l.Path, line)
		}
	}
	return d.problems
}

// readAll reads a file, and of one that is too long a byte too many.
func readAll(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxFile+1))
}

// readEnvironment takes what variables say. An empty one says nothing.
func (l *Loaded) readEnvironment() (problems Problems) {
	for _, s := range settings() {
		if text := l.options.Getenv(s.Env); text != "" {
			problems = append(problems, l.override(s, s.Env, text)...)
		}
	}
	return problems
}

func (l *Loaded) readOverrides() (problems Problems) {
	left := maps.Clone(l.options.Overrides)
	for _, s := range settings() {
		if text, ok := left[s.Key]; ok {
			source := commandLine
			if s.Flag != "" {
				source = "--" + s.Flag
			}
			problems = append(problems, l.override(s, source, text)...)
			delete(left, s.Key)
		}
	}
	for _, key := range sorted(left) {
		problems = append(problems, Problem{Source: commandLine, Key: key, Text: "no such setting"})
	}
	return problems
}

// override replaces the value of a setting by what text from source says.
func (l *Loaded) override(s Setting, source, text string) Problems {
	dir, err := os.Getwd()
	if err != nil {
		return Problems{{Source: source, Key: s.Key, Text: err.Error()}}
	}
	d := newDecoder(source, origin{dir, l.options.home()})
	d.overlay(s.field, s.Key, text, s.of(&l.Config))
	l.Source[s.Key] = source
	delete(l.lines, s.Key)
	for i := range d.problems {
		d.problems[i].Line = 0 // it is the only one
	}
	return d.problems
}

// overlay reads a value from a single text: a word as it is; of words a list
// with commas between them; everything else as YAML on one line.
func (d *decoder) overlay(f field, key, text string, v reflect.Value) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch k := kindOf(f.typ); {
	case k == isBool:
		node.Tag = "!!bool"
	case k == isWhole, k == isNumber:
		node.Tag = "!!int"
	case k == isList && kindOf(f.typ.Elem()) == isText && !strings.HasPrefix(text, "["):
		node = &yaml.Node{Kind: yaml.SequenceNode}
		for word := range strings.SplitSeq(text, ",") {
			node.Content = append(node.Content, &yaml.Node{
				Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.TrimSpace(word),
			})
		}
	case k == isList, k == isMap:
		parsed, problem := parse([]byte(text), d.source)
		if problem != nil {
			problem.Key = key
			d.problems = append(d.problems, *problem)
			return
		}
		if node = parsed; node == nil {
			node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		}
	}
	d.value(spot{node: node, path: key}, v, f)
}

// Locate says where a value is written, so that others can name the place of
// what they find wrong: the path of a setting, or of something in it such as
// policy.agents.ann.allow[2]. The line is 0 when the source has none to name.
func (l *Loaded) Locate(path string) (source string, line int) {
	for key, source := range l.Source {
		if inside(path, key) && source != byDefault && l.lines[key] == 0 {
			return source, 0
		}
	}
	for p := path; p != ""; p = p[:max(strings.LastIndexAny(p, ".["), 0)] {
		if line := l.lines[p]; line > 0 {
			return l.Path, line
		}
	}
	return cmp.Or(l.Path, byDefault), 0
}

func inside(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Problem is something wrong with the setting at path.
func (l *Loaded) Problem(path, format string, args ...any) Problem {
	source, line := l.Locate(path)
	return Problem{Source: source, Line: line, Key: path, Text: fmt.Sprintf(format, args...)}
}
