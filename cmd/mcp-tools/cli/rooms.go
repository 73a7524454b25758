package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// roomCommands returns the top-level commands of a room: one command with its verbs and more as
// subcommands, and the verbs that stand alone.
func (a *CLI) roomCommands(r *room.Room, more ...*cobra.Command) (top []*cobra.Command) {
	var below []*cobra.Command
	groups := make(map[string][]*cobra.Command) // of verbs with two words
	for _, v := range r.Verbs {
		if v.Top {
			top = append(top, a.verbCommand(r, v))
			continue
		}
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
	if below = append(below, more...); below == nil {
		return top
	}
	return append(top, group(&cobra.Command{Use: r.Name, Short: r.Title, Long: r.Doc}, below...))
}

// verbCommand returns the command of a verb.
func (a *CLI) verbCommand(r *room.Room, v room.Verb) *cobra.Command {
	words := strings.Fields(v.Name)
	c := &verbCall{cli: a, room: r, verb: v, params: v.Params(), given: make(map[string]any)}
	cmd := &cobra.Command{
		Use: words[len(words)-1], Short: v.Title, Long: v.Doc, Example: v.Example, Args: c.takeArgs, RunE: c.run,
	}
	for _, name := range v.Args {
		cmd.Use += " " + c.placeholder(name)
	}
	for _, p := range c.params {
		switch owner := v.Owned && (p.Name == "agent" || p.Name == "user"); {
		case owner, c.byPlace(p.Name):
		default:
			c.addFlag(cmd, p)
		}
	}
	if v.Asks() {
		cmd.Flags().BoolVar(&c.yes, "yes", false, "do it without asking for confirmation")
	}
	if v.Complete == nil && len(v.Args) > 0 {
		cmd.ValidArgsFunction = a.completeParam(v.Args[0])
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
	cli    *CLI
	room   *room.Room
	verb   room.Verb
	params []tool.Param // of the verb
	given  map[string]any
	yes    bool
}

func (c *verbCall) byPlace(name string) bool {
	return slices.Contains(c.verb.Args, name) || slices.Contains(c.verb.Args, name+"...")
}

func (c *verbCall) param(name string) (p tool.Param) {
	for _, p := range c.params {
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
	f := cmd.Flags().VarPF(&verbFlag{into: c.given, param: p}, name, c.verb.Letters[p.Name], doc)
	if p.Kind == "boolean" {
		f.NoOptDefVal = "true"
	}
	if p.Required {
		cmd.Use += " --" + name + " " + strings.ToUpper(p.Name)
	}
	if complete := c.cli.completeParam(p.Name); complete != nil {
		offer(cmd, name, complete)
	}
	if p.Enum != nil {
		offer(cmd, name, completeWords(p.Enum...))
	}
}

// completeParam completes parameters that mean the same in every verb; nil for others.
func (a *CLI) completeParam(name string) cobra.CompletionFunc {
	switch name {
	case "profile":
		return a.completeProfiles
	case "tool":
		return completeFirst(toolNames)
	}
	return nil
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
	if err := errors.Join(c.fillOwner(), c.checkData(), c.readFiles()); err != nil {
		return err
	}
	args, err := json.Marshal(c.given)
	if err != nil {
		return err
	}
	ctx := room.As(cmd.Context(), room.Person{Name: app.SystemUser(), Channel: "cli"})
	if c.verb.Visits {
		browser := &personsBrowser{out: c.cli.Err}
		defer browser.close()
		ctx = room.WithBrowser(ctx, browser)
	}
	return c.cli.withHost(func(h *room.Host) error {
		plan, err := c.room.Prepare(ctx, c.verb, h, args)
		if err != nil {
			return c.commandError(err)
		}
		if ok, err := c.confirm(ctx, plan); err != nil || !ok {
			return err
		}
		if c.verb.Streams {
			ctx = room.Streaming(ctx, c.cli.showLine)
		}
		result, err := plan.Run(ctx)
		if c.verb.Streams {
			return c.commandError(ended(ctx, err))
		}
		if err != nil {
			if asJSON, _ := c.cli.asJSON(); asJSON && result.Data != nil {
				err = errors.Join(c.cli.showResult(result), err)
			}
			return c.commandError(err)
		}
		return c.cli.showResult(result)
	})
}

// checkData returns an error if --data names a directory that does not exist, for a verb
// that only reads: the answer would be that all is well, or that there is nothing.
func (c *verbCall) checkData() error {
	if c.verb.Risk != tool.Reads || c.room.Open == nil {
		return nil
	}
	return c.cli.dataExists()
}

// readFiles replaces the paths of files by the contents of the files.
func (c *verbCall) readFiles() error {
	for _, name := range c.verb.Files {
		path, given := c.given[name].(string)
		if !given {
			continue
		}
		from := c.cli.In
		if path != "-" {
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			from = file
		}
		text, err := io.ReadAll(io.LimitReader(from, room.MaxText+1))
		if err != nil {
			return err
		}
		c.given[name] = string(text)
	}
	return nil
}

// fillOwner sets the parameters agent and user of a verb that works on the data of one agent
// and one user.
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
		if known == nil {
			return err
		}
		// The text of an outage is its cause, without a kind.
		return errors.New(strings.Replace(err.Error(), string(known.Kind)+": "+known.What, known.What, 1))
	}
	text := strings.TrimPrefix(known.What, c.verb.Name+": ")
	if known.Next != "" && !strings.HasPrefix(known.Next, "send at least {") {
		text += "; " + known.Next
	}
	for _, p := range c.params {
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
	err := a.show(data, func(w io.Writer) error {
		if table, ok := r.Data.(room.Table); ok && table.Rows != nil {
			return errors.Join(a.painter(w).Columns(w, table.Rows), a.showText(w, r, false))
		}
		return a.showText(w, r, true)
	})
	if err == nil && r.Failed {
		return failed{}
	}
	return err
}

// showText prints the text of a result, and on stderr the text beside it. always is set
// to print a line also if there is no text.
func (a *CLI) showText(w io.Writer, r tool.Result, always bool) error {
	forPerson := func(p tool.Part) bool { return p.For == tool.ForPerson }
	text := tool.Result{Parts: slices.DeleteFunc(slices.Clone(r.Parts), forPerson)}.Text()
	if text != "" || always {
		if _, err := fmt.Fprintln(w, a.painter(w).Lines(terminal.ForReader(w, strings.TrimSuffix(text, "\n")))); err != nil {
			return err
		}
	}
	for _, p := range r.Parts {
		if forPerson(p) {
			fmt.Fprintln(a.Err, terminal.ForReader(a.Err, p.Text))
		}
	}
	return nil
}

// showLine prints one result of a verb that streams.
func (a *CLI) showLine(r tool.Result) error {
	if asJSON, err := a.asJSON(); err != nil || asJSON && r.Data == nil {
		return err
	} else if asJSON {
		e := json.NewEncoder(a.Out)
		e.SetEscapeHTML(false)
		return e.Encode(r.Data)
	}
	return a.showText(a.Out, r, false)
}

// withHost opens the parts of the program that rooms may ask for, passes them to use, and
// closes them.
func (a *CLI) withHost(use func(*room.Host) error) error {
	return a.WithStore(func(s *store.Store) error { return use(&room.Host{Store: s, Data: a.DataDir}) })
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
