package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/tools"
)

// This file completes arguments and flags in the shell. Unknown values, such as the profiles of
// settings with mistakes, are not completed: the command itself reports the mistake.

// choices returns words, each with a description after a tab.
func choices(words []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeFirst completes the first argument of a command with the words of a list.
func completeFirst(list func(ctx context.Context) (words []string, err error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return choices(nil)
		}
		words, err := list(cmd.Context())
		if err != nil {
			return choices(nil)
		}
		return choices(words)
	}
}

// toolNames lists the names of tools.
func toolNames(context.Context) (names []string, err error) {
	set, err := tools.All(tools.World{})
	if err != nil {
		return nil, err
	}
	for t := range set.All() {
		names = append(names, cobra.CompletionWithDesc(t.Spec.Name, t.Spec.Title))
	}
	return names, nil
}

// completeCall completes the name of a tool, then the names of its arguments.
func (a *CLI) completeCall(
	cmd *cobra.Command, args []string, typed string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeFirst(toolNames)(cmd, args, typed)
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

// completeProfiles completes the name of a profile.
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

// clientsToConnect lists the names of clients.
func clientsToConnect(context.Context) (names []string, err error) {
	for _, c := range clients.All() {
		names = append(names, cobra.CompletionWithDesc(c.Name, c.Title))
	}
	return names, nil
}

// completeWords completes one of some words.
func completeWords(words ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return choices(words)
	}
}

// offer sets the completion of a flag. If the flag does not exist, every run of the program
// ends with an error.
func offer(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// completion sets the completion of the flags of all commands.
func (a *CLI) completion(root *cobra.Command) {
	offer(root, "profile", a.completeProfiles)
	offer(root, "output", completeWords("text", "json"))
	for _, s := range app.SettingsReader().Settings() {
		if s.Flag != "" && s.Values != nil {
			offer(root, s.Flag, completeWords(s.Values...))
		}
	}
}
