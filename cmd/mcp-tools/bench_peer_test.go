package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// A program is a server that benchmarks start as a process.
type program struct {
	path        string
	stdio, http []string // arguments
}

// generous are settings under which neither the rate limit nor the loop
// detector refuses anything; both still do all their work. The other limits,
// the policy, scrubbing and the audit log are as they come.
const generous = `limits:
  calls_per_minute: 1000000
  repeat_warn: 0
`

// programs builds us and bare with the same flags.
func programs(b *testing.B) (ours, bare program) {
	b.Helper()
	dir := b.TempDir()
	settings := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(settings, []byte(generous), 0o600); err != nil {
		b.Fatal(err)
	}
	serve := []string{"serve", "--config", settings, "--data", filepath.Join(dir, "data")}
	ours = program{build(b, dir, "mcp-tools", "."), serve, append(serve, "--http", "127.0.0.1:0")}
	bare = program{build(b, dir, "bare", "../../server/testdata/bare"), nil, []string{"-http", "127.0.0.1:0"}}
	return ours, bare
}

func build(b *testing.B, dir, name, pkg string) string {
	b.Helper()
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return path
}

const (
	initializeLine  = `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listLine        = `{"jsonrpc":"2.0","id":"b","method":"tools/list","params":{}}`
	callLine        = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"datetime","arguments":{"timezone":"UTC"}}}`
)

// A peer is a program that is spoken to over stdio. It is driven by a single
// goroutine that does next to nothing: what is measured is the server.
type peer struct {
	b     *testing.B
	cmd   *exec.Cmd
	stdin io.Closer
	in    *bufio.Writer
	out   *bufio.Reader
	last  int // id
}

// dialUp starts p and connects to it, up to the response with the list of
// tools.
func dialUp(b *testing.B, p program) *peer {
	b.Helper()
	cmd := exec.Command(p.path, p.stdio...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := &peer{
		b: b, cmd: cmd, stdin: stdin, in: bufio.NewWriterSize(stdin, 64<<10), out: bufio.NewReaderSize(stdout, 64<<10),
	}
	b.Cleanup(c.end)
	c.say(initializeLine)
	c.receive(`"protocolVersion":"2025-11-25"`)
	c.say(initializedLine)
	c.say(listLine)
	c.receive(`"name":"datetime"`)
	return c
}

func (c *peer) pid() int { return c.cmd.Process.Pid }

// end closes the peer's input, which ends it, and waits until it has gone.
func (c *peer) end() {
	if c.stdin.Close() == nil {
		if err := c.cmd.Wait(); err != nil {
			c.b.Errorf("%s: %v", c.cmd.Path, err)
		}
	}
}

func (c *peer) say(line string) {
	if _, err := c.in.WriteString(line + "\n"); err != nil {
		c.b.Fatal(err)
	}
}

// receive reads the next message, which must contain want.
func (c *peer) receive(want string) {
	if err := c.in.Flush(); err != nil {
		c.b.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil || !bytes.Contains(line, []byte(want)) {
		c.b.Fatalf("%s said %q (%v), expected %s", c.cmd.Path, line, err, want)
	}
}

// calls makes n calls. Each caller asks again as soon as it has its answer;
// what several of them want to say at once goes out at once.
func (c *peer) calls(n, callers int) {
	first := c.last + 1
	ask := func() {
		c.last++
		if _, err := fmt.Fprintf(c.in, callLine+"\n", c.last); err != nil {
			c.b.Fatal(err)
		}
	}
	for range min(callers, n) {
		ask()
	}
	answered := make([]bool, n)
	for range n {
		if c.out.Buffered() == 0 {
			if err := c.in.Flush(); err != nil {
				c.b.Fatal(err)
			}
		}
		line, err := c.out.ReadSlice('\n')
		if i := idOf(line) - first; err != nil || i < 0 || i >= n || answered[i] || !hasTime(line) {
			c.b.Fatalf("%s answered %q (%v)", c.cmd.Path, line, err)
		} else {
			answered[i] = true
		}
		if c.last < first+n-1 {
			ask()
		}
	}
}

// hasTime reports whether a message has the time, and is not a refusal.
func hasTime(message []byte) bool { return bytes.Contains(message, []byte(`unix_ms`)) }

// idOf is the id of a response, which both programs write first.
func idOf(line []byte) int {
	rest, _ := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
	digits, _, _ := bytes.Cut(rest, []byte(","))
	id, err := strconv.Atoi(string(digits))
	if err != nil {
		return -1
	}
	return id
}

// A site is a program that is spoken to over HTTP, in one session, by callers
// that keep a connection each.
type site struct {
	b       *testing.B
	address string
	session string
	token   string
	callers []*caller
}

// browse starts p and opens a session.
func browse(b *testing.B, p program, callers int) *site {
	b.Helper()
	cmd := exec.Command(p.path, p.http...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // bare does not end by itself
		_ = cmd.Wait()
	})
	s := &site{b: b}
	s.address, s.token = announced(b, stderr)
	for range callers {
		s.callers = append(s.callers, dial(b, s))
	}
	opening := s.callers[0]
	response := opening.post(initializeLine)
	if s.session = response.header.Get("Mcp-Session-Id"); s.session == "" {
		b.Fatalf("%s opened no session: %s", p.path, response.body)
	}
	opening.post(initializedLine)
	return s
}

// announced waits for the address on stderr, and the token of the first start.
func announced(b *testing.B, stderr io.Reader) (address, token string) {
	b.Helper()
	url, secret := regexp.MustCompile(`url=http://([^/]+)/mcp`), regexp.MustCompile(`Token: (\S+)`)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if found := secret.FindStringSubmatch(lines.Text()); found != nil {
			token = found[1]
		}
		if found := url.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }() // until the program ends
			return found[1], token
		}
	}
	b.Fatal("the program ended before it told its address")
	return "", ""
}

// calls makes n calls, shared out among the callers.
func (s *site) calls(n int) {
	var all sync.WaitGroup
	for i, c := range s.callers {
		all.Go(func() {
			for k := range n / len(s.callers) {
				if got := c.post(fmt.Sprintf(callLine, i*n+k+1)); !hasTime(got.body) {
					s.b.Errorf("the answer was %s", got.body)
					return
				}
			}
		})
	}
	all.Wait()
	if s.b.Failed() {
		s.b.FailNow()
	}
}

// A caller is one connection that is kept open. net/http's client would cost
// more than the servers that are measured.
type caller struct {
	site *site
	conn net.Conn
	in   *bufio.Reader
}

func dial(b *testing.B, s *site) *caller {
	b.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return &caller{s, conn, bufio.NewReader(conn)}
}

type response struct {
	header http.Header
	body   []byte
}

func (c *caller) post(body string) response {
	s := c.site
	head := "POST /mcp HTTP/1.1\r\nHost: " + s.address + "\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
	if s.token != "" {
		head += "Authorization: Bearer " + s.token + "\r\n"
	}
	if s.session != "" {
		head += "Mcp-Session-Id: " + s.session + "\r\n"
	}
	head += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := io.WriteString(c.conn, head+body); err != nil {
		s.b.Error(err)
		return response{}
	}
	got, err := http.ReadResponse(c.in, nil)
	if err != nil {
		s.b.Error(err)
		return response{}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		s.b.Error(err)
	}
	return response{got.Header, text}
}
