package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

func (a *CLI) memoryCommand() *cobra.Command {
	return group(&cobra.Command{Use: "memory", Short: "List, import, export and purge memories"},
		a.memoryListCommand(), a.memoryImportCommand(), a.memoryExportCommand(), a.memoryPurgeCommand())
}

func (a *CLI) memoryListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the memories of one agent and one user, the latest first",
		Long: `list prints what an agent remembers about a user, and what all users of the agent
share. To read, search or delete memories use mcp-tools call with memory_get,
memory_search and memory_forget.`,
		Example: `  mcp-tools memory list
  mcp-tools memory list --agent helper --user ann`,
		Args: takes(),
		RunE: a.onMemory(func(ctx context.Context, m *memory.Memory, _ []string) error {
			list, err := m.List(ctx)
			if err != nil {
				return err
			}
			return showList(a, list, "There are no memories.",
				[]string{"PATH", "SIZE", "UPDATED", "CATEGORY", "TAGS", ""}, memoryRow)
		}),
	}
}

func memoryRow(d memory.Listed) []string {
	shared := ""
	if d.Shared {
		shared = "shared"
	}
	return []string{
		d.Path, terminal.FileSize(d.Size), terminal.Date(d.Updated), d.Category, strings.Join(d.Tags, " "), shared,
	}
}

func (a *CLI) memoryImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import DIR",
		Short: "Store the files of a directory as memories",
		Long: `import stores the files of a directory as memories of one agent and one user:
MEMORY.md, memory.md and the Markdown files in memory/, and other Markdown files as
memory/FILE. Documents such as PDF, Word and HTML files become memory/FILE.md.
Equal memories are not changed; different ones get a new version, and the old version
can be restored.`,
		Example: `  mcp-tools memory import notes
  mcp-tools memory import backup --agent helper --user ann
  mcp-tools memory import handbook --agent helper --user -    for all its users`,
		Args: takes("DIR"),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return app.Usagef("%s is not a directory", args[0])
			}
			return nil
		},
		RunE: a.onMemory(func(ctx context.Context, m *memory.Memory, args []string) error {
			r, err := m.Import(ctx, os.DirFS(args[0]))
			if err != nil {
				return err
			}
			return a.show(r, func(w io.Writer) error {
				for _, s := range r.Skipped {
					fmt.Fprintln(w, "left out:", s)
				}
				_, err := fmt.Fprintf(w, "%d stored, %d unchanged\n", r.Written, r.Unchanged)
				return err
			})
		}),
	}
}

func (a *CLI) memoryExportCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write memories as Markdown files",
		Long: `export writes the memories of one agent and one user to a directory, one file
each. Category, tags and expiry are in the front matter, so that import restores
them. Files of an earlier export are replaced; other files only with --force.`,
		Example: `  mcp-tools memory export backup`,
		Args:    takes("DIR"),
		RunE: a.onMemory(func(ctx context.Context, m *memory.Memory, args []string) error {
			n, err := m.Export(ctx, exportDir{args[0], force, memory.Exported})
			if err != nil {
				return err
			}
			return a.report(map[string]int{"written": n}, "%s written to %s", text.Plural(n, "file"), args[0])
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace files that are not from an earlier export")
	return cmd
}

func (a *CLI) memoryPurgeCommand() *cobra.Command {
	session, all := "", false
	cmd := &cobra.Command{
		Use:   "purge (--session ID | --all)",
		Short: "Remove memories with their former versions, for good",
		Long: `purge removes the memories of one agent and one user that were last written in a
session, or all of them, with their former versions. Nothing can restore them but a
backup. Memories that all users of the agent share stay, unless --user is -.`,
		Example: `  mcp-tools memory purge --agent helper --user ann --all`,
		Args:    takes(),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if (session != "") == all {
				return app.Usagef("%s needs --session or --all", cmd.CommandPath())
			}
			return nil
		},
		RunE: a.onMemory(func(ctx context.Context, m *memory.Memory, _ []string) error {
			n, err := m.Purge(ctx, session)
			if err != nil {
				return err
			}
			return a.report(map[string]int{"removed": n}, "%d removed", n)
		}),
	}
	cmd.Flags().StringVar(&session, "session", "", "only memories that were last written in this session")
	cmd.Flags().BoolVar(&all, "all", false, "all memories")
	return cmd
}

// An exportDir writes files to a directory.
type exportDir struct {
	dir      string
	force    bool                      // replace any file
	exported func(content []byte) bool // whether a file is an earlier export; nil: none is
}

func (d exportDir) Write(name string, content []byte, modified time.Time) error {
	path := filepath.Join(d.dir, filepath.FromSlash(name))
	if !d.force && !d.free(path, content) {
		return app.Usagef("%s exists and has different content; choose an empty directory, or add --force",
			path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := private.Replace(path, content); err != nil {
		return err
	}
	return os.Chtimes(path, modified, modified)
}

// free reports whether writing a file loses nothing that is not an export.
func (d exportDir) free(path string, content []byte) bool {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() { // reading a pipe would block
		return false
	}
	there, err := os.ReadFile(path)
	return err == nil && (bytes.Equal(there, content) || d.exported != nil && d.exported(there))
}

// onMemory opens the memory of the agent and the user of the settings.
func (a *CLI) onMemory(
	use func(context.Context, *memory.Memory, []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		loaded, err := a.Load()
		if err != nil {
			return err
		}
		s, err := a.OpenStore(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		data, err := a.DataDir()
		if err != nil {
			return err
		}
		m := memory.New(memory.Options{ // without an index: no command searches
			Rows: app.MemoryRows(s, loaded.Config), Documents: app.NewDocuments(data, app.LocalTiers(), loaded.Config.Media, nil, nil),
		})
		caller := app.Owner(loaded.Config.Connections.Stdio)
		return use(tool.With(cmd.Context(), &tool.Running{Caller: caller, Tool: "memory"}), m, args)
	}
}
