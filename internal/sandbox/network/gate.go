package network

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// registries are the hosts of package downloads for common tool chains, and the hosts of public
// repositories. Commands reach them with HTTPS, and with HTTP where packages are signed.
func registries() []string {
	return []string{
		"registry.npmjs.org:443", "registry.yarnpkg.com:443", "npm.jsr.io:443", "jsr.io:443", "nodejs.org:443",
		"deno.land:443", "proxy.golang.org:443", "sum.golang.org:443", "golang.org:443", "go.dev:443", "gopkg.in:443",
		"go.googlesource.com:443", "crates.io:443", "index.crates.io:443", "static.crates.io:443",
		"static.rust-lang.org:443", "pypi.org:443", "files.pythonhosted.org:443", "conda.anaconda.org:443",
		"repo.anaconda.com:443", "rubygems.org:443", "index.rubygems.org:443", "repo.maven.apache.org:443",
		"repo1.maven.org:443", "plugins.gradle.org:443", "plugins-artifacts.gradle.org:443",
		"services.gradle.org:443", "downloads.gradle.org:443", "maven.google.com:443", "packagist.org:443",
		"repo.packagist.org:443", "api.nuget.org:443", "hex.pm:443", "repo.hex.pm:443", "hackage.haskell.org:443",
		"cloud.r-project.org:443", "cpan.metacpan.org:443",
		"deb.debian.org:80", "deb.debian.org:443", "security.debian.org:80", "security.debian.org:443",
		"archive.ubuntu.com:80", "security.ubuntu.com:80", "ports.ubuntu.com:80", "dl-cdn.alpinelinux.org:80",
		"dl-cdn.alpinelinux.org:443",
		"github.com:443", "codeload.github.com:443", "objects.githubusercontent.com:443",
		"release-assets.githubusercontent.com:443", "raw.githubusercontent.com:443", "gitlab.com:443",
		"bitbucket.org:443", "codeberg.org:443",
	}
}

const (
	// onceFor is how long an approval for once holds: programs open several
	// connections to a host.
	onceFor = time.Minute
	// deniedFor is how long a person is not asked again about a host.
	deniedFor = 10 * time.Minute
	// maxKnownHosts bounds the hosts that a gate remembers.
	maxKnownHosts = 1000
)

// A Gate decides about the connections of the commands in one sandbox. A connection to a new
// host waits while a person is asked. Several hosts are asked about one after the other.
type Gate struct {
	registries egress.Hosts
	mode       string
	caller     tool.Caller
	approvals  *approvals.Store
	profile    func() string
	unasked    func(context.Context) (why, instead string)
	timeout    time.Duration           // of a question
	running    func() []sandbox.Status // the commands of the caller
	scrub      func(string) string
	client     func() bool // whether the client can show a question to a person
	askClient  func(ctx context.Context, q approvals.Call, id string) (answered bool)
	refused    func(error) // is called with each refusal

	turn  chan struct{} // holds one element while a question is open
	mu    sync.Mutex
	known map[egress.Target]knownHost
}

// A knownHost is a decision about a host, as long as it is not asked about again.
type knownHost struct {
	err   error // nil: allowed
	until time.Time
}

// Allow returns nil if a command may connect to a host. It is the Allow of an
// [egress.Proxy].
func (g *Gate) Allow(ctx context.Context, to egress.Target) error {
	if g.registries.Has(to) {
		return nil
	}
	err := g.decide(ctx, to)
	if err != nil && ctx.Err() == nil {
		g.refused(err)
	}
	return err
}

func (g *Gate) decide(ctx context.Context, to egress.Target) error {
	if g.mode != Ask {
		return tool.Errorf(tool.Refused, "commands may not connect to %q, only to package registries "+
			"(sandbox.network is %s)", to.String(), g.mode).
			Try("do without it, or ask the user to have the operator set sandbox.network to ask or on")
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if d, ok := g.lookup(to); ok {
		return d.err
	}
	q, err := g.question(to)
	if err != nil {
		return err
	}
	if _, ok, err := g.approvals.Allowed(ctx, q); err == nil && ok {
		g.remember(to, nil, onceFor)
		return nil
	}
	why, instead := g.unasked(ctx)
	if why != "" && !g.client() {
		return tool.Errorf(tool.Refused, "commands may not connect to %q: %s (sandbox.network is %s)", to.String(), why,
			g.mode).Try("%s", instead)
	}
	return g.ask(ctx, to, q, why != "")
}

// question returns the question to a person about a host.
func (g *Gate) question(to egress.Target) (approvals.Call, error) {
	args, err := json.Marshal(map[string]any{"host": to.Host, "port": to.Port})
	if err != nil {
		return approvals.Call{}, err
	}
	digest := sha256.Sum256(append([]byte("network\n"), args...))
	c := g.caller
	return approvals.Call{
		Tool: "network", Title: "Connect to a host", Risk: tool.Runs.String(),
		Why:       g.commands() + " connects to " + to.String() + " and can send it what it can read",
		Principal: c.Principal(), Agent: c.Agent,
		User: c.User, Session: c.Session, Profile: g.profile(), Workspace: c.Workspace, Shown: string(args),
		Digest: hex.EncodeToString(digest[:]), Args: args,
	}, nil
}

// maxNamed is the number of commands that a question names.
const maxNamed = 3

// commands names the commands that may have opened the connection: the running commands, the
// newest first. A page of the caller runs without a command.
func (g *Gate) commands() string {
	var all []string
	for _, s := range g.running() {
		text := g.scrub(strings.Join(strings.Fields(s.Text), " "))
		if len(text) > maxCommand {
			text = strings.ToValidUTF8(text[:maxCommand], "") + "..."
		}
		age := max(time.Since(s.Started).Round(time.Second), 0)
		all = append(all, fmt.Sprintf("%q, which has run for %s in %s,", text, age, s.Dir))
	}
	switch {
	case len(all) == 0:
		return "a page of this session"
	case len(all) == 1:
		return "the command " + all[0]
	}
	more := ""
	if len(all) > maxNamed {
		more = fmt.Sprintf(" or %d others", len(all)-maxNamed)
		all = all[:maxNamed]
	}
	return "one of the commands " + strings.Join(all, " or ") + more
}

// maxCommand is the number of bytes of a command that a question shows.
const maxCommand = 300

// ask asks a person at the client, and elsewhere unless the client is the only place, and
// waits for the first answer.
func (g *Gate) ask(ctx context.Context, to egress.Target, q approvals.Call, onlyClient bool) error {
	id, err := g.approvals.Ask(ctx, q, time.Now().Add(g.timeout))
	if err != nil {
		return tool.Errorf(tool.Unavailable, "no person can be asked whether commands may connect to %q", to.String()).
			Try("try again later").Because(err)
	}
	if g.client() {
		asking, answered := context.WithCancel(ctx)
		var client sync.WaitGroup
		defer client.Wait()
		defer answered()
		client.Go(func() {
			if !g.askClient(asking, q, id) && onlyClient && asking.Err() == nil {
				_ = g.approvals.Withdraw(ctx, id) // else it expires
			}
		})
	}
	if err := g.approvals.Await(ctx, id); err != nil { // the command has ended
		return errors.Join(err, g.approvals.Withdraw(context.WithoutCancel(ctx), id))
	}
	d, err := g.approvals.Take(ctx, id, q)
	switch {
	case err != nil:
		return tool.Errorf(tool.Refused, "no person decided in time whether commands may connect to %q", to.String()).
			Try("ask the user to be there for the question, then try again").Because(err)
	case !d.Allow:
		refusal := tool.Errorf(tool.Refused, "a person denied the connection to %q", to.String())
		if d.Reason != "" {
			refusal = tool.Errorf(tool.Refused, "a person denied the connection to %q: %q", to.String(), d.Reason)
		}
		err = refusal.Try("do not try it in another way; ask the user how to continue")
		g.remember(to, err, deniedFor)
		return err
	}
	g.remember(to, nil, onceFor)
	return nil
}

func (g *Gate) lookup(to egress.Target) (knownHost, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.known[to]
	return d, ok && time.Now().Before(d.until)
}

func (g *Gate) remember(to egress.Target, err error, within time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxKnownHosts { // hosts are asked about again
		clear(g.known)
	}
	g.known[to] = knownHost{err, time.Now().Add(within)}
}
