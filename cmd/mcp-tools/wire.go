package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/briefing"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/indexer"
	"github.com/mcp-tools/mcp-tools/internal/memory"
	"github.com/mcp-tools/mcp-tools/internal/memory/meaning"
	"github.com/mcp-tools/mcp-tools/internal/results"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/skills"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	toolmemory "github.com/mcp-tools/mcp-tools/tools/memory"
	toolresults "github.com/mcp-tools/mcp-tools/tools/results"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	toolskills "github.com/mcp-tools/mcp-tools/tools/skills"
	toolweb "github.com/mcp-tools/mcp-tools/tools/web"
)

// instructions are what every client's model is told about the server.
const instructions = `Results that are too long are cut and say how to read on. ` +
	`Errors begin with their kind and say what to do instead. Secrets appear as [REDACTED]; never write that back.`

// world is what the tools need of it. Its zero value is enough to list them.
type world struct {
	files   workspace.Files
	exec    exec.Options
	web     toolweb.Options
	memory  toolmemory.Memory
	graph   *knowledge.Graph
	skills  toolskills.Skills
	results toolresults.Store
	status  func(context.Context) sessions.Status
}

// registry is the list of all tools. A new group is one line here.
func registry(w world) (*tool.Set, error) {
	var all []tool.Tool
	for _, group := range [][]tool.Tool{
		fs.Tools(w.files),
		exec.Tools(w.exec),
		toolweb.Tools(w.web),
		toolmemory.Tools(w.memory),
		knowledge.Tools(w.graph),
		toolskills.Tools(w.skills),
		sessions.Tools(w.status),
		automation.Tools(time.Now),
		toolresults.Tools(w.results, w.web.Marks),
	} {
		all = append(all, group...)
	}
	return tool.NewSet(all...)
}

// A house is everything that runs, joined.
type house struct {
	app      *app
	loaded   *config.Loaded
	data     string
	level    *slog.LevelVar
	log      *slog.Logger
	scrub    *scrub.Scrubber
	calls    *telemetry.Calls
	audit    *audit.Log
	files    *workspace.Workspace
	commands *commands.Commands
	rules    atomic.Pointer[judge.Rules]
	store    *store.Store
	follower *indexer.Follower
	indexer  *indexer.Indexer
	memory   *memory.Memory
	briefing *briefing.Briefing
	meaning  *meaning.Meaning // nil: nothing is found by it
	graph    *knowledge.Graph
	unused   func() bool // the store, by anybody, ever
	skillsIn []skills.Dir
	skills   *skills.Library
	web      *outside
	desk     desk
	set      *tool.Set
	server   *server.Server
	closed   []func() error // in the order of opening
}

// build joins the parts. What it has opened, close closes, also after an error.
func (a *app) build(ctx context.Context) (_ *house, err error) {
	h := &house{app: a, level: new(slog.LevelVar)}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.loaded, err = a.load(); err != nil {
		return nil, err
	}
	if h.data, err = a.dataDir(); err != nil {
		return nil, err
	}
	if err = checkPrivate(h.data); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{h.openScrub, h.openLog, h.openTelemetry, h.openMemory, h.openAudit, h.openFiles, h.openSkills, h.openCommands, h.openWeb, h.openServer} {
		if err = step(ctx); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// checkPrivate refuses a data directory in which everybody can put a link, or
// another's key, where our files are to be. One that is missing will be made.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || !unixModes() || info.Mode().Perm()&0o002 == 0 {
		return nil
	}
	return usagef("everybody may write to the data directory %s; run chmod o-w on it, or choose another with --data", dir)
}

// close ends what build has opened, the latest first.
func (h *house) close() {
	for i := len(h.closed) - 1; i >= 0; i-- {
		if err := h.closed[i](); err != nil && h.log != nil {
			h.log.Error("closing", "err", err)
		}
	}
}

func (h *house) onClose(f func() error) { h.closed = append(h.closed, f) }

func (h *house) openScrub(context.Context) (err error) {
	h.scrub, err = newScrubber(h.loaded.Config.Scrub, h.app.sources(h.loaded.Config.Vault))
	return err
}

func (h *house) openLog(context.Context) (err error) {
	t := h.loaded.Config.Telemetry
	if err := h.level.UnmarshalText([]byte(t.LogLevel)); err != nil {
		return err
	}
	h.log, err = telemetry.NewLogger(h.app.err, telemetry.LogConfig{
		Level: h.level, Format: t.LogFormat, Scrub: h.scrub.Text,
		Colour: h.app.painter(h.app.err).on,
	})
	return err
}

func (h *house) openTelemetry(context.Context) (err error) {
	t := h.loaded.Config.Telemetry
	headers := make(map[string]string, len(t.OTLPHeaders))
	var secrets []string
	from := h.app.sources(h.loaded.Config.Vault)
	for name, secret := range t.OTLPHeaders {
		if headers[name], err = secret.Fetch(from); err != nil {
			return fmt.Errorf("telemetry.otlp_headers.%s: %w", name, err)
		}
		secrets = append(secrets, headers[name])
		if _, token, found := strings.Cut(headers[name], " "); found { // as in Bearer TOKEN
			secrets = append(secrets, token)
		}
	}
	if err := h.scrub.Set("telemetry.otlp_headers", secrets...); err != nil {
		h.log.Debug("parts of telemetry.otlp_headers are not masked", "err", err)
	}
	h.calls, err = telemetry.New(telemetry.Config{
		Version: version(), Commit: commit(), Words: words(), Scrub: h.scrub.Text, Log: h.log,
		Traces: telemetry.Traces{Endpoint: t.OTLPEndpoint, Headers: headers, Sample: t.Sample},
	})
	if err != nil {
		return err
	}
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		return h.calls.Shutdown(ctx)
	})
	return nil
}

// openAudit makes the record of calls: a journal, from which it goes to the
// store. That is opened in the background after the first call, if nothing else
// has opened it.
func (h *house) openAudit(context.Context) (err error) {
	c := h.loaded.Config.Audit
	h.audit, err = audit.Open(audit.Options{
		DB: audit.NewDB(h.store), Dir: h.data, Full: h.loaded.Config.Store.Sync == "full", Version: version(),
		MaxAge: time.Duration(c.MaxAge), MaxBytes: int64(c.MaxBytes), Logger: h.log,
	})
	if err != nil {
		return err
	}
	h.onClose(h.audit.Close)
	return nil
}

func (h *house) openServer(context.Context) (err error) {
	c := h.loaded.Config
	kept, err := results.Open(h.data, results.Limits{
		Count: c.Results.Count, Bytes: int64(c.Results.Bytes), Age: time.Duration(c.Results.Age),
		ItemBytes: int64(c.Results.Bytes), // the server cuts at limits.result_hard, which may change while it runs
	})
	if err != nil {
		return fmt.Errorf("%w; choose another directory with --data", err)
	}
	h.set, err = registry(world{files: h.files, exec: h.execOptions(kept), web: h.web.options, memory: h.memory, graph: h.graph, skills: h.skills, results: pages{kept}, status: func(ctx context.Context) sessions.Status {
		s := h.server.Status(ctx)
		return sessions.Status{
			Since: s.Since, Calls: s.Calls, Failed: s.Failed, Tools: s.Tools, Profile: s.Profile,
			Autonomy: s.Autonomy, Left: s.Left, Version: version(),
		}
	}})
	if err != nil {
		return err
	}
	h.calls.Know(h.set.Names()...)
	settings, err := h.settings(h.loaded)
	if err != nil {
		return err
	}
	h.desk = h.openDesk()
	text := instructions
	if more := c.Server.Instructions; more != "" {
		text += "\n\n" + more
	}
	h.server, err = server.New(server.Config{
		Name: "mcp-tools", Title: "MCP Tools", Version: version(), Instructions: text,
		Tools: h.set, Scrub: h.scrub, Journal: journal{h.audit}, Keeper: keeper{kept}, Desk: h.desk,
		Watcher: watcher{h.calls}, Meter: meter(h.store.Meter()), Log: h.log, Settings: settings,
		Library: h.library(),
		Ended:   func(c tool.Caller) { h.commands.EndSession(c.Session) }, Stopping: h.commands.Stop,
	})
	return err
}

// settings translates what may change while the server runs.
func (h *house) settings(l *config.Loaded) (server.Settings, error) {
	compiled, err := compilePolicy(l, h.set, h.log)
	if err != nil {
		return server.Settings{}, err
	}
	rules, err := commandRules(l, compiled.Profiles())
	if err != nil {
		return server.Settings{}, err
	}
	h.rules.Store(&rules)
	if err := h.web.apply(l.Config.Web); err != nil {
		return server.Settings{}, err
	}
	c := l.Config.Limits
	return server.Settings{
		Policy: compiled, ApprovalTimeout: time.Duration(l.Config.Approvals.Timeout), ApprovalWait: approvalWait(l.Config.Approvals.Wait),
		AuditArgs: l.Config.Audit.Arguments == "shape",
		Limits: server.Limits{
			PerMinute: c.CallsPerMinute, Burst: c.Burst, Running: c.Running, Queued: c.Queued, TotalRunning: c.TotalRunning,
			Timeout: time.Duration(c.Timeout), Result: int(c.Result), ResultHard: int(c.ResultHard),
			Args: tool.Limits{Params: c.Params, Text: int(c.Text), Items: c.Items, Depth: c.Depth},
			Warn: c.RepeatWarn, Stop: c.RepeatStop,
		},
	}, nil
}

// compilePolicy turns the rules into a policy. Mistakes stop the start, with
// their place in the file; rules without effect are worth a warning.
func compilePolicy(l *config.Loaded, set *tool.Set, log *slog.Logger) (*policy.Policy, error) {
	compiled, problems := l.Policy(set.Catalogue())
	var wrong config.Problems
	for _, p := range problems {
		if p.Warning {
			log.Warn(p.String())
		} else {
			wrong = append(wrong, p)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return compiled, nil
}

// stdioCaller is whoever started us.
func (h *house) stdioCaller(transport string) (server.Access, error) {
	c := h.loaded.Config.Connections.Stdio
	workspace, err := workspaceDir(c.Workspace)
	if err != nil {
		return server.Access{}, err
	}
	return server.Access{Transport: transport, Caller: tool.Caller{
		Agent: c.Agent, User: userOf(c.User), Provider: c.Provider, Channel: transport, PeerKind: "direct",
		Session: fmt.Sprintf("%s-%d-%x", transport, os.Getpid(), time.Now().UnixMilli()&0xffffff), Profile: c.Profile, Workspace: workspace,
	}}, nil
}

// workspaceDir is the directory that was chosen, or else the current one.
// Desktop programs start us in the root directory: that is nobody's choice, and
// no workspace.
func workspaceDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir == "" && abs == filepath.Dir(abs) {
		return "", nil
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return "", usagef("the workspace %s is not a directory; choose one with --workspace", abs)
	}
	return abs, nil
}

func systemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid-%d", os.Getuid())
}

// serverAddresses are the addresses by which this machine can be reached: text
// that leaves should not tell them.
func serverAddresses() ([]string, error) {
	addresses, err := net.InterfaceAddrs()
	var out []string
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if ok && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			out = append(out, network.IP.String())
		}
	}
	return out, err
}
