package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// roomCommand returns the command of a room, with a command for each verb and those
// that are written by hand.
func (a *CLI) roomCommand(r *room.Room, more ...*cobra.Command) *cobra.Command {
	var below []*cobra.Command
	groups := make(map[string][]*cobra.Command) // of verbs with two words
	for _, v := range r.Verbs {
		first, _, two := strings.Cut(v.Name, " ")
		if !two {
			below = append(below, a.verbCommand(r, v))
			continue
		}
		groups[first] = append(groups[first], a.verbCommand(r, v))
	}
	for name, verbs := range groups {
		below = append(below, group(&cobra.Command{Use: name, Short: verbs[0].Short}, verbs...))
	}
	return group(&cobra.Command{Use: r.Name, Short: r.Title, Long: r.Doc}, append(below, more...)...)
}

// verbCommand returns the command of a verb.
func (a *CLI) verbCommand(r *room.Room, v room.Verb) *cobra.Command {
	words := strings.Fields(v.Name)
	c := &verbCall{cli: a, room: r, verb: v, given: make(map[string]any)}
	cmd := &cobra.Command{
		Use: words[len(words)-1], Short: v.Title, Long: v.Doc, Example: v.Example, Args: c.takeArgs, RunE: c.run,
	}
	for _, name := range v.Args {
		cmd.Use += " " + c.placeholder(name)
	}
	for _, p := range v.Params() {
		switch owner := v.Owned && (p.Name == "agent" || p.Name == "user"); {
		case owner, c.byPlace(p.Name):
		default:
			c.addFlag(cmd, p)
		}
	}
	if v.Asks() {
		cmd.Flags().BoolVar(&c.yes, "yes", false, "do it without asking for confirmation")
	}
	if v.Complete != nil {
		cmd.ValidArgsFunction = completeFirst(func(ctx context.Context) (words []string, err error) {
			err = a.withHost(func(h *room.Host) error {
				if err := r.Ready(h); err != nil {
					return err
				}
				words, err = v.Complete(ctx)
				return err
			})
			return words, err
		})
	}
	return cmd
}

// A verbCall is a verb with the arguments of a command line.
type verbCall struct {
	cli   *CLI
	room  *room.Room
	verb  room.Verb
	given map[string]any
	yes   bool
}

func (c *verbCall) byPlace(name string) bool {
	return slices.Contains(c.verb.Args, name) || slices.Contains(c.verb.Args, name+"...")
}

func (c *verbCall) param(name string) (p tool.Param) {
	for _, p := range c.verb.Params() {
		if p.Name == strings.TrimSuffix(name, "...") {
			return p
		}
	}
	return p
}

// placeholder returns an argument as the usage shows it: ID, [ID] or ID...
func (c *verbCall) placeholder(name string) string {
	text := strings.ToUpper(name)
	if !c.param(name).Required {
		text = "[" + text + "]"
	}
	return text
}

// addFlag adds the flag of a parameter.
func (c *verbCall) addFlag(cmd *cobra.Command, p tool.Param) {
	name := strings.ReplaceAll(p.Name, "_", "-")
	doc := p.Doc
	if p.Enum != nil && !strings.Contains(doc, p.Enum[0]) {
		doc += " (" + strings.Join(p.Enum, ", ") + ")"
	}
	f := cmd.Flags().VarPF(&verbFlag{into: c.given, param: p}, name, "", doc)
	if p.Kind == "boolean" {
		f.NoOptDefVal = "true"
	}
	if p.Required {
		cmd.Use += " --" + name + " " + strings.ToUpper(p.Name)
	}
	if p.Enum != nil {
		offer(cmd, name, completeWords(p.Enum...))
	}
}

// takeArgs takes the arguments that are given by their place.
func (c *verbCall) takeArgs(cmd *cobra.Command, args []string) error {
	var missing []string
	rest := args
	for _, name := range c.verb.Args {
		p := c.param(name)
		switch {
		case strings.HasSuffix(name, "...") && len(rest) > 0:
			c.given[p.Name], rest = rest, nil
		case len(rest) > 0:
			c.given[p.Name], rest = rest[0], rest[1:]
		case p.Required:
			missing = append(missing, strings.ToUpper(p.Name))
		}
	}
	switch {
	case missing != nil:
		return app.Usagef("%s needs %s; see %[1]s -h", cmd.CommandPath(), strings.Join(missing, " and "))
	case len(rest) > 0:
		return app.Usagef("%s takes no argument %q; see %[1]s -h", cmd.CommandPath(), rest[0])
	}
	return nil
}

// run calls the verb, and prints its result.
func (c *verbCall) run(cmd *cobra.Command, _ []string) error {
	if err := c.fillOwner(); err != nil {
		return err
	}
	args, err := json.Marshal(c.given)
	if err != nil {
		return err
	}
	ctx := room.As(cmd.Context(), room.Person{Name: app.SystemUser(), Channel: "cli"})
	return c.cli.withHost(func(h *room.Host) error {
		plan, err := c.room.Prepare(ctx, c.verb, h, args)
		if err != nil {
			return c.commandError(err)
		}
		if ok, err := c.confirm(ctx, plan); err != nil || !ok {
			return err
		}
		result, err := plan.Run(ctx)
		if err != nil {
			return c.commandError(err)
		}
		return c.cli.showResult(result)
	})
}

// fillOwner sets the parameters agent and user of a verb that works on what one agent
// and one user have.
func (c *verbCall) fillOwner() error {
	if !c.verb.Owned {
		return nil
	}
	loaded, err := c.cli.Load()
	if err != nil {
		return err
	}
	owner := app.Owner(loaded.Config.Connections.Stdio)
	c.given["agent"], c.given["user"] = owner.Agent, owner.User
	return nil
}

// confirm shows the question of a plan, and reports whether a person agrees.
func (c *verbCall) confirm(ctx context.Context, plan tool.Plan) (bool, error) {
	if plan.Ask == "" || c.yes {
		fmt.Fprint(c.cli.Err, plan.Ask)
		return true, nil
	}
	fmt.Fprint(c.cli.Err, plan.Ask)
	if !terminal.IsTerminal(c.cli.In) {
		return false, app.Usagef("nothing was done; check the above, and add --yes to do it")
	}
	fmt.Fprint(c.cli.Err, "\nContinue? [y/N] ")
	line, err := person{in: bufio.NewReader(c.cli.In), out: c.cli.Err}.line(ctx)
	if err != nil {
		return false, err
	}
	if !isYes(line) {
		fmt.Fprintln(c.cli.Err, "Nothing was done.")
		return false, nil
	}
	return true, nil
}

// commandError returns an error of a verb as one of the command line, with flags in
// place of parameters.
func (c *verbCall) commandError(err error) error {
	known := (*tool.Error)(nil)
	if !errors.As(err, &known) || known.Kind != tool.Invalid {
		return err
	}
	text := strings.TrimPrefix(known.What, c.verb.Name+": ")
	if known.Next != "" && !strings.HasPrefix(known.Next, "send at least {") {
		text += "; " + known.Next
	}
	for _, p := range c.verb.Params() {
		if !c.byPlace(p.Name) {
			quoted := regexp.MustCompile(`"` + p.Name + `(\[\d+\])?"`)
			text = quoted.ReplaceAllString(text, "--"+strings.ReplaceAll(p.Name, "_", "-"))
		}
	}
	return app.Usagef("%s", text)
}

// showResult prints the result of a verb.
func (a *CLI) showResult(r tool.Result) error {
	data := r.Data
	if data == nil {
		data = map[string]string{"text": r.Text()}
	}
	return a.show(data, func(w io.Writer) error {
		if table, ok := r.Data.(room.Table); ok && table.Rows != nil {
			return a.painter(w).Columns(w, table.Rows)
		}
		_, err := fmt.Fprintln(w, strings.TrimSuffix(r.Text(), "\n"))
		return err
	})
}

// withHost passes what rooms may ask of the program to use, and closes it.
func (a *CLI) withHost(use func(*room.Host) error) error {
	data, err := a.DataDir()
	if err != nil {
		return err
	}
	return a.WithStore(func(s *store.Store) error { return use(&room.Host{Store: s, Data: data}) })
}

// A verbFlag sets an argument to the value of a flag.
type verbFlag struct {
	into  map[string]any
	param tool.Param
}

var _ pflag.Value = (*verbFlag)(nil)

func (f *verbFlag) String() string { return "" }

func (f *verbFlag) Set(text string) error {
	switch f.param.Kind {
	case "array":
		list, _ := f.into[f.param.Name].([]string)
		f.into[f.param.Name] = append(list, text)
	case "string":
		f.into[f.param.Name] = text
	default:
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("it must be a %s", f.param.Kind)
		}
		f.into[f.param.Name] = json.RawMessage(text)
	}
	return nil
}

// Type returns the kind of the value, as the help shows it.
func (f *verbFlag) Type() string {
	switch f.param.Kind {
	case "boolean":
		return ""
	case "array":
		return "stringArray"
	case "integer":
		return "int"
	}
	return f.param.Kind
}

func isYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}
