// Package selftest tests a sandbox on the machine that it is to be used on: a program in it tries to leave it.
//
// Sandboxes of systems that this project has no machine of are used only after this test, so that a rule that a version
// of the system reads in another way is a sandbox that does not work, and never one that lets commands out. The package
// does not know how a sandbox is built. Begin with [Run] for the server's side, and with [Main] for the program in the
// sandbox.
package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// Arg is the argument that makes this program the one in the sandbox.
const Arg = "sandbox-selftest"

const (
	// secret is the content of files that the program must not read.
	secret = "this text must stay outside of the sandbox"
	// timeLimit is the time for one connection.
	timeLimit = 2 * time.Second
	// maxReport is the maximum length of a report.
	maxReport = 64 << 10
)

// A plan lists the files and hosts that the program tries to reach.
type plan struct {
	Work    string // a directory that it may change
	Hidden  string // a file in it that it must not read
	Locked  string // a file two levels below it that it must not change
	Outside string // a directory that it must neither read nor change
	Address string // of a server that it must not reach
	Proxy   bool   // the variables of the environment name a proxy that it must reach
}

// A report is the result of the attempts of the program.
type report struct {
	Problem   string // the reason why it could not do permitted work
	Read      string // the file that it must not read, and has read
	Connected bool
	NoProxy   string // why it did not reach the proxy
}

// Run starts a program in a sandbox of a launcher and returns an error if the program gets more access than the plan
// permits, or less. With proxy the sandbox gets a proxy, and the program must reach it.
func Run(ctx context.Context, l sandbox.Launcher, proxy bool) (err error) {
	root, err := os.MkdirTemp("", "mcp-tools-selftest-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	p := plan{
		Work: filepath.Join(root, "work space"), Outside: filepath.Join(root, "outside"), Proxy: proxy,
		Hidden: filepath.Join(root, "work space", "hidden"),
		Locked: filepath.Join(root, "work space", "above", "locked", "file"),
	}
	for _, file := range []string{p.Hidden, p.Locked, filepath.Join(p.Outside, "file")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(secret), 0o600)); err != nil {
			return err
		}
	}
	layout := l.Layout(sandbox.Directories{Dir: p.Work})
	spec := sandbox.Spec{
		ID: "selftest", Owner: "server", Binds: layout.Binds, Home: layout.Home,
		Hidden: []string{p.Hidden}, Locked: []string{filepath.Dir(p.Locked)},
	}
	forbidden, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer forbidden.Close()
	p.Address = forbidden.Addr().String()
	if proxy {
		spec.Proxy = filepath.Join(root, "s")
		socket, err := net.Listen("unix", spec.Proxy)
		if err != nil {
			return fmt.Errorf("a socket for the test of the sandbox: %w", err)
		}
		defer socket.Close()
		go greet(socket)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	spec.Child = []string{Arg, string(text)}
	r, err := observe(ctx, l, spec)
	if err != nil {
		return err
	}
	return p.judge(r)
}

// greet sends a line to each connection.
func greet(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("hello\n")) // the program reports that it got none
		conn.Close()
	}
}

// observe runs the program, and returns its report.
func observe(ctx context.Context, l sandbox.Launcher, spec sandbox.Spec) (r report, err error) {
	link, err := l.Launch(ctx, spec)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	stop := context.AfterFunc(ctx, func() { link.Close() })
	defer stop()
	err = json.NewDecoder(io.LimitReader(link, maxReport)).Decode(&r)
	if ctx.Err() != nil {
		err = fmt.Errorf("the test of the sandbox did not end: %w", context.Cause(ctx))
	}
	return r, err
}

// judge returns an error for each access that the program got against the plan, or was wrongly
// denied.
func (p plan) judge(r report) error {
	switch {
	case r.Problem != "":
		return fmt.Errorf("a program in it cannot work: %s", r.Problem)
	case r.Read != "":
		return fmt.Errorf("a program in it can read %s", filepath.Base(filepath.Dir(r.Read))+"/"+filepath.Base(r.Read))
	case r.Connected:
		return errors.New("a program in it can connect to other programs of this machine")
	case r.NoProxy != "":
		return fmt.Errorf("a program in it cannot reach the proxy: %s", r.NoProxy)
	}
	for _, file := range []string{p.Hidden, p.Locked, filepath.Join(p.Outside, "file")} {
		if text, err := os.ReadFile(file); err != nil || string(text) != secret {
			return fmt.Errorf("a program in it can change or move the protected file %s", filepath.Base(file))
		}
	}
	if _, err := os.Lstat(filepath.Join(p.Outside, "new")); err == nil {
		return errors.New("a program in it can create files outside of the workspace")
	}
	if text, err := os.ReadFile(filepath.Join(p.Work, "made")); err != nil || string(text) != "text" {
		return errors.New("a file that a program in it writes to the workspace is not there")
	}
	return nil
}

// Main runs as the program in the sandbox, and returns its exit code.
func Main(args []string) int {
	var p plan
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &p) != nil {
		return 2
	}
	if json.NewEncoder(os.Stdout).Encode(p.try()) != nil {
		return 1
	}
	return 0
}

// try attempts the permitted accesses, and then the forbidden ones.
func (p plan) try() (r report) {
	made := filepath.Join(p.Work, "made")
	err := os.WriteFile(made+".new", []byte("text"), 0o600)
	if err == nil {
		err = os.Rename(made+".new", made)
	}
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	outside := filepath.Join(p.Outside, "file")
	// These calls should fail; the server looks at the files.
	alias := filepath.Join(p.Work, "alias")
	_ = os.Link(outside, alias)
	_ = os.Symlink(outside, filepath.Join(p.Work, "link"))
	for _, name := range []string{outside, p.Hidden, alias, filepath.Join(p.Work, "link")} {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), secret) {
			r.Read = name
		}
	}
	for _, name := range []string{filepath.Join(p.Outside, "new"), outside, p.Hidden, p.Locked} {
		_ = os.WriteFile(name, []byte("changed"), 0o600)
	}
	_ = os.Remove(p.Locked)
	_ = os.Rename(p.Hidden, filepath.Join(p.Work, "shown"))
	_ = os.Rename(filepath.Dir(p.Locked), filepath.Join(p.Work, "open"))
	_ = os.Rename(filepath.Join(p.Work, "above"), filepath.Join(p.Work, "below"))
	if conn, err := net.DialTimeout("tcp", p.Address, timeLimit); err == nil {
		r.Connected = true
		conn.Close()
	}
	if p.Proxy {
		r.NoProxy = reach(os.Getenv("HTTP_PROXY"))
	}
	return r
}

// reach returns why the proxy cannot be reached, or "".
func reach(proxy string) string {
	u, err := url.Parse(proxy)
	if err != nil {
		return err.Error()
	}
	conn, err := net.DialTimeout("tcp", u.Host, timeLimit)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeLimit)); err != nil {
		return err.Error()
	}
	if text, err := io.ReadAll(conn); string(text) != "hello\n" {
		return fmt.Sprintf("it answers %q, %v", text, err)
	}
	return ""
}
