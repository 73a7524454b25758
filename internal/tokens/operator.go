package tokens

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Grants are the settings for rights that operators grant to tokens and to users.
type Grants struct {
	// Profiles checks the names of profiles. It returns the default profile for none.
	Profiles func(names []string) ([]string, error)
	// Workspace returns the full path of a directory that agents may work in.
	Workspace func(dir string) (string, error)
	// Login returns the origin of the server's own login, "" if it has none.
	Login func() string
}

// Check returns the names of profiles, the default one for none, and the full path of a directory, "" for "".
func (g Grants) Check(profiles []string, workspace string) (names []string, dir string, err error) {
	if slices.Contains(profiles, "") {
		return nil, "", room.Mistake("--profile is empty; give a name, or omit the flag")
	}
	if names, err = g.Profiles(profiles); err == nil && workspace != "" {
		dir, err = g.Workspace(workspace)
	}
	return names, dir, err
}

// NoLogin returns the error of a server without a login of its own. Advice begins with "; or", or is empty.
func NoLogin(advice string) error {
	return tool.Errorf(tool.Unavailable, "this server has no login of its own").
		Try("set server.public_url to its https URL, which ends in /mcp, without a section connections.oauth%s", advice)
}

// A Setup has the settings that the room of tokens needs.
type Setup struct {
	Grants
	// URL returns the URL of the server, as far as the settings know it.
	URL func() string
	// Env is the environment variable of a client's token.
	Env string
	// Listed returns the number of tokens in the settings.
	Listed func() int
}

// operator has the verbs of tokens.
type operator struct {
	*Table
	setup Setup
}

// Room returns the operators' verbs for tokens. No verb that makes one is remote: a token that
// only decides approvals must not lead to one that calls.
func Room(setup Setup) *room.Room {
	o := &operator{setup: setup}
	return &room.Room{
		Name: "token", Title: "Create, list and revoke tokens for HTTP clients",
		Doc: `token manages the tokens of clients over HTTP. Servers with the same store apply changes
at once. Only hashes are stored: a token is shown once, when it is created.`,
		Open: func(h *room.Host) error { o.Table = New(Options{DB: h.Store}); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "create", Title: "Create a token, and show it once", Risk: tool.Writes,
				Doc: `create creates a token and prints it to stdout, for scripts; messages go to stderr.
The token may use the profiles given: the first by default, others if the client asks
for them. * stands for all profiles.

With --client or --key the token is for a machine that gets short-lived secrets by itself,
with the client credentials grant of OAuth: create prints its client_id and, without a
key, its client_secret. The server needs its own login; see docs/guides/oauth.md.`,
				Example: `  mcp-tools token create --name laptop --profile coding
  mcp-tools token create --name ci --profile readonly --expires 30d
  mcp-tools token create --name console --approve
  mcp-tools token create --name nightly --profile coding --key nightly.pub
  mcp-tools token create --name ann --profile '*' --agent ann --user ann@example.com --workspace ~/src`,
			}, o.create),
			room.Do(room.Verb{
				Name: "list", Title: "List all tokens, including revoked and expired ones", Risk: tool.Reads,
				Where: room.Operator,
				Doc: `list prints the tokens created with token create or at the first start, but not
those in the settings file (connections.tokens).`,
				Example: "  mcp-tools token list\n  mcp-tools token list --output json",
			}, o.list),
			room.Do(room.Verb{
				Name: "revoke", Title: "Revoke a token", Args: []string{"token"}, Risk: tool.Destroys, Where: room.Operator,
				Doc: `revoke revokes a token. Running servers refuse it from the next request on. It stays
in the list. A name can be used if only one token has it.`,
				Example:  "  mcp-tools token revoke 3FxPq0aZ\n  mcp-tools token revoke laptop",
				Complete: o.active,
			}, o.revoke),
		},
		Checks: []room.Check{{Name: "tokens", Stored: true, Run: o.check}},
	}
}

type createArgs struct {
	Name       string   `json:"name,omitempty" jsonschema:"name in lists and logs"`
	Profile    []string `json:"profile,omitempty" jsonschema:"profile that the token may use; can be repeated, * for all (default: the profile of the settings)"`
	Approve    bool     `json:"approve,omitempty" jsonschema:"the token approves calls, and cannot make calls; --agent and --user limit the calls"`
	Agent      string   `json:"agent,omitempty" jsonschema:"agent that makes the calls"`
	User       string   `json:"user,omitempty" jsonschema:"user on whose behalf the calls are made"`
	Workspace  string   `json:"workspace,omitempty" jsonschema:"working directory (default: the server's)"`
	Provider   string   `json:"provider,omitempty" jsonschema:"provider of the model that makes the calls"`
	Chat       string   `json:"chat,omitempty" jsonschema:"chat that the calls come from; without it each request may name one"`
	PeerKind   string   `json:"peer_kind,omitempty" jsonschema:"kind of the chat: direct or group"`
	Topic      string   `json:"topic,omitempty" jsonschema:"topic or thread within the chat"`
	Structured bool     `json:"structured,omitempty" jsonschema:"results also have structured content, for programs"`
	Client     bool     `json:"client,omitempty" jsonschema:"for a machine that gets secrets by itself, with a client_id and a client_secret"`
	Key        string   `json:"key,omitempty" jsonschema:"file with the public key of such a machine, in place of a client_secret: PEM, or a JSON Web Key Set"`
	Expires    string   `json:"expires,omitempty" jsonschema:"when the token expires: a date, a time, or a duration such as 30d (default: never)"`
}

// request returns the token that the arguments describe, checked with the settings.
func (o *operator) request(a createArgs) (req Token, err error) {
	req = Token{
		Name: a.Name, Approve: a.Approve, Agent: a.Agent, User: a.User, Structured: a.Structured,
		Place: Place{Provider: a.Provider, Chat: a.Chat, PeerKind: a.PeerKind, Topic: a.Topic},
	}
	if a.Approve && (a.Profile != nil || a.Workspace != "" || req.Place != (Place{}) || a.Structured || a.Client || a.Key != "") {
		return req, room.Mistake(
			"a token with --approve makes no calls; it takes only --name, --agent, --user and --expires")
	}
	// Mistakes in the settings count also for approvals.
	if req.Profiles, req.Workspace, err = o.setup.Check(a.Profile, a.Workspace); err != nil {
		return req, err
	}
	if a.Approve {
		req.Profiles = nil
	}
	if a.Expires != "" {
		if req.Expires, err = clock.Until(time.Now(), a.Expires); err != nil {
			return req, room.Mistake("--expires is %q, %w", a.Expires, err)
		}
	}
	if err := req.check(time.Now()); err != nil {
		return req, room.Mistake("%w", err)
	}
	return req, nil
}

// A created token, with its secret.
type created struct {
	Plain string `json:"token"`
	Token
}

func (o *operator) create(ctx context.Context, args createArgs) (tool.Result, error) {
	req, err := o.request(args)
	if err != nil {
		return tool.Result{}, err
	}
	if args.Client || args.Key != "" {
		return o.createClient(ctx, req, args.Key)
	}
	secret, t, err := o.Create(ctx, req)
	if err != nil {
		return tool.Result{}, err
	}
	result := tool.Text(secret.Reveal()).With(created{secret.Reveal(), t})
	end := "never expires"
	if !t.Expires.IsZero() {
		end = "expires " + t.Expires.Local().Format(time.DateTime)
	}
	if t.Approve {
		return room.Beside(result, "Token %s (%s) approves calls at /approvals; it %s. It is not shown again.",
			t.ID, t.Name, end), nil
	}
	result = room.Beside(result, `Token %s (%s), profile %s; it %s. It is not shown again.
Set it in the environment of the client, and connect the client:
  export %[5]s=...
  mcp-tools connect CLIENT --url %[6]s --token-env %[5]s`,
		t.ID, t.Name, strings.Join(t.Profiles, ", "), end, o.setup.Env, o.setup.URL())
	if t.User == "" {
		result = room.Beside(result,
			"It has no user: tokens without a user share their memories; --user gives it separate ones.")
	}
	return result, nil
}

// A createdClient is a machine, with its secret if it has one.
type createdClient struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret,omitzero"`
	Token
}

// createClient creates the token of a machine. key is the file with its public key, "" for a secret.
func (o *operator) createClient(ctx context.Context, req Token, key string) (tool.Result, error) {
	if o.setup.Login() == "" {
		return tool.Result{}, NoLogin("; or create a token without --client and --key")
	}
	var keys []byte
	if key != "" {
		text, err := os.ReadFile(key)
		if err == nil {
			keys, err = oauth.ParseKeys(text)
		}
		if err != nil {
			return tool.Result{}, room.Mistake("--key %q: %w", key, err)
		}
	}
	secret, t, err := o.CreateClient(ctx, req, string(keys))
	if err != nil {
		return tool.Result{}, err
	}
	text, note := "client_id: "+t.ID, "It proves with its key who it is."
	if key == "" {
		text, note = text+"\nclient_secret: "+secret.Reveal(), "Its secret is not shown again."
	}
	result := tool.Text(text).With(createdClient{t.ID, secret.Reveal(), t})
	return room.Beside(result, "The machine %s may use the profile %s at %s. %s\nmcp-tools token revoke %s ends it.", t.Name,
		strings.Join(t.Profiles, ", "), o.setup.URL(), note, t.ID), nil
}

// A listed token has its state.
type listed struct {
	Token
	State string `json:"state"`
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	rows, err := o.List(ctx)
	list := make([]listed, len(rows))
	for i, t := range rows {
		list[i] = listed{t, t.State(time.Now())}
	}
	const none = "There are no tokens; mcp-tools token create makes one."
	head := []string{"ID", "STATE", "NAME", "PROFILES", "AGENT", "USER", "FROM", "EXPIRES", "LAST USED"}
	return room.Rows(list, none, head, func(t listed) []string {
		return []string{
			t.ID, t.State, t.Name, t.use(), cmp.Or(t.Agent, "-"), cmp.Or(t.User, "-"), cmp.Or(t.Place.String(), "-"),
			terminal.Date(t.Expires), terminal.Date(t.LastUsed),
		}
	}), err
}

// use returns the uses of a token.
func (r Token) use() string {
	if r.Approve {
		return "(approvals)"
	}
	return strings.Join(r.Profiles, ",")
}

// String returns the place as in "acme group team/topic".
func (p Place) String() string {
	chat := p.Chat
	if p.Topic != "" {
		chat += "/" + p.Topic
	}
	return strings.Join(slices.DeleteFunc([]string{p.Provider, p.PeerKind, chat},
		func(s string) bool { return s == "" }), " ")
}

// active lists the IDs of tokens that can be revoked.
func (o *operator) active(ctx context.Context) (ids []string, err error) {
	rows, err := o.List(ctx)
	for _, t := range rows {
		if t.Revoked.IsZero() {
			ids = append(ids, t.ID+"\t"+t.Name)
		}
	}
	return ids, err
}

type revokeArgs struct {
	Token string `json:"token" jsonschema:"the id of the token, or its name"`
}

func (o *operator) revoke(ctx context.Context, args revokeArgs) (tool.Result, error) {
	if err := o.Revoke(ctx, args.Token); err != nil {
		return tool.Result{}, err
	}
	rows, err := o.List(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	rows = slices.DeleteFunc(rows, func(t Token) bool {
		return t.Revoked.IsZero() || t.ID != args.Token && t.Name != args.Token
	})
	if len(rows) == 0 {
		return tool.Text("The token was revoked, and has been deleted since."), nil
	}
	t := slices.MaxFunc(rows, func(x, y Token) int { return x.Revoked.Compare(y.Revoked) }) // of those with the name
	return room.Said(listed{t, t.State(time.Now())}, "Token %s (%s) was revoked.", t.ID, t.Name), nil
}

// soon is the remaining time of a token for a warning.
const soon = 14 * 24 * time.Hour

// check counts the tokens, and warns of tokens that expire soon.
func (o *operator) check(ctx context.Context, f *room.Findings) {
	rows, err := o.List(ctx)
	switch {
	case err != nil:
		f.Fail("fix the store, or the setting store.dsn", "%v", err)
		return
	case len(rows) == 0 && o.setup.Listed() == 0:
		f.OK("none yet; serve --http creates the first")
		return
	}
	now, valid := time.Now(), 0
	for _, t := range rows {
		if t.State(now) != "active" {
			continue
		}
		valid++
		if !t.Expires.IsZero() && t.Expires.Sub(now) < soon {
			f.Advise("create another with mcp-tools token create", "token %s (%s) expires on %s", t.ID,
				terminal.OneLine(t.Name), terminal.Date(t.Expires))
		}
	}
	f.OK("%d of %d in the store are valid, and %d in the settings", valid, len(rows), o.setup.Listed())
}
