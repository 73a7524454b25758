package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

func (a *CLI) skillsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "Manage published skills",
		Long: `skills manages the published skills of one agent and one user, given by --agent and
--user. Skills in directories are files and not affected.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.Usagef("%s needs one of list, share, grant, revoke, remove", cmd.CommandPath())
		},
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:     "list",
			Short:   "List the published skills that a user sees",
			Example: `  mcp-tools skills list --agent helper --user ann`,
			Args:    takes(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.withSkills(cmd.Context(), a.listSkills)
			},
		},
		&cobra.Command{
			Use:     "share NAME",
			Short:   "Share the current version of a skill with all users of the agent",
			Example: `  mcp-tools skills share pdf-forms --agent helper --user ann`,
			Args:    takes("NAME"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withSkills(cmd.Context(), func(ctx context.Context, l *skills.Library, o tool.Owner) error {
					row, err := l.Share(ctx, o, args[0])
					if err != nil {
						return err
					}
					fmt.Fprintf(a.Out, "%s was shared as version %d\n", row.Slug, row.Number)
					return nil
				})
			},
		},
		a.skillsGrantCommand(),
		a.skillsRevokeCommand(),
		&cobra.Command{
			Use:     "remove NAME",
			Short:   "Remove a published skill of a user, with all its versions",
			Example: `  mcp-tools skills remove pdf-forms --agent helper --user ann`,
			Args:    takes("NAME"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withSkills(cmd.Context(), func(ctx context.Context, l *skills.Library, o tool.Owner) error {
					if err := l.Remove(ctx, o, args[0]); err != nil {
						return err
					}
					fmt.Fprintf(a.Out, "%s was removed\n", args[0])
					return nil
				})
			},
		})
	return cmd
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if version < 0 {
				return app.Usagef("--version is %d, it must be 1 or more", version)
			}
			return a.withSkills(cmd.Context(), func(ctx context.Context, l *skills.Library, o tool.Owner) error {
				if !cmd.Flags().Changed("to-agent") {
					to.Agent = o.Agent
				}
				if err := l.Grant(ctx, o, args[0], to, version); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "%s was granted\n", args[0])
				return nil
			})
		},
	}
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkills(cmd.Context(), func(ctx context.Context, l *skills.Library, o tool.Owner) error {
				if !cmd.Flags().Changed("to-agent") {
					from.Agent = o.Agent
				}
				if err := l.Ungrant(ctx, o, args[0], from); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "%s is no longer granted\n", args[0])
				return nil
			})
		},
	}
	grantee(cmd, &from)
	return cmd
}

func (a *CLI) listSkills(ctx context.Context, l *skills.Library, o tool.Owner) error {
	list, err := l.List(ctx, o)
	if err != nil {
		return err
	}
	return a.show(append([]skills.Version{}, list...), func(w io.Writer) error {
		if len(list) == 0 {
			_, err := fmt.Fprintf(w, "User %q of agent %q sees no published skills.\n", o.User, o.Agent)
			return err
		}
		rows := [][]string{{"NAME", "VERSION", "WHOSE", "PUBLISHED", "DESCRIPTION"}}
		for _, r := range list {
			whose := r.Owner.User
			if whose == "" {
				whose = "shared"
			}
			published := time.UnixMilli(r.Created).Format(time.DateOnly)
			rows = append(rows, []string{r.Slug, fmt.Sprint(r.Number), whose, published, r.Meta.Description})
		}
		return a.painter(w).Columns(w, rows)
	})
}

// withSkills opens the published skills of the agent and the user of the settings.
func (a *CLI) withSkills(ctx context.Context, use func(context.Context, *skills.Library, tool.Owner) error) error {
	loaded, err := a.Load()
	if err != nil {
		return err
	}
	s, err := a.OpenExistingStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	l := skills.New(skills.Options{Store: s, Visible: app.VisibleSkills(loaded.Config.Agents)})
	caller := app.Owner(loaded.Config.Connections.Stdio)
	return use(ctx, l, tool.Owner{Agent: caller.Agent, User: caller.User})
}
