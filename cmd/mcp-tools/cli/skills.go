package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

func (a *CLI) skillsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "skills",
		Short: "Manage published skills",
		Long: `skills manages the published skills of one agent and one user, given by --agent and
--user. Skills in directories are files and not affected.`,
	},
		&cobra.Command{
			Use:     "list",
			Short:   "List the published skills that a user sees",
			Example: `  mcp-tools skills list --agent helper --user ann`,
			Args:    takes(),
			RunE:    a.onSkills(a.listSkills),
		},
		&cobra.Command{
			Use:     "share NAME",
			Short:   "Share the current version of a skill with all users of the agent",
			Example: `  mcp-tools skills share pdf-forms --agent helper --user ann`,
			Args:    takes("NAME"),
			RunE: a.onSkills(func(ctx context.Context, l *skills.Library, o tool.Owner, args []string) error {
				row, err := l.Share(ctx, o, args[0])
				if err != nil {
					return err
				}
				return a.say("%s was shared as version %d", row.Slug, row.Number)
			}),
		},
		a.skillsGrantCommand(),
		a.skillsRevokeCommand(),
		&cobra.Command{
			Use:     "remove NAME",
			Short:   "Remove a published skill of a user, with all its versions",
			Example: `  mcp-tools skills remove pdf-forms --agent helper --user ann`,
			Args:    takes("NAME"),
			RunE: a.onSkills(func(ctx context.Context, l *skills.Library, o tool.Owner, args []string) error {
				if err := l.Remove(ctx, o, args[0]); err != nil {
					return err
				}
				return a.say("%s was removed", args[0])
			}),
		})
}

func (a *CLI) skillsGrantCommand() *cobra.Command {
	var to tool.Owner
	var version int64
	cmd := &cobra.Command{
		Use:   "grant NAME",
		Short: "Let another user or agent see a skill",
		Long: `grant lets users of --to-agent see a skill of the user given by --agent and --user: the
user --to-user, or all. They see each new version, unless --version names one.`,
		Example: `  mcp-tools skills grant pdf-forms --agent helper --user ann --to-agent clerk
  mcp-tools skills grant pdf-forms --user ann --to-user bob --version 2`,
		Args: takes("NAME"),
	}
	cmd.RunE = a.onSkills(func(ctx context.Context, l *skills.Library, o tool.Owner, args []string) error {
		if version < 0 {
			return app.Usagef("--version is %d, it must be 1 or more", version)
		}
		if !cmd.Flags().Changed("to-agent") {
			to.Agent = o.Agent
		}
		if err := l.Grant(ctx, o, args[0], to, version); err != nil {
			return err
		}
		return a.say("%s was granted", args[0])
	})
	cmd.Flags().Int64Var(&version, "version", 0, "the version that they see (default: always the latest)")
	grantee(cmd, &to)
	return cmd
}

// grantee adds the flags that name who sees a skill.
func grantee(cmd *cobra.Command, to *tool.Owner) {
	cmd.Flags().StringVar(&to.Agent, "to-agent", "", "agent whose users see the skill (default: the same agent)")
	cmd.Flags().StringVar(&to.User, "to-user", "", "user who sees the skill (default: all users of the agent)")
}

func (a *CLI) skillsRevokeCommand() *cobra.Command {
	var from tool.Owner
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Take a grant of a skill back",
		Example: `  mcp-tools skills revoke pdf-forms --agent helper --user ann --to-agent clerk`,
		Args:    takes("NAME"),
	}
	cmd.RunE = a.onSkills(func(ctx context.Context, l *skills.Library, o tool.Owner, args []string) error {
		if !cmd.Flags().Changed("to-agent") {
			from.Agent = o.Agent
		}
		if err := l.Ungrant(ctx, o, args[0], from); err != nil {
			return err
		}
		return a.say("%s is no longer granted", args[0])
	})
	grantee(cmd, &from)
	return cmd
}

func (a *CLI) listSkills(ctx context.Context, l *skills.Library, o tool.Owner, _ []string) error {
	list, err := l.List(ctx, o)
	if err != nil {
		return err
	}
	of := ""
	if o.Agent != "" {
		of = fmt.Sprintf(" of agent %q", o.Agent)
	}
	none := fmt.Sprintf("User %q%s sees no published skills.", o.User, of)
	head := []string{"NAME", "VERSION", "WHOSE", "PUBLISHED", "DESCRIPTION"}
	return showList(a, list, none, head, func(r skills.Version) []string {
		published := time.UnixMilli(r.Created).Format(time.DateOnly)
		whose := cmp.Or(r.Owner.User, "shared")
		return []string{r.Slug, fmt.Sprint(r.Number), whose, published, r.Meta.Description}
	})
}

// onSkills opens the published skills of the agent and the user of the settings.
func (a *CLI) onSkills(
	use func(context.Context, *skills.Library, tool.Owner, []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		loaded, err := a.Load()
		if err != nil {
			return err
		}
		s, err := a.OpenExistingStore(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		l := skills.New(skills.Options{Store: s, Visible: app.VisibleSkills(loaded.Config.Agents)})
		caller := app.Owner(loaded.Config.Connections.Stdio)
		return use(cmd.Context(), l, tool.Owner{Agent: caller.Agent, User: caller.User}, args)
	}
}
