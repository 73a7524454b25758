package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manualCommand writes the manual pages. It is for packages and make install.
func (a *CLI) manualCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "manual DIR",
		Short:   "Write the manual pages of all commands",
		Long:    "manual writes a manual page for each command into a directory, which packages contain.",
		Example: "  mcp-tools manual /usr/local/share/man/man1",
		Hidden:  true,
		Args:    takes("a DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManual(cmd.Root(), args[0])
		},
	}
}

func writeManual(cmd *cobra.Command, dir string) error {
	name := pageName(cmd) + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), manualPage(cmd), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeManual(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns the page of a command in the macros of man(7).
func manualPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	release := version.This()
	fmt.Fprintf(&b, ".TH %s 1 %q %q %q\n", strings.ToUpper(pageName(cmd)), release.Date, "mcp-tools "+release.Version,
		"User Commands")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", pageName(cmd), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".br\n.B %s\ncommand\n", roff(cmd.CommandPath()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	writeText(&b, cmp.Or(cmd.Long, cmd.Short))
	manualFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	if cmd.HasParent() {
		b.WriteString(".SH GLOBAL OPTIONS\n")
		writeText(&b, "--config, --data, --output and the flags of settings work here too; see mcp-tools(1).")
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		writeText(&b, cmd.Example)
	}
	if !cmd.HasParent() {
		b.WriteString(".SH EXIT STATUS\n")
		writeText(&b, "0 for success, 1 for a failure, 2 for a command line or settings that are wrong, or the exit "+
			"status of the command that a tool ran.")
	}
	var related []string
	if cmd.HasParent() {
		related = append(related, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			related = append(related, pageName(sub))
		}
	}
	if len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(related, "(1), ")))
	}
	return b.Bytes()
}

func manualFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, text := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(text))
	})
}

// writeText writes paragraphs. Indented lines keep their ends.
func writeText(b *bytes.Buffer, text string) {
	literal := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ")
		if indented != literal && line != "" {
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n.PP\n"}[indented])
			literal = indented
		}
		switch {
		case line == "" && !literal:
			b.WriteString(".PP\n")
		case line == "":
			b.WriteString("\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	if literal {
		b.WriteString(".fi\n")
	}
}

// roff escapes text: a hyphen is one that can be copied, and no line begins with a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.ReplaceAll(text, "\n", " "))
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
