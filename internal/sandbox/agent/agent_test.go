package agent

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	o, err := parse([]string{"-proxy", "/p", "-processes", "7", "-filesize", "9", "-mark", "m"}, io.Discard)
	if err != nil || !reflect.DeepEqual(o, options{proxy: "/p", processes: 7, fileSize: 9, mark: "m"}) {
		t.Errorf("%+v, %v", o, err)
	}
	a, err := parse(nil, io.Discard)
	b, _ := parse(nil, io.Discard)
	if err != nil || a.mark == "" || a.mark == b.mark {
		t.Errorf("marks %q and %q, %v", a.mark, b.mark, err)
	}
	for _, args := range [][]string{{"-nonesuch"}, {"argument"}, {"-processes", "many"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestWhereAProgramIsFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names on Windows")
	}
	first, second := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(first, "plain"): 0o644, filepath.Join(second, "plain"): 0o755,
		filepath.Join(first, "both"): 0o755, filepath.Join(second, "both"): 0o755,
		filepath.Join(second, "only"): 0o755,
	} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(first, "only"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nonesuch", "PATH=:.:" + first + ":" + second}
	for name, want := range map[string]string{
		"plain": filepath.Join(second, "plain"),
		"both":  filepath.Join(first, "both"),
		"only":  filepath.Join(second, "only"), // the other is a directory
		"./x":   "./x",
		"/x/y":  "/x/y",
	} {
		if got, err := find([]string{name}, env, "/"); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "nonesuch", "agent_test.go"} {
		if got, err := find([]string{name}, env, "/"); err == nil || !refusal(err).NoProgram {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// TestTunnel copies in both directions, also after one side has closed its half.
func TestTunnel(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	proxy, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	go func() {
		for {
			conn, err := proxy.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				all, _ := io.ReadAll(conn) // to the end of what the other says
				_, _ = io.WriteString(conn, "got "+string(all))
			}()
		}
	}()
	near, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	go func() {
		for {
			conn, err := near.Accept()
			if err != nil {
				return
			}
			go tunnel(conn, socket, "")
		}
	}()
	for _, text := range []string{"hello", "", strings.Repeat("x", 1<<20)} {
		conn, err := net.Dial("tcp", near.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != "got "+text {
			t.Errorf("%d bytes: got %d, %v", len(text), len(got), err)
		}
		conn.Close()
	}
}

func TestInputKeepsToItsWindow(t *testing.T) {
	in := newInput()
	half := make([]byte, 1<<19)
	in.write(half)
	in.write(half)
	in.write([]byte("too much"))
	for range 2 {
		if data, ok := in.next(); !ok || len(data) != len(half) {
			t.Fatalf("%d bytes, %v", len(data), ok)
		}
	}
	if data, ok := in.next(); ok {
		t.Errorf("%d bytes were taken beyond the window", len(data))
	}
}
