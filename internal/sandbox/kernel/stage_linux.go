package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// holdArg makes a stage that only waits for the end of its stdin: it is wanted
// for the namespace that it is in.
const holdArg = "hold"

// Main is the main function of a stage: args come after its name. It returns,
// with the exit code of the program, only when it could not do its work or was
// not to start an agent.
func Main(args []string) int {
	if len(args) == 1 && args[0] == holdArg {
		io.Copy(io.Discard, os.Stdin)
		return 0
	}
	// Rights and filters belong to a thread, and the thread that executes hands
	// on its own.
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

// faulty words an error of a step.
func faulty(step string, err error) *fault {
	f := &fault{Step: step, Error: err.Error()}
	errors.As(err, &f.Errno)
	return f
}

// build does what the plan says, from what needs rights to what takes them.
func build() *fault {
	p, err := readPlan()
	if err != nil {
		return faulty("the plan", err)
	}
	// What was inherited is for this program alone.
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
	argv := append([]string{"mcp-tools", agentArg}, p.Agent...)
	if err := unix.Exec(program, argv, []string{"PATH=" + agentPath}); err != nil {
		return faulty("starting the agent", err)
	}
	return nil
}

const agentPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// restrict takes every right from this thread.
func restrict(p plan) *fault {
	// A server that dies takes its agent along; the end of stdin does the same,
	// and has to where processes of the agent would be left behind.
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
	if err := filter(refusals(p.Cut)); err != nil {
		return faulty("seccomp", err)
	}
	return nil
}

// grants are the second wall, over the same paths as the mounts, or the only
// one.
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
		all = append(all, grant{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR},
			grant{"/etc", treeRead}, grant{"/tmp", treeWrite}, grant{"/dev/shm", treeWrite})
	}
	all = append(all, grant{program, fileRead})
	if p.Home != "" {
		all = append(all, grant{p.Home, treeWrite})
	}
	for _, b := range p.Binds {
		access := uint64(treeRead)
		if b.Write {
			access = treeWrite
		}
		all = append(all, grant{strings.TrimSuffix(b.Path, "/"), access})
	}
	return all
}

// raiseLoopback lets commands talk to themselves in a network of their own.
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
