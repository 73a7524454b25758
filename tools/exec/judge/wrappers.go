package judge

import (
	"path"
	"slices"
	"strings"
)

// env judges env. It sets variables for the command that it starts.
func env(j *judge, s *scope, p *program, c call, in arguments) stream {
	j.always = false
	inner := s.clone()
	for _, dir := range in.values("-C", "--chdir") {
		inner.cd(dir)
	}
	args := in.operands
	if split := in.values("-S", "--split-string"); len(split) > 0 {
		again := []arg{c.args[0]}
		for _, text := range split { // its words may be options, and end the list of options
			words, ok := splitWords(text.text)
			if !ok || !text.static() {
				j.opaque("env -S " + text.shown())
				return stream{}
			}
			for _, w := range words {
				again = append(again, literal(w))
			}
		}
		return j.run(inner, p, call{args: append(again, args...)})
	}
	if len(args) > 0 && args[0].is("-") {
		args = args[1:]
	}
	for len(args) > 0 {
		name, text, ok := strings.Cut(args[0].text, "=")
		if !ok {
			break
		}
		j.variable(name, text, true)
		inner.set(name, known(text))
		args = args[1:]
	}
	if len(args) == 0 {
		if !in.hasFlag("--help", "--version") {
			j.dumps("env")
		}
		return stream{}
	}
	return j.inner(inner, args)
}

// flock judges flock FILE command and flock FILE -c text.
func flock(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	if len(in.operands) > 2 && in.operands[1].any("-c", "--command") {
		return j.runText(s, in.operands[2])
	}
	if len(in.operands) > 0 {
		j.write(s, in.operands[0], "locks")
	}
	return j.inner(s, in.operands[min(1, len(in.operands)):])
}

// script judges the program that records a terminal.
func script(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	texts := in.values("-c", "--command")
	for _, text := range texts {
		j.runText(s, text)
	}
	for _, file := range in.operands[:min(1, len(in.operands))] {
		j.write(s, file, "records to")
	}
	if len(in.operands) > 1 {
		j.inner(s, in.operands[1:])
	} else if len(texts) == 0 {
		j.runStream(s, s.in)
	}
	return stream{}
}

// xargs judges the command that gets its arguments from stdin.
func xargs(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	j.always = false
	args := in.operands
	if len(args) == 0 {
		args = []arg{literal("echo")}
	}
	more := []arg{{text: unknownFrom(s.in.taint()), wild: true}}
	if s.in.known() && len(s.in.text) < 4096 &&
		!in.hasFlag("-d", "--delimiter", "-0", "--null", "-a", "--arg-file") {
		if words, ok := splitWords(s.in.text); ok {
			more = nil
			for _, w := range words {
				more = append(more, literal(w))
			}
		}
	}
	inner := s.clone()
	inner.in = stream{}
	if holes := in.values("-I", "--replace"); len(holes) > 0 || in.hasFlag("-i") {
		mark := "{}"
		if len(holes) > 0 && holes[0].text != "" {
			mark = holes[0].text
		}
		return j.inner(inner, replaceIn(args, mark, joinArgs(more)))
	}
	return j.inner(inner, append(args[:len(args):len(args)], more...))
}

// replaceIn replaces a mark in words.
func replaceIn(args []arg, mark string, with arg) []arg {
	filled := make([]arg, len(args))
	for i, a := range args {
		if strings.Contains(a.text, mark) {
			a.text = strings.ReplaceAll(a.text, mark, with.text)
			a.glob = a.glob || with.glob
		}
		filled[i] = a
	}
	return filled
}

// parallel judges GNU parallel. It gives text to a shell.
func parallel(j *judge, s *scope, p *program, _ call, in arguments) stream {
	words, inputs := in.operands, []arg(nil)
	if at := slices.IndexFunc(words, func(a arg) bool { return a.starts(":::") }); at >= 0 {
		words, inputs = words[:at], words[at+1:]
	} else if len(words) == 0 {
		return j.runStream(s, s.in)
	} else {
		inputs = []arg{{text: unknownFrom(s.in.taint()), wild: true}}
	}
	inner := s.clone()
	inner.in = stream{}
	for _, input := range inputs {
		filled := replaceIn(words, "{}", input)
		if slices.Equal(filled, words) {
			filled = append(filled, input)
		}
		if text := joinArgs(filled); text.static() {
			j.runText(inner, text)
		} else {
			j.inner(inner, filled)
		}
	}
	return stream{}
}

// npx judges npx and similar programs. They download missing programs.
func npx(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	j.always = false
	args := c.rest()
	for len(args) > 0 && args[0].starts("-") {
		if args[0].any("-c", "--call") && len(args) > 1 {
			j.runText(s, args[1])
		}
		if !args[0].any("--no-install", "--", "--no") {
			j.hit("install", c.shown())
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return stream{}
	}
	name := args[0].text
	if args[0].static() && j.programs[name] != nil && !strings.ContainsAny(name, "@/:") && !j.fetches(s, c.name(), name) {
		return j.inner(s, args) // a tool that projects have as a dependency
	}
	j.hit("install", c.shown())
	if j.programs[path.Base(name)] != nil {
		j.inner(s, args)
	}
	return stream{}
}

// fetches reports whether a program of Node is certainly not installed in the project, so that
// it is fetched from the registry, where another package can have its name.
func (j *judge) fetches(s *scope, by, name string) bool {
	if j.req.Exists == nil || by == "uvx" || by == "pipx" || j.req.Missing != nil && !j.req.Missing(name) {
		return false
	}
	for _, dir := range s.dirs {
		for {
			if j.req.Exists(path.Join(dir, "node_modules/.bin", name)) {
				return false
			}
			if dir == "/" || dir == "." {
				break
			}
			dir = path.Dir(dir)
		}
	}
	return true
}

// readVariables judges read and mapfile. They set variables to their input.
func readVariables(_ *judge, s *scope, _ *program, c call, _ arguments) stream {
	read := known(unknownFrom(s.in.taint()))
	s.set("REPLY", read)
	for _, a := range c.rest() {
		if isVariable(a.text) {
			s.set(a.text, read)
		}
	}
	return silent()
}

func unset(_ *judge, s *scope, _ *program, c call, _ arguments) stream {
	for _, a := range c.rest() {
		if !a.starts("-") {
			s.set(a.text, known(""))
		}
	}
	return silent()
}

// cd judges cd, pushd and popd.
func cd(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	args := c.rest()
	if c.name() == "popd" {
		args = []arg{literal("-")}
	}
	for len(args) > 0 && args[0].any("-P", "-L", "--", "-e") {
		args = args[1:]
	}
	to := literal(first(s.get("HOME")))
	if len(args) > 0 {
		to = args[0]
	}
	s.cd(to)
	j.always = false // the rest runs elsewhere
	return silent()
}

// declare judges export and similar builtins where the parser did not see them.
func declare(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	for _, a := range c.rest() {
		name, text, ok := strings.Cut(a.text, "=")
		if !isKnown(name) {
			j.opaque(c.name() + " " + a.shown())
		} else if ok {
			j.variable(name, text, c.name() == "export")
			s.set(name, known(text))
		}
	}
	return silent()
}

// set judges the builtin that sets $1 and the following parameters.
func set(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	args := c.rest()
	if len(args) == 0 {
		j.dumps("set")
		return stream{}
	}
	for i, a := range args {
		option := a.starts("-") || a.starts("+") ||
			i > 0 && strings.HasSuffix(args[i-1].text, "o")
		if a.is("--") {
			s.params = argTexts(args[i+1:])
			break
		} else if !option {
			s.params = argTexts(args[i:])
			break
		}
	}
	return silent()
}
