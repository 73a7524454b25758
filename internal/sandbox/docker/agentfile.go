package docker

import (
	"debug/elf"
	"os"
	"runtime"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// AgentFile is the name of a build of this program for Linux, beside this program, if the
// engine cannot run this one.
const AgentFile = "mcp-tools-linux"

// An agentFile is the program that becomes the first process of a container.
type agentFile struct {
	path    string
	arch    string // a GOARCH value; "" if unknown
	dynamic bool
	mode    os.FileMode
	size    int64
}

// agent finds the program and reads its ELF header.
func (l *Launcher) agent() (agentFile, error) {
	path := l.opts.Agent
	if path == "" {
		if runtime.GOOS != "linux" {
			return agentFile{}, tool.Errorf(tool.Unavailable, "no agent is set for docker sandboxes").
				Try("put a Linux build of mcp-tools beside this program, named %s", AgentFile)
		}
		self, err := os.Readlink("/proc/self/exe")
		if err != nil {
			return agentFile{}, unavailable("this program does not know where it is").Because(err)
		}
		path = self
	}
	f, err := os.Open(path)
	if err != nil {
		return agentFile{}, unavailable("the agent of docker sandboxes cannot be read").
			Try("restart the server if it was updated").Because(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return agentFile{}, err
	}
	a := agentFile{path: path, mode: st.Mode(), size: st.Size()}
	program, err := elf.NewFile(f)
	if err != nil || !a.mode.IsRegular() {
		return agentFile{}, unavailable("the agent of docker sandboxes is no Linux program").
			Try("put a build with GOOS=linux CGO_ENABLED=0 beside this program, named %s", AgentFile).Because(err)
	}
	switch program.Machine {
	case elf.EM_X86_64:
		a.arch = "amd64"
	case elf.EM_AARCH64:
		a.arch = "arm64"
	}
	for _, p := range program.Progs {
		a.dynamic = a.dynamic || p.Type == elf.PT_INTERP
	}
	return a, nil
}
