package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lastWords is the number of bytes of stderr that are kept.
const lastWords = 2 << 10

// parseSSH parses ssh://user@host:port. On the remote machine, docker connects its
// stdin and stdout to the engine.
func parseSSH(host string) (way, error) {
	u, err := url.Parse(host)
	switch {
	case err != nil || u.Hostname() == "":
		return way{}, badHost(host, "it names no host")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return way{}, badHost(host, "only a user, a host and a port belong into it")
	}
	args := []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T"}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return way{}, badHost("ssh://...", "it contains a password; use a key")
		}
		args = append(args, "-l", u.User.Username())
	}
	if p := u.Port(); p != "" {
		args = append(args, "-p", p)
	}
	if strings.HasPrefix(u.Hostname(), "-") || u.User != nil && strings.HasPrefix(u.User.Username(), "-") {
		return way{}, badHost(host, "a name begins with a dash")
	}
	args = append(args, "--", u.Hostname(), "docker", "system", "dial-stdio")
	return way{name: "ssh://" + u.Host, dial: func(context.Context) (net.Conn,
		error) {
		return dialProgram("ssh", args)
	}}, nil
}

// A programConn is a connection through stdin and stdout of a program.
type programConn struct {
	in    *os.File // stdin of the program
	out   *os.File // stdout of the program
	cmd   *exec.Cmd
	words *tail
	ended chan struct{}
	once  sync.Once
}

func dialProgram(name string, args []string) (net.Conn, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		in.Close()
		return nil, err
	}
	c := &programConn{in: in, out: out, words: &tail{}, ended: make(chan struct{})}
	c.cmd = exec.Command(name, args...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, c.words
	c.cmd.Env = sshEnv()
	c.cmd.WaitDelay = time.Second
	err = c.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // its stderr is more useful than its exit code
	}()
	return c, nil
}

// sshEnv returns the variables of the server that ssh needs.
func sshEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "SystemRoot", "USERPROFILE",
		"TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (c *programConn) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if errors.Is(err, io.EOF) {
		err = c.lastWords(err)
	}
	return n, err
}

func (c *programConn) Write(p []byte) (int, error) {
	n, err := c.in.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		err = c.lastWords(err)
	}
	return n, err
}

// lastWords returns an error with the stderr of a program that has ended, or err.
func (c *programConn) lastWords(err error) error {
	select {
	case <-c.ended:
	case <-time.After(5 * time.Second):
	}
	if words := c.words.String(); words != "" {
		return fmt.Errorf("ssh: %s", words)
	}
	return err
}

// CloseWrite closes stdin of the program.
func (c *programConn) CloseWrite() error { return c.in.Close() }

// Close ends the program.
func (c *programConn) Close() error {
	c.once.Do(func() {
		c.in.Close()
		c.out.Close()
		_ = c.cmd.Process.Kill()
		<-c.ended
	})
	return nil
}

func (c *programConn) SetDeadline(t time.Time) error {
	return errors.Join(c.in.SetDeadline(t), c.out.SetDeadline(t))
}
func (c *programConn) SetReadDeadline(t time.Time) error  { return c.out.SetReadDeadline(t) }
func (c *programConn) SetWriteDeadline(t time.Time) error { return c.in.SetWriteDeadline(t) }
func (c *programConn) LocalAddr() net.Addr                { return programAddr{} }
func (c *programConn) RemoteAddr() net.Addr               { return programAddr{} }

type programAddr struct{}

func (programAddr) Network() string { return "ssh" }
func (programAddr) String() string  { return "ssh" }

// A tail keeps the last bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - lastWords; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "?"))
}
