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
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// LoadOptions are the sources of settings.
type LoadOptions struct {
	// Path is the file to read; empty: the file of the environment, else the usual one if it exists.
	Path      string
	Getenv    func(name string) string // the environment; nil: no variables
	Overrides map[string]string        // values of flags, by key
}

// Loaded is the result of Load.
type Loaded[T any] struct {
	Config T
	Path   string // the file that was read; empty if none was
	// Source has the source of each setting, by key: FILE:LINE, a variable, a flag, or "default".
	Source map[string]string

	reader  *Reader[T]
	options LoadOptions
	place   string // path of the file, even if it does not exist
	lines   map[string]int
	digest  [sha256.Size]byte // of the file
}

// Names of sources other than files, variables and flags.
const (
	byDefault   = "default"
	commandLine = "command line"
)

// Default returns the default settings.
func (r *Reader[T]) Default() T {
	var c T
	d := newDecoder(nil, byDefault, origin{})
	for _, s := range r.settings {
		d.preset(s.field, s.of(&c))
	}
	return c
}

// preset sets v to its declared default.
func (d *decoder) preset(f field, v reflect.Value) {
	if f.preset != "" {
		d.overlay(f, "", f.preset, v)
	}
}

// Load reads the settings. Flags override the environment, the environment
// overrides the file, and the file overrides defaults. The error is Problems if
// settings are invalid, with all of them.
func (r *Reader[T]) Load(o LoadOptions) (*Loaded[T], error) {
	l, err := r.load(o, nil)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Examine does Load and calls more, also if settings have problems, so that one run shows all
// problems. more finds problems with the settings together. Without an error, the problems are
// warnings.
func (r *Reader[T]) Examine(o LoadOptions, more func(*Loaded[T]) Problems) (*Loaded[T], Problems, error) {
	l, err := r.load(o, nil)
	var wrong Problems
	if err != nil && !errors.As(err, &wrong) || l.unread() {
		return nil, nil, err
	}
	found := more(l)
	if err == nil && !slices.ContainsFunc(found, func(p Problem) bool { return !p.Warning }) {
		return l, found, nil
	}
	for _, p := range found {
		if err == nil || !p.Warning { // a mistake elsewhere may leave a rule without effect
			wrong = append(wrong, p)
		}
	}
	return nil, nil, wrong
}

// unread reports whether there is a file without any readable setting. Then further problems are not about the
// content of the file.
func (l *Loaded[T]) unread() bool { return l.Path != "" && l.lines == nil }

// load reads the settings, the first time or after before. Its result has the path
// and the digest of the file even if there is an error.
func (r *Reader[T]) load(o LoadOptions, before *Loaded[T]) (*Loaded[T], error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	l := &Loaded[T]{Config: r.Default(), Source: make(map[string]string), reader: r, options: o}
	for _, s := range r.settings {
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

// readFile reads the settings of the file, if there is one. A file that existed
// before must still exist and must not be empty, so that losing it by accident
// lifts no rules.
func (l *Loaded[T]) readFile(before *Loaded[T]) (Problems, error) {
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
		return Problems{{Source: place,
			Text: "the file has become empty; to return to the defaults, write a comment into it"}}, nil
	}
	return l.take(text), nil
}

// take reads the settings in the text of the file.
func (l *Loaded[T]) take(text []byte) Problems {
	root, problem := parse(text, l.Path)
	if problem != nil {
		return Problems{*problem}
	}
	d := newDecoder(l.reader.settings, l.Path, origin{filepath.Dir(l.Path), l.options.home()})
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

// readAll reads a file, up to one byte more than MaxFile.
func readAll(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxFile+1))
}

// readEnvironment reads the settings in variables. An empty variable is not set.
func (l *Loaded[T]) readEnvironment() (problems Problems) {
	for _, s := range l.reader.settings {
		if text := l.options.Getenv(s.Env); text != "" {
			problems = append(problems, l.override(s, s.Env, text)...)
		}
	}
	return problems
}

func (l *Loaded[T]) readOverrides() (problems Problems) {
	left := maps.Clone(l.options.Overrides)
	for _, s := range l.reader.settings {
		if text, ok := left[s.Key]; ok {
			source := commandLine
			if s.Flag != "" {
				source = "--" + s.Flag
			}
			problems = append(problems, l.override(s, source, text)...)
			delete(left, s.Key)
		}
	}
	for _, key := range Sorted(left) {
		problems = append(problems, Problem{Source: commandLine, Key: key, Text: "no such setting"})
	}
	return problems
}

// override sets a setting to a text from source.
func (l *Loaded[T]) override(s Setting, source, text string) Problems {
	dir, err := os.Getwd()
	if err != nil {
		return Problems{{Source: source, Key: s.Key, Text: err.Error()}}
	}
	d := newDecoder(l.reader.settings, source, origin{dir, l.options.home()})
	d.overlay(s.field, s.Key, text, s.of(&l.Config))
	l.Source[s.Key] = source
	delete(l.lines, s.Key)
	for i := range d.problems {
		d.problems[i].Line = 0 // it is the only one
	}
	return d.problems
}

// overlay reads a value from one line of text: a text as it is, a list of texts with
// commas, anything else as YAML.
func (d *decoder) overlay(f field, key, text string, v reflect.Value) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch k := kindOf(f.typ); {
	case k == isBool:
		node.Tag = "!!bool"
	case k == isWhole:
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

// Locate returns the place of a value, for errors about it. path names a setting or a value in
// it, such as policy.agents.ann.allow[2]. The line is 0 if the source has no lines.
func (l *Loaded[T]) Locate(path string) (source string, line int) {
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

// Problem returns a Problem with the setting at path.
func (l *Loaded[T]) Problem(path, format string, args ...any) Problem {
	source, line := l.Locate(path)
	return Problem{Source: source, Line: line, Key: path, Text: fmt.Sprintf(format, args...)}
}
