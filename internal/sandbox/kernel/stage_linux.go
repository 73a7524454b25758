package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/seccomp"
)

// holdArg makes a stage that only waits for the end of its stdin: its user namespace is
// used by the launcher.
const holdArg = "hold"

// Main is the main function of a stage; args come after its name. It returns the exit
// code of the program, but only if the setup failed or no agent was to be started.
func Main(args []string) int {
	if len(args) == 1 && args[0] == holdArg {
		io.Copy(io.Discard, os.Stdin)
		return 0
	}
	// Capabilities and filters are per thread, and exec keeps the calling thread's.
	runtime.LockOSThread()
	unix.CloseOnExec(answerFD)
	if f := build(); f != nil {
		out := os.NewFile(answerFD, "answer")
		if out == nil || json.NewEncoder(out).Encode(f) != nil {
			fmt.Fprintln(os.Stderr, f)
		}
		return 1
	}
	return 0
}

// faulty converts an error of a step to a fault.
func faulty(step string, err error) *fault {
	f := &fault{Step: step, Error: err.Error()}
	errors.As(err, &f.Errno)
	return f
}

// build executes the plan, from the steps that need rights to the steps that drop them.
func build() *fault {
	p, err := readPlan()
	if err != nil {
		return faulty("the plan", err)
	}
	// Other inherited descriptors must not reach the agent.
	if err := unix.CloseRange(planFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return faulty("closing files", err)
	}
	program := "/proc/self/exe"
	if p.Jail {
		if p.Program != nil {
			program = programPath
		}
		if err := raiseLoopback(); err != nil {
			return faulty("the loopback interface", err)
		}
		haveAddresses(p.Forward)
		if err := unix.Sethostname([]byte(hostname)); err != nil {
			return faulty("the host name", err)
		}
		if err := jail(p); err != nil {
			return faulty("the root directory", err)
		}
	} else if err := unix.Chdir("/"); err != nil {
		return faulty("the root directory", err)
	}
	if err := setLimits(p); err != nil {
		return faulty("limits", err)
	}
	if err := restrict(p); err != nil {
		return err
	}
	if p.Try {
		return nil
	}
	argv, env := append([]string{"mcp-tools", agentArg}, p.Agent...), []string{"PATH=" + agentPath}
	if len(p.Child) > 0 {
		argv = append(argv[:1], p.Child...)
		env = append(env, "HOME="+p.Home)
	}
	if err := unix.Exec(program, argv, env); err != nil {
		return faulty("starting the agent", err)
	}
	return nil
}

const agentPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// restrict drops all rights of this thread.
func restrict(p plan) *fault {
	// If the server dies, the agent must die too. It also ends when its stdin ends: where a
	// kill would leave its descendants behind, only this ends them.
	if p.Jail {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return faulty("the death signal", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return faulty("no new privileges", err)
	}
	if p.Landlock > 0 {
		if err := confine(p.Landlock, p.Cut, grants(p)); err != nil {
			return faulty("Landlock", err)
		}
	}
	if err := dropRights(p.Jail); err != nil {
		return faulty("dropping capabilities", err)
	}
	if err := seccomp.Install(p.Cut, p.Nested); err != nil {
		return faulty("seccomp", err)
	}
	if p.Nested {
		if err := checkNested(); err != nil {
			return faulty("namespaces for the program's own sandbox", err)
		}
	}
	return nil
}

// checkNested returns an error if this process cannot create namespaces, such as where their number is limited. It
// starts a program without a name: the kernel looks for the program after it has created the namespaces.
func checkNested() error {
	_, err := syscall.ForkExec("", nil, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET},
	})
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// grants returns the Landlock rules. They repeat the mounts as a second protection, or
// are the only protection if there are no namespaces.
func grants(p plan) []grant {
	all := []grant{
		{"/etc/passwd", fileRead}, {"/etc/group", fileRead}, {"/etc/nsswitch.conf", fileRead},
		{"/etc/hosts", fileRead}, {"/etc/hostname", fileRead}, {"/etc/resolv.conf", fileRead},
		{"/proc", processes}, {"/dev/ptmx", device}, {"/dev/pts", device},
	}
	for _, name := range system {
		all = append(all, grant{name, treeRead})
	}
	for _, name := range etcPaths() {
		all = append(all, grant{name, treeRead})
	}
	for _, name := range devicePaths() {
		all = append(all, grant{name, device})
	}
	program := "/proc/self/exe"
	if p.Jail {
		if p.Program != nil {
			program = programPath
		}
		all = append(all, grant{"/", ll.AccessFSReadDir},
			grant{"/etc", treeRead}, grant{"/tmp", treeWrite}, grant{"/dev/shm", treeWrite})
	}
	all = append(all, grant{program, fileRead})
	if p.Home != "" {
		all = append(all, grant{p.Home, treeWrite})
	}
	for _, b := range p.Binds {
		access := landlock.AccessFSSet(treeRead)
		if b.Write {
			access = treeWrite
		}
		all = append(all, grant{strings.TrimSuffix(b.Path, "/"), access})
	}
	return all
}

// haveAddresses gives the loopback interface the addresses for forwarded hosts, and lets the agent listen on low
// ports. It ignores errors: such an address does not work.
func haveAddresses(all []sandbox.Forward) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for i, f := range all {
		if f.Listen.Port() < 1024 {
			_ = os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0)
		}
		if !f.Listen.Addr().Is4() || f.Listen.Addr().IsLoopback() {
			continue
		}
		alias, err := unix.NewIfreq(fmt.Sprintf("lo:%d", i))
		if err == nil {
			err = alias.SetInet4Addr(f.Listen.Addr().AsSlice())
		}
		if err == nil {
			_ = unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias)
		}
	}
}

// raiseLoopback enables the loopback interface of the network namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
