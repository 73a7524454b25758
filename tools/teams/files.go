package teams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Files is a [workspace.Source] of the files of the caller's team: those below team/, and three that the server
// writes, TEAM.md, AVAILABILITY.md and DELEGATION.md. The files are rows, so that members on several machines see
// the same ones. Other agents have ordinary files of these names.
type Files struct{ t *Teams }

// Files returns the files of teams.
func (t *Teams) Files() Files { return Files{t} }

const (
	teamDir   = "team/"
	sharedDir = "shared/" // below it, in a team with a board for each user: the files of all of them
)

// Limits of the files of a board.
const (
	maxTeamFiles = 100
	maxFileBytes = 10 << 20
	maxTeamBytes = 100 << 20
)

// Files that run when a person opens them are not exchanged.
var refusedExtensions = []string{".exe", ".sh", ".bat", ".cmd", ".ps1", ".com", ".msi", ".scr"}

func isTeamFile(name string) bool { return strings.HasPrefix(name, teamDir) && name != teamDir }

// Serves reports whether a name is the name of a file of the caller's team.
func (f Files) Serves(ctx context.Context, name string) bool {
	return (isTeamFile(name) || isWritten(name)) && f.t.Has(tool.CallerFrom(ctx).Agent)
}

// Note says that the file is not on the disk.
func (Files) Note() string { return "kept for the team, not as a file on disk: commands do not see it" }

// place returns the board and the name of a row for the name of a file.
func (b *board) place(name string) (board, row string) {
	row = strings.TrimPrefix(name, teamDir)
	if below, ok := strings.CutPrefix(row, sharedDir); ok && b.team.Settings.Isolated {
		return "", below
	}
	return b.name, row
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// Read returns a file.
func (f Files) Read(ctx context.Context, name string) (content []byte, modified time.Time, err error) {
	b, err := f.t.board(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	if isWritten(name) {
		content, err := b.written(ctx, name)
		return []byte(content), time.Now(), err
	}
	in, row := b.place(name)
	var updated int64
	err = f.t.o.Store.Row(ctx, "SELECT content, updated FROM team_file WHERE team = $1 AND board = $2 AND name = $3",
		[]any{b.team.ID, in, row}, &content, &updated)
	if errors.Is(err, store.ErrNotFound) {
		err = missing("read", name)
	}
	return content, store.FromMillis(updated), err
}

// mayWrite returns an error unless the caller may change a file.
func (b *board) mayWrite(name string) error {
	switch {
	case isWritten(name):
		return tool.Errorf(tool.Refused, "%s is written by the server", name).
			Try("operators change teams with mcp-tools teams")
	case b.role == Reviewer:
		return tool.Errorf(tool.Refused, "reviewers do not change the files of the team").
			Try("comment on the task instead")
	}
	return nil
}

// Write writes a file. Empty content removes it.
func (f Files) Write(ctx context.Context, name string, content []byte) error {
	b, err := f.t.board(ctx)
	if err != nil {
		return err
	}
	if err := b.mayWrite(name); err != nil {
		return err
	}
	if len(content) == 0 {
		err := b.remove(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return tool.Errorf(tool.Invalid, "an empty file of the team is a removed one").Try("write some text")
		}
		return err
	}
	in, row := b.place(name)
	if err := checkFile(row, content); err != nil {
		return err
	}
	return b.update(ctx, func(c *change) error {
		// Writers take turns, so that together they keep the limits.
		if err := c.Lock("team files " + b.team.ID); err != nil {
			return err
		}
		var files, bytes, known int64
		if err := c.Row(`SELECT count(*), coalesce(sum(size), 0),
			coalesce(sum(CASE WHEN name = $3 THEN 1 ELSE 0 END), 0) FROM team_file
			WHERE team = $1 AND board = $2`, []any{b.team.ID, in, row}, &files, &bytes, &known); err != nil {
			return err
		}
		if known == 0 && files >= maxTeamFiles {
			return tool.Errorf(tool.TooLarge, "the team has %d files, which is the maximum", files).
				Try("remove files of the team that are not needed")
		}
		if bytes+int64(len(content)) > maxTeamBytes {
			return tool.Errorf(tool.TooLarge, "the files of the team would have more than %d MB", maxTeamBytes>>20).
				Try("remove files of the team that are not needed")
		}
		_, err := c.Exec(`INSERT INTO team_file (team, board, name, content, size, author, updated)
			VALUES ($1, $2, $3, $4, $5, $6, {{now}}) ON CONFLICT (team, board, name) DO UPDATE SET
			content = excluded.content, size = excluded.size, author = excluded.author, updated = excluded.updated`,
			b.team.ID, in, row, content, len(content), b.agent)
		if err != nil {
			return err
		}
		return c.tellOfFile("written", name)
	})
}

// tellOfFile notifies the lead of a changed file, once an hour for each file and kind of change.
func (c *change) tellOfFile(verb, name string) error {
	if c.lead == "" || c.lead == c.agent || slices.Contains(c.team.Settings.Quiet, "file") {
		return nil
	}
	now, err := c.Now()
	if err != nil {
		return err
	}
	return c.notify(c.lead, inbox.Event{
		ID: fmt.Sprintf("file %s %s %s %d", c.team.ID, name, verb, now/time.Hour.Milliseconds()), Kind: inbox.Task,
		Subject: name, Text: fmt.Sprintf("%s has %s the file %s", c.agent, verb, name),
	})
}

func checkFile(row string, content []byte) error {
	const maxName = 200
	switch extension := strings.ToLower(path.Ext(strings.TrimRight(row, ". "))); {
	case row == "" || path.Clean("/"+row) != "/"+row || len(row) > maxName || checkText(row) != nil:
		return tool.Errorf(tool.Invalid, "%.100q cannot be the name of a file of the team", row).
			Try("use a short name, such as %snotes.md", teamDir)
	case slices.Contains(refusedExtensions, extension):
		return tool.Errorf(tool.Refused, "files of the team cannot end in %s", extension).
			Try("write it as text, such as %s.txt", row)
	case len(content) > maxFileBytes:
		return tool.Errorf(tool.TooLarge, "a file of the team has at most %d MB", maxFileBytes>>20).
			Try("divide it, or write less")
	}
	return nil
}

// Remove removes a file.
func (f Files) Remove(ctx context.Context, name string) error {
	b, err := f.t.board(ctx)
	if err != nil {
		return err
	}
	if err := b.mayWrite(name); err != nil {
		return err
	}
	return b.remove(ctx, name)
}

func (b *board) remove(ctx context.Context, name string) error {
	in, row := b.place(name)
	found := false
	err := b.update(ctx, func(c *change) error {
		n, err := c.Exec("DELETE FROM team_file WHERE team = $1 AND board = $2 AND name = $3", b.team.ID, in, row)
		if found = n > 0; err != nil || !found {
			return err
		}
		return c.tellOfFile("removed", name)
	})
	if err == nil && !found {
		err = missing("remove", name)
	}
	return err
}

// existingFile returns the name of a file of the team that a model named, with or without the directory.
func (b *board) existingFile(ctx context.Context, file string) (string, error) {
	name := teamDir + strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(file), "./"), teamDir)
	in, row := b.place(name)
	var n int
	err := b.o.Store.Row(ctx, "SELECT count(*) FROM team_file WHERE team = $1 AND board = $2 AND name = $3",
		[]any{b.team.ID, in, row}, &n)
	if err != nil {
		return "", unavailable(err)
	}
	if n == 0 {
		return "", tool.Errorf(tool.NotFound, "the team has no file %q", file).
			Try("write it to %s first; list_files %s shows what there is", teamDir, teamDir)
	}
	return name, nil
}

// List returns the files that the caller sees.
func (f Files) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	if dir != "." && dir+"/" != teamDir && !strings.HasPrefix(dir, teamDir) && !isWritten(dir) ||
		!f.t.Has(tool.CallerFrom(ctx).Agent) {
		return nil, nil
	}
	b, err := f.t.board(ctx)
	if err != nil {
		return nil, ctx.Err() // the files on disk can still be listed
	}
	var files []workspace.SourceEntry
	if dir == "." || isWritten(dir) {
		for _, name := range writtenFiles() {
			if dir == "." || dir == name {
				files = append(files, workspace.SourceEntry{Name: name, Modified: time.Now()})
			}
		}
	}
	more, err := store.Select(ctx, f.t.o.Store, `SELECT board, name, size, updated FROM team_file WHERE team = $1
		AND board IN ($2, '') ORDER BY name`, []any{b.team.ID, b.name}, func(scan store.Scan) (
		e workspace.SourceEntry, err error) {
		var in string
		var updated int64
		err = scan(&in, &e.Name, &e.Size, &updated)
		e.Modified = store.FromMillis(updated)
		if in == "" && b.team.Settings.Isolated {
			e.Name = sharedDir + e.Name
		}
		e.Name = teamDir + e.Name
		return e, err
	})
	files = append(files, more...)
	if err != nil {
		return nil, ctx.Err()
	}
	return files, nil
}

// The files that the server writes.
const (
	teamFile         = "TEAM.md"
	availabilityFile = "AVAILABILITY.md"
	delegationFile   = "DELEGATION.md"
)

func writtenFiles() []string { return []string{teamFile, availabilityFile, delegationFile} }

func isWritten(name string) bool {
	return name == teamFile || name == availabilityFile || name == delegationFile
}

// written returns the text of a file that the server writes.
func (b *board) written(ctx context.Context, name string) (said string, err error) {
	var members []MemberRow
	held, open := map[string]int{}, 0
	err = b.o.Store.View(ctx, func(t *store.Tx) (err error) {
		if members, err = b.members(t); err != nil {
			return err
		}
		clear(held)
		open = 0
		return t.Each(`SELECT status, CASE WHEN owner = '' THEN assignee ELSE owner END, count(*) FROM team_task
			WHERE team = $1 AND board = $2 AND status IN ('pending', 'in_progress') GROUP BY 1, 2`,
			[]any{b.team.ID, b.name}, func(scan store.Scan) error {
				var status Status
				var who string
				var n int
				err := scan(&status, &who, &n)
				if who == "" {
					open += n
				} else {
					held[who] += n
				}
				return err
			})
	})
	if err != nil {
		return "", unavailable(err)
	}
	switch name {
	case teamFile:
		return b.describe(members), nil
	case availabilityFile:
		return availability(members, held, open), nil
	}
	return b.targets(ctx, members, held), nil
}

// describe returns TEAM.md.
func (b *board) describe(members []MemberRow) string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Team %s\n\n", b.team.Name)
	if b.team.Description != "" {
		s.WriteString(b.team.Description + "\n\n")
	}
	fmt.Fprintf(&s, "You are %s, its %s. The members:\n\n", b.agent, b.role)
	for _, m := range members {
		fmt.Fprintf(&s, "- %s (%s)\n", m.Agent, m.Role)
	}
	s.WriteString("\nThe board is in team_tasks, messages in team_message, files in " + teamDir + ".\n")
	if b.role == Lead {
		s.WriteString("List or search the board before you create a task. Give it to a member with assignee, or to " +
			"any member, who claims it.\n")
	} else {
		s.WriteString("Claim a task, say how far you are with progress, and complete it with a result.\n")
	}
	return s.String()
}

// availability returns AVAILABILITY.md.
func availability(members []MemberRow, held map[string]int, open int) string {
	var s strings.Builder
	s.WriteString("# Availability\n\n")
	for _, m := range members {
		seen := "never seen"
		if m.Seen > 0 {
			seen = "last seen " + stamp(m.Seen)
		}
		fmt.Fprintf(&s, "- %s (%s): %s, has %s\n", m.Agent, m.Role, seen, text.Plural(held[m.Agent], "task"))
	}
	fmt.Fprintf(&s, "\n%s for any member.\n", text.Plural(open, "task"))
	return s.String()
}

// maxTargets is the number of agents that DELEGATION.md describes; of more it has the names.
const maxTargets = 15

// targets returns DELEGATION.md.
func (b *board) targets(ctx context.Context, members []MemberRow, held map[string]int) string {
	var others []string
	for _, m := range members {
		if m.Agent != b.agent {
			others = append(others, m.Agent)
		}
	}
	var s strings.Builder
	s.WriteString("# Delegation\n\nAgents that work can be given to with team_tasks:\n\n")
	if len(others) > maxTargets {
		return s.String() + strings.Join(others, ", ") + "\n"
	}
	for _, agent := range others {
		fmt.Fprintf(&s, "## %s\n\nIt has %s.\n", agent, text.Plural(held[agent], "task"))
		if b.o.Describe != nil {
			if about := strings.TrimSpace(b.o.Describe(ctx, agent)); about != "" {
				s.WriteString(text.Clip(about, maxShort) + "\n")
			}
		}
		s.WriteString("\n")
	}
	return s.String()
}

// Brief returns TEAM.md for an agent that leads a team, to begin a conversation with, and "" for others.
func (t *Teams) Brief(ctx context.Context) (string, error) {
	if !t.Has(tool.CallerFrom(ctx).Agent) {
		return "", nil
	}
	b, err := t.board(ctx)
	if err != nil || b.role != Lead {
		return "", nil // hidden files are not listed
	}
	return b.written(ctx, teamFile)
}
