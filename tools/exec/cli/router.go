package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// longestAsked is the most that the model can ask for, unless the program has
// more by itself.
const longestAsked = 10 * time.Minute

// fallbackTimeout is for programs without a preset.
const fallbackTimeout = time.Minute

// program finds one by its name, or by the path that it is configured with.
func (r *Router) program(name string) (program, bool) {
	for _, p := range r.programs {
		if name == p.Name || filepath.IsAbs(name) && filepath.Clean(name) == p.Path {
			return p, true
		}
	}
	return program{}, false
}

// named finds the program of an order, or says which there are.
func (r *Router) named(o Order) (program, error) {
	if len(r.programs) == 0 {
		return program{}, tool.Errorf(tool.Unavailable, "no program has credentials here").
			Try("use exec, or ask the operator to add one under exec.programs")
	}
	if err := checkArgv(o.Argv); err != nil {
		return program{}, err
	}
	p, found := r.program(o.Argv[0])
	if !found {
		return program{}, tool.Errorf(tool.NotFound, "%q is no program with credentials%s", o.Argv[0], meant(o.Argv[0], r.Names())).
			Try("use one of %s; everything else runs with exec", strings.Join(r.Names(), ", "))
	}
	return p, nil
}

func meant(name string, names []string) string {
	if base := filepath.Base(name); base != name && slices.Contains(names, base) {
		return ": write just " + base
	}
	return ""
}

// Rate says how risky an order is, and why.
func (r *Router) Rate(_ context.Context, o Order) (tool.Risk, string) {
	p, err := r.named(o)
	if err != nil {
		return tool.Runs, ""
	}
	v := p.judge(o.Argv[1:])
	switch {
	case v.err != nil:
		return tool.Runs, tool.AsError(v.err).What
	case v.effect == reads:
		return tool.Reads, v.why
	}
	return tool.Runs, v.why
}

// ready is an order that may run, with what was found out on the way.
type ready struct {
	program program
	verdict verdict
	file    found
	site    Site
}

// check finds out whether an order may run, without any effect.
func (r *Router) check(ctx context.Context, o Order) (ready, error) {
	p, err := r.named(o)
	if err != nil {
		return ready{}, err
	}
	v := p.judge(o.Argv[1:])
	if v.err != nil {
		return ready{}, v.err
	}
	if _, err := p.timeout(o); err != nil {
		return ready{}, err
	}
	if r.o.Site == nil || r.o.Run == nil {
		return ready{}, tool.Errorf(tool.Unavailable, "commands cannot run here").Try("do without, or ask the operator")
	}
	site, err := r.o.Site(ctx, o.Dir)
	if err != nil {
		return ready{}, err
	}
	if err := p.checkPaths(o.Argv[1:], reach{site.Dir, r.o.Private}); err != nil {
		return ready{}, err
	}
	file, err := r.locate(ctx, p)
	return ready{p, v, file, site}, err
}

// Terms are what a person's word for an order rests on, or why it is not run
// whoever agrees.
func (r *Router) Terms(ctx context.Context, o Order) (tool.Terms, error) {
	c, err := r.check(ctx, o)
	if err != nil {
		return tool.Terms{}, err
	}
	if err := r.present(c.program); err != nil {
		return tool.Terms{}, err
	}
	facts := map[string]string{
		"program":   c.file.path + " (" + c.file.identity + ")",
		"arguments": written(o.Argv),
		"directory": c.site.Dir + " (" + c.site.Inode + ")",
		"sandbox":   c.site.Where,
		"secrets":   strings.Join(c.program.names(), ", "),
	}
	if len(c.program.Hosts) > 0 {
		facts["may reach"] = strings.Join(c.program.Hosts, ", ")
	}
	return tool.Terms{Facts: facts, Once: c.verdict.effect != reads}, nil
}

// Do runs an order.
func (r *Router) Do(ctx context.Context, o Order) (tool.Result, error) {
	c, err := r.check(ctx, o)
	if err != nil {
		return tool.Result{}, err
	}
	timeout, err := c.program.timeout(o)
	if err != nil {
		return tool.Result{}, err
	}
	l := Launch{
		Argv:     append([]string{c.program.Name}, o.Argv[1:]...),
		Program:  c.file.path,
		Identity: c.file.identity,
		Dir:      o.Dir,
		Timeout:  timeout,
		Env:      c.program.environment(),
		Hosts:    slices.Clone(c.program.Hosts),
	}
	defer func() {
		for _, content := range l.Files {
			clear(content)
		}
	}()
	if err := r.arm(c.program, &l); err != nil {
		return tool.Result{}, err
	}
	return r.o.Run(ctx, l)
}

// timeout is how long an order may take.
func (p program) timeout(o Order) (time.Duration, error) {
	own := p.Timeout
	if own == 0 {
		own = time.Duration(p.preset.seconds) * time.Second
	}
	if own == 0 {
		own = fallbackTimeout
	}
	switch most := max(own, longestAsked); {
	case o.Timeout == 0:
		return own, nil
	case o.Timeout < 0 || o.Timeout > most:
		return 0, tool.Errorf(tool.Invalid, "%s cannot run for %s, the most is %s", p.Name, o.Timeout, most).Try("ask for less")
	}
	return o.Timeout, nil
}

// environment is what may be known of what a program gets.
func (p program) environment() []string {
	env := slices.Clone(p.preset.env)
	for name, value := range p.Set {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// written writes an argv so that no argument can pass for two.
func written(argv []string) string {
	texts := make([]string, len(argv))
	for i, a := range argv {
		texts[i] = a
		if a == "" || strings.ContainsFunc(a, func(c rune) bool { return c == '"' || c == '\'' || c == '\\' || c == ' ' || tool.Hidden(c) }) {
			texts[i] = strconv.Quote(a)
		}
	}
	return strings.Join(texts, " ")
}
