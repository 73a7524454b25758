package messaging

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Contact is a person that an agent may write to. Other systems have the fields of services
// in their files of contacts; Chats has chats of any service.
type Contact struct {
	ID       string `yaml:"contact_id" json:"contact_id"` // such as tg:@ada or slack:T1:U1
	Nickname string `yaml:"nickname,omitempty" json:"nickname,omitempty"`
	Kind     string `yaml:"kind,omitempty" json:"kind,omitempty"` // such as human or agent
	Channel  string `yaml:"channel,omitempty" json:"channel,omitempty"`
	Consent  string `yaml:"consent,omitempty" json:"consent,omitempty"` // refused: nothing is sent

	TgUsername    string   `yaml:"tg_username,omitempty" json:"tg_username,omitempty"`
	TgPrivate     string   `yaml:"tg_private_chat_id,omitempty" json:"tg_private_chat_id,omitempty"`
	TgGroups      []string `yaml:"tg_group_chat_ids,omitempty" json:"tg_group_chat_ids,omitempty"`
	LineUser      string   `yaml:"line_user_id,omitempty" json:"line_user_id,omitempty"`
	LineChats     []string `yaml:"line_chat_ids,omitempty" json:"line_chat_ids,omitempty"`
	LarkOpenID    string   `yaml:"lark_open_id,omitempty" json:"lark_open_id,omitempty"`
	LarkChats     []string `yaml:"lark_chat_ids,omitempty" json:"lark_chat_ids,omitempty"`
	SlackTeam     string   `yaml:"slack_team_id,omitempty" json:"slack_team_id,omitempty"`
	SlackUser     string   `yaml:"slack_user_id,omitempty" json:"slack_user_id,omitempty"`
	SlackDM       string   `yaml:"slack_dm_channel_id,omitempty" json:"slack_dm_channel_id,omitempty"`
	SlackChannels []string `yaml:"slack_channel_ids,omitempty" json:"slack_channel_ids,omitempty"`
	Chats         []string `yaml:"chats,omitempty" json:"chats,omitempty"` // CHANNEL:ID, of any service

	About  string   `yaml:"persona_brief,omitempty" json:"persona_brief,omitempty"`
	Topics []string `yaml:"topic_preferences,omitempty" json:"topic_preferences,omitempty"`

	// Cooldown is the end of the pause after a failure. Talked is the time of the last
	// delivered message. Only the outbox writes these columns.
	Cooldown time.Time `yaml:"cooldown_until,omitempty" json:"-"`
	Talked   time.Time `yaml:"last_interaction_at,omitempty" json:"-"`
	Active   bool      `yaml:"-" json:"-"`
}

// References returns the forms in which texts refer to the person or to a chat, such as tg:@ada, the best first.
func (c Contact) References() (all []string) {
	add := func(before string, ids ...string) {
		for _, id := range ids {
			if id != "" && !slices.Contains(all, before+id) {
				all = append(all, before+id)
			}
		}
	}
	add("", c.ID)
	add("tg:@", strings.TrimPrefix(c.TgUsername, "@"))
	add("tg:", append([]string{c.TgPrivate}, c.TgGroups...)...)
	if c.SlackUser != "" {
		add("slack:", strings.TrimPrefix(c.SlackTeam+":"+c.SlackUser, ":"))
	}
	add("slack:", append([]string{c.SlackDM}, c.SlackChannels...)...)
	add("", c.Chats...)
	return all
}

// Refused is the Consent of people that want no messages.
const Refused = "refused"

const (
	// cooldown is how long a contact gets no messages after one that could not be delivered.
	cooldown = 72 * time.Hour
	// maxContacts is how many contacts an owner has.
	maxContacts = 500
	// maxContact is the size of one, in bytes.
	maxContact = 8 << 10
)

// check returns the error in a contact.
func (c Contact) check() error {
	encoded, err := json.Marshal(c)
	switch {
	case err != nil:
		return err
	case c.ID == "" || strings.TrimSpace(c.ID) != c.ID || strings.ContainsAny(c.ID, "\n\r\x00`"):
		return tool.Errorf(tool.Invalid, "a contact has an id such as tg:@ada, slack:T1:U1 or mail:ada@example.org").
			Try("add contact_id")
	case c.Consent != "" && c.Consent != "given" && c.Consent != Refused:
		return tool.Errorf(tool.Invalid, "consent of %q is %q", c.ID, text.Clip(c.Consent, 40)).
			Try("write given or refused, or leave it out")
	case len(encoded) > maxContact:
		return tool.Errorf(tool.TooLarge, "the contact %q has %d bytes, the maximum is %d", c.ID, len(encoded),
			maxContact).Try("shorten it")
	}
	return nil
}

// chats returns the chats of a contact as CHANNEL:ID, where CHANNEL may be the name of a service.
// The first one is private if there is a private one.
func (c Contact) chats() (all []string) {
	add := func(service string, ids ...string) {
		for _, id := range ids {
			if id != "" {
				all = append(all, service+":"+id)
			}
		}
	}
	add("telegram", c.TgPrivate)
	add("slack", cmp.Or(c.SlackDM, c.SlackUser))
	add("line", c.LineUser)
	add("lark", c.LarkOpenID)
	all = append(all, c.Chats...)
	if len(all) == 0 { // the id may be an address itself
		all = append(all, c.ID)
	}
	add("telegram", c.TgGroups...)
	add("slack", c.SlackChannels...)
	add("line", c.LineChats...)
	add("lark", c.LarkChats...)
	return all
}

// Contacts are the contacts of all owners.
type Contacts struct{ Store *store.Store }

const contactColumns = "id, active, body, cooldown, talked"

func scanContact(scan store.Scan) (c Contact, err error) {
	var id, body string
	var active, until, talked int64
	if err := scan(&id, &active, &body, &until, &talked); err != nil {
		return c, err
	}
	err = store.FromJSON(body, &c)
	c.ID, c.Active, c.Cooldown, c.Talked = id, active != 0, store.FromMillis(until), store.FromMillis(talked)
	return c, err
}

// List returns the contacts of an owner, by their ids.
func (r Contacts) List(ctx context.Context, o tool.Owner) (list []Contact, err error) {
	if r.Store.Unused() {
		return nil, nil
	}
	err = r.Store.View(ctx, func(t *store.Tx) error {
		list, err = listContacts(t, o)
		return err
	})
	return list, err
}

func listContacts(t *store.Tx, o tool.Owner) ([]Contact, error) {
	return store.List(t, "SELECT "+contactColumns+" FROM contact WHERE agent = $1 AND usr = $2 ORDER BY id",
		[]any{o.Agent, o.User}, scanContact)
}

// find returns the contact of a list with an id or a nickname, if it is the only one.
func find(list []Contact, name string) (Contact, bool) {
	name = strings.TrimSpace(name)
	if i := slices.IndexFunc(list, func(c Contact) bool { return c.ID == name }); i >= 0 {
		return list[i], true
	}
	var found []Contact
	for _, c := range list {
		if c.Nickname != "" && strings.EqualFold(c.Nickname, strings.TrimPrefix(name, "@")) ||
			strings.EqualFold(c.ID, name) {
			found = append(found, c)
		}
	}
	return append(found, Contact{})[0], len(found) == 1
}

// Change changes the contacts of an owner. plan returns those to write.
func (r Contacts) Change(ctx context.Context, o tool.Owner, plan func([]Contact) (put []Contact, err error)) error {
	return r.Store.Update(ctx, func(t *store.Tx) error {
		before, err := listContacts(t, o)
		if err != nil {
			return err
		}
		put, err := plan(before)
		if err != nil {
			return err
		}
		return putContacts(t, o, before, put)
	})
}

func putContacts(t *store.Tx, o tool.Owner, before, put []Contact) error {
	total := len(before)
	for _, c := range put {
		if err := c.check(); err != nil {
			return err
		}
		if !slices.ContainsFunc(before, func(other Contact) bool { return other.ID == c.ID }) {
			total++
		}
		body, err := json.Marshal(c)
		if err != nil {
			return err
		}
		active := 0
		if c.Active {
			active = 1
		}
		if _, err := t.Exec(`INSERT INTO contact (agent, usr, id, active, body) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (agent, usr, id) DO UPDATE SET active = excluded.active, body = excluded.body`, o.Agent, o.User,
			c.ID, active, string(body)); err != nil {
			return err
		}
	}
	if total > maxContacts {
		return tool.Errorf(tool.TooLarge, "there would be %d contacts, the maximum is %d", total, maxContacts).
			Try("remove some from %s first", inactiveFile)
	}
	return nil
}

// A contactsTool keeps the people that an agent writes to.
type contactsTool struct{ contacts *Contacts }

type contactsArgs struct {
	Action  string   `json:"action,omitempty" jsonschema:"list (default), add, update or deactivate"`
	ID      string   `json:"id,omitempty" jsonschema:"such as tg:123, mail:ada@example.org or slack:U1" alias:"contact_id,contact"`
	Name    string   `json:"name,omitempty" jsonschema:"name or nickname" alias:"nickname"`
	About   string   `json:"about,omitempty" jsonschema:"notes for messages to them" alias:"persona_brief,notes"`
	Chats   []string `json:"chats,omitempty" jsonschema:"where to write, as CHANNEL:ID"`
	Consent string   `json:"consent,omitempty" jsonschema:"given or refused" hidden:"true"`
}

func (contactsTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "contacts", Group: Group, Title: "Contacts", Risk: tool.Writes,
		Doc:  "Keeps people to message; all fields are in " + activeFile + ".",
		Also: []string{"contacts_list", "contacts_add", "contacts_update", "contacts_deactivate"},
		Means: map[string]string{
			"contacts_list": `{"action":"list"}`, "contacts_add": `{"action":"add"}`,
			"contacts_update": `{"action":"update"}`, "contacts_deactivate": `{"action":"deactivate"}`,
		},
		Keywords: "people address book friend colleague phone nickname",
	}
}

func (x contactsTool) Prepare(_ context.Context, a contactsArgs) (tool.Plan, error) {
	plan := tool.Plan{Risk: tool.Reads, Run: func(ctx context.Context) (tool.Result, error) { return x.run(ctx, a) }}
	switch a.Action {
	case "", "list":
	case "add", "update", "deactivate", "remove", "delete":
		plan.Risk, plan.Why = tool.Writes, "it changes the people that the agent writes to"
	default:
		return plan, tool.Errorf(tool.Invalid, "action is %q", text.Clip(a.Action, 50)).
			Try("use list, add, update or deactivate")
	}
	return plan, nil
}

func (x contactsTool) run(ctx context.Context, a contactsArgs) (tool.Result, error) {
	if x.contacts == nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable,
			"there are no contacts here").Try("ask the user where to write")
	}
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Action == "" || a.Action == "list" {
		list, err := x.contacts.List(ctx, owner)
		return tool.Text(printContacts(list, time.Now())), err
	}
	if a.ID == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "id is required for action %s", a.Action).
			Try("action list shows the ids")
	}
	var said string
	err = x.contacts.Change(ctx, owner, func(all []Contact) ([]Contact, error) {
		c, known := find(all, a.ID)
		switch {
		case a.Action == "add" && known:
			return nil, tool.Errorf(tool.Conflict, "there is a contact %q", c.ID).Try("use action update")
		case a.Action != "add" && !known:
			return nil, tool.Errorf(tool.NotFound, "there is no contact %q", text.Clip(a.ID, 100)).
				Try("action list shows the ids")
		case a.Action == "add":
			c = Contact{ID: a.ID, Active: true}
		}
		c.Active = a.Action == "add" || a.Action == "update"
		c.Nickname, c.About = cmp.Or(a.Name, c.Nickname), cmp.Or(a.About, c.About)
		c.Consent = cmp.Or(a.Consent, c.Consent)
		if a.Chats != nil {
			c.Chats = a.Chats
		}
		said = "Contact " + c.ID + " is saved."
		if !c.Active {
			said = "Contact " + c.ID + " is inactive: nothing is sent to it. Action update makes it active."
		}
		return []Contact{c}, nil
	})
	return tool.Text(said), err
}

func printContacts(list []Contact, now time.Time) string {
	var b strings.Builder
	for _, c := range list {
		b.WriteString(c.ID)
		for _, more := range []string{c.Nickname, strings.Join(c.chats(), " "), c.About, c.why(now)} {
			if more = strings.Join(strings.Fields(more), " "); more != "" && more != c.ID {
				b.WriteString(", " + text.Clip(more, 300))
			}
		}
		b.WriteString("\n")
	}
	return cmp.Or(b.String(), "There are no contacts. Action add makes one.")
}

// why returns why nothing can be sent to a contact, or "".
func (c Contact) why(now time.Time) string {
	switch {
	case !c.Active:
		return "inactive"
	case c.Consent == Refused:
		return "wants no messages"
	case c.Cooldown.After(now):
		return "no messages until " + c.Cooldown.UTC().Format(time.RFC3339) + ", because one could not be delivered"
	}
	return ""
}
