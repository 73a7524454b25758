package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/tools"
)

// This file tells the shell what can follow. What cannot be found out, such as
// the profiles of settings that are wrong, is left out: the command itself
// will say what is the matter.

// choices offers words, with what each means behind a tab.
func choices(words []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeTools offers the names of tools for one argument.
func (a *CLI) completeTools(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	set, err := tools.All(tools.World{})
	if err != nil || len(args) > 0 {
		return choices(nil)
	}
	var names []string
	for t := range set.All() {
		names = append(names, cobra.CompletionWithDesc(t.Spec.Name, t.Spec.Title))
	}
	return choices(names)
}

// completeCall offers the names of tools, then those of the tool's arguments.
func (a *CLI) completeCall(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeTools(cmd, args, typed)
	}
	set, err := tools.All(tools.World{})
	if err != nil {
		return choices(nil)
	}
	t, ok := set.Lookup(args[0])
	if !ok || strings.Contains(typed, "=") {
		return choices(nil)
	}
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(t.Schema(), &schema); err != nil {
		return choices(nil)
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(schema.Properties)) {
		keys = append(keys, cobra.CompletionWithDesc(key+"=", schema.Properties[key].Description))
	}
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeProfiles offers the names of profiles, for a flag.
func (a *CLI) completeProfiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	v, err := a.Examine()
	if err != nil {
		return choices(nil)
	}
	var names []string
	for _, p := range v.Policy.Profiles() {
		names = append(names, cobra.CompletionWithDesc(p.Name, p.Doc))
	}
	return choices(names)
}

// completeClients offers the names of clients for one argument.
func (a *CLI) completeClients(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return choices(nil)
	}
	var names []string
	for _, c := range clients.All() {
		names = append(names, cobra.CompletionWithDesc(c.Name, c.Title))
	}
	return choices(names)
}

// completeTokens offers the ids of the tokens that can be revoked.
func (a *CLI) completeTokens(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var ids []string
	err := a.WithTokens(func(table *tokens.Table) error {
		rows, err := table.List(cmd.Context())
		for _, row := range rows {
			if row.Revoked.IsZero() {
				ids = append(ids, cobra.CompletionWithDesc(row.ID, row.Name))
			}
		}
		return err
	})
	if err != nil || len(args) > 0 {
		return choices(nil)
	}
	return choices(ids)
}

// completeWords offers the words that a flag knows.
func completeWords(words ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return choices(words)
	}
}

// offer tells the shell what follows a flag. A flag that does not exist is a
// mistake of ours, which every run of the program would show.
func offer(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// completion tells the shell what follows the flags of all commands.
func (a *CLI) completion(root *cobra.Command) {
	offer(root, "profile", a.completeProfiles)
	offer(root, "output", completeWords("text", "json"))
	offer(root, "autonomy", completeWords("readonly", "supervised", "full"))
	offer(root, "log-level", completeWords("debug", "info", "warn", "error"))
	offer(root, "log-format", completeWords("text", "json"))
}
