package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	dist   = flag.String("dist", "", "directory with the results of a release; make release-check sets it")
	debian = flag.String("debian-root", "", "a fresh Debian made by debootstrap, which is changed; default: makes one")
	update = flag.Bool("update", false, "write the golden files again")
)

// find returns the result whose name has an ending.
func find(t *testing.T, ending string) string {
	t.Helper()
	if *dist == "" {
		t.Skip("no release to check: use make release-check")
	}
	found, err := filepath.Glob(filepath.Join(*dist, "*"+ending))
	if err != nil || len(found) != 1 {
		t.Fatalf("results that end in %s: %v, %v", ending, found, err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skip(program + " is not installed")
	}
	return path
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("not root on Linux")
	}
}

// output runs a command that must succeed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// unpack writes a tar, also a compressed one, below dir, with its owners if it can.
func unpack(t *testing.T, r io.Reader, dir string) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		head, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, head.Name)
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil && head.Typeflag == tar.TypeSymlink {
			err = os.Symlink(head.Linkname, path)
		} else if err == nil {
			var data []byte
			if data, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, data, head.FileInfo().Mode())
			}
		}
		if err == nil && os.Getuid() == 0 {
			err = os.Lchown(path, head.Uid, head.Gid)
		}
		if err == nil && head.Typeflag != tar.TypeSymlink {
			err = os.Chmod(path, head.FileInfo().Mode()) // without the umask, and with the sticky bit
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackFile(t *testing.T, name, dir string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(data)
	if !strings.HasSuffix(name, ".tar") {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	unpack(t, r, dir)
}

func unzip(t *testing.T, name, dir string) {
	t.Helper()
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File { // CopyFS makes files that are not executable
		if err := os.Chmod(filepath.Join(dir, f.Name), f.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// unpackProgram unpacks the archive of this platform, and returns its path and the path of the program.
func unpackProgram(t *testing.T) (archive, program string) {
	t.Helper()
	dir := t.TempDir()
	archive = find(t, "_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	unpackFile(t, archive, dir)
	return archive, programIn(t, dir, "mcp-tools")
}

// programIn returns the path of the program in an unpacked archive.
func programIn(t *testing.T, dir, name string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "*", name))
	if len(found) != 1 {
		t.Fatalf("programs in the archive: %v", found)
	}
	return found[0]
}

// A client drives a server over stdio.
type client struct {
	t    *testing.T
	in   io.WriteCloser
	out  *json.Decoder
	next int
}

func start(t *testing.T, cmd *exec.Cmd) *client {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v\n%s", err, &stderr)
		}
	})
	c := &client{t: t, in: in, out: json.NewDecoder(out)}
	c.ask("initialize", hello)
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return c
}

func (c *client) send(message map[string]any) {
	c.t.Helper()
	if err := json.NewEncoder(c.in).Encode(message); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) ask(method string, params map[string]any) json.RawMessage {
	c.t.Helper()
	c.next++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	for {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := c.out.Decode(&answer); err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		if answer.ID == c.next {
			if answer.Error != nil {
				c.t.Fatalf("%s: %s", method, answer.Error)
			}
			return answer.Result
		}
	}
}

// tools lists the tools.
func (c *client) tools() (names []string) {
	c.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(c.ask("tools/list", map[string]any{}), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// call returns the text of a result, which must contain want.
func (c *client) call(tool string, args map[string]any, want string) {
	c.t.Helper()
	result := string(c.ask("tools/call", map[string]any{"name": tool, "arguments": args}))
	if !strings.Contains(result, want) {
		c.t.Errorf("%s %v returns %s; want %s", tool, args, result, want)
	}
}

// tryFiles lists the tools and uses those for files.
func (c *client) tryFiles() {
	c.t.Helper()
	names := c.tools()
	for _, want := range []string{"read_file", "write_file", "edit", "list_files", "datetime"} {
		if !slices.Contains(names, want) {
			c.t.Errorf("the tool %s is not listed: %v", want, names)
		}
	}
	c.call("write_file", map[string]any{"path": "notes/a.txt", "content": "one\ntwo\n"}, "created")
	c.call("edit", map[string]any{"path": "notes/a.txt", "old_text": "two", "new_text": "three"}, "notes/a.txt")
	c.call("read_file", map[string]any{"path": "notes/a.txt"}, "three")
	c.call("list_files", map[string]any{"path": "notes"}, "a.txt")
	c.call("read_file", map[string]any{"path": "../outside"}, "isError\":true")
}

// connectHTTP starts a session, and returns a function that sends a message in it and returns the response.
func connectHTTP(t *testing.T, url, token string) func(message map[string]any) string {
	t.Helper()
	session := ""
	post := func(message map[string]any) string {
		message["jsonrpc"] = "2.0"
		body, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+token)
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	post(map[string]any{"id": 1, "method": "initialize", "params": hello})
	post(map[string]any{"method": "notifications/initialized", "params": map[string]any{}})
	return post
}

// hello has the parameters of initialize.
var hello = map[string]any{
	"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
	"clientInfo": map[string]string{"name": "release-check", "version": "1"},
}

// toolCall returns the message that calls a tool.
func toolCall(tool string, args map[string]any) map[string]any {
	return map[string]any{"id": 2, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}}
}
