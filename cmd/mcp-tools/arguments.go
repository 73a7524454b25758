package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// takes checks that a command gets exactly the arguments that it names.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s wants %s; %s -h tells more", cmd.CommandPath(), strings.Join(names[len(args):], " and "), cmd.CommandPath())
		case len(args) > len(names):
			return usagef("%s does not know what to do with %q; %s -h tells more", cmd.CommandPath(), args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}

// group makes a command that only has commands below it.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	cmd.Args = noCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, sub := range below {
			names = append(names, sub.Name())
		}
		return usagef("%s wants one of %s; %s -h tells more", cmd.CommandPath(), strings.Join(names, ", "), cmd.CommandPath())
	}
	return cmd
}

// oneOf checks the value of a flag that knows a few words.
func oneOf(flag, value string, words ...string) error {
	for _, word := range words {
		if value == word {
			return nil
		}
	}
	return usagef("--%s is %q, it must be %s", flag, value, strings.Join(words, " or "))
}
