package box_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

func TestACommandIsRun(t *testing.T) {
	b := open(t)
	for _, c := range []struct {
		name     string
		body     wire.StartBody
		out, err string
		code     int
		signal   string
	}{
		{name: "both streams", body: sh("echo out; echo err >&2"), out: "out\n", err: "err\n"},
		{name: "exit code", body: sh("exit 7"), code: 7},
		{name: "signal", body: sh("kill -KILL $$"), code: 137, signal: "SIGKILL"},
		{name: "stdin is empty", body: sh("cat; echo end"), out: "end\n"},
		{name: "its own session", body: sh(`[ "$(cut -d' ' -f6 /proc/$$/stat)" = $$ ] && echo yes`), out: "yes\n"},
		{name: "argv without a shell", body: wire.StartBody{Argv: []string{"printf", "%s|", "a b", "$HOME", "*"},
			Env: []string{path}}, out: "a b|$HOME|*|"},
		{name: "environment", body: wire.StartBody{Argv: []string{"sh", "-c",
			"env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= | sed s/CALL=.*/CALL=/ | sort"},
			Env: []string{path, "A=1", "MCP_TOOLS_CALL=forged"}},
			out: "A=1\nMCP_TOOLS_CALL=\n" + path + "\n"},
		{name: "directory", body: wire.StartBody{Argv: []string{"pwd"}, Dir: "/usr", Env: []string{path}},
			out: "/usr\n"},
		{name: "the name it is called by", body: sh("echo $0"), out: "sh\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := run(t, b, c.body)
			if s.stdout() != c.out || s.stderr() != c.err || s.exit.Code != c.code || s.exit.Signal != c.signal {
				t.Errorf("stdout %q, stderr %q, %+v", s.stdout(), s.stderr(), s.exit)
			}
			wait(t, "gone", s.gone)
			if !slices.Equal(s.order, []string{"exited", "gone"}) || s.lost != nil || s.exit.Left != 0 {
				t.Errorf("order %q, lost %v, %+v", s.order, s.lost, s.exit)
			}
		})
	}
	if n := b.Live(); n != 0 {
		t.Errorf("%d are said to live", n)
	}
}

func TestMergedOutputKeepsItsOrder(t *testing.T) {
	body := sh("for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done")
	body.Merge = true
	s := run(t, open(t), body)
	if want := "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\no6\ne6\no7\ne7\no8\ne8\no9\ne9\n"; s.stdout() != want ||
		s.stderr() != "" {
		t.Errorf("%q, %q", s.stdout(), s.stderr())
	}
}

func TestCommandsThatCannotStart(t *testing.T) {
	b := open(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := write("script", "#!/nonesuch/interpreter\n", 0o755)
	plain := write("plain", "text", 0o644)
	local := write("local", "#!/bin/sh\necho local\n", 0o755)
	for _, c := range []struct {
		name string
		body wire.StartBody
		want error
		text string
	}{
		{"no program", wire.StartBody{Argv: []string{"nonesuch"}, Dir: "/", Env: []string{path}}, box.ErrNoProgram,
			"nonesuch"},
		{"no file", wire.StartBody{Argv: []string{"/nonesuch"}, Dir: "/"}, box.ErrNoProgram, ""},
		{"no directory", wire.StartBody{Argv: []string{"true"}, Dir: "/nonesuch", Env: []string{path}}, box.ErrNoDir,
			""},
		{"a file as directory", wire.StartBody{Argv: []string{"true"}, Dir: plain, Env: []string{path}}, box.ErrNoDir,
			""},
		{"no PATH", wire.StartBody{Argv: []string{"sh"}, Dir: "/"}, box.ErrNoProgram, "PATH"},
		{"nothing", wire.StartBody{Dir: "/"}, box.ErrNoProgram, ""},
		{"no interpreter", wire.StartBody{Argv: []string{script}, Dir: "/"}, box.ErrNoProgram, "interpreter"},
		{"not executable", wire.StartBody{Argv: []string{plain}, Dir: "/"}, nil, "permission"},
		{"not executable in PATH", wire.StartBody{Argv: []string{"plain"}, Dir: "/", Env: []string{"PATH=" + dir}}, nil,
			"permission"},
		{"the directory is not in PATH", wire.StartBody{Argv: []string{"local"}, Dir: dir, Env: []string{"PATH=.:"}},
			box.ErrNoProgram, ""},
		{"NUL", wire.StartBody{Argv: []string{"/bin/true", "a\x00b"}, Dir: "/"}, nil, "invalid"},
		{"too long", wire.StartBody{Argv: []string{"/bin/true", strings.Repeat("x", 1<<20)}, Dir: "/"}, nil,
			"too long"},
		{"longer than a frame", wire.StartBody{Argv: []string{"/bin/true", strings.Repeat("x", 5<<20)}, Dir: "/"}, nil,
			"bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := b.Start(t.Context(), c.body, newSink())
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v %q", err, c.want, c.text)
			}
		})
	}
	s := run(t, b, wire.StartBody{Argv: []string{"./" + filepath.Base(local)}, Dir: dir, Env: []string{path}})
	if s.stdout() != "local\n" {
		t.Errorf("a program relative to its directory: %q", s.stdout())
	}
	if n := b.Live(); n > 1 {
		t.Errorf("%d are said to live", n)
	}
}

func TestInputOfAnySize(t *testing.T) {
	b := open(t)
	data := bytes.Repeat([]byte("0123456789abcde\n"), 3<<20/16)
	body := sh("sleep 0.05; cat")
	body.Input = true
	c, s := start(t, b, body)
	if err := c.Input(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if err := c.EndInput(); err != nil {
		t.Fatal(err)
	}
	wait(t, "exit", s.exited)
	if s.stdout() != string(data) {
		t.Errorf("%d bytes came back", len(s.stdout()))
	}
}

// TestInputThatIsNotRead writes to a command that does not read: the writer waits for as long as its context
// lasts.
func TestInputThatIsNotRead(t *testing.T) {
	b := open(t)
	body := sh("echo up; sleep 1000")
	body.Input = true
	c, s := start(t, b, body)
	s.until(t, "up")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Input(ctx, make([]byte, 8<<20)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("writing too much: %v", err)
	}
	if other := run(t, b, sh("echo other")); other.stdout() != "other\n" {
		t.Errorf("another command meanwhile: %q", other.stdout())
	}
	written := make(chan error, 1)
	go func() { written <- c.Input(context.Background(), make([]byte, 8<<20)) }()
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
	if err := <-written; err != nil && !errors.Is(err, box.ErrEnded) {
		t.Errorf("writing to what was killed: %v", err)
	}
	if err := c.Input(t.Context(), []byte("x")); !errors.Is(err, box.ErrEnded) {
		t.Errorf("writing to what is gone: %v", err)
	}
}

// TestClosedInput writes to a command that has closed its stdin: the writer does not wait.
func TestClosedInput(t *testing.T) {
	body := sh("exec <&-; echo up; sleep 1000")
	body.Input = true
	c, s := start(t, open(t), body)
	s.until(t, "up")
	if err := c.Input(t.Context(), make([]byte, 8<<20)); err != nil {
		t.Errorf("writing: %v", err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
}

func TestATerminal(t *testing.T) {
	body := sh(`tty >/dev/null && echo yes; stty size; read x; echo "got $x"; read y; stty size; cat; echo over`)
	body.Input, body.TTY = true, &wire.Size{Rows: 24, Cols: 80}
	c, s := start(t, open(t), body)
	s.until(t, "24 80")
	say := func(text string) {
		t.Helper()
		if err := c.Input(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	say("hello\n")
	s.until(t, "got hello")
	say("\n")
	if err := c.EndInput(); err != nil {
		t.Fatal(err)
	}
	wait(t, "exit", s.exited)
	if !strings.Contains(s.stdout(), "yes") || !strings.Contains(s.stdout(), "over") || s.exit.Code != 0 {
		t.Errorf("%q, %+v", s.stdout(), s.exit)
	}
	wait(t, "gone", s.gone)
}

func TestControlCInATerminal(t *testing.T) {
	body := sh("echo up; sleep 1000")
	body.Input, body.TTY = true, &wire.Size{Rows: 24, Cols: 80}
	c, s := start(t, open(t), body)
	s.until(t, "up")
	for end := time.Now().Add(hang); time.Now().Before(end); {
		if err := c.Input(t.Context(), []byte{3}); err != nil && !errors.Is(err, box.ErrEnded) {
			t.Fatal(err)
		}
		select {
		case <-s.exited:
			if s.exit.Signal != "SIGINT" && s.exit.Code != 130 {
				t.Errorf("%+v", s.exit)
			}
			return
		case <-time.After(20 * time.Millisecond): // a shell misses it between two programs
		}
	}
	t.Error("it does not end")
}

// TestOutputIsWholeAtASlowServer checks that what a command wrote before its end
// arrives, however long the server takes, also if a child keeps its streams open.
func TestOutputIsWholeAtASlowServer(t *testing.T) {
	b := open(t)
	s := newSink()
	slow := &slowSink{sink: s}
	if _, err := b.Start(t.Context(), sh("head -c 900000 /dev/zero; sleep 20 &"), slow); err != nil {
		t.Fatal(err)
	}
	wait(t, "exit", s.exited)
	if n := len(s.stdout()); n != 900_000 {
		t.Errorf("%d bytes came back", n)
	}
}

// A slowSink takes longer for each piece than the agent waits for output.
type slowSink struct{ *sink }

func (s *slowSink) Output(stream sandbox.Stream, data []byte) {
	time.Sleep(100 * time.Millisecond)
	s.sink.Output(stream, data)
}
