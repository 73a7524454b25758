package kernel

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Launch starts an agent.
func (l *Launcher) Launch(ctx context.Context, w sandbox.Spec) (sandbox.Link, error) {
	if w.Open {
		return nil, errors.New("the kernel sandbox does not open the network of this machine: use the host, or a proxy")
	}
	found := l.probe(ctx)
	if found == nil {
		return nil, ctx.Err()
	}
	if !found.public().Works {
		return nil, fmt.Errorf("%s; %s", found.public().Text, found.public().Advice)
	}
	s := &start{launcher: l, spec: w, found: *found}
	defer s.closeFiles()
	k, err := s.launch(ctx)
	if err != nil {
		s.group.remove()
		if s.home != "" {
			os.RemoveAll(s.home)
		}
		return nil, err
	}
	return k, nil
}

// A start is a launch in progress.
type start struct {
	launcher *Launcher
	spec     sandbox.Spec
	found    finding
	try      bool

	id    identity
	plan  plan
	group *cgroup
	home  string     // on this machine; removed at the end
	files []*os.File // passed to the stage
	tree  []opened
}

func (s *start) closeFiles() {
	for _, f := range s.files {
		f.Close()
	}
	closeOpened(s.tree)
}

func (s *start) launch(ctx context.Context) (*link, error) {
	if err := s.makePlan(); err != nil {
		return nil, err
	}
	if !s.try {
		s.group = newCgroup(s.spec.ID, s.spec.Limits)
		if s.group != nil {
			s.plan.Temp = s.spec.Limits.Scratch()
		}
		if missing := s.missing(); len(missing) > 0 {
			return nil, tool.Errorf(tool.Unavailable,
				"the kernel sandbox cannot guarantee %v here, which this profile requires", missing).
				Because(errors.New(s.found.public().Text)).
				Try("do it without commands; without namespaces, files of the workspace such as .git/hooks or .env " +
					"cannot be locked or hidden: the operator can allow namespaces, use docker, " +
					"or remove files from sandbox.require")
		}
	}
	text, err := json.Marshal(s.plan)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPlan {
		return nil, fmt.Errorf("too many paths are hidden or locked: %d", len(s.spec.Hidden)+len(s.spec.Locked))
	}
	return s.run(ctx, text)
}

// holds returns the guarantees of this sandbox.
func (s *start) holds() []sandbox.Guarantee {
	holds := slices.Clone(s.found.public().Guarantees)
	if s.group == nil {
		holds = slices.DeleteFunc(holds, func(p sandbox.Guarantee) bool { return p == sandbox.Memory })
	} else if !slices.Contains(holds, sandbox.Memory) {
		holds = append(holds, sandbox.Memory)
	}
	if !s.plan.Jail && len(s.spec.Hidden)+len(s.spec.Locked) > 0 {
		// Landlock rules cover whole directories, without exceptions within them.
		holds = slices.DeleteFunc(holds, func(p sandbox.Guarantee) bool { return p == sandbox.Files })
	}
	return holds
}

func (s *start) missing() []sandbox.Guarantee {
	holds := s.holds()
	return slices.DeleteFunc(slices.Clone(s.spec.Require), func(p sandbox.Guarantee) bool {
		return slices.Contains(holds, p)
	})
}

// makePlan makes the plan, and opens the sources.
func (s *start) makePlan() error {
	var err error
	if s.id, err = commandIdentity(); err != nil {
		return err
	}
	s.plan = plan{
		Try: s.try, Jail: s.found.jail, Cut: !s.found.jail, Nested: s.spec.Nested, Landlock: s.found.landlock,
		Hidden: s.spec.Hidden, Locked: s.spec.Locked, Child: s.spec.Child,
		Temp: s.spec.Limits.Temp, FileSize: s.spec.Limits.FileSize, Processes: s.spec.Limits.Processes,
	}
	if s.tree, err = openAll(s.spec.Binds); err != nil {
		return fmt.Errorf("opening the bound directories: %w", err)
	}
	if s.plan.Jail {
		err = s.planJail()
	} else {
		err = s.planOpen()
	}
	s.plan.UID, s.plan.GID = s.id.uid, s.id.gid
	return err
}

// planJail adds the program and the proxy to the sources.
func (s *start) planJail() error {
	s.plan.Home = home
	binds := len(s.tree)
	program, err := filepath.EvalSymlinks(self())
	if err == nil {
		err = s.also(program, false)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil // its file was replaced: the agent is started from the running program
	}
	if err != nil {
		return fmt.Errorf("this program: %w", err)
	}
	programs := len(s.tree) - binds
	if s.spec.Proxy != "" {
		if err := s.also(s.spec.Proxy, true); err != nil {
			return fmt.Errorf("the proxy: %w", err)
		}
		s.plan.Agent = append(s.plan.Agent, "-proxy", proxyPath)
		s.plan.Forward = s.spec.Forward
		for _, f := range s.spec.Forward {
			s.plan.Agent = append(s.plan.Agent, "-forward", f.Listen.String()+"="+f.To)
		}
	}
	if s.id.outsideUID != os.Geteuid() {
		if s.id, s.files, err = s.launcher.mounts(s.tree, s.id); err != nil {
			if errors.Is(err, errOwner) {
				return fmt.Errorf("%w: %s", err, ownerAdvice)
			}
			return err
		}
	}
	for i := range s.tree {
		switch src := &s.tree[i].source; {
		case i < binds:
			s.plan.Binds = append(s.plan.Binds, *src)
		case i < binds+programs:
			s.plan.Program = src
		default:
			s.plan.Proxy = src
		}
	}
	return nil
}

// also opens a source that commands do not see at its own path.
func (s *start) also(path string, write bool) error {
	fd, src, err := look(path, write)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	s.tree = append(s.tree, opened{src, fd, int(st.Uid), int(st.Gid)})
	return nil
}

// planOpen is for sandboxes without namespaces: all paths stay the same.
func (s *start) planOpen() error {
	if s.spec.Proxy != "" {
		return errors.New("commands cannot be limited to the proxy here: " + s.found.public().Text)
	}
	if s.id.realRoot {
		return errors.New("the server is root, and has neither namespaces nor another user to run commands as")
	}
	for _, o := range s.tree {
		s.plan.Binds = append(s.plan.Binds, o.source)
		if !o.Write || s.id.outsideUID == os.Geteuid() || o.uid == s.id.outsideUID {
			continue
		}
		if o.uid == 0 {
			return fmt.Errorf("%s: %w: %s", o.Path, errOwner, ownerAdvice)
		}
		s.id = identity{outsideUID: o.uid, outsideGID: o.gid, uid: o.uid, gid: o.gid}
	}
	if s.spec.Home == "" {
		return nil
	}
	s.plan.Home = s.spec.Home
	if err := os.Mkdir(s.plan.Home, 0o700); err != nil {
		return fmt.Errorf("a home for commands: %w", err)
	}
	s.home = s.plan.Home
	return os.Chown(s.home, s.id.outsideUID, s.id.outsideGID)
}

// run starts the stage, sends it the plan, and waits until it has become an agent.
func (s *start) run(ctx context.Context, text []byte) (*link, error) {
	theirPlan, plan, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer closeAll(theirPlan, plan)
	answer, theirAnswer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer closeAll(answer, theirAnswer)
	cmd := exec.Command(self(), StageArg)
	cmd.Env = []string{"PATH=" + agentPath}
	cmd.Dir = "/"
	cmd.ExtraFiles = append([]*os.File{theirPlan, theirAnswer}, s.files...)
	if s.plan.Jail {
		cmd.SysProcAttr = s.id.namespaced(allNamespaces)
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	} else {
		cmd.SysProcAttr = s.id.plain()
	}
	cmd.SysProcAttr.Setsid = true
	p, err := sandbox.StartProcess(cmd)
	if err != nil {
		return nil, stageError(err)
	}
	closeAll(theirPlan, theirAnswer)
	k := &link{AgentProcess: p, holds: s.holds()}
	if err := s.instruct(ctx, k, plan, answer, text); err != nil {
		_ = k.Cmd.Process.Kill()
		k.Close()
		return nil, err
	}
	k.group, k.home = s.group, s.home
	return k, nil
}

const allNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// instruct writes the plan, and reads the result: nothing if the stage has become an
// agent.
func (s *start) instruct(ctx context.Context, k *link, plan, answer *os.File, text []byte) error {
	if s.group != nil {
		if err := s.group.take(k.Cmd.Process.Pid); err != nil {
			return fmt.Errorf("putting the sandbox into its cgroup: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { k.Cmd.Process.Kill() })
	defer stop()
	_, err := plan.Write(text)
	closeAll(plan)
	said, _ := io.ReadAll(io.LimitReader(answer, maxAnswer))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(bytes.TrimSpace(said)) > 0 {
		f := &fault{}
		if json.Unmarshal(said, f) != nil {
			return fmt.Errorf("the sandbox could not be set up: %q", said)
		}
		return &SetupError{Step: f.Step, Text: f.Error, errno: f.Errno}
	}
	if err != nil {
		<-k.Gone
		return fmt.Errorf("the sandbox could not be set up: %w: %s", err, k.Words.String())
	}
	return nil
}

const maxAnswer = 16 << 10

// stageError returns an error that explains why the stage could not be started.
func stageError(err error) error {
	e := &SetupError{Step: "starting the stage", Text: err.Error()}
	errors.As(err, &e.errno)
	if os.Geteuid() == 0 && e.errno == unix.EACCES {
		e.Text += " (commands do not run as root: others must be able to read and execute the program's file)"
	}
	return e
}

// A SetupError is the failure of one step of the setup.
type SetupError struct {
	Step string
	Text string

	errno unix.Errno
}

func (e *SetupError) Error() string {
	return "the sandbox could not be set up: " + e.Step + ": " + e.Text
}

// Unwrap returns the error of the kernel.
func (e *SetupError) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}

// Layout keeps all paths, so that paths in output and arguments are valid inside and
// outside the sandbox.
func (l *Launcher) Layout(g sandbox.Directories) sandbox.Layout {
	layout := sandbox.Layout{Home: home, Shown: system[:], Binds: []sandbox.Bind{{Host: g.Dir, Inside: g.Dir, Write: true}}}
	for _, r := range g.Roots {
		layout.Binds = append(layout.Binds, sandbox.Bind{Host: r.Path, Inside: r.Path, Write: r.Write})
	}
	if f := l.probe(context.Background()); f != nil && !f.jail {
		layout.HomeIsTemp = true
		layout.Home = filepath.Join(os.TempDir(), "mcp-tools-home-"+strconv.Itoa(os.Getpid())+"-"+rand.Text()[:12])
	}
	return layout
}
