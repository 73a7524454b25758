//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A link is one server process that answers calls until it dies.
type link interface {
	// call returns the text of the answer and whether it is a failure. An
	// error means that there was no answer: the call has happened, or has not.
	call(ctx context.Context, tool string, args map[string]any) (text string, failed bool, err error)
	self() *process
}

var errGone = errors.New("the server is gone")

// A process is a server that can be killed at any moment.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

func (p *process) self() *process { return p }

func (p *process) dead() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.gone
}

// rss returns its resident memory in bytes.
func (p *process) rss(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int64
	if _, rest, ok := bytes.Cut(status, []byte("VmRSS:")); ok {
		if _, err := fmt.Sscan(string(rest), &kilobytes); err != nil {
			t.Fatal(err)
		}
	}
	return kilobytes << 10
}

// ourselves is the path of the program under test.
func ourselves(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp-tools") // TestMain goes by the name
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// apart returns a command with separate settings and a separate home directory.
func apart(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	home := filepath.Join(filepath.Dir(path), "home")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"MCP_TOOLS_USER=ann")
	return cmd
}

// finish runs a command to its end and returns what it printed.
func finish(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args[1:], " "), err, out.String(), complaint.String())
	}
	return out.String()
}

// An answered is the response to a call.
type answered struct {
	ID     int `json:"id"`
	Result struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error *struct{ Message string }
}

func (a answered) read() (text string, failed bool, err error) {
	if a.Error != nil {
		return "", false, fmt.Errorf("the protocol's error %q", a.Error.Message)
	}
	if len(a.Result.Content) == 0 {
		return "", false, errors.New("the answer is empty")
	}
	return a.Result.Content[0].Text, a.Result.IsError, nil
}

// A pipe is a link over stdio. Many may call at once.
type pipe struct {
	*process
	in      io.Writer
	mu      sync.Mutex // of in and waiting
	last    int
	waiting map[int]chan answered
}

// dialPipe starts a server and does not wait for it.
func dialPipe(t *testing.T, cmd *exec.Cmd) (*pipe, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &pipe{process: &process{cmd, make(chan struct{})}, in: in, waiting: map[int]chan answered{}}
	go func() {
		defer close(p.gone)
		p.listen(t, out)
		_ = cmd.Wait() // it was killed, as a rule
	}()
	return p, nil
}

// listen gives each answer to the goroutine that waits for it.
func (p *pipe) listen(t *testing.T, out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // half a line is not an answer
			return
		}
		var a answered
		err = json.Unmarshal(line, &a)
		p.mu.Lock()
		c := p.waiting[a.ID]
		delete(p.waiting, a.ID)
		p.mu.Unlock()
		if err != nil || c == nil {
			t.Errorf("it said %q, which nobody has asked", line)
			continue
		}
		c <- a
	}
}

func (p *pipe) call(ctx context.Context, tool string, args map[string]any) (string, bool, error) {
	a, err := p.ask(ctx, tool, args)
	if err != nil {
		return "", false, err
	}
	return a.read()
}

func (p *pipe) ask(ctx context.Context, tool string, args map[string]any) (answered, error) {
	c := make(chan answered, 1)
	p.mu.Lock()
	p.last++
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": p.last, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args},
	})
	if err == nil {
		p.waiting[p.last] = c
		_, err = p.in.Write(append(line, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		return answered{}, errGone
	}
	select {
	case a := <-c:
		return a, nil
	case <-p.gone:
		select {
		case a := <-c: // the last thing that it said
			return a, nil
		default:
			return answered{}, errGone
		}
	case <-ctx.Done():
		return answered{}, ctx.Err()
	}
}

// A wire is a link over HTTP.
type wire struct {
	*process
	url, token string
}

// dialWire starts a server and waits until it serves.
func dialWire(cmd *exec.Cmd, token string) (*wire, error) {
	complaints, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &wire{process: &process{cmd, make(chan struct{})}, token: token}
	said, url := "", make(chan string, 1)
	go func() {
		defer close(w.gone)
		serving := regexp.MustCompile(`serving +url=(\S+)`)
		lines := bufio.NewScanner(complaints)
		for lines.Scan() {
			if len(said) < 4<<10 {
				said += lines.Text() + "\n"
			}
			if found := serving.FindStringSubmatch(lines.Text()); found != nil {
				url <- found[1]
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case w.url = <-url:
		return w, nil
	case <-w.gone:
		return nil, fmt.Errorf("%w before it served: %s", errGone, said)
	case <-time.After(hang):
		w.kill()
		return nil, fmt.Errorf("it never served: %s", said)
	}
}

// errNotNow is the error of a server that cannot authenticate the caller.
var errNotNow = errors.New("the server does not let anybody in at present")

func (w *wire) call(ctx context.Context, tool string, args map[string]any) (string, bool, error) {
	a, err := w.ask(ctx, tool, args)
	if err != nil {
		return "", false, err
	}
	return a.read()
}

func (w *wire) ask(ctx context.Context, tool string, args map[string]any) (answered, error) {
	const version = "2026-07-28"
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{
			"name": tool, "arguments": args,
			"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": version,
				"io.modelcontextprotocol/clientCapabilities": map[string]any{}},
		}})
	if err != nil {
		return answered{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return answered{}, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization":        "Bearer " + w.token,
		"Mcp-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answered{}, fmt.Errorf("%w: %w", errGone, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return answered{}, fmt.Errorf("%w: %w", errGone, err)
	case res.StatusCode == http.StatusServiceUnavailable:
		return answered{}, fmt.Errorf("%w: %s", errNotNow, text)
	case res.StatusCode != http.StatusOK:
		return answered{}, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	var a answered
	if err := json.Unmarshal(text, &a); err != nil {
		return answered{}, fmt.Errorf("the answer %q: %w", text, err)
	}
	return a, nil
}
