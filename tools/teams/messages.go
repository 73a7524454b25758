package teams

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of messages.
const (
	maxMessage = 10_000 // bytes
	maxFiles   = 10     // named in a message
	maxUnread  = 50     // returned at once
)

// A Message is one that a member gets from another.
type Message struct {
	ID        string   `json:"id"`
	From      string   `json:"from"`
	Text      string   `json:"text"`
	Files     []string `json:"files,omitempty"`
	Broadcast bool     `json:"broadcast,omitempty"`
	At        string   `json:"at"`
}

// Send sends a message to a member, or to all others if to is "". It returns the receivers.
func (b *board) Send(ctx context.Context, to, what string, files []string) (sent []string, err error) {
	switch {
	case strings.TrimSpace(what) == "":
		return nil, tool.Errorf(tool.Invalid, "text is required")
	case len(what) > maxMessage:
		return nil, tool.Errorf(tool.TooLarge, "the message has more than %d bytes", maxMessage).
			Try("write it to a file of the team, and name that in media")
	case to == b.agent:
		return nil, tool.Errorf(tool.Invalid, "you cannot send a message to yourself").Try("name another member")
	case to == "":
		if err := b.mustLead(); err != nil {
			return nil, err
		}
	}
	if err := checkText(what); err != nil {
		return nil, err
	}
	for i, file := range files {
		if files[i], err = b.existingFile(ctx, file); err != nil {
			return nil, err
		}
	}
	names, err := store.ToJSON(files, len(files) == 0)
	if err != nil {
		return nil, err
	}
	err = b.update(ctx, func(c *change) error {
		sent = nil
		members, err := c.members(c.Tx)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.Agent != b.agent && (to == "" || to == m.Agent) {
				sent = append(sent, m.Agent)
			}
		}
		if to != "" && len(sent) == 0 {
			return c.checkAssignee(to)
		}
		id := store.NewID()
		if _, err := c.Exec(`INSERT INTO team_message (id, team, board, sender, content, files, broadcast, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, {{now}})`, id, b.team.ID, b.name, b.agent, what, names,
			to == ""); err != nil {
			return err
		}
		for _, agent := range sent {
			if _, err := c.Exec(`INSERT INTO team_receipt (message, team, board, agent, read)
				VALUES ($1, $2, $3, $4, 0)`, id, b.team.ID, b.name, agent); err != nil {
				return err
			}
			if err := c.notify(agent, inbox.Event{
				ID: messageID(id), Kind: inbox.Message, Subject: id,
				Text: fmt.Sprintf("[Team message from %s]: %s", b.agent, text.Clip(what, 4*maxShort)),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return sent, err
}

// messageID returns the id of the notice about a message.
func messageID(id string) string { return "team message " + id }

// Read returns the oldest messages that the caller has not read, and marks them as read by it.
// It leaves out messages that a result has already shown whole; told is their number. left is
// the number of messages that remain.
func (b *board) Read(ctx context.Context) (list []Message, told, left int, err error) {
	err = b.update(ctx, func(c *change) error {
		told = 0
		unread, err := store.List(c.Tx, `SELECT m.id, m.sender, m.content, m.files, m.broadcast, m.at
			FROM team_message m JOIN team_receipt r ON r.message = m.id
			WHERE r.team = $1 AND r.board = $2 AND r.agent = $3 AND r.read = 0 ORDER BY m.at, m.id LIMIT $4 {{lock}}`,
			[]any{b.team.ID, b.name, b.agent, maxUnread}, func(scan store.Scan) (m Message, err error) {
				var files string
				var at int64
				err = scan(&m.ID, &m.From, &m.Text, &files, &m.Broadcast, &at)
				m.At = stamp(at)
				if err == nil {
					err = store.FromJSON(files, &m.Files)
				}
				return m, err
			})
		if err != nil {
			return err
		}
		list = nil
		for _, m := range unread {
			if _, err := c.Exec("UPDATE team_receipt SET read = {{now}} WHERE message = $1 AND agent = $2", m.ID,
				b.agent); err != nil {
				return err
			}
			whole, err := b.settle(ctx, c, messageID(m.ID))
			if err != nil {
				return err
			}
			if whole && len(m.Files) == 0 {
				told++
			} else {
				list = append(list, m)
			}
		}
		return c.Row(`SELECT count(*) FROM team_receipt WHERE team = $1 AND board = $2 AND agent = $3 AND read = 0`,
			[]any{b.team.ID, b.name, b.agent}, &left)
	})
	return list, told, left, err
}

// settle settles the notice about a message that the caller reads now. If the server dies before the caller has the
// result, the notice comes again. Subagents and programs do not confirm results.
func (b *board) settle(ctx context.Context, c *change, id string) (whole bool, err error) {
	running := tool.RunningFrom(ctx)
	if b.o.Inbox == nil || running.Status == nil || running.Script != "" || running.Caller.Depth > 0 {
		return inbox.Settle(c.Tx, c.inboxOf(b.agent), id)
	}
	return b.o.Inbox.Read(c.Tx, c.inboxOf(b.agent), id, running.Call)
}

// LeadOf returns the agent that leads a team, by the name of the team. Without one the error is
// [store.ErrNotFound].
func LeadOf(t *store.Tx, team string) (agent string, err error) {
	err = t.Row(`SELECT m.agent FROM team_member m JOIN team t ON t.id = m.team
		WHERE t.name = $1 AND m.role = 'lead' AND m.active`, []any{team}, &agent)
	return agent, err
}
