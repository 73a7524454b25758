// Package kubernetes starts agents in pods: one for each sandbox, with the rights of restricted Pod Security, no
// service account, and no network but a loopback interface once a network policy denies the rest. An init container
// puts this program into the pod, and the server attaches to it: commands, files and connections to the proxy all go
// through that stream of the API server, as with Docker engines of other machines.
//
// The package calls the REST API itself. client-go (v0.36.0: rest, the typed client of core/v1 and remotecommand)
// makes the program 141 MB in place of 80, and its initialisation 15.8 ms in place of 11.6 (2 busy cores); this
// package needs seven requests and one WebSocket. The price: of a kubeconfig it reads tokens and certificates, and no
// plugins for credentials.
//
// Begin with [Launcher.Launch]; pod.go has the specification of a pod, api.go the requests, link.go the stream.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// InstallArg is the argument that makes this program copy itself to a path: see [Install].
const InstallArg = "sandbox-install"

// Options configures the pods.
type Options struct {
	Image      string // of the commands
	Agent      string // image of this program
	Namespace  string
	Kubeconfig string // "" for the service account of the pod that the server runs in
	Runtime    string // runtime class; "" for the default of the cluster
	CPU        string // of a pod
	Disk       int64  // bytes for copies of files
	PullSecret string // "" for none
	Data       string // the data directory, as an annotation for operators
	Log        *slog.Logger
	// Drained reports whether the namespace gets no more pods. Nil: it is not drained.
	Drained func(ctx context.Context, host string) bool

	base string // where directories of pods are, for tests
}

// A Launcher starts agents in pods.
type Launcher struct {
	o       Options
	left    atomic.Bool // pods that have ended may be left: see reap
	reaping sync.WaitGroup
	ctx     context.Context // ends with Close
	stop    context.CancelFunc

	mu  sync.Mutex
	api *api // nil before it is needed
}

// New returns a launcher. It does not connect yet.
func New(o Options) *Launcher {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Launcher{o: o}
	l.left.Store(true)
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Name returns kubernetes.
func (*Launcher) Name() string { return sandbox.Kubernetes }

// Close closes idle connections. It does not affect pods.
func (l *Launcher) Close() error {
	l.stop()
	l.reaping.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.api != nil {
		l.api.client.CloseIdleConnections()
	}
	return nil
}

// Layout has the copy of the workspace at /workspace and the copies of the roots at /roots.
func (l *Launcher) Layout(d sandbox.Directories) sandbox.Layout {
	binds := []sandbox.Bind{{Host: d.Dir, Inside: l.o.base + "/workspace", Write: true}}
	for _, r := range d.Roots {
		binds = append(binds, sandbox.Bind{Host: r.Path, Inside: path.Join(l.o.base, "/roots", r.Name), Write: r.Write})
	}
	return sandbox.Layout{Binds: binds, Home: home, Image: true}
}

// host returns the name of the namespace as a machine of sandboxes.
func (l *Launcher) host() string { return "kubernetes/" + l.o.Namespace }

func unavailable(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.Unavailable, format, args...)
}

// connect returns the API server.
func (l *Launcher) connect() (*api, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.api != nil {
		return l.api, nil
	}
	a, err := connect(l.o.Kubeconfig)
	if err != nil {
		return nil, unavailable("the Kubernetes cluster of the sandboxes is not known: %w", err).
			Try("ask the operator to set sandbox.kubernetes.kubeconfig, or to run the server in the cluster with a service account")
	}
	l.api = a
	return a, nil
}

// Launch starts a pod, and attaches to it.
func (l *Launcher) Launch(ctx context.Context, s sandbox.Spec) (sandbox.Link, error) {
	switch {
	case l.o.Image == "" || l.o.Agent == "":
		return nil, unavailable("no image is set for pods").Try("ask the operator to set sandbox.kubernetes.image")
	case s.Open:
		return nil, tool.Errorf(tool.Invalid, "a pod never gets a network").Try("give it a proxy, or none")
	case s.Nested || len(s.Child) > 0:
		return nil, unavailable("a pod cannot run programs with a sandbox of their own").Try("use the sandbox kernel")
	case l.o.Drained != nil && l.o.Drained(ctx, l.host()):
		return nil, unavailable("the namespace %s of the sandboxes is drained", l.o.Namespace).
			Try("ask the operator to run mcp-tools sandbox undrain %s", l.host())
	}
	a, err := l.connect()
	if err != nil {
		return nil, err
	}
	holds, err := l.holds(ctx, a, s.Limits)
	if err != nil {
		return nil, err
	}
	for _, g := range s.Require {
		if !slices.Contains(holds, g) {
			return nil, unavailable("pods of the namespace %s cannot give the required guarantees of the sandbox: %s", l.o.Namespace, g).
				Try("ask the operator to run mcp-tools doctor")
		}
	}
	if l.left.Swap(false) {
		l.reaping.Go(func() { l.reap(a) })
	}
	p := l.pod(s)
	if err := a.create(ctx, l.o.Namespace, p, false); err != nil {
		l.remove(a, p.Metadata.Name) // it may have been created after the timeout
		return nil, l.explain(err)
	}
	link, err := l.attach(ctx, a, p.Metadata.Name)
	if err != nil {
		l.remove(a, p.Metadata.Name)
		return nil, err
	}
	link.holds = holds
	link.carried = sandbox.Carried{Host: l.host(), Binds: s.Binds, Hidden: s.Hidden, Locked: s.Locked, Proxy: s.Proxy}
	return link, nil
}

// attach waits until a pod runs, and attaches to its container.
func (l *Launcher) attach(ctx context.Context, a *api, name string) (*link, error) {
	if err := l.await(ctx, a, name); err != nil {
		return nil, err
	}
	conn, err := a.attach(ctx, l.o.Namespace, name, container)
	if err != nil {
		return nil, l.explain(err)
	}
	k := &link{launcher: l, api: a, name: name, conn: conn}
	k.ctx, k.stop = context.WithCancel(context.Background())
	if _, err := k.Write([]byte("\n")); err != nil { // the agent waits for it
		k.conn.CloseNow()
		return nil, l.explain(err)
	}
	go k.keepAlive()
	return k, nil
}

// await waits until a pod runs. If it cannot the error says why.
func (l *Launcher) await(ctx context.Context, a *api, name string) error {
	var last podStatus
	pause := settle
	for {
		p, err := a.get(ctx, l.o.Namespace, name)
		if err == nil {
			err = a.watch(ctx, l.o.Namespace, p, func(p pod) (bool, error) {
				last = p.Status
				return p.Status.state(l.o)
			})
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errWatchEnded) && ctx.Err() == nil:
			pause = settle
			continue
		case status(err) == http.StatusNotFound:
			return errDeleted()
		case away(err) && ctx.Err() == nil: // it restarts, or another one takes over
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			if pause *= 2; pause < patience {
				continue
			}
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			return unavailable("the pod of the sandbox does not start in time: %s", last.waits()).
				Try("try again; if it lasts, the operator finds the cause with kubectl -n %s describe pods", l.o.Namespace)
		}
		return l.explain(err)
	}
}

// away reports whether an error says that the API server does not answer, or not yet. One that has just started forbids
// everything until it has read the roles.
func away(err error) bool {
	known := (*tool.Error)(nil)
	return err != nil && !errors.As(err, &known) &&
		slices.Contains([]int{0, http.StatusServiceUnavailable, http.StatusForbidden, http.StatusUnauthorized}, status(err))
}

func errDeleted() error {
	return unavailable("the pod of the sandbox was deleted while it started").Try("try again")
}

// holds returns the guarantees of a pod. The network is isolated only if network policies deny
// all traffic.
func (l *Launcher) holds(ctx context.Context, a *api, limits sandbox.Limits) ([]sandbox.Guarantee, error) {
	all := []sandbox.Guarantee{sandbox.Files, sandbox.Processes, sandbox.Calls}
	if limits.Memory > 0 {
		all = append(all, sandbox.Memory)
	}
	policies, err := a.policies(ctx, l.o.Namespace)
	if err != nil {
		return nil, l.explain(err)
	}
	if isolated(policies) {
		all = append(all, sandbox.Network)
	}
	return all, nil
}

// Probe asks the API server whether a pod would be admitted, and looks for the network policy.
func (l *Launcher) Probe(ctx context.Context) sandbox.ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var a *api
	var holds []sandbox.Guarantee
	limits := sandbox.Limits{Memory: 64 << 20}
	err := error(unavailable("no image is set for pods").Try("set sandbox.kubernetes.image and sandbox.kubernetes.agent"))
	if l.o.Image != "" && l.o.Agent != "" {
		a, err = l.connect()
	}
	if err == nil {
		holds, err = l.holds(ctx, a, limits)
	}
	if err == nil {
		err = l.explain(a.create(ctx, l.o.Namespace, l.pod(sandbox.Spec{ID: "probe", Limits: limits}), true))
	}
	if err != nil {
		known := tool.AsError(err)
		return sandbox.ProbeResult{Text: "kubernetes: " + known.What, Advice: known.Next}
	}
	f := sandbox.ProbeResult{Works: true, Guarantees: holds, Proxy: true,
		Text: "kubernetes: " + a.name + " admits pods with the image " + l.o.Image + " in the namespace " + l.o.Namespace}
	if l.o.Runtime != "" {
		f.Text += ", with the runtime class " + l.o.Runtime
	}
	if !slices.Contains(holds, sandbox.Network) {
		f.Text += ", but no network policy there denies them all traffic"
		f.Advice = "create the network policy of docs/guides/kubernetes.md"
	}
	return f
}

// Hosts returns the state of the namespace.
func (l *Launcher) Hosts(ctx context.Context) []sandbox.HostState {
	s := sandbox.HostState{Name: l.host(), Tier: sandbox.Kubernetes}
	a, err := l.connect()
	if err == nil {
		var pods []pod
		if pods, err = a.list(ctx, l.o.Namespace, selector); err == nil {
			for _, p := range pods {
				if !p.Status.ended() {
					s.Sandboxes++
				}
			}
		}
	}
	if err != nil {
		s.Problem = l.explain(err).Error()
	}
	return []sandbox.HostState{s}
}

// reap removes ended pods that killed servers left behind, and those that could not be removed.
func (l *Launcher) reap(a *api) {
	ctx, cancel := context.WithTimeout(l.ctx, time.Minute)
	defer cancel()
	pods, err := a.list(ctx, l.o.Namespace, selector)
	if err != nil {
		l.left.Store(true)
		l.o.Log.Warn("pods that have ended could not be listed", "err", err)
		return
	}
	for _, p := range pods {
		if p.Status.ended() {
			l.remove(a, p.Metadata.Name)
			l.o.Log.Info("removed a pod that had ended", "container", p.Metadata.Name)
		}
	}
}

// remove removes a pod. If the API server does not answer the pod ends by itself, and the start of another pod removes it.
func (l *Launcher) remove(a *api, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := a.remove(ctx, l.o.Namespace, name); err != nil && status(err) != http.StatusNotFound {
		l.left.Store(true)
		l.o.Log.Warn("a pod could not be removed", "container", name, "err", err)
	}
}

// explain converts an error of the API server or its connection to one for the model.
func (l *Launcher) explain(err error) error {
	known, refused := (*tool.Error)(nil), (*apiError)(nil)
	const look = "ask the operator to run mcp-tools doctor"
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &refused) && strings.Contains(refused.Message, "exceeded quota"):
		return tool.Errorf(tool.Busy, "the quota of the namespace %s is used up", l.o.Namespace).
			Try("wait until other sandboxes have ended, then try again; the operator can raise the quota").Because(err)
	case errors.As(err, &refused) && strings.Contains(refused.Message, "violates PodSecurity"):
		return unavailable("the namespace %s does not admit the pods of sandboxes: %s", l.o.Namespace, refused.Message).Try(look).Because(err)
	case errors.As(err, &refused) && refused.Code == http.StatusNotFound:
		return unavailable("the API server of Kubernetes does not find it: %s", refused.Message).Try(look).Because(err)
	case errors.As(err, &refused) && (refused.Code == http.StatusForbidden || refused.Code == http.StatusUnauthorized):
		return unavailable("the service account of the server lacks a right in the namespace %s: %s", l.o.Namespace, refused.Message).
			Try("ask the operator to give it the role of docs/guides/kubernetes.md").Because(err)
	case errors.As(err, &refused):
		return unavailable("the API server of Kubernetes says: %s", refused.Message).Try(look).Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("the API server of Kubernetes does not answer in time").Try("try again; if it lasts, " + look).Because(err)
	}
	return unavailable("the API server of Kubernetes cannot be reached").Try("try again; if it lasts, " + look).Because(err)
}

// Install copies this program to a path: an init container does it.
func Install(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "name the path to copy the program to")
		return 2
	}
	if err := install(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "copying the program:", err)
		return 1
	}
	return 0
}

func install(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Chmod(0o555), f.Close())
}
