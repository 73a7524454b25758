// Package app opens the parts of the program, joins them, reloads their settings and closes
// them again. It is the one place where everything meets. Open opens the parts in an order in
// which each part needs only earlier ones.
//
// It knows the settings and every part, and nothing of the command line. Begin with Env, the
// inputs of a run of the program, and Env.Open.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/web/access"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/fleet"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/network"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/managed"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/extract"
	"github.com/mcp-tools/mcp-tools/tools/media/orders"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
	"github.com/mcp-tools/mcp-tools/tools/questions"
	"github.com/mcp-tools/mcp-tools/tools/results"
	"github.com/mcp-tools/mcp-tools/tools/script"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// instructions are the text about the server that every client's model gets.
const instructions = `Results that are too long are cut and say how to read on. ` +
	`Errors begin with their kind and say what to do instead. Secrets appear as [REDACTED]. A mark in it, as in ` +
	`[REDACTED:0a1b2c], stands for the secret when you write to the file that it was read from.`

// noModel is added if the settings have no model.
const noModel = ` No model is set up here, so you cannot start subagents.`

// An App is the running program: every part, opened and joined.
type App struct {
	Server *server.Server

	env          *Env
	loaded       *Loaded                // the settings of the start
	current      atomic.Pointer[Loaded] // those in force, see inForce
	data         string
	level        *slog.LevelVar
	log          *slog.Logger
	scrub        *scrub.Scrubber
	calls        *telemetry.Calls
	store        *store.Store
	vault        *vault.Vault
	lacking      *lacking
	unused       func() bool // no process has ever used the store
	jobs         *jobs.Loop
	follower     *indexer.Follower
	index        *indexer.Indexer
	memories     *memory.Rows
	memory       *memory.Memory
	embeddings   *embeddings.Embeddings // nil without an embeddings endpoint
	encoder      *embed.Client          // likewise
	models       *llm.Models            // without a provider it has none
	graph        *knowledge.Graph
	extractor    *extract.Extractor
	contextFiles *contextfiles.Files
	audit        *audit.Log
	inbox        *inbox.Inbox
	sessions     *sessions.Sessions
	skillDirs    []skills.Dir
	files        *workspace.Workspace
	skills       *skills.Library
	catalogue    policy.Catalogue
	rules        *liveRules
	commands     *commands.Commands
	revocations  *revocations
	documents    *document.Service
	web          *access.Access
	drawing      *browser.Browsers // draws diagrams
	browsers     *browser.Browsers
	peers        *peers.Peers   // other replicas; nil if there can be none
	noMedia      []string       // tools that lack a program
	trees        *managed.Trees // managed workspaces; nil: none are
	undoing      *jobs.Queue    // of changes in them; nil likewise
	blobs        *blob.Blobs
	sweepBlobs   *jobs.Queue
	results      *results.Store
	approvals    *approvals.Store
	network      *network.Access
	builtIn      *tool.Set
	set          *tool.Set // with the live tools
	live         liveTools
	tiers        sandbox.Tiers
	places       *fleet.Places // of sandboxes on other machines
	bridge       *bridge.Bridge
	teams        *teams.Teams
	agents       *agents.Engine
	scheduler    *automation.Scheduler
	providers    *provider.Providers
	orders       *orders.Orders
	accounts     *messaging.Accounts // channels to people
	outbox       *messaging.Outbox
	inbound      *inbound.Inbound // nil without channels
	questions    *questions.Questions
	custom       customTools
	plugins      livePlugins
	runner       *script.Runner // of scripts

	closers []func() error // in the order of opening
}

// Open opens everything that a server needs. The caller closes the App.
func (e *Env) Open(ctx context.Context) (_ *App, err error) {
	own := *e
	own.keys = new(vault.Keys)
	a := &App{env: &own, level: new(slog.LevelVar)}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if a.loaded, err = e.Load(); err != nil {
		if _, all := e.Examine(); all != nil { // with the mistakes of the policy
			err = all
		}
		return nil, err
	}
	a.current.Store(a.loaded)
	if a.data, err = e.DataDir(); err != nil {
		return nil, err
	}
	if err = checkPrivate(a.data); err != nil {
		return nil, err
	}
	for _, open := range []func(context.Context) error{
		a.openScrub, a.openLog, a.openStore, a.openPeers, a.openTelemetry, a.openMemory, a.openBlobs, a.openAudit, a.openSessions, a.openModels, a.openFiles,
		a.openSkills, a.openTiers, a.openDocuments, a.openDrawing,
		a.openRules, a.openCommands, a.openWeb, a.openAgents, a.openScheduler,
		a.openMessaging, a.openProviders,
		a.openTools, a.openCustom, a.openBridge, a.openServer,
	} {
		if err = open(ctx); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Close closes the parts, the last opened first.
func (a *App) Close() {
	for i := len(a.closers) - 1; i >= 0; i-- {
		if err := a.closers[i](); err != nil && a.log != nil {
			a.log.Error("closing", "err", err)
		}
	}
}

func (a *App) onClose(f func() error) { a.closers = append(a.closers, f) }

// checkPrivate refuses a data directory that all users may write to: they could
// put a link, or a key of theirs, where our files belong. A missing directory is
// fine; it will be made.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || !UnixModes() || info.Mode().Perm()&0o002 == 0 {
		return nil
	}
	return Usagef("all users may write to the data directory %s; run chmod o-w on it, or choose another with --data",
		dir)
}

// UnixModes reports whether the system has Unix permissions for files.
func UnixModes() bool { return runtime.GOOS != "windows" }

func (a *App) openScrub(context.Context) (err error) {
	a.scrub, err = scrubberOf(a.loaded.Config.Scrub) // openStore adds secrets of the vault
	return err
}

func (a *App) openLog(context.Context) (err error) {
	t := a.loaded.Config.Telemetry
	if err := a.level.UnmarshalText([]byte(t.LogLevel)); err != nil {
		return err
	}
	a.log, err = telemetry.NewLogger(a.env.Err, telemetry.LogConfig{
		Level: a.level, Format: t.LogFormat, Scrub: a.scrub.Text,
		Colour: terminal.NewPainter(a.env.Err, a.env.Getenv).On(),
	})
	if err == nil {
		a.maskAddresses(a.loaded.Config.Scrub, serverAddresses(a.log))
	}
	return err
}

func (a *App) openTelemetry(context.Context) (err error) {
	t := a.loaded.Config.Telemetry
	headers := make(map[string]string, len(t.OTLPHeaders))
	var secrets []string
	from := a.env.Sources(a.loaded.Config)
	for name, secret := range t.OTLPHeaders {
		if headers[name], err = secret.Fetch(from); errors.Is(err, vault.ErrLocked) {
			a.log.Warn("traces are sent without a header, because its secret cannot be read", "header", name, "err", err)
			delete(headers, name)
			continue
		} else if err != nil {
			return fmt.Errorf("telemetry.otlp_headers.%s: %w", name, err)
		}
		secrets = append(secrets, headers[name])
		if _, token, found := strings.Cut(headers[name], " "); found { // as in Bearer TOKEN
			secrets = append(secrets, token)
		}
	}
	if err := a.scrub.Set("telemetry.otlp_headers", secrets...); err != nil {
		a.log.Debug("parts of telemetry.otlp_headers are not masked", "err", err)
	}
	collector, err := ServiceClient(a.loaded.Config, egress.Limits{}, t.OTLPEndpoint)
	if err != nil {
		return err
	}
	a.onClose(collector.Close)
	a.calls, err = telemetry.New(telemetry.Config{
		Version: version.String(), Commit: version.Commit(), Labels: metricLabels(), Scrub: a.scrub.Text, Log: a.log,
		Metrics: a.loaded.Config.Server.Metrics != "",
		Traces:  telemetry.Traces{Endpoint: t.OTLPEndpoint, Headers: headers, HTTP: collector},
	})
	if err != nil {
		return err
	}
	a.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		return a.calls.Shutdown(ctx)
	})
	return nil
}

// maxAuditRecords keeps the audit log in SQLite at about 2 GB.
const maxAuditRecords = 2_500_000

// openAudit opens the audit log. Records go to a journal first and from there to
// the store. If no other part has opened the store, the first record
// opens it in the background.
func (a *App) openAudit(context.Context) (err error) {
	c := a.loaded.Config.Audit
	a.audit, err = audit.Open(audit.Options{
		DB: audit.NewDB(a.store), Dir: a.data, Full: a.loaded.Config.Store.Sync == "full", Version: version.String(),
		MaxAge: c.MaxAge, MaxRecords: maxAuditRecords, Vault: a.vault, Jobs: a.jobs, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.onClose(a.audit.Close)
	return nil
}

func (a *App) openTools(context.Context) (err error) {
	seen := &fs.Seen{Secrets: a.scrub, Shared: a.sharedSeen()}
	mediaOptions := a.mediaOptions(seen)
	a.noMedia = mediaOptions.Unusable()
	a.builtIn, err = tools.All(tools.World{
		Files: a.files, Exec: a.execOptions(), Web: a.web.Options, Media: mediaOptions, Memory: a.memory,
		Graph:  a.graph,
		Skills: a.skills, Results: a.results, Sessions: a.sessions, Secrets: a.scrub, Teams: a.teams,
		Agents: a.agents, Questions: a.questions, Models: a.models,
		Scheduler: a.scheduler, Model: a.jsonModel(),
		Seen:    seen,
		Code:    a.codeRoom(),
		Scripts: a.scripts(), Orders: a.orders, Messaging: a.messagingOptions(),
	})
	if err != nil {
		return err
	}
	a.set = a.builtIn
	a.calls.AddTools(a.set.Names()...)
	return nil
}

func (a *App) openServer(context.Context) (err error) {
	a.approvals = approvals.New(approvals.Options{
		DB: a.store, Log: a.log,
		Reachable: func() bool { return len(a.loaded.Config.Messaging.Approvers) > 0 },
	})
	a.onClose(a.approvals.Close) // withdraws the questions of this process
	a.openDesktop()
	a.openInbound()
	pauses := pauses.NewWatch(a.store, a.log, a.commands.EndCovered)
	a.onClose(pauses.Close)
	a.revocations = a.newRevocations()
	a.onClose(a.revocations.Close)
	text := instructions
	if !a.agents.CanSpawn() {
		text += noModel
	}
	if more := a.loaded.Config.Server.Instructions; more != "" {
		text += "\n\n" + more
	}
	a.live.mu.Lock() // the bridge may find tools at this moment
	defer a.live.mu.Unlock()
	a.Server, err = server.New(server.Config{
		Name: "mcp-tools", Title: "MCP Tools", Version: version.String(), Instructions: text,
		Tools: a.builtIn, FileGroups: []string{"fs", "runtime"}, Scrub: a.scrub, Ready: a.audit.Ready, Failing: a.audit.Failing, Lacks: a.lacks, Elsewhere: ifReplicated(a, a.elsewhere), TaskElsewhere: ifReplicated(a, a.taskElsewhere), Rows: a.sessionRows(),
		AuditLog:  a.audit,
		Results:   a.results,
		Approvals: a.approvals, Page: a.questionPage, DataFlags: a.env.dataFlags(a.loaded.Config.Store.DSN != ""),
		Observer: a.calls, Meter: meter(a.store.Meter()), Enter: a.enter(pauses), Log: a.log, Library: a.library(),
		Skills: a.skills, AppPage: view.Page,
		Settings: a.settings(),
		Inbox:    a.inbox, Used: a.sessions.Used,
		Begun: a.beginSession, Ended: a.endSession, Stopping: a.commands.Stop, Unusable: a.unusable, Substitute: tools.Substitute,
		Needs: func(name string) string { return cmp.Or(needed(name), a.bridge.Needs(name)) },
	})
	a.network.Approvals, a.network.Client = a.approvals, a.Server
	a.onClose(a.agents.Close) // before the parts that its calls need
	a.onClose(a.scheduler.Close)
	a.onClose(a.sweepBlobs.Close)
	a.onClose(a.orders.Close)
	if a.undoing != nil {
		a.onClose(a.undoing.Close)
	}
	return err
}

// serverSettings returns the part of the settings that the server goes by, and
// that may change while it runs.
func (a *App) serverSettings(c Settings, compiled *policy.Policy) server.Settings {
	l, repeatStop := c.Limits, 0
	if c.Limits.RepeatWarn > 0 {
		repeatStop = max(maxRepeated, c.Limits.RepeatWarn)
	}
	return server.Settings{
		Tools: a.set, Policy: compiled, Hooks: hooks.New(c.Hooks, a.hookOptions()), ApprovalTimeout: c.Approvals.Timeout,
		ApprovalWait: server.Wait(c.Approvals.Wait),
		AuditAbout:   c.Audit.Arguments != "digest",
		AuditArgs:    c.Audit.Arguments == "shape",
		AuditResults: c.Audit.Results == "head",
		Cache:        server.Cache{For: c.Cache.Tools, Bytes: int64(c.Cache.Bytes)},
		Limits: server.Limits{
			PerMinute: l.CallsPerMinute, Burst: max(1, l.CallsPerMinute/perBurst), PerHour: l.CallsPerHour,
			Running: maxCalls, Queued: maxQueued, TotalRunning: maxTotal, Idle: maxIdle,
			Timeout: callTimeout, ToolTime: l.ToolTime, Result: int(l.Result), ResultHard: maxResult,
			Args:       tool.DefaultLimits(),
			RepeatWarn: l.RepeatWarn, RepeatStop: repeatStop,
		},
	}
}

// LocalCaller is the caller that the settings describe: the client that started
// the program over stdio, or the user of the command line.
func (a *App) LocalCaller(transport string) (server.Access, error) {
	c := a.loaded.Config.Connections.Stdio
	workspace, err := WorkspaceDir(c.Workspace)
	if err != nil {
		return server.Access{}, err
	}
	if warning := WorkspaceWarning(workspace); warning != "" && transport != "cli" {
		a.log.Warn(warning)
	}
	var choose func([]string) string
	if c.Workspace == "" && transport == "stdio" {
		choose = a.chooseWorkspace
	}
	structured := a.loaded.Config.Server.Structured
	return server.Access{Transport: transport, Structured: structured, ChooseWorkspace: choose, Caller: tool.Caller{
		Agent: c.Agent, User: userNamed(c.User), Provider: c.Provider, Channel: transport,
		Session: fmt.Sprintf("%s-%d-%x", transport, os.Getpid(), time.Now().UnixMilli()&0xffffff),
		Profile: c.Profile, Workspace: workspace,
	}}, nil
}

// chooseWorkspace returns the first root of the client that can be a workspace, or "".
func (a *App) chooseWorkspace(roots []string) string {
	for _, dir := range roots {
		dir, err := WorkspaceDir(dir)
		if err != nil || dir == filepath.Dir(dir) {
			a.log.Warn("a root of the client cannot be the workspace", "dir", dir, "err", err)
			continue
		}
		if warning := WorkspaceWarning(dir); warning != "" {
			a.log.Warn(warning)
		}
		a.log.Info("the client has chosen the workspace", "dir", dir)
		return dir
	}
	return ""
}

// Owner returns the agent and the user of the settings. A command works on their
// memories and skills.
func Owner(c config.Stdio) tool.Caller {
	return tool.Caller{Agent: c.Agent, User: userNamed(c.User), Channel: "cli"}
}

// NoUser is the value of a setting for calls without a user.
const NoUser = "-"

// userNamed returns the user that a setting names; empty is the user of the
// operating system.
func userNamed(name string) string {
	switch name {
	case "":
		return SystemUser()
	case NoUser:
		return ""
	}
	return name
}

// SystemUser returns the name of the system user that runs the program.
func SystemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid-%d", os.Getuid())
}

// WorkspaceDir returns the absolute path of the directory that was chosen, or of
// the current one. It returns "" if none was chosen and the current one is the
// root: desktop programs start us there, and it is not a workspace.
func WorkspaceDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir == "" && abs == filepath.Dir(abs) {
		return "", nil
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return "", Usagef("the workspace %s is not a directory; choose one with --workspace", abs)
	}
	return abs, nil
}

// WorkspaceWarning returns a warning about a workspace that contains the user's home
// directory, or "".
func WorkspaceWarning(dir string) string {
	home, err := os.UserHomeDir()
	if err != nil || dir == "" {
		return ""
	}
	for _, path := range []*string{&home, &dir} {
		if real, err := filepath.EvalSymlinks(*path); err == nil {
			*path = real
		}
	}
	rel, err := filepath.Rel(dir, home)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	return fmt.Sprintf("the workspace %s contains your home directory: the agent can read private files there, and "+
		"change some that run at your next login; choose a directory of projects with --workspace", dir)
}

// parseProxy reads the URL of the proxy for requests to the web.
func parseProxy(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	proxy, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("web.proxy: %w", err)
	}
	return proxy, nil
}

// serverAddresses returns the addresses of this machine that others could use.
func serverAddresses(log *slog.Logger) (out []string) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		log.Warn("the addresses of this machine are not known, so they are not masked", "err", err)
	}
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if ok && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			out = append(out, network.IP.String())
		}
	}
	return out
}
