package inbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A File has arrived with a message. It is downloaded when it is fetched.
type File struct {
	ID   string `json:"id"`
	Name string `json:"name"` // without directories
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"` // as the service says; 0 if it does not

	channel string
	from    chat.Attachment
}

// MaxFile is the size of a file that can be fetched, in bytes.
const MaxFile = 50 << 20

// keep notes the files of a message for a receiver.
func (b *Inbound) keep(t *store.Tx, owner tool.Owner, channel string, list []chat.Attachment) (files []File,
	err error) {
	for _, one := range list[:min(len(list), maxFiles)] {
		if one.ID == "" || len(one.ID) > 4<<10 {
			continue
		}
		f := File{
			ID: "f-" + store.NewID(), Name: fileName(one.Name), MIME: chat.CleanName(one.MIME, maxName),
			Size: max(one.Size, 0),
		}
		body, err := json.Marshal(struct {
			File File
			From chat.Attachment
		}{f, one})
		if err != nil {
			return nil, err
		}
		if _, err := t.Exec(`INSERT INTO chat_file (id, agent, usr, channel, body, at)
			VALUES ($1, $2, $3, $4, $5, {{now}})`, f.ID, owner.Agent, owner.User, channel, string(body)); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// fileName returns a name that is one name in every system: without directories, hidden
// characters and characters of shells.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(chat.CleanName(name, 4*maxName), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"|?*$;&/`+"`'", r) || tool.Hidden(r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.Trim(name, " ."), "-~")
	if ext := path.Ext(name); len(name) > maxName && len(ext) < 16 {
		name = text.Clip(strings.TrimSuffix(name, ext), maxName-len(ext)) + ext
	}
	return cmp.Or(text.Clip(name, maxName), "file")
}

// File returns a file that a caller may fetch.
func (b *Inbound) File(ctx context.Context, c tool.Caller, id string) (f File, err error) {
	unknown := tool.Errorf(tool.NotFound, "there is no file %q for you", text.Clip(id, 50)).
		Try("use the id in the message that it came with; files can be fetched for a week")
	if b == nil || b.Store.Unused() {
		return f, unknown
	}
	var body string
	err = b.Store.Row(ctx, "SELECT channel, body FROM chat_file WHERE id = $1 AND agent = $2 AND usr IN ($3, '"+
		inbox.AnyUser+"')", []any{id, c.Agent, c.User}, &f.channel, &body)
	if errors.Is(err, store.ErrNotFound) {
		return f, unknown
	}
	if err != nil {
		return f, err
	}
	var kept struct {
		File File
		From chat.Attachment
	}
	if err := json.Unmarshal([]byte(body), &kept); err != nil {
		return f, err
	}
	kept.File.channel, kept.File.from = f.channel, kept.From
	return kept.File, nil
}

// Fetch downloads a file. It writes at most MaxFile bytes.
func (b *Inbound) Fetch(ctx context.Context, f File, into io.Writer) error {
	c, err := b.Accounts.Channel(f.channel)
	if err != nil {
		return err
	}
	fetcher, can := c.(chat.Fetcher)
	if !can {
		return tool.Errorf(tool.Unavailable, "files of %s cannot be fetched",
			f.channel).Try("ask for it in another way")
	}
	if f.Size > MaxFile {
		return tool.Errorf(tool.TooLarge, "the file has %s, the maximum is %s", text.Bytes(f.Size),
			text.Bytes(MaxFile)).
			Try("ask for a smaller one")
	}
	err = fetcher.Fetch(ctx, f.from, MaxFile, into)
	if known := (*chat.Error)(nil); errors.As(err, &known) {
		return tool.Errorf(tool.Unavailable, "the file could not be fetched: %s", known.Text).
			Because(err).Try("try again later, or ask for it again")
	}
	return err
}
