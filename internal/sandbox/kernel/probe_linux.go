package kernel

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/seccomp"
)

// A finding is the result of a probe.
type finding struct {
	jail     bool // namespaces, and a separate root directory
	landlock int  // version; 0 for none
	group    bool // cgroups are available
	err      error
	noJail   error // why there are no namespaces
}

// Probe tests the sandbox once, and caches the result.
func (l *Launcher) Probe(ctx context.Context) sandbox.ProbeResult {
	f := l.probe(ctx)
	if f == nil {
		return sandbox.ProbeResult{Text: "kernel: " + ctx.Err().Error()}
	}
	return f.public()
}

// probe returns nil if ctx ends first.
func (l *Launcher) probe(ctx context.Context) *finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found != nil {
		return l.found
	}
	sweep()
	f := &finding{}
	if !seccomp.Supported {
		f.err = fmt.Errorf("there is no list of system calls for %s", runtime.GOARCH)
		l.found = f
		return f
	}
	if v := landlockVersion(); v >= landlockTruncates {
		f.landlock = v
	}
	f.jail = true
	f.noJail = l.try(ctx, *f)
	if f.noJail != nil {
		f.jail = false
		if f.landlock == 0 {
			f.err = f.noJail
		} else {
			f.err = l.try(ctx, *f)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	const little = 1 << 20
	if g := newCgroup("probe"+rand.Text()[:12], sandbox.Limits{Memory: little}); g != nil {
		f.group = true
		g.remove()
	}
	l.found = f
	return f
}

// try sets up a sandbox that ends immediately.
func (l *Launcher) try(ctx context.Context, f finding) error {
	s := &start{launcher: l, found: f, try: true}
	defer s.closeFiles()
	k, err := s.launch(ctx)
	if err != nil {
		return err
	}
	defer k.Close()
	<-k.Gone
	if !k.Cmd.ProcessState.Success() {
		return fmt.Errorf("the sandbox could not be set up: %s %s", k.Cmd.ProcessState, k.Words.String())
	}
	return nil
}

// public converts a finding to a sandbox.ProbeResult.
func (f finding) public() sandbox.ProbeResult {
	if f.err != nil {
		return sandbox.ProbeResult{
			Text:   "kernel: does not work here: " + f.err.Error(),
			Advice: "use sandbox docker; " + f.advice(),
		}
	}
	var has, lacks []string
	out := sandbox.ProbeResult{Works: true, Guarantees: []sandbox.Guarantee{sandbox.Files, sandbox.Network,
		sandbox.Calls}}
	if f.jail {
		has = append(has, "namespaces")
		out.Guarantees, out.Proxy = append(out.Guarantees, sandbox.Processes), true
	} else {
		lacks = append(lacks, "namespaces ("+f.noJail.Error()+
			"): other processes are visible, some may survive, files of the workspace cannot be hidden or locked, "+
			"and there is no proxy")
	}
	if f.landlock > 0 {
		has = append(has, fmt.Sprintf("Landlock %d", f.landlock))
		if f.landlock < landlockScopes && !f.jail {
			lacks = append(lacks, fmt.Sprintf("Landlock %d: processes of the same user can be signalled",
				landlockScopes))
		}
	} else {
		lacks = append(lacks, fmt.Sprintf("Landlock %d or newer as a second wall for files", landlockTruncates))
	}
	has = append(has, "seccomp")
	if f.group {
		has = append(has, "cgroups")
		out.Guarantees = append(out.Guarantees, sandbox.Memory)
	} else {
		lacks = append(lacks, "a cgroup of our own: memory is watched, not limited")
	}
	out.Text = "kernel: " + strings.Join(has, ", ")
	if len(lacks) > 0 {
		out.Text += "; lacking " + strings.Join(lacks, "; ")
		out.Advice = f.advice()
	}
	return out
}

// advice returns how to get missing parts, the most important first.
func (f finding) advice() string {
	switch {
	case errors.Is(f.noJail, errOwner):
		return ownerAdvice
	case f.noJail != nil && setTo("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "AppArmor denies namespaces to ordinary users: allow them for this program in a profile, " +
			"or set kernel.apparmor_restrict_unprivileged_userns=0"
	case f.noJail != nil && setTo("/proc/sys/user/max_user_namespaces", "0"):
		return "set user.max_user_namespaces to more than 0"
	case f.noJail != nil && setTo("/proc/sys/kernel/unprivileged_userns_clone", "0"):
		return "set kernel.unprivileged_userns_clone=1"
	case errors.Is(f.noJail, unix.ENOSYS):
		return "the kernel is older than 5.12, or a filter refuses its calls: in a container, " +
			"allow mount and clone with namespaces"
	case f.noJail != nil:
		return "in a container, allow namespaces in its seccomp and AppArmor profiles, or use sandbox docker"
	case f.landlock == 0:
		return "use a kernel of 6.2 or newer with landlock among its security modules (lsm=)"
	case !f.group:
		return "let systemd delegate a cgroup to the server (Delegate=yes), or start it in a user session"
	}
	return ""
}

func setTo(file, value string) bool {
	text, err := os.ReadFile(file)
	return err == nil && strings.TrimSpace(string(text)) == value
}
