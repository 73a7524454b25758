package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

const (
	namesDiffer    = false // Path and PATH are one variable
	relativeIsKept = false // a relative program would be looked up in the agent's directory
)

// A group is the job object of a command and all that it starts.
type group struct {
	job   windows.Handle
	ended chan struct{} // closed when the command itself has
}

// attributes starts a process stopped, so that it is in its job before it can start others, and without the privileges
// that a server run by an administrator has.
func attributes(bool) *syscall.SysProcAttr {
	token, _ := plainToken() // checked by prepare
	return &syscall.SysProcAttr{
		HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED, Token: token,
	}
}

// plainToken returns the token of this process without its privileges.
var plainToken = sync.OnceValues(func() (syscall.Token, error) {
	var all windows.Token
	err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_DUPLICATE|windows.TOKEN_ASSIGN_PRIMARY|
		windows.TOKEN_QUERY|windows.TOKEN_ADJUST_DEFAULT, &all)
	if err != nil {
		return 0, err
	}
	defer all.Close()
	const disableMaxPrivilege = 1
	var plain syscall.Token
	ok, _, err := windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken").Call(
		uintptr(all), disableMaxPrivilege, 0, 0, 0, 0, 0, 0, uintptr(unsafe.Pointer(&plain)))
	if ok == 0 {
		return 0, fmt.Errorf("a token without privileges: %w", err)
	}
	return plain, nil
})

// dress sets the command line of a program that cmd.exe runs, and returns the file to start.
func (c *command) dress(path string, attr *syscall.SysProcAttr) (string, error) {
	line, err := shellLine(path, c.spec.Argv)
	if err != nil || line == "" {
		return path, err
	}
	attr.CmdLine = line
	dir, err := windows.GetSystemDirectory()
	return filepath.Join(dir, "cmd.exe"), err
}

// gather makes a job that ends with the agent, with the limits of a command, and puts the process into it.
func gather(p *os.Process, l wire.Limits) (*group, error) {
	job, err := newJob(l)
	if err != nil {
		return nil, err
	}
	if err := assign(job, p.Pid); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	return &group{job: job, ended: make(chan struct{})}, nil
}

// newJob makes a job whose processes end when its handle is closed, as the end of this process does.
func newJob(l wire.Limits) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("making a job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if l.Memory > 0 {
		limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		limits.JobMemoryLimit = uintptr(l.Memory)
	}
	if l.Processes > 0 {
		limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		limits.BasicLimitInformation.ActiveProcessLimit = uint32(l.Processes)
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, fmt.Errorf("the limits of a job: %w", err)
	}
	return job, nil
}

// assign puts a stopped process into a job, and lets it run.
func assign(job windows.Handle, pid int) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	h, err := windows.OpenProcess(access, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("opening the process: %w", err)
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("putting the process into its job: %w", err)
	}
	status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(uintptr(h))
	if status != 0 {
		return fmt.Errorf("letting the process run: %w", windows.NTStatus(status))
	}
	return nil
}

// accounting has the counters of a job.
type accounting struct {
	userTime, kernelTime, periodUser, periodKernel int64
	pageFaults, total, active, terminated          uint32
}

func (g *group) count() int {
	const basicAccounting = 1
	var a accounting
	err := windows.QueryInformationJobObject(g.job, basicAccounting,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	if err != nil {
		return 0
	}
	return int(a.active)
}

func (g *group) ask() bool { return false }
func (g *group) kill()     { _ = windows.TerminateJobObject(g.job, 1) }
func (g *group) release()  { windows.CloseHandle(g.job) }

func endingOf(s *os.ProcessState) ending {
	return ending{code: s.ExitCode(), cpu: s.UserTime() + s.SystemTime()}
}

// prepare puts the agent into a job. The system ends all processes of the job when the agent ends for any
// reason.
func prepare(options) error {
	if _, err := plainToken(); err != nil {
		return err
	}
	job, err := newJob(wire.Limits{}) // the handle stays open until this process ends
	if err == nil {
		err = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
	}
	return err
}

func pipeFrom() (r, w *os.File, err error) { return os.Pipe() }
func pipeTo() (r, w *os.File, err error)   { return os.Pipe() }

func openTerminal(wire.Size) (ours, theirs *os.File, err error) {
	return nil, nil, problem{wire.RefusedBody{Error: "no terminal can be had on Windows"}}
}

func deadly() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// executable finds the file of a program by the endings that programs have.
func executable(path string, env []string) (string, error) {
	if filepath.Ext(path) != "" {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	endings := variable(env, "PATHEXT")
	if endings == "" {
		endings = ".com;.exe;.bat;.cmd"
	}
	for end := range strings.SplitSeq(endings, ";") {
		if info, err := os.Stat(path + end); err == nil && !info.IsDir() {
			return path + end, nil
		}
	}
	return "", os.ErrNotExist
}
