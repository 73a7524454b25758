package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/backup"
	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/browser/desk"
	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/fleet"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/local"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/today"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/users"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/internal/verdict"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/managed"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/custom"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
	"github.com/mcp-tools/mcp-tools/tools/plugins"
	"github.com/mcp-tools/mcp-tools/tools/questions"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/teams"
	"github.com/mcp-tools/mcp-tools/tools/web"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

// Rooms returns all rooms, in the order of the help. They are declared, and not open.
func (e *Env) Rooms() []*room.Room {
	taken := takenNames()
	return []*room.Room{
		backup.Room(backup.Setup{Places: e.Places, At: e.StoreOptionsAt}), // doctor checks the store first
		approvals.Room(e.countPast, e.endedSessions),
		memory.Room(e.memoryOf),
		knowledge.Room(),
		skills.Room(e.skillsOf),
		contextfiles.Room(e.contextFilesOf),
		automation.Room(),
		agents.Room(e.trees),
		sessions.Room(e.sessionsOf),
		questions.Room(),
		teams.Room(),
		inbound.Room(inbound.Setup{
			Channels: &messaging.Channels{With: e.withChannels}, Complete: e.completeBinding,
			Settings: func() messaging.Settings { return e.settings().Messaging },
			HTTP:     func() (bool, string) { s := e.settings().Server; return s.HTTP != "", s.PublicURL },
		}),
		bridge.Room(e.WithBridge),
		custom.Room(e.customDir, taken),
		plugins.Room(e.pluginSet, taken),
		today.Room(today.Setup{Scrub: e.masker, Shared: e.sharedHistory, Undo: e.undoChange}),
		audit.Room(e.auditVault),
		pauses.Room(),
		fleet.Room(e.launchers),
		managed.Room(),
		verdict.Room(e.policyView),
		vault.Room(e.hostVault, blob.Sealed(), users.Sealed(), audit.SealedKeys(), e.sealedProfiles()),
		profiles.Room(desk.Verbs(e.DataDir)...),
		{Name: "documents", Checks: []room.Check{document.Check()}},
		llm.Room(
			func() llm.Settings { return e.settings().Models },
			func(name string) (string, error) { return e.ModelKey(e.settings(), name) },
		),
		{Name: "media", Checks: []room.Check{provider.Check(
			func() (provider.Options, error) { return e.settings().Media.Options() },
			func(name string) (string, error) { return e.MediaKey(e.settings(), name) },
		)}},
		{Name: "web", Checks: []room.Check{
			browser.Check(local.Tiers(), func() (string, bool) { b := e.settings().Web.Browser; return b.Path, b.Insecure }),
			search.Check(func() search.Settings { return e.settings().Web.Search }),
			web.Check(func() web.Settings { return e.settings().Web }, e.fetchable),
		}},
		{Name: "exec", Checks: []room.Check{exec.Check(exec.CheckSetup{
			Settings:  func() (sandbox.Settings, exec.Settings) { s := e.settings(); return s.Sandbox, s.Exec },
			Launchers: e.launchers,
			Secret: func(_ context.Context, name string) error {
				return e.fetchable(config.Secret("secret:" + name))
			},
		})}},
		{Name: "agents", Checks: []room.Check{contextfiles.Check(func() []contextfiles.Agent {
			return Agents(e.settings().Agents)
		})}},
		{Name: "embeddings", Checks: []room.Check{embed.Check(e.openEncoder)}},
		tokens.Room(tokens.Setup{
			Grants: e.grants(), URL: e.publicURL, Env: config.EnvToken,
			Listed: func() int { return len(e.settings().Connections.Tokens) },
		}),
		users.Room(e.grants()),
	}
}

// grants returns the settings for rights of tokens and users.
func (e *Env) grants() tokens.Grants {
	return tokens.Grants{
		Profiles: e.profiles, Workspace: WorkspaceDir, Login: func() string { return loginOrigin(e.settings()) },
	}
}

// fetchable returns the error of fetching a secret.
func (e *Env) fetchable(s config.Secret) error {
	_, err := s.Fetch(e.Sources(e.settings()))
	return err
}

// trees opens the working trees of subagents.
func (e *Env) trees() (*worktree.Trees, error) {
	data, err := e.DataDir()
	if err != nil {
		return nil, err
	}
	launchers, err := e.launchers()
	return &worktree.Trees{
		Dir: filepath.Join(data, worktreesDir), Programs: &program.Runner{Tiers: sandbox.NewTiers(launchers...)},
	}, err
}

// launchers returns the sandboxes of the settings.
func (e *Env) launchers() ([]sandbox.Launcher, error) {
	data, err := e.DataDir()
	if err != nil {
		return nil, err
	}
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	return Launchers(loaded.Config.Sandbox, data, nil, nil)
}

// CommandsRun says in one sentence where commands of this server run, and how to get a sandbox if they have none.
func (e *Env) CommandsRun(ctx context.Context) (string, error) {
	launchers, err := e.launchers()
	if err != nil {
		return "", err
	}
	c := e.settings().Sandbox
	sentence, advice := exec.Where(ctx, sandbox.NewTiers(launchers...), commands.PolicyOf(c, ""), c.Network)
	for _, l := range launchers {
		if l, ok := l.(io.Closer); ok {
			err = errors.Join(err, l.Close())
		}
	}
	if advice != "" {
		sentence += "; " + advice
	}
	return "Commands " + sentence + ".\n", err
}

// settings returns the settings, or the defaults if they are wrong.
func (e *Env) settings() Settings {
	if l, err := e.Load(); err == nil {
		return l.Config
	}
	return Settings{}
}

// publicURL returns the URL of the server, as far as the settings know it.
func (e *Env) publicURL() string {
	return cmp.Or(e.settings().Server.PublicURL, "http://HOST:PORT/mcp")
}

// profiles checks the names of profiles. It returns the default profile for none.
func (e *Env) profiles(names []string) ([]string, error) {
	v, err := e.Examine()
	if err != nil {
		return nil, err
	}
	if names == nil {
		usual, err := v.Policy.ResolveProfile("")
		return []string{usual}, err
	}
	for _, name := range names {
		if name == policy.AnyProfile {
			continue
		}
		if _, err := v.Policy.ResolveProfile(name); err != nil {
			return nil, room.Mistake("%w", err)
		}
	}
	return names, nil
}

// policyView returns the policy of the settings.
func (e *Env) policyView() (verdict.View, error) {
	v, err := e.Examine()
	if err != nil {
		return verdict.View{}, err
	}
	return verdict.View{
		Policy: v.Policy, Tools: slices.Collect(v.Tools.All()), Find: v.Find, Caller: v.Subject(), Warnings: v.Warnings,
	}, nil
}

// masker returns the function that masks secrets as the settings say.
func (e *Env) masker() (func(string) string, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	mask, err := NewScrubber(loaded.Config.Scrub, e.Sources(loaded.Config))
	if err != nil {
		return nil, err
	}
	return mask.Text, nil
}

// undoChange reverts a change of files for an operator, within the directories that it was made in and with the names
// that callers cannot change. The files must be as the change has left them.
func (e *Env) undoChange(ctx context.Context, s *store.Store, r history.Record, all *history.Shared) (done workspace.Receipt, err error) {
	loaded, err := e.Load()
	if err != nil {
		return done, err
	}
	o := workspace.Options{
		HardLinks: workspace.HardLinks(loaded.Config.Workspace.HardLinks), Private: loaded.Files(), Shared: all,
		History: historyLimits(loaded.Config.Workspace),
	}
	if o.Data, err = e.DataDir(); err != nil {
		return done, err
	}
	o.Deny, o.Protect = keptNames(loaded.Config.Workspace)
	if base := loaded.Config.Workspace.Managed; base != "" && slices.ContainsFunc(r.Files, func(f history.FileRecord) bool {
		return isWithin(string(f.Root), realPath(base))
	}) {
		if e.undoManaged != nil {
			return e.undoManaged(ctx, r)
		}
		return askToUndo(ctx, s, r)
	}
	caller := tool.Caller{}
	caller.Agent, caller.User, _ = strings.Cut(r.By, "/")
	for _, f := range r.Files {
		switch dir := string(f.Root); {
		case isWithin(dir, realPath(o.Data)) || isWithin(dir, o.Data): // the caller's directory for caches or state
		case caller.Workspace == "":
			caller.Workspace = dir
		case dir != caller.Workspace:
			o.Roots = append(o.Roots, workspace.ExtraRoot{Path: dir, Write: true})
		}
	}
	if caller.Workspace == "" { // none of its files is concerned
		if caller.Workspace, err = os.MkdirTemp("", "mcp-tools-undo-*"); err != nil {
			return done, err
		}
		defer os.RemoveAll(caller.Workspace)
	}
	files, err := workspace.New(o)
	if err != nil {
		return done, err
	}
	defer files.Close()
	return files.Undo(tool.With(ctx, &tool.Running{Caller: caller, Tool: history.OperatorUndo + room.By(ctx).Name}), r.ID)
}

// auditVault returns the vault that opens the keys of the audit log in the store.
// sealedProfiles returns the profiles of browsers that a reset of the vault loses. Their files stay, so that no name is
// taken for an empty profile; a browser that opens one says that it cannot be decrypted.
func (e *Env) sealedProfiles() vault.Dependents {
	return vault.Dependents{Lost: func(context.Context, *store.Store) (string, error) {
		all, err := (&profiles.Profiles{Dir: func() (string, error) {
			data, err := e.DataDir()
			return filepath.Join(data, profiles.Dir), err
		}}).List()
		if err != nil || len(all) == 0 {
			return "", err
		}
		return text.Plural(len(all), "profile of a browser", "profiles of browsers") +
			" with logins (mcp-tools browser remove removes each, after which the name can be used again)", nil
	}}
}

func (e *Env) auditVault(h *room.Host) (audit.Vault, error) { return e.hostVault(h) }

// sharedHistory returns the history of files of all servers on a store, nil if the data directory has all of it.
func (e *Env) sharedHistory(s *store.Store) (*history.Shared, error) {
	if s.Engine() != "postgres" {
		return nil, nil
	}
	c := e.settings()
	b, _, err := e.Blobs(c, s, nil) // in use until the process ends
	if err != nil {
		return nil, err
	}
	return history.NewShared(b, historyLimits(c.Workspace)), nil
}

// Places returns where the files of this installation are.
func (e *Env) Places() (p backup.Places, err error) {
	if p.Data, err = e.DataDir(); err != nil {
		return p, err
	}
	if p.Vault, _, err = e.VaultDir(); err != nil {
		return p, err
	}
	p.Settings, err = config.File(e.ConfigFile, e.Getenv)
	p.Blobs = func(s *store.Store) (*blob.Blobs, func() error, error) { return e.Blobs(e.settings(), s, nil) }
	p.DataOnly = e.Data != "" && e.ConfigFile == "" && e.Getenv(config.EnvConfig) == ""
	return p, err
}

// openEncoder returns the client of the endpoint of embeddings, nil without one.
func (e *Env) openEncoder() (*embed.Client, func() error, error) {
	all := e.settings()
	if all.Memory.Embeddings.URL == "" {
		return nil, nil, nil
	}
	client, err := ServiceClient(all, embed.Limits(), all.Memory.Embeddings.URL)
	if err != nil {
		return nil, nil, err
	}
	encoder, _, err := e.Encoder(all, client)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return encoder, client.Close, nil
}

// memoryOf returns the memory of a host, without an index.
func (e *Env) memoryOf(h *room.Host) (*memory.Memory, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	return memory.New(memory.Options{
		Rows: MemoryRows(h.Store, loaded.Config),
		Documents: sync.OnceValues(func() (*document.Service, error) {
			data, err := h.Data()
			if err != nil {
				return nil, err
			}
			return NewDocuments(data, local.Tiers(data), loaded.Config.Media, nil, nil, nil), nil
		}),
	}), nil
}

// operatorVerbs returns the API of the verbs for a server, nil without the setting for it.
func (a *App) operatorVerbs(h *server.HTTP) *server.OperatorVerbs {
	if !a.loaded.Config.Server.OperatorAPI {
		return nil
	}
	api := a.operatorAPI()
	api.Hold = h.Hold
	with := func(serve func(http.ResponseWriter, *http.Request, room.Person)) server.IdentityHandler {
		return func(w http.ResponseWriter, r *http.Request, who server.Identity) {
			serve(w, r, room.Person{Name: who.ID, Channel: "http", Agent: who.Agent, User: who.User})
		}
	}
	return &server.OperatorVerbs{List: with(api.List), Call: with(api.Call)}
}

// operatorAPI returns the verbs of the rooms.
func (a *App) operatorAPI() room.API {
	return room.API{
		Rooms: a.env.Rooms(), Host: &room.Host{Store: a.store, Data: a.env.DataDir, Log: a.log},
		Record: operatorLog{a.scrub.Text, a.audit}.record, Scrub: a.scrub.Text,
	}
}

// An operatorLog writes the actions of operators to the audit log.
type operatorLog struct {
	scrub func(string) string
	log   *audit.Log
}

// record writes a verb that changes something.
func (l operatorLog) record(ctx context.Context, c room.Called) error {
	digest := sha256.Sum256(c.Args)
	record := audit.Record{
		Phase: audit.Intent, Kind: "operator", Tool: c.Verb, User: c.Who.Name, Transport: c.Who.Channel,
		Risk: c.Risk.String(), ArgsDigest: hex.EncodeToString(digest[:]),
		About: text.Clip(l.scrub(string(c.Args)), maxAbout),
	}
	if c.Done {
		record.Phase, record.Outcome = audit.Done, "ok"
		if c.Err != nil {
			record.Outcome, record.Error = string(tool.AsError(c.Err).Kind), l.scrub(c.Err.Error())
		}
	}
	return l.log.Append(ctx, record)
}

// maxAbout is how much of the arguments of a verb the audit log has.
const maxAbout = 300
