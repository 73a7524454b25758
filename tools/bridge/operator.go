package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A With passes a passive bridge on a host to use, and closes it.
type With func(h *room.Host, use func(*Bridge) error) error

// Room returns the operators' verbs for other MCP servers. Each call has a bridge of its own: a
// bridge that stays open would use the settings of its start.
func Room(with With) *room.Room {
	o := &operator{with: with}
	return &room.Room{
		Name: "bridge", Title: "Give agents the tools of other MCP servers",
		Doc: `bridge manages other MCP servers, whose tools agents get as SERVER__TOOL. Servers are
added here or in the settings (mcp_servers). Adding one accepts the tools that it has
then; a tool that changes later is held back until you approve the change, or refuse it.`,
		Open: func(h *room.Host) error { o.host = h; return nil },
		Verbs: slices.Concat(o.serverVerbs(), o.changeVerbs(), o.accessVerbs(), []room.Verb{
			verb(o, room.Verb{
				Name: "remove", Title: "Remove a server with its grants and its login", Args: []string{"name"},
				Risk: tool.Destroys, Where: room.Operator,
			}, remove),
		}),
	}
}

// serverVerbs returns the verbs that add, show and remove servers.
func (o *operator) serverVerbs() []room.Verb {
	return []room.Verb{
		verb(o, room.Verb{
			Name: "add", Title: "Add a server and accept its tools", Args: []string{"name", "server..."}, Risk: tool.Writes,
			Doc: `add adds a server by its URL, or by a command that starts it in a sandbox, after --. It connects
to the server, shows its tools and accepts them. With --offline it does not connect: then the
tools that it has at the first connection are accepted. Callers get them in profiles that
allow them: full does, coding and lean do not.`,
			Example: `  mcp-tools bridge add docs https://docs.example.com/mcp --header 'Authorization=Bearer secret:docs'
  mcp-tools bridge add memory -- npx -y @modelcontextprotocol/server-memory
  mcp-tools bridge add files --write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes`,
		}, add),
		verb(o, room.Verb{
			Name: "import", Title: "Add the servers in the settings of a client, or in a .mcp.json file",
			Args: []string{"from"}, Risk: tool.Writes,
			Doc: `import adds the servers that a client has: claude-desktop, claude-code, vscode, cursor, gemini,
windsurf, devin or zed, or those of a file. It does not change the file. Values that look
like secrets are moved to the vault. Programs run in the sandbox, and see no directory
of yours: add those that they need with bridge add --replace --write. No server is
connected to: mcp-tools bridge test NAME does that.`,
			Example: `  mcp-tools bridge import claude-desktop
  mcp-tools bridge import ./.mcp.json --only github,docs`,
		}, importServers),
		verb(o, room.Verb{Name: "list", Title: "List the servers", Risk: tool.Reads, Where: room.Operator}, listServers),
		verb(o, room.Verb{
			Name: "show", Title: "Show a server: its tools, their changes, and its callers", Args: []string{"name"},
			Risk: tool.Reads, Where: room.Operator,
		}, show),
		verb(o, room.Verb{
			Name: "test", Title: "Connect to a server and read the list of its tools again", Args: []string{"name"},
			Risk: tool.Writes, Where: room.Operator,
		}, test),
		verb(o, room.Verb{
			Name: "login", Title: "Log in to a server with OAuth", Args: []string{"name"}, Risk: tool.Writes,
			Where: room.Console, Visits: true, Files: []string{"client_secret_file"}, Hidden: []string{"client_secret_file"},
			Doc: `login leads you to the page on which the server's provider asks you to agree, and waits until you
come back. Then it tests the server. The tokens are kept in the vault, and are renewed until
the provider takes them back.

With an id and a secret of a client no person is asked: the operator of the server has made
them for a machine (client credentials).`,
			Example: "  mcp-tools bridge login github\n  mcp-tools bridge login builds --client-id 3FxPq0aZ --client-secret-file secret.txt",
		}, logIn),
	}
}

// changeVerbs returns the verbs that decide about changed and new tools.
func (o *operator) changeVerbs() []room.Verb {
	return []room.Verb{
		verb(o, room.Verb{
			Name: "approve", Title: "Accept tools of a server that have changed, or are new",
			Args: []string{"name", "tool..."}, Risk: tool.Writes, Where: room.Console,
			Doc: `approve accepts the tools of a server as it offers them now: those named, or all that wait. See
mcp-tools bridge show NAME for the changes.`,
		}, approve),
		verb(o, room.Verb{
			Name: "refuse", Title: "Refuse tools of a server that have changed, or are new",
			Args: []string{"name", "tool..."}, Risk: tool.Writes, Where: room.Console,
			Doc: `refuse keeps changed and new tools of a server away from agents: those named, or all that wait.
They wait no more, until the server changes them again. approve NAME TOOL accepts a refused
tool after all.`,
			Example: "  mcp-tools bridge refuse github create_issue",
		}, refuse),
		verb(o, room.Verb{
			Name: "held", Title: "List the tools that are held back because they have changed, or are new",
			Risk: tool.Reads, Where: room.Operator,
		}, listHeld),
	}
}

// accessVerbs returns the verbs that decide about the callers of servers.
func (o *operator) accessVerbs() []room.Verb {
	return []room.Verb{
		verb(o, room.Verb{
			Name: "grant", Title: "Let an agent or a user have the tools of a server, or deny them",
			Args: []string{"name"}, Risk: tool.Writes, // local: its arguments can have credentials
			Doc: `grant decides about the callers of a server's tools. Without --for-agent it is for all agents, and
without --for-user for all users. A server with the access "granted" is open to those with
a grant; --denied takes a server from callers that would have it. Several grants narrow
each other.`,
			Example: `  mcp-tools bridge grant github --for-agent coder --tools 'get_*,list_*'
  mcp-tools bridge grant github --for-user ann --set-header 'Authorization=Bearer secret:github-ann'
  mcp-tools bridge grant files --for-agent guest --denied`,
		}, grant),
		verb(o, room.Verb{
			Name: "revoke", Title: "Remove a grant", Args: []string{"name"}, Risk: tool.Writes, Where: room.Operator,
			Doc: `revoke removes a grant, which bridge show lists. Without a grant that denies or narrows, its
callers may have more tools than before. The operator's API does not remove such a grant.`,
		}, revoke),
		verb(o, room.Verb{
			Name: "requests list", Title: "List the requests of agents for access to servers", Risk: tool.Reads, Where: room.Operator,
		}, listRequests),
		verb(o, room.Verb{
			Name: "requests approve", Title: "Approve a request and grant the access", Args: []string{"id"},
			Risk: tool.Writes, Where: room.Operator,
		}, approveRequest),
		verb(o, room.Verb{
			Name: "requests reject", Title: "Reject a request", Args: []string{"id"}, Risk: tool.Writes,
			Where: room.Operator,
		}, rejectRequest),
	}
}

// operator has the verbs of other servers.
type operator struct {
	with With
	host *room.Host
}

// verb makes a verb that works on a bridge.
func verb[A any](o *operator, v room.Verb, do func(context.Context, *Bridge, A) (tool.Result, error)) room.Verb {
	return room.Do(v, func(ctx context.Context, args A) (r tool.Result, err error) {
		err = o.with(o.host, func(b *Bridge) error {
			r, err = do(ctx, b, args)
			return err
		})
		return r, err
	})
}

type addArgs struct {
	Name        string   `json:"name" jsonschema:"name of the server"`
	Server      []string `json:"server" jsonschema:"URL of the server, or the command that starts it with its arguments"`
	Env         []string `json:"env,omitempty" jsonschema:"NAME=VALUE of a variable; credentials go to the vault, and secret:NAME is one of it"`
	Header      []string `json:"header,omitempty" jsonschema:"NAME=VALUE of a header; credentials go to the vault, and secret:NAME is one of it"`
	Transport   string   `json:"transport,omitempty" jsonschema:"transport of a URL: http or sse (default: http)"`
	Sandbox     string   `json:"sandbox,omitempty" jsonschema:"where a command runs: auto, kernel, seatbelt, docker or host (default: auto)"`
	Read        []string `json:"read,omitempty" jsonschema:"directory that a command sees"`
	Write       []string `json:"write,omitempty" jsonschema:"directory that a command may change"`
	Host        []string `json:"host,omitempty" jsonschema:"host:port with a private address that a command may reach"`
	Timeout     string   `json:"timeout,omitempty" jsonschema:"how long a call may take (default: 1m)"`
	Trust       string   `json:"trust,omitempty" jsonschema:"trust in the server's declarations: none, annotations or full (default: none)"`
	Access      string   `json:"access,omitempty" jsonschema:"callers that get its tools: all or granted (default: all)"`
	Tools       []string `json:"tools,omitempty" jsonschema:"tools that callers get, as names or patterns (default: all)"`
	Deny        []string `json:"deny,omitempty" jsonschema:"tools that no caller gets"`
	Risk        []string `json:"risk,omitempty" jsonschema:"TOOL=RISK of a tool: reads, writes, destroys or runs"`
	Separate    bool     `json:"separate,omitempty" jsonschema:"each caller has a connection of its own"`
	Elicitation bool     `json:"elicitation,omitempty" jsonschema:"the server may ask the user questions"`
	Sampling    string   `json:"sampling,omitempty" jsonschema:"use of the model by the server in a day, such as '20000 tokens'"`
	Resources   bool     `json:"resources,omitempty" jsonschema:"its resources and prompts are passed on"`
	Disabled    bool     `json:"disabled,omitempty" jsonschema:"callers do not get the tools"`
	Replace     bool     `json:"replace,omitempty" jsonschema:"replace a server of the same name"`
	Offline     bool     `json:"offline,omitempty" jsonschema:"do not connect to the server now"`
}

// server returns the server that the arguments describe.
func (a addArgs) server() (s Server, err error) {
	s = Server{
		Transport: a.Transport, Sandbox: a.Sandbox, Read: a.Read, Write: a.Write, Hosts: a.Host, Trust: a.Trust,
		Access: a.Access, Tools: words(a.Tools), Deny: words(a.Deny), Separate: a.Separate, Elicitation: a.Elicitation,
		Sampling: a.Sampling, Resources: a.Resources, Disabled: a.Disabled,
	}
	var wrong [4]error
	s.Environment, wrong[0] = pairs("env", a.Env)
	s.Headers, wrong[1] = pairs("header", a.Header)
	s.Risks, wrong[2] = pairs("risk", a.Risk)
	s.Timeout, wrong[3] = duration(a.Timeout)
	if err := cmp.Or(wrong[:]...); err != nil {
		return s, err
	}
	switch {
	case len(a.Server) == 0 || a.Server[0] == "":
		return s, room.Mistake("bridge add needs a URL or a command")
	case !strings.Contains(a.Server[0], "://"):
		s.Command = a.Server
	case len(a.Server) > 1:
		return s, room.Mistake("%s is a URL, and takes no arguments", a.Server[0])
	default:
		s.URL = a.Server[0]
	}
	return s, nil
}

// pairs reads arguments of the form NAME=VALUE.
func pairs(param string, list []string) (map[string]string, error) {
	var all map[string]string
	for _, one := range list {
		name, value, found := strings.Cut(one, "=")
		if !found || name == "" {
			return nil, room.Mistake("%q is %q, it must be NAME=VALUE", param, one)
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[name] = value
	}
	return all, nil
}

// words splits arguments that are lists with commas.
func words(list []string) (all []string) {
	for _, one := range list {
		all = append(all, strings.Split(one, ",")...)
	}
	return all
}

// duration reads the argument timeout.
func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, room.Mistake(`"timeout" is %q, it must be a time such as 90s or 2m`, text)
	}
	return d, nil
}

func add(ctx context.Context, b *Bridge, a addArgs) (r tool.Result, err error) {
	s, err := a.server()
	if err != nil {
		return r, err
	}
	secrets := b.MoveSecrets(a.Name, s.Environment, s.Headers)
	if err := b.Add(ctx, a.Name, s, room.By(ctx).Name, a.Replace); err != nil {
		return r, err
	}
	moved, err := b.moveSecrets(ctx, secrets)
	if err != nil {
		return r, err
	}
	if a.Offline {
		return moved(tool.Textf("the server %q was added", a.Name)), nil
	}
	if r, err = test(ctx, b, nameArgs{a.Name}); err != nil {
		return r, fmt.Errorf("the server %q was added, but it does not work yet: %w\n"+
			"--replace adds it again, mcp-tools bridge remove %s removes it", a.Name, err, a.Name)
	}
	return moved(r), nil
}

// moveSecrets puts values that were written out into the vault. The function that it
// returns says so beside a result.
func (b *Bridge) moveSecrets(ctx context.Context, values map[string]string) (func(tool.Result) tool.Result, error) {
	if err := b.keepSecrets(ctx, values); err != nil {
		return nil, fmt.Errorf("the server is there, but its secrets could not be put into the vault; set them with "+
			"mcp-tools secrets set: %w", err)
	}
	return func(r tool.Result) tool.Result {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			r = room.Beside(r, "a credential was put into the vault as %s", name)
		}
		return r
	}, nil
}

// keepSecrets puts values into the vault.
func (b *Bridge) keepSecrets(ctx context.Context, values map[string]string) error {
	for name, value := range values {
		if err := b.o.Vault.Set(ctx, name, []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"the server, as in list"`
}

// test connects to a server and describes its offer.
func test(ctx context.Context, b *Bridge, a nameArgs) (r tool.Result, err error) {
	l, err := b.Refresh(ctx, a.Name)
	if err != nil {
		return r, err
	}
	all, err := b.Status(ctx, a.Name)
	if err != nil {
		return r, err
	}
	st := all[0]
	lines := fmt.Sprintf("%s: %s, protocol %s, %s\n", a.Name, st.program(), l.Protocol, text.Plural(len(l.Tools), "tool"))
	for _, why := range l.Problems {
		lines += fmt.Sprintf("left out: %s\n", why)
	}
	return room.Said(map[string]any{
		"server": a.Name, "program": st.Program, "protocol": l.Protocol, "tools": st.Tools, "problems": l.Problems,
		"waiting": len(l.Waiting),
	}, "%s%s", lines, st.offer()), nil
}

func (st Status) program() string { return cmp.Or(st.Program, "unknown program") }

type loginArgs struct {
	Name   string `json:"name" jsonschema:"the server, as in list"`
	ID     string `json:"client_id,omitempty" jsonschema:"id of a machine at the provider of the server (default: a person agrees)"`
	Secret string `json:"client_secret_file,omitempty" jsonschema:"secret of the machine"`
}

func logIn(ctx context.Context, b *Bridge, a loginArgs) (r tool.Result, err error) {
	browser := room.BrowserOf(ctx)
	switch {
	case (a.ID == "") != (a.Secret == ""):
		return r, room.Mistake(`"client_id" and "client_secret_file" belong together`)
	case a.ID != "":
		err = b.LoginMachine(ctx, a.Name, a.ID, strings.TrimSpace(a.Secret))
	case browser == nil:
		return r, room.Mistake("a login needs a browser")
	default:
		err = b.Login(ctx, a.Name, browser)
	}
	if err != nil {
		return r, err
	}
	if r, err = test(ctx, b, nameArgs{a.Name}); err != nil {
		known := tool.AsError(err)
		return r, tool.Errorf(known.Kind, "you are logged in to %q, but it does not work yet: %s", a.Name, known.What).
			Because(err).Try("%s", cmp.Or(known.Next, "try again"))
	}
	return room.Beside(r, "logged in to %s", a.Name), nil
}

// offer describes the tools of a server, and the changes that wait for an operator.
func (st Status) offer() string {
	var b strings.Builder
	rows := [][]string{{"TOOL", "RISK", "DESCRIPTION"}}
	for _, t := range st.Tools {
		rows = append(rows, []string{t.Name, t.Risk.String(), terminal.Short(t.About, 80)})
	}
	if len(st.Tools) > 0 {
		b.WriteString(terminal.Table(rows))
	}
	for _, why := range st.Left {
		fmt.Fprintf(&b, "left out: %s\n", why)
	}
	if len(st.Held) > 0 {
		fmt.Fprintf(&b, "\n%s of tools wait for you; mcp-tools bridge approve %s accepts them:\n",
			text.Plural(len(st.Held), "change"), st.Name)
		for _, c := range st.Held {
			b.WriteString(c.Diff())
		}
	}
	for _, c := range st.Refused {
		fmt.Fprintf(&b, "\nrefused until the server changes it again; mcp-tools bridge approve %s TOOL accepts it:\n%s", st.Name,
			c.Diff())
	}
	return b.String()
}

func listServers(ctx context.Context, b *Bridge, _ struct{}) (tool.Result, error) {
	all, err := b.Status(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"NAME", "STATE", "TOOLS", "HELD", "ACCESS", "WHERE"}
	r := room.Rows(all, "There are no servers; mcp-tools bridge add adds one.", head, func(st Status) []string {
		state := "ready"
		switch {
		case st.Server.Disabled:
			state = "disabled"
		case st.Login:
			state = "wants a login"
		case !st.Known:
			state = "not connected yet"
		}
		return []string{
			st.Name, state, fmt.Sprint(len(st.Tools)), fmt.Sprint(len(st.Held)), cmp.Or(st.Server.Access, AccessAll),
			terminal.Short(tool.Visible(st.Server.Where()), 60),
		}
	})
	for _, st := range all {
		if st.Login && !st.Server.Disabled {
			r = room.Beside(r, "%s", st.wayToLogin())
		}
	}
	return r, nil
}

// wayToLogin says how an operator logs in.
func (st Status) wayToLogin() string {
	return fmt.Sprintf("%s wants a login: mcp-tools bridge login %s, or \"login\" on the page bridge of the console", st.Name, st.Name)
}

func show(ctx context.Context, b *Bridge, a nameArgs) (tool.Result, error) {
	all, err := b.Status(ctx, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	st := all[0]
	lines := fmt.Sprintf("Where: %s\n", tool.Visible(st.Server.Where()))
	if st.Login {
		lines += st.wayToLogin() + "\n"
	} else if !st.Known && !st.Server.Disabled {
		lines += fmt.Sprintf("Not connected yet; mcp-tools bridge test %s connects, or says why not\n", st.Name)
	}
	if st.Known {
		lines += fmt.Sprintf("Program: %s, protocol %s, listed %s\n", st.program(), st.Protocol,
			st.Listed.Local().Format(time.DateTime))
	}
	for _, g := range st.Grants {
		lines += fmt.Sprintf("Grant: %s\n", g)
	}
	return room.Said(st, "%s%s", lines, st.offer()), nil
}

// String describes a grant in one line.
func (g Grant) String() string {
	who := func(what, name string) string {
		if name == "" {
			return "all " + what + "s"
		}
		return what + " " + name
	}
	line := who("agent", g.Agent) + ", " + who("user", g.User)
	if g.Denied {
		return line + ": denied"
	}
	if g.Tools != nil {
		line += ": " + strings.Join(g.Tools, ", ")
	}
	if g.Deny != nil {
		line += ", without " + strings.Join(g.Deny, ", ")
	}
	return line
}

type decideArgs struct {
	nameArgs
	Tool []string `json:"tool,omitempty" jsonschema:"the tools (default: all that wait)"`
	Seen string   `json:"seen,omitempty" jsonschema:"field seen of the difference, as in held: other changes are not decided"`
}

// decide answers changes of a server's tools. On a page they may be older than the server's offer, so an answer from
// there names the ones that were seen.
func (a decideArgs) decide(ctx context.Context, b *Bridge, accept bool) ([]Change, error) {
	if a.Seen == "" && room.By(ctx).Channel == room.ConsoleChannel {
		return nil, room.Mistake("the differences of the tool were not shown")
	}
	return b.decide(ctx, decision{a.Name, a.Tool, accept, a.Seen})
}

func approve(ctx context.Context, b *Bridge, a decideArgs) (tool.Result, error) {
	done, err := a.decide(ctx, b, true)
	return room.Said(map[string]int{"accepted": len(done)}, "%s accepted", text.Plural(len(done), "change")), err
}

func refuse(ctx context.Context, b *Bridge, a decideArgs) (tool.Result, error) {
	done, err := a.decide(ctx, b, false)
	return room.Said(map[string]int{"refused": len(done)}, "%s refused", text.Plural(len(done), "change")), err
}

func listHeld(ctx context.Context, b *Bridge, _ struct{}) (tool.Result, error) {
	all, err := b.Status(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	var list []room.Difference
	for _, st := range all {
		list = append(list, st.Differences()...)
	}
	head := []string{"SERVER", "TOOL", "CHANGE", "STATE"}
	return room.Rows(list, "No tool is held back.", head, func(d room.Difference) []string {
		state := "waits"
		if d.Refused {
			state = "refused"
		}
		return []string{d.In, tool.Visible(d.Of), d.State, state}
	}), nil
}

// callers are those whom a grant is about. The flags --agent and --user are settings of
// the caller on stdio.
type callers struct {
	nameArgs
	ForAgent string `json:"for_agent,omitempty" jsonschema:"the agent (default: all)"`
	ForUser  string `json:"for_user,omitempty" jsonschema:"the user (default: all)"`
}

type grantArgs struct {
	callers
	Tools     []string `json:"tools,omitempty" jsonschema:"tools that they get, as names or patterns of the server (default: all)"`
	Deny      []string `json:"deny,omitempty" jsonschema:"tools that they do not get"`
	Denied    bool     `json:"denied,omitempty" jsonschema:"they get no tools of the server"`
	SetEnv    []string `json:"set_env,omitempty" jsonschema:"NAME=VALUE of a variable for their server"`
	SetHeader []string `json:"set_header,omitempty" jsonschema:"NAME=VALUE of a header for their requests"`
	Timeout   string   `json:"timeout,omitempty" jsonschema:"how long their calls may take"`
}

func grant(ctx context.Context, b *Bridge, a grantArgs) (r tool.Result, err error) {
	g := Grant{
		Server: a.Name, Agent: a.ForAgent, User: a.ForUser, By: room.By(ctx).Name,
		Terms: Terms{Denied: a.Denied, Tools: words(a.Tools), Deny: words(a.Deny)},
	}
	var wrong [3]error
	g.Overrides.Environment, wrong[0] = pairs("set_env", a.SetEnv)
	g.Overrides.Headers, wrong[1] = pairs("set_header", a.SetHeader)
	g.Overrides.Timeout, wrong[2] = duration(a.Timeout)
	if err := cmp.Or(wrong[:]...); err != nil {
		return r, err
	}
	secrets := b.MoveSecrets(strings.Join([]string{g.Server, g.Agent, g.User}, "-"), g.Overrides.Environment,
		g.Overrides.Headers)
	if err := b.Grant(ctx, g); err != nil {
		return r, err
	}
	moved, err := b.moveSecrets(ctx, secrets)
	if err != nil {
		return r, err
	}
	return moved(room.Said(g, "%s: %s", a.Name, g)), nil
}

func revoke(ctx context.Context, b *Bridge, a callers) (tool.Result, error) {
	g, err := b.Revoke(ctx, a.Name, a.ForAgent, a.ForUser, room.By(ctx).Channel != "http")
	return room.Said(g, "the grant was removed: %s", g), err
}

func listRequests(ctx context.Context, b *Bridge, _ struct{}) (tool.Result, error) {
	all, err := b.Requests(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"ID", "STATUS", "SERVER", "AGENT", "USER", "TOOLS", "REASON"}
	return room.Rows(all, "There are no requests.", head, func(r Request) []string {
		return []string{r.ID, r.Status, r.Server, r.Agent, r.User, strings.Join(r.Tools, ","),
			terminal.Short(tool.Visible(r.Reason), 60)}
	}), nil
}

type rejectArgs struct {
	ID   string `json:"id" jsonschema:"the request, as in requests list"`
	Note string `json:"note,omitempty" jsonschema:"a note to keep with the decision"`
}

type approveRequestArgs struct {
	rejectArgs
	Tools []string `json:"tools,omitempty" jsonschema:"tools to grant (default: the tools of the request)"`
}

func approveRequest(ctx context.Context, b *Bridge, a approveRequestArgs) (tool.Result, error) {
	g, err := b.Review(ctx, a.ID, true, words(a.Tools), room.By(ctx).Name, a.Note)
	return room.Said(g, "%s: %s", g.Server, g), err
}

func rejectRequest(ctx context.Context, b *Bridge, a rejectArgs) (tool.Result, error) {
	_, err := b.Review(ctx, a.ID, false, nil, room.By(ctx).Name, a.Note)
	return tool.Text("the request was rejected"), err
}

func remove(ctx context.Context, b *Bridge, a nameArgs) (tool.Result, error) {
	err := b.Remove(ctx, a.Name)
	return room.Said(map[string]string{"removed": a.Name}, "the server %q was removed", a.Name), err
}

type importArgs struct {
	From    string   `json:"from" jsonschema:"name of a client, or path of a file"`
	Only    []string `json:"only,omitempty" jsonschema:"names of the servers to import (default: all)"`
	Replace bool     `json:"replace,omitempty" jsonschema:"replace servers of the same name"`
}

// An importedServer is a server that was added, or left out.
type importedServer struct {
	Name   string   `json:"name"`
	Result string   `json:"result"`
	Notes  []string `json:"notes,omitempty"`
}

func importServers(ctx context.Context, b *Bridge, a importArgs) (r tool.Result, err error) {
	path, err := settingsOf(a.From)
	if err != nil {
		return r, err
	}
	servers, err := clients.Servers(path)
	if err != nil {
		return r, err
	}
	done, lines := []importedServer{}, ""
	only := words(a.Only)
	for _, one := range Imports(servers) {
		if len(only) > 0 && !slices.Contains(only, one.Name) {
			continue
		}
		result := "added"
		if one.Skip != "" {
			result = "left out: " + one.Skip
		} else if err := b.addImport(ctx, one, a.Replace); err != nil {
			known := (*tool.Error)(nil)
			if !errors.As(err, &known) {
				return r, err
			}
			result = "left out: " + known.What
		}
		done = append(done, importedServer{one.Name, result, one.Notes})
		lines += fmt.Sprintf("%s: %s\n", one.Name, result)
		for _, note := range one.Notes {
			lines += fmt.Sprintf("  note: %s\n", tool.Visible(note))
		}
	}
	return room.Said(done, "%s", cmp.Or(lines, "There are no servers to import.")), nil
}

// addImport adds a server, and puts its secrets into the vault. The secrets of an existing
// server stay.
func (b *Bridge) addImport(ctx context.Context, one Import, replace bool) error {
	if err := b.Add(ctx, one.Name, one.Server, room.By(ctx).Name, replace); err != nil {
		return err
	}
	return b.keepSecrets(ctx, one.Secrets)
}

// settingsOf returns the path of the settings of a client, or of a file.
func settingsOf(from string) (string, error) {
	client, err := clients.Find(from)
	if err != nil {
		if strings.ContainsAny(from, "./\\") {
			return from, nil
		}
		return "", room.Mistake("%v; or name a file", err)
	}
	env, err := clients.HostEnv()
	if err != nil {
		return "", err
	}
	return client.Path(env), nil
}
