package agent

import (
	"os"
	"path/filepath"
	"strings"
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

func attributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// gather makes a job that ends with the agent, and puts the process into it.
func gather(p *os.Process) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, p.Pid)
	}
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	return &group{job: job, ended: make(chan struct{})}, nil
}

func assign(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(job, h)
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

func prepare(options) error { return nil }

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
