package exec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A scene is a command, what it does, and what is asked about it.
type scene struct {
	name     string
	out, err string
	status   sandbox.Status
	site     func(*sandbox.Site)
	keepErr  error
	lost     bool // the keeper fails
	act      func(ctx context.Context, a *actor, u sandbox.WaitCondition) bool
	calls    []string // tool and arguments
}

// forever is a command that runs until the wait ends.
func forever(ctx context.Context, _ *actor, u sandbox.WaitCondition) bool {
	if u.Idle > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(u.Idle):
		}
		return true
	}
	<-ctx.Done()
	return true
}

func exited(code int) sandbox.Status {
	return sandbox.Status{ID: "p_1", State: sandbox.Exited, Code: code, Took: 1200 * time.Millisecond}
}

func running() sandbox.Status {
	return sandbox.Status{ID: "p_1", State: sandbox.Running, Took: 3 * time.Minute}
}

func scenes() []scene {
	const run = `exec {"command":"make all"}`
	var long strings.Builder
	for i := range 2000 {
		long.WriteString(fmt.Sprintf("line %d of the output\n", i+1))
	}
	all := []scene{
		{name: "it worked", out: "one\ntwo\n", status: exited(0), calls: []string{run}},
		{name: "nothing to say", status: exited(0), calls: []string{run}},
		{name: "in a subtask", out: "one\n", status: exited(0),
			calls: []string{`exec {"cmd":"make all","run_in_subtask":true}`}},
		{name: "in a subtask that fails", out: "one\n", err: "no rule\n", status: exited(2),
			calls: []string{`exec {"cmd":"make all","run_in_subtask":true}`}},
		{name: "grep finds nothing", status: exited(1), calls: []string{`exec {"argv":["grep","x","f"]}`}},
		{name: "both streams", out: "built 3 of 4\n", err: "main.go:3: undefined: x\n", status: exited(2),
			calls: []string{run}},
		{name: "only stderr", err: "Switched to branch 'x'\n", status: exited(0), calls: []string{run}},
		{name: "a signal", out: "x", status: sandbox.Status{State: sandbox.Exited, Code: 139, Signal: "SIGSEGV"},
			calls: []string{run}},
		{name: "too slow", out: "testing ...\n", status: sandbox.Status{State: sandbox.TimedOut,
			Took:   300 * time.Second,
			Signal: "SIGKILL"}, calls: []string{run}},
		{name: "too much memory", status: sandbox.Status{State: sandbox.LimitExceeded, Why: "memory, 512 MB",
			Signal: "SIGKILL"},
			calls: []string{run}},
		{name: "somebody ended it", status: sandbox.Status{State: sandbox.Killed, Signal: "SIGKILL"},
			calls: []string{run}},
		{name: "the sandbox is gone", out: "half", status: sandbox.Status{State: sandbox.Lost}, calls: []string{run}},
		{name: "children go on", out: "started\n", status: sandbox.Status{ID: "p_1", State: sandbox.Exited, Left: 2},
			calls: []string{run, `process {"action":"poll","id":"p_1"}`}},
		{name: "children that cannot be kept", status: sandbox.Status{ID: "p_1", State: sandbox.Exited, Left: 1},
			calls:   []string{run},
			keepErr: tool.Errorf(tool.Busy, "20 commands are in the background, which is the most").Try("remove some")},
		{name: "elsewhere than wanted", out: "x\n", status: exited(0),
			site: func(s *sandbox.Site) { s.Note = "docker does not answer" }, calls: []string{run}},
		{name: "no such program", err: "/bin/bash: line 1: python: command not found\n", status: exited(127),
			calls: []string{`exec {"command":"python x.py"}`}},
		{name: "no such program in a sandbox", err: "/bin/bash: line 1: cargo: command not found\n",
			status: exited(127), calls: []string{`exec {"command":"cargo build"}`}},
		{name: "no such program in the image", err: "sh: 1: foo: not found\n", status: exited(127),
			site: func(s *sandbox.Site) { s.Tier = "docker" }, calls: []string{run}},
		{name: "sudo", err: "bash: line 1: sudo: command not found\n", status: exited(127), calls: []string{run}},
		{name: "read-only in a sandbox", err: "touch: cannot touch '/etc/x': Read-only file system\n",
			status: exited(1),
			calls:  []string{run}},
		{name: "no network", err: "curl: (6) Could not resolve host: example.com\n", status: exited(6),
			calls: []string{run}},
		{name: "it asks", out: "Proceed? [Y/n] ", status: sandbox.Status{State: sandbox.TimedOut,
			Took: 300 * time.Second},
			calls: []string{run}},
		{name: "an editor", out: "~\n~\n", status: sandbox.Status{State: sandbox.TimedOut, Took: 300 * time.Second},
			calls: []string{`exec {"command":"vim x"}`}},
		{name: "it never ends", out: "x\n", status: sandbox.Status{State: sandbox.TimedOut, Took: 300 * time.Second},
			calls: []string{`exec {"command":"tail -f x | grep y"}`}},
		{name: "packages, without a word", status: sandbox.Status{State: sandbox.TimedOut, Took: 60 * time.Second},
			calls: []string{`exec {"command":"cd js && npm install x"}`, `exec {"command":"npm test"}`}},
		{name: "modules",
			err: "go: x: Get \"https://proxy.golang.org/x\": dial tcp: lookup proxy.golang.org on [::1]:53: connection refused\n", status: exited(1), calls: []string{`exec {"command":"go build"}`}},
		{name: "who commits", err: "Author identity unknown\n\n*** Please tell me who you are.\n", status: exited(128),
			calls: []string{`exec {"command":"git commit -m x"}`}},
		{name: "what to commit with", err: "error: Terminal is dumb, but EDITOR unset\n", status: exited(1),
			calls: []string{`exec {"command":"git commit"}`}},
		{name: "no engine",
			err:    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n",
			status: exited(1), calls: []string{`exec {"command":"docker ps"}`}},
		{name: "it wants a terminal", err: "the input device is not a TTY\n", status: exited(1), calls: []string{run}},
		{name: "at a terminal, waiting", out: "Password: ",
			status: sandbox.Status{ID: "p_1", State: sandbox.Running, Waiting: true, Took: 2 * time.Second},
			act:    forever,
			calls: []string{`exec {"command":"login","tty":true}`,
				`process {"action":"write","id":"p_1","data":"x\n"}`}},
		{name: "colours and progress", out: " 10%\r 50%\r100%\n\x1b[32mok\x1b[0m\n", status: exited(0),
			calls: []string{run}},
		{name: "no text", out: "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 40), status: exited(0),
			calls: []string{run}},
		{name: "very long", out: long.String(), status: exited(1), calls: []string{run}},
		{name: "very long on both, and nothing keeps it", out: long.String(), err: long.String(), lost: true,
			status: exited(1),
			calls:  []string{run}},
	}
	return append(all, behindScenes()...)
}

func behindScenes() []scene {
	server := func(ctx context.Context, a *actor, u sandbox.WaitCondition) bool {
		if a.typed == "" && a.out.Size() == 0 {
			a.out.write("listening on :3000\n")
		}
		return forever(ctx, a, u)
	}
	const start = `exec {"command":"npm start","background":true}`
	return []scene{
		{name: "in the background", status: running(), act: server, calls: []string{
			start, `process {"action":"list"}`, `process {"action":"poll","id":"p_1"}`,
			`process {"action":"wait","timeout_seconds":5}`,
			`process {"action":"wait","id":"p_1","pattern":"listening"}`,
			`process {"action":"wait","id":"p_1","pattern":"listening","offset":0}`,
			`process {"action":"wait","id":"p_1","until":"idle"}`, `process {"action":"log","id":"p_1"}`,
			`process {"action":"log","id":"p_1","pattern":"list"}`,
			`process {"action":"log","id":"p_1","pattern":"nothing"}`,
			`process {"action":"write","id":"p_1","data":"rs\n"}`,
			`process {"action":"kill","id":"p_1"}`, `process {"action":"kill","id":"p_1"}`,
			`process {"action":"remove","id":"p_1"}`, `process {"action":"list"}`,
		}},
		{name: "it fails at once", err: "Error: port 3000 is taken\n", status: exited(1), calls: []string{start}},
		{name: "for longer than the session", status: running(), act: server,
			calls: []string{`exec {"command":"npm start","background":true,"keep":true}`}},
		{name: "as another system asks", out: "done\n", status: exited(0),
			calls: []string{`exec {"cmd":"make","workdir":"/w","yieldMs":10000}`}},
		{name: "a terminal", status: running(), act: forever, calls: []string{
			`exec {"command":"vim x","background":true,"tty":true}`,
			`process {"action":"send-keys","sessionId":"p_1","keys":["Escape",":q!","Enter"]}`,
			`process {"action":"send-keys","sessionId":"p_1","data":":q!","keys":["Enter"]}`,
			`process {"action":"send_keys","id":"p_1"}`,
		}},
		{name: "no terminal", status: running(), act: forever, calls: []string{
			`exec {"command":"cat","background":true}`, `process {"action":"send_keys","id":"p_1","keys":["C-c"]}`,
			`process {"action":"submit","id":"p_1","data":"x"}`,
			`process {"action":"send_keys","id":"p_1","keys":["C-d"]}`,
		}},
		{name: "mistakes", status: running(), act: forever, calls: []string{
			`exec {"command":"x","argv":["y"]}`, `exec {}`, `exec {"argv":["ls -la"]}`,
			`exec {"command":"x","keep":true}`, `exec {"command":"x","background":true,"timeout_seconds":9999}`,
			`exec {"command":"x","env":{"A B":"1"}}`,
			`process {"action":"dance"}`, `process {"action":"poll"}`, `process {"action":"poll","id":"p_9"}`,
			`process {"action":"wait","id":"p_9","until":"dawn"}`,
			`exec {"command":"x","background":true}`, `process {"action":"wait","id":"p_1","until":"dawn"}`,
			`process {"action":"wait","id":"p_1","pattern":"("}`,
			`process {"action":"kill"}`, `process {"action":"clear","id":"p_1"}`,
			`process {"action":"write","id":"p_1"}`,
		}},
	}
}

// TestGoldenAnswers compares what a model reads with testdata/answers.txt.
func TestGoldenAnswers(t *testing.T) {
	var b strings.Builder
	for _, s := range scenes() {
		fmt.Fprintf(&b, "=== %s\n\n", s.name)
		synctest.Test(t, func(t *testing.T) { play(t, s, &b) })
	}
	path := filepath.Join("testdata", "answers.txt")
	golden.Check(t, path, []byte(b.String()))
}

func play(t *testing.T, s scene, b *strings.Builder) {
	site := isolated()
	if s.site != nil {
		s.site(&site)
	}
	next := &actor{status: s.status, keepErr: s.keepErr, act: s.act}
	next.out.write(s.out)
	next.err.write(s.err)
	keeper := &shelf{}
	if s.lost {
		keeper.err = os.ErrPermission
	}
	all := Tools(Options{Commands: &stage{site: site, next: next}, Keeper: keeper})
	for _, line := range s.calls {
		name, args, _ := strings.Cut(line, " ")
		fmt.Fprintf(b, "--- %s\n", line)
		res, err := bind(t, all, name, args).Run(within(t, nil))
		if err != nil {
			res = tool.Failure(err)
		}
		data, ok := res.Data.(outcome)
		linked := strings.HasPrefix(res.Parts[len(res.Parts)-1].URI, tool.ResultScheme)
		if linked != strings.Contains(res.Text(), "read_result") {
			t.Errorf("%s: the result has a link to the whole: %t", s.name, linked)
		}
		if linked {
			res.Parts = res.Parts[:len(res.Parts)-1]
		}
		if name == "exec" && err == nil && (!ok || data.State == "") || len(res.Parts) != 1 {
			t.Errorf("%s: %d parts, data %v", s.name, len(res.Parts), res.Data)
		}
		failed := ""
		if res.Failed {
			failed = fmt.Sprintf("(failed: %s)\n", res.Kind)
		}
		fmt.Fprintf(b, "%s\n%s\n", middle(res.Text()), failed)
	}
}

// middle leaves out what need not be read in a golden file.
func middle(text string) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i, line := range lines {
		var n int
		if _, err := fmt.Sscanf(line, "line %d of", &n); err == nil && i > 0 && i+1 < len(lines) {
			before, after := strings.HasPrefix(lines[i-1], "line "), strings.HasPrefix(lines[i+1], "line ")
			if before && after {
				if strings.HasSuffix(b.String(), "\n~\n") {
					continue
				}
				line = "~"
			}
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
