// Package code has the tool for code: symbols, definitions, references, renames and problems, asked by name.
//
// It knows languages and their servers (the Language Server Protocol is package lsp), and keeps a server for each
// workspace and language while it is used. A server is not trusted: it runs in the sandbox of the caller's commands,
// sees the workspace and changes nothing. Its answers are claims about places: every file is opened by
// [workspace.Files], and the edits of a rename are made by it as one change. Without a server, patterns find
// definitions, and the result says so.
//
// Begin with [New], then tool.go for the actions, server.go for a running server, and outline.go for the patterns.
package code

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
)

const group = "fs"

const (
	maxServers = 12          // at once; the one that is unused for longest ends for another
	retryAfter = time.Minute // after a server that did not start
)

// Options configure the tool. The fields are set for a server; none is needed to describe the tool.
type Options struct {
	Files    workspace.Files
	Dir      func(ctx context.Context, path string) (dir, identity string, err error) // resolves a directory
	Secrets  *scrub.Scrubber
	Programs *program.Runner
	// Workplace returns where programs for the caller run, or why the caller runs none.
	Workplace func(context.Context) (commands.Workplace, error)
	Home      string // directory for the caches of servers
	Settings  Settings
	Log       *slog.Logger // nil discards
}

// A Room has the running language servers.
type Room struct {
	o         Options
	languages []*language
	startTime time.Duration
	queryTime time.Duration

	mu      sync.Mutex
	closed  bool
	servers map[string]*server
	recent  map[recentKey]*server // that the caller used last
	sweeper *time.Timer
	working sync.WaitGroup
}

// A recentKey finds the running server of a caller without asking for the caller's directories.
type recentKey struct {
	caller   tool.Caller
	language string
}

func recentOf(c tool.Caller, l *language) recentKey {
	return recentKey{tool.Caller{Agent: c.Agent, User: c.User, Workspace: c.Workspace, Profile: c.Profile}, l.name}
}

// New returns a Room without a server. The caller closes it.
func New(o Options) *Room {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Room{
		o: o, languages: withSettings(languages(), o.Settings), servers: make(map[string]*server),
		recent: make(map[recentKey]*server), startTime: startTime, queryTime: queryTime,
	}
}

// Tools returns the tools of the room. r may be nil to describe them.
func Tools(r *Room) []tool.Tool { return []tool.Tool{tool.Prepared(codeTool{r})} }

// Close ends all servers.
func (r *Room) Close() error {
	r.mu.Lock()
	r.closed = true
	for key, s := range r.servers {
		r.drop(key, s)
	}
	if r.sweeper != nil {
		r.sweeper.Stop()
	}
	r.mu.Unlock()
	r.working.Wait()
	return nil
}

// errNoServer means that no language server answers, for a reason that its text says.
type errNoServer struct{ why string }

func (e *errNoServer) Error() string { return e.why }

// server returns the running server of the caller for a language, and starts one if there is none. The error is an
// *errNoServer if there cannot be one.
func (r *Room) server(ctx context.Context, l *language) (*server, error) {
	if len(l.servers) == 0 {
		return nil, &errNoServer{"no language server is known for these files"}
	}
	place, err := r.o.Workplace(ctx)
	if err != nil {
		return nil, &errNoServer{"programs cannot run for this caller"}
	}
	if place.Tier == sandbox.Kubernetes {
		return nil, &errNoServer{"language servers do not run in Kubernetes; the operator can choose another sandbox by sandbox.profiles"}
	}
	key := keyOf(place, l)
	s, mine, err := r.claim(key, place, l)
	if err != nil {
		return nil, err
	}
	if mine {
		go s.open() // ends with the server, not with the call
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.failure != nil {
		return nil, s.failure
	}
	r.mu.Lock()
	r.recent[recentOf(tool.CallerFrom(ctx), l)] = s
	r.mu.Unlock()
	return s, nil
}

// keyOf names the server for a workplace and a language. Another one is started if other files must be hidden.
func keyOf(p commands.Workplace, l *language) string {
	text, err := json.Marshal([]any{p.Tier, p.Directories.Dir, p.Directories.Hidden, p.Directories.Covered, p.Cache, p.Read})
	if err != nil {
		return l.name // strings can be written
	}
	sum := sha256.Sum256(text)
	return l.name + " " + hex.EncodeToString(sum[:])
}

// claim returns the server of a key. It is mine if the caller has to open it.
func (r *Room) claim(key string, place commands.Workplace, l *language) (s *server, mine bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false, &errNoServer{"the server is closing"}
	}
	if s = r.servers[key]; s != nil {
		if !s.lost() {
			s.used = time.Now()
			return s, false, nil
		}
		if s.failure != nil && time.Since(s.used) < retryAfter {
			return s, false, nil
		}
		r.drop(key, s)
	}
	for k, other := range r.servers { // former servers of this workspace: they do not cover new files
		if other.language == l && other.place.Directories.Dir == place.Directories.Dir && other.place.Cache == place.Cache {
			r.drop(k, other)
		}
	}
	for len(r.servers) >= maxServers {
		oldest := ""
		for k, other := range r.servers {
			if oldest == "" || other.used.Before(r.servers[oldest].used) {
				oldest = k
			}
		}
		r.drop(oldest, r.servers[oldest])
	}
	sum := sha256.Sum256([]byte(place.Directories.Dir + "\x00" + place.Cache))
	s = newServer(r, place, l, filepath.Join(r.o.Home, hex.EncodeToString(sum[:8])))
	r.servers[key] = s
	r.sweep()
	return s, true, nil
}

// drop ends a server without waiting. r.mu is held.
func (r *Room) drop(key string, s *server) {
	delete(r.servers, key)
	for k, other := range r.recent {
		if other == s {
			delete(r.recent, k)
		}
	}
	r.working.Go(s.close)
}

// sweep ends unused servers, now and later. r.mu is held.
func (r *Room) sweep() {
	idle := cmp.Or(r.o.Settings.Idle, 10*time.Minute)
	for key, s := range r.servers {
		if time.Since(s.used) >= idle {
			r.drop(key, s)
		}
	}
	if r.sweeper == nil {
		r.sweeper = time.AfterFunc(idle/2, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.sweeper = nil; !r.closed && len(r.servers) > 0 {
				r.sweep()
			}
		})
	}
}

// used notes that a server was asked.
func (r *Room) use(s *server) {
	r.mu.Lock()
	s.used = time.Now()
	r.mu.Unlock()
}

// warm returns the running server that the caller used last for a language, or nil.
func (r *Room) warm(ctx context.Context, l *language) *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.recent[recentOf(tool.CallerFrom(ctx), l)]
	if s == nil || s.conn.Err() != nil {
		return nil
	}
	return s
}

// start starts the program of a server.
func (s *server) start(ctx context.Context) (*program.Process, error) {
	if err := private.MakeDir(filepath.Dir(s.home)); err != nil {
		return nil, err
	}
	place, memory := s.place, int64(s.room.o.Settings.Memory)
	spec := program.Spec{
		Tier: place.Tier, Require: place.Require, Dir: s.home, Read: slices.Clone(place.Read), Workspace: &place.Directories,
		Input: true, Output: s.conn.Output,
		Limits: sandbox.Limits{Memory: memory, Processes: 256, FileSize: 1 << 30, Temp: 512 << 20},
		Gone: func(err error) {
			if err == nil {
				err = errors.New("its program has ended")
			}
			s.conn.Lose(err)
		},
	}
	if place.Cache != "" { // modules that the caller's commands have fetched
		spec.Read = append(spec.Read, place.Cache)
	}
	spec.Env = slices.Concat(s.language.environ, place.Environ)
	if len(place.Path) > 0 {
		spec.Env = append(spec.Env, "PATH="+strings.Join(place.Path, string(filepath.ListSeparator)))
	}
	// Go and Node collect garbage sooner if they know the limit.
	spec.Env = append(spec.Env, fmt.Sprintf("GOMEMLIMIT=%d", memory/4*3), fmt.Sprintf("NODE_OPTIONS=--max-old-space-size=%d", memory>>21))
	if s.language.name == "go" {
		if dir := moduleCache(place); dir != "" {
			spec.Env = append(spec.Env, "GOMODCACHE="+dir)
		}
	}
	var missing []string
	for _, argv := range s.language.servers {
		spec.Argv = argv
		s.conn.Expect(s.language.says[filepath.Base(argv[0])])
		p, err := s.room.o.Programs.Start(ctx, spec)
		if err == nil {
			s.program = filepath.Base(argv[0])
			return p, nil
		}
		if !errors.Is(err, program.ErrMissing) {
			if strings.Contains(err.Error(), "sandbox does not show") {
				return nil, &errNoServer{fmt.Sprintf("the sandbox does not show %s; the operator can add its directory to sandbox.read", argv[0])}
			}
			return nil, err
		}
		missing = append(missing, filepath.Base(argv[0]))
	}
	where := ""
	if place.Tier == sandbox.Docker {
		where = " in the image of the sandbox"
	}
	return nil, &errNoServer{"no language server is installed" + where + ", such as " + strings.Join(missing, " or ")}
}

// moduleCache returns the directory with the Go modules that a server sees, "" for none.
func moduleCache(p commands.Workplace) string {
	for _, dir := range p.Read {
		if strings.HasSuffix(filepath.ToSlash(dir), "/pkg/mod") {
			return dir
		}
	}
	if p.Cache != "" {
		return filepath.Join(p.Cache, "go-mod")
	}
	return ""
}
