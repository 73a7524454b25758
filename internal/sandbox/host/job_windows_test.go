package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case agent.Name:
			os.Exit(agent.Main(os.Args[2:]))
		case "eat": // memory
			var all [][]byte
			for range 64 {
				part := bytes.Repeat([]byte{1}, 16<<20)
				all = append(all, part)
			}
			os.Stdout.WriteString("ate" + strings.Repeat(" ", len(all)-64))
			os.Exit(0)
		case "say":
			os.Stdout.WriteString(strings.Join(os.Args[2:], "|"))
			os.Exit(7)
		}
	}
	os.Exit(m.Run())
}

type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
	exit chan wire.ExitBody
	gone chan struct{}
}

func (s *sink) Output(_ sandbox.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(data)
}
func (s *sink) Skipped(sandbox.Stream, int64) {}
func (s *sink) Exited(e wire.ExitBody)        { s.exit <- e }
func (s *sink) Gone(error)                    { close(s.gone) }

func begin(t *testing.T, b *box.Box, body wire.StartBody) (*box.Child, *sink) {
	t.Helper()
	s := &sink{exit: make(chan wire.ExitBody, 1), gone: make(chan struct{})}
	body.Env = append(os.Environ(), body.Env...)
	c, err := b.Start(t.Context(), body, s)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func (s *sink) end(t *testing.T) (wire.ExitBody, string) {
	t.Helper()
	select {
	case e := <-s.exit:
		<-s.gone
		return e, s.text.String()
	case <-time.After(2 * time.Minute):
		t.Fatal("the command did not end")
	}
	return wire.ExitBody{}, ""
}

// TestJob runs commands in jobs: their arguments, limits and ends.
func TestJob(t *testing.T) {
	link, err := Launcher{}.Launch(t.Context(), sandbox.Spec{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := box.Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{self, "say", `a "b" c`, `d\`, "", "e&f"}
	_, s := begin(t, b, wire.StartBody{Argv: words})
	if e, text := s.end(t); text != `a "b" c|d\||e&f` || e.Code != 7 {
		t.Errorf("arguments: %q, %+v", text, e)
	}
	_, s = begin(t, b, wire.StartBody{Argv: []string{"cmd", "/c", `echo "one  two"& echo three`}})
	if e, text := s.end(t); strings.ReplaceAll(text, "\r", "") != "\"one  two\"\nthree\n" || e.Code != 0 {
		t.Errorf("cmd: %q, %+v", text, e)
	}
	dir, err := os.MkdirTemp("", "job")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // Wine 8 fails at it
	batch := filepath.Join(dir, "a b.cmd")
	if err := os.WriteFile(batch, []byte("@echo off\r\necho [%1] [%2]\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, s = begin(t, b, wire.StartBody{Argv: []string{batch, "x& echo harm", "y"}})
	if e, text := s.end(t); strings.TrimSpace(text) != `["x& echo harm"] ["y"]` || e.Code != 0 {
		t.Errorf("a batch file: %q, %+v", text, e)
	}
	if _, err := b.Start(t.Context(), wire.StartBody{Argv: []string{batch, `"& echo harm`}, Env: os.Environ()}, &sink{}); err == nil ||
		!strings.Contains(err.Error(), "cannot get the character") {
		t.Errorf("a quote for a batch file: %v", err)
	}
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil { // Wine knows no such limit
		_, s = begin(t, b, wire.StartBody{Argv: []string{self, "eat"}, Limits: wire.Limits{Memory: 256 << 20}})
		if e, text := s.end(t); e.Code == 0 || strings.Contains(text, "ate") {
			t.Errorf("a GiB of memory, where 256 MiB are the limit: %+v", e)
		}
	}
	c, s := begin(t, b, wire.StartBody{Argv: []string{"cmd", "/c", "cmd /c ping -n 1000 127.0.0.1"}})
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if e, _ := s.end(t); !e.Killed {
		t.Errorf("after a kill: %+v", e)
	}
}
