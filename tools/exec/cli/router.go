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

// find finds a program by its name, or by the path that it is configured with.
func (all Programs) find(name string) (program, bool) {
	for _, p := range all {
		if name == p.Name || filepath.IsAbs(name) && filepath.Clean(name) == p.Path {
			return p, true
		}
	}
	return program{}, false
}

// named finds the program of an order. If there is none, the error lists the programs.
func (all Programs) named(o Order) (program, error) {
	if len(all) == 0 {
		return program{}, tool.Errorf(tool.Unavailable, "no program has credentials here").
			Try("use exec, or ask the operator to add one under exec.programs")
	}
	if err := checkArgv(o.Argv); err != nil {
		return program{}, err
	}
	p, found := all.find(o.Argv[0])
	if !found {
		return program{}, tool.Errorf(tool.NotFound, "%q is no program with credentials%s", o.Argv[0],
			meant(o.Argv[0], all.names())).
			Try("use one of %s; everything else runs with exec", strings.Join(all.names(), ", "))
	}
	return p, nil
}

func meant(name string, names []string) string {
	if base := filepath.Base(name); base != name && slices.Contains(names, base) {
		return ": write just " + base
	}
	return ""
}

// ready is an order that may run, with the facts found on the way.
type ready struct {
	order   Order
	program program
	verdict verdict
	file    found
	site    Site
	timeout time.Duration
}

// Prepare finds out whether an order may run and how risky it is, without any
// effect. An error comes with the risk as far as it is known.
func (r *Router) Prepare(ctx context.Context, o Order) (tool.Plan, error) {
	p, err := r.o.Programs(ctx).named(o)
	if err != nil {
		return tool.Plan{}, err
	}
	if p.Preset == "gh" && r.o.Repository != nil {
		address, branch := r.o.Repository(ctx, o.Dir)
		args := ghInRepository(o.Argv[1:], p.preset.read(o.Argv[1:]), address, branch)
		o.Argv = append([]string{o.Argv[0]}, args...)
	}
	v := p.judge(o.Argv[1:])
	if v.err != nil {
		return tool.Plan{Risk: tool.Runs, Why: tool.AsError(v.err).What}, v.err
	}
	plan := tool.Plan{Risk: tool.Runs, Why: v.why, Once: v.effect != reads}
	if v.effect == reads {
		plan.Risk = tool.Reads
	}
	c := ready{order: o, program: p, verdict: v}
	plan.Facts = func(context.Context) (tool.Facts, error) { return c.facts(), r.present(p) }
	plan.Run = func(ctx context.Context) (tool.Result, error) { return r.run(ctx, c) }
	if c.timeout, err = p.timeout(o); err != nil {
		return plan, err
	}
	if r.o.Site == nil || r.o.Run == nil {
		return plan, tool.Errorf(tool.Unavailable, "commands cannot run here").Try("do without, or ask the operator")
	}
	if c.site, err = r.o.Site(ctx, o.Dir); err != nil {
		return plan, err
	}
	if err := p.checkPaths(o.Argv[1:], reach{c.site.Dir, r.o.Private}); err != nil {
		return plan, err
	}
	c.file, err = r.locate(ctx, p)
	return plan, err
}

// facts returns the facts that an approval of the order depends on.
func (c ready) facts() tool.Facts {
	facts := tool.Facts{
		"program":   c.file.path + " (" + c.file.identity + ")",
		"arguments": written(c.order.Argv),
		"directory": c.site.Dir + " (" + c.site.Inode + ")",
		"sandbox":   c.site.Where,
		"secrets":   strings.Join(c.program.names(), ", "),
	}
	if len(c.program.Hosts) > 0 {
		facts["may reach"] = strings.Join(c.program.Hosts, ", ")
	}
	return facts
}

// run starts the program with its secrets and waits for its end.
func (r *Router) run(ctx context.Context, c ready) (tool.Result, error) {
	l := Launch{
		Argv:     append([]string{c.program.Name}, c.order.Argv[1:]...),
		Program:  c.file.path,
		Identity: c.file.identity,
		Dir:      c.order.Dir,
		Timeout:  c.timeout,
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

// timeout returns how long an order may take.
func (p program) timeout(o Order) (time.Duration, error) {
	own := time.Duration(p.preset.seconds) * time.Second
	if own == 0 {
		own = fallbackTimeout
	}
	switch most := max(own, longestAsked); {
	case o.Timeout == 0:
		return own, nil
	case o.Timeout < 0 || o.Timeout > most:
		return 0, tool.Errorf(tool.Invalid, "%s cannot run for %s, the most is %s", p.Name, o.Timeout,
			most).Try("ask for less")
	}
	return o.Timeout, nil
}

// environment returns the public part of a program's environment.
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
		if a == "" || strings.ContainsFunc(a, func(c rune) bool {
			return c == '"' || c == '\'' || c == '\\' ||
				c == ' ' || tool.Hidden(c)
		}) {
			texts[i] = strconv.Quote(a)
		}
	}
	return strings.Join(texts, " ")
}
