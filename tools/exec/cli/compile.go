package cli

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Check names everything that is wrong with the configuration of programs.
func Check(programs []Program) error {
	var problems []error
	seen := map[string]bool{}
	for _, p := range programs {
		if _, err := compile(p); err != nil {
			problems = append(problems, fmt.Errorf("program %q: %w", p.Name, err))
		}
		if seen[p.Name] {
			problems = append(problems, fmt.Errorf("two programs are called %q", p.Name))
		}
		seen[p.Name] = true
	}
	return errors.Join(problems...)
}

// compile reads the configuration of a program. A program with an error in its
// configuration keeps the error and does nothing.
func compile(p Program) (program, error) {
	var problems []error
	problem := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	made := program{Program: p}
	known, found := presets()[p.Preset]
	if p.Preset != "" && !found {
		problem(fmt.Errorf("there is no preset %q; there are %s", p.Preset, strings.Join(Presets(), ", ")))
	}
	if found {
		made.preset = known
	} else {
		made.preset = preset{env: everywhere()}
	}
	problem(p.checkFile())
	problem(p.checkVariables(made.preset.env))
	problem(made.compileRules())
	for _, h := range p.Hosts {
		if host, port, err := net.SplitHostPort(h); err != nil || host == "" || !isPort(port) {
			problem(fmt.Errorf("hosts: %q is not host:port", h))
		}
	}
	made.wrong = errors.Join(problems...)
	return made, made.wrong
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

func (p Program) checkFile() error {
	switch {
	case p.Name == "" || strings.ContainsAny(p.Name, "/\\ \t\n\x00") || strings.HasPrefix(p.Name, "-"):
		return fmt.Errorf("name: %q is not the name of a program", p.Name)
	case p.Path == "":
		return errors.New("path: the program was not found where programs are installed; install it, or set its path")
	case !filepath.IsAbs(p.Path) || filepath.Clean(p.Path) != p.Path:
		return fmt.Errorf("path: %q is not absolute and plain", p.Path)
	case p.Preset == "" && len(p.Allow) == 0:
		return errors.New("allow: a program without a preset has only the commands listed here")
	}
	return nil
}

// checkVariables refuses repeated variables, our own, and variables that make programs run
// something else.
func (p Program) checkVariables(fixed []string) error {
	var problems []error
	seen := map[string]bool{}
	for _, pair := range fixed {
		name, _, _ := strings.Cut(pair, "=")
		seen[name] = true
	}
	for _, m := range []map[string]string{p.Env, p.Files, p.Set} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			switch {
			case !isVariable(name):
				problems = append(problems, fmt.Errorf("%q is not the name of a variable", name))
			case loads(name):
				problems = append(problems, fmt.Errorf("%s decides what programs load, and is not set", name))
			case seen[name]:
				problems = append(problems, fmt.Errorf("%s is set twice, or by us", name))
			}
			seen[name] = true
		}
	}
	for _, m := range []map[string]string{p.Env, p.Files} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if m[name] == "" {
				problems = append(problems, fmt.Errorf("%s has no name of a secret", name))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		if strings.ContainsAny(p.Set[name], "\x00\n") {
			problems = append(problems, fmt.Errorf("the value of %s must be one line", name))
		}
	}
	return errors.Join(problems...)
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func loads(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") ||
		strings.HasPrefix(name, "BASH_FUNC_") ||
		has("PATH HOME ENV BASH_ENV IFS SHELLOPTS PYTHONPATH PYTHONHOME PYTHONSTARTUP NODE_OPTIONS PERL5LIB PERL5OPT "+
			"RUBYOPT RUBYLIB CLOUDSDK_PYTHON", name)
}

// compileRules reads the patterns.
func (p *program) compileRules() error {
	var problems []error
	p.listed = map[effect][]rule{
		reads:   parseRules(p.preset.reads, ""),
		changes: parseRules(p.preset.changes, ""),
		deletes: parseRules(p.preset.deletes, ""),
	}
	for _, text := range p.Allow {
		r, err := parseRule(text, "")
		if err == nil && len(r.words) == 0 {
			err = fmt.Errorf("%q begins with no word", text)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("allow: %w", err))
			continue
		}
		p.allow = append(p.allow, r)
	}
	for _, refused := range p.preset.refused {
		p.refused = append(p.refused, parseRules(refused.patterns, refused.why)...)
	}
	for _, hint := range p.preset.hints {
		p.hints = append(p.hints, parseRules(hint.patterns, hint.why)...)
	}
	return errors.Join(problems...)
}

// longest is the most that anybody can give a program.
const longest = 30 * time.Minute

// everywhere returns the variables that every program gets beside its credentials: no program
// asks, pages or opens anything.
func everywhere() []string {
	return []string{"PAGER=cat", "MANPAGER=cat", "LESSSECURE=1", "EDITOR=true", "VISUAL=true", "BROWSER=true",
		"NO_COLOR=1", "TERM=dumb",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_EDITOR=true", "GIT_ALLOW_PROTOCOL=https"}
}
