package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
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
	c.ask("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "release-check", "version": "1"},
	})
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

func TestPackageVersion(t *testing.T) {
	for module, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3+dirty": "1.2.3", "(devel)": "",
		"v0.0.0-20261123040102-0123456789ab":         "0.0.0-git20261123040102",
		"v1.2.4-0.20261123040102-0123456789ab+dirty": "1.2.4-git20261123040102",
		"v1.2.4-rc.1.0.20261123040102-0123456789ab":  "1.2.4-git20261123040102",
		"v1.2.4-beta-2": "1.2.4-beta-2",
	} {
		if got := packageVersion(module); got != want {
			t.Errorf("%s is %q, want %q", module, got, want)
		}
	}
}

// TestReproducible builds everything again in another directory, and the program of this
// platform with an empty cache.
func TestReproducible(t *testing.T) {
	first, err := os.ReadFile(find(t, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var built []string
	for line := range strings.Lines(string(first)) {
		if base, ok := strings.CutSuffix(strings.TrimSpace(line), ".cdx.json"); ok {
			parts := strings.Split(base, "_")
			built = append(built, strings.Join(parts[len(parts)-2:], "/"))
		}
	}
	all := platforms()
	slices.SortFunc(built, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	again := t.TempDir()
	if err := run("../..", again, strings.Join(built, ","), false); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	if err != nil || string(second) != string(first) {
		t.Errorf("the second build differs, %v:\n%s\n%s", err, first, second)
	}
	if n := strings.Count(string(first), "_npm.tgz\n"); n != len(built)+1 {
		t.Errorf("%d packages for npm were compared, want %d", n, len(built)+1)
	}
	t.Setenv("GOCACHE", t.TempDir())
	r := &release{src: filepath.Join(t.TempDir(), "another", "place")}
	if err := r.checkout("../.."); err != nil {
		t.Fatal(err)
	}
	p := program{runtime.GOOS, runtime.GOARCH, filepath.Join(t.TempDir(), "mcp-tools")}
	if err := errors.Join(r.readKey(), r.compile(p)); err != nil {
		t.Fatal(err)
	}
	fresh, err := digest(p.path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpackFile(t, find(t, runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), dir)
	found, _ := filepath.Glob(filepath.Join(dir, "*", "mcp-tools"))
	if len(found) != 1 {
		t.Fatalf("programs in the archive: %v", found)
	}
	if packed, err := digest(found[0]); err != nil || packed != fresh {
		t.Errorf("the program from an empty cache is %s, that of the archive %s, %v", fresh, packed, err)
	}
}

// TestSign signs checksums with a key from a file.
func TestSign(t *testing.T) {
	public, key, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "minisign.key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	sign := func(file string) (sums, signature []byte, err error) {
		t.Setenv(keyEnv, file)
		r := &release{out: t.TempDir(), version: "1.2.3"}
		if err := errors.Join(r.readKey(), os.WriteFile(r.path("a.deb"), []byte("a"), 0o600)); err != nil {
			return nil, nil, err
		}
		if err := r.sums(); err != nil {
			return nil, nil, err
		}
		sums, err = os.ReadFile(r.path("SHA256SUMS"))
		signature, missing := os.ReadFile(r.path("SHA256SUMS.minisig"))
		if r.public == "" && missing == nil || r.public != "" && r.public != public.String() {
			t.Errorf("the public key is %q, and the signature %q", r.public, signature)
		}
		return sums, signature, err
	}
	sums, signature, err := sign(file)
	if err != nil || !minisign.Verify(public, sums, signature) || !strings.Contains(string(signature), "mcp-tools v1.2.3\n") {
		t.Errorf("%v: %s", err, signature)
	}
	if _, signature, err := sign(""); err != nil || signature != nil {
		t.Errorf("without a key: %v, %s", err, signature)
	}
	locked := filepath.Join(t.TempDir(), "locked.key")
	if text, err = minisign.EncryptKey("a long password", key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(locked, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(passwordEnv, "a long password")
	if sums, signature, err := sign(locked); err != nil || !minisign.Verify(public, sums, signature) {
		t.Errorf("a key with a password: %v: %s", err, signature)
	}
	t.Setenv(passwordEnv, "another password")
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, file + "x", locked} {
		if _, _, err := sign(file); err == nil {
			t.Errorf("%s is a key", file)
		}
	}
}

// TestUpgrade serves the release, and has its own program check it.
func TestUpgrade(t *testing.T) {
	archive := find(t, "_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	_, err := os.Stat(filepath.Join(*dist, "SHA256SUMS.minisig"))
	signed := err == nil
	server := httptest.NewServer(http.FileServer(http.Dir(*dist)))
	defer server.Close()
	dir := t.TempDir()
	unpackFile(t, archive, dir)
	found, _ := filepath.Glob(filepath.Join(dir, "*", "mcp-tools"))
	if len(found) != 1 {
		t.Fatalf("programs in the archive: %v", found)
	}
	t.Setenv("MCP_TOOLS_UPGRADE_URL", server.URL+"/latest.json")
	if !signed {
		if out := output(t, found[0], "upgrade", "--check"); !strings.Contains(out, "is not checked") {
			t.Errorf("it printed %s", out)
		}
		t.Skip("the release is not signed")
	}
	if out := output(t, found[0], "upgrade", "--check", archive); !strings.Contains(out, "is the file of the release") {
		t.Errorf("it printed %s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(archive)), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(found[0], "upgrade", "--check", filepath.Join(dir, filepath.Base(archive))).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the content is not that of the file") {
		t.Errorf("a changed file: %v, %s", err, out)
	}
}

// TestArchive runs the program of the archive.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	unpackFile(t, find(t, "_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), dir)
	found, _ := filepath.Glob(filepath.Join(dir, "*", "mcp-tools"))
	if len(found) != 1 {
		t.Fatalf("programs in the archive: %v", found)
	}
	if out := output(t, found[0], "version"); !strings.Contains(out, "commit") || strings.Contains(out, "unknown") {
		t.Errorf("version: %s", out)
	}
	for _, name := range []string{"LICENSE", "man/mcp-tools-serve.1", "completions/mcp-tools.bash"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(found[0]), name)); err != nil {
			t.Error(err)
		}
	}
}

// TestDebian installs the package in a fresh Debian, uses it, upgrades it, goes back, and removes it.
func TestDebian(t *testing.T) {
	needRoot(t)
	root := *debian
	if root == "" {
		root = filepath.Join(t.TempDir(), "root")
		output(t, need(t, "debootstrap"), "--variant=minbase", "--include=systemd,dbus", "bookworm", root, "http://deb.debian.org/debian")
	}
	for name, path := range map[string]string{"mcp-tools.deb": find(t, "_amd64.deb"), "later.deb": laterPackage(t)} {
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "tmp", name), packed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const script = `
set -e
export DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
has() { grep -q -e "$1" || { echo "MISSING: $1"; exit 1; }; }
fails() { if "$@"; then echo "DOES NOT FAIL: $*"; exit 1; fi; } # set -e ignores what follows a !
dpkg -i /tmp/mcp-tools.deb
id mcp-tools | has 'uid='
mcp-tools version | has 'commit [0-9a-f]'
mkdir -p /root/work && cd /root/work
mcp-tools connect claude-code --workspace /root/work
cat /root/.claude.json | has '"command": "/usr/bin/mcp-tools"'
mcp-tools tools list | has read_file
mcp-tools call datetime timezone=Asia/Tokyo | has '+09:00'
mcp-tools config check --config /etc/mcp-tools/config.yaml | has 'no mistakes'
test -s /usr/share/man/man1/mcp-tools-serve.1
# The service's own command line, as its user, until it serves.
serve() { setpriv --reuid mcp-tools --regid mcp-tools --clear-groups env HOME=/var/lib/mcp-tools \
	MCP_TOOLS_WORKSPACE=/var/lib/mcp-tools-workspaces /usr/bin/mcp-tools "$@" \
	--config /etc/mcp-tools/config.yaml --data /var/lib/mcp-tools; }
serve token create --name check --profile readonly >/tmp/token
serve call memory_store key=plan 'content=Ship the blue one.'
# An upgrade keeps what is stored and what the operator has changed; so does the way back.
echo "# changed" >>/etc/mcp-tools/config.yaml
for package in later mcp-tools; do
	dpkg -i /tmp/$package.deb
	mcp-tools version >/tmp/$package.version
	tail -1 /etc/mcp-tools/config.yaml | has '# changed'
	serve token list | has check
	serve call memory_get path=memory/plan.md | has 'blue one'
done
cat /tmp/later.version | has 'v1.999.0'
fails grep 'v1.999.0' /tmp/mcp-tools.version
# A removal keeps settings and data, a purge does not.
dpkg -r mcp-tools
fails test -e /usr/bin/mcp-tools
test -e /etc/mcp-tools/config.yaml
test -d /var/lib/mcp-tools
dpkg -P mcp-tools
for left in /etc/mcp-tools /etc/default/mcp-tools /var/lib/mcp-tools; do fails test -e $left; done
fails id mcp-tools
`
	cmd := exec.CommandContext(t.Context(), need(t, "unshare"), "--mount", "--pid", "--fork", "--mount-proc="+root+"/proc",
		"chroot", root, "/bin/sh", "-c", script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("service", func(t *testing.T) { tryService(t, root) })
}

// laterPackage builds the package of a later version and returns its path.
func laterPackage(t *testing.T) string {
	t.Helper()
	src, out := filepath.Join(t.TempDir(), "src"), t.TempDir()
	output(t, "git", "clone", "--quiet", "../..", src)
	output(t, "git", "-C", src, "tag", "v1.999.0")
	if err := run(src, out, "linux/amd64", false); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(out, "mcp-tools_1.999.0-1_amd64.deb")
}

// tryService starts systemd as the first process of the Debian in root, installs the package
// there and has the service run a command, which is isolated under the hardening of the unit.
func tryService(t *testing.T, root string) {
	if _, err := os.Stat(filepath.Join(root, "lib/systemd/systemd")); err != nil {
		t.Skip("the Debian has no systemd")
	}
	// systemd empties /tmp when it starts.
	if err := os.Rename(filepath.Join(root, "tmp/mcp-tools.deb"), filepath.Join(root, "opt/mcp-tools.deb")); err != nil {
		t.Fatal(err)
	}
	const boot = `
set -e
mount --bind "$0" "$0"
mount -t tmpfs tmpfs "$0/run"
mount -t tmpfs tmpfs "$0/sys"
mkdir -p "$0/sys/fs/cgroup"
mount -t cgroup2 none "$0/sys/fs/cgroup"
mount --bind /dev "$0/dev"
mount -t proc proc "$0/proc"
mkdir -p "$0/oldroot"
cd "$0"
pivot_root . oldroot
exec env container=docker /bin/sh -c "umount -l /oldroot; exec /lib/systemd/systemd --log-target=null"
`
	cmd := exec.Command("unshare", "--mount", "--pid", "--cgroup", "--ipc", "--uts", "--fork", "/bin/sh", "-c", boot, root)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := ""
	defer func() {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // all of the namespace end with it
		}
		_ = cmd.Wait()
	}()
	inside := func(script string) (string, error) {
		out, err := exec.Command("nsenter", "--target", pid, "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--root",
			"--wd", "/usr/bin/env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "/bin/sh", "-ec", script).CombinedOutput()
		return string(out), err
	}
	children := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "task", strconv.Itoa(cmd.Process.Pid), "children")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		text, _ := os.ReadFile(children) // empty before it is there
		if pid = strings.TrimSpace(string(text)); pid != "" {
			if out, _ := inside("systemctl is-system-running || true"); strings.HasPrefix(out, "running") ||
				strings.HasPrefix(out, "degraded") {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Skip("systemd does not start in namespaces here")
		}
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := port.Addr().String()
	port.Close()
	out, err := inside(`dpkg -i /opt/mcp-tools.deb >&2
sed -i 's/127.0.0.1:8080/` + address + `/' /etc/mcp-tools/config.yaml
systemctl enable --now mcp-tools
systemctl reload mcp-tools
setpriv --reuid mcp-tools --regid mcp-tools --clear-groups env HOME=/var/lib/mcp-tools mcp-tools token create \
	--name check --profile full --config /etc/mcp-tools/config.yaml --data /var/lib/mcp-tools 2>/dev/null`)
	lines := strings.Fields(out)
	if err != nil || len(lines) == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	result := callHTTP(t, "http://"+address+"/mcp", lines[len(lines)-1], "exec", map[string]any{"command": "id"})
	if !strings.Contains(result, "(sandbox)") {
		journal, _ := inside("journalctl -u mcp-tools --no-pager | tail")
		t.Errorf("the command returns %s\n%s", result, journal)
	}
	out, err = inside(`dpkg -P mcp-tools
! systemctl is-active mcp-tools`)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// callHTTP calls a tool in a new session and returns the response.
func callHTTP(t *testing.T, url, token, tool string, args map[string]any) string {
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
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	post(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "release-check", "version": "1"},
	}})
	post(map[string]any{"method": "notifications/initialized", "params": map[string]any{}})
	return post(map[string]any{"id": 2, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
}

// TestUnit has systemd read the unit, with what it names in a directory.
func TestUnit(t *testing.T) {
	analyze := need(t, "systemd-analyze")
	root := t.TempDir()
	unit, err := packed("systemd/mcp-tools.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit = bytes.ReplaceAll(unit, []byte("/usr/bin/mcp-tools"), []byte(self))
	unit = bytes.ReplaceAll(unit, []byte("Documentation=man:mcp-tools(1)\n"), nil)
	name := filepath.Join(root, "mcp-tools.service")
	if err := os.WriteFile(name, unit, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := output(t, analyze, "verify", "--man=no", name); strings.Contains(out, "mcp-tools.service:") {
		t.Error(out)
	}
}

// TestRPM lists what the package for RPM has, and TestAPK that for Alpine.
func TestRPM(t *testing.T) {
	out := output(t, need(t, "rpm"), "-qp", "--scripts", "--list", find(t, ".x86_64.rpm"))
	for _, want := range []string{
		"/usr/bin/mcp-tools\n", "/usr/lib/systemd/system/mcp-tools.service", "/etc/mcp-tools/config.yaml", "useradd",
		"/usr/share/man/man1/mcp-tools-serve.1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the package lacks %s", want)
		}
	}
}

func TestAPK(t *testing.T) {
	out := output(t, "tar", "-tzf", find(t, "_x86_64.apk"))
	if !strings.Contains(out, "usr/bin/mcp-tools\n") || strings.Contains(out, "systemd") {
		t.Error(out)
	}
}

// TestImage pushes the image to a registry, pulls it for this platform, unpacks it and runs
// it as its user, without a container engine.
func TestImage(t *testing.T) {
	needRoot(t)
	images, _ := filepath.Glob(filepath.Join(*dist, "*_image*.tar"))
	find(t, "_image.tar")
	for _, image := range images {
		t.Run(filepath.Base(image), func(t *testing.T) { tryImage(t, image) })
	}
}

// pushImage serves the images of an archive as a registry does.
func pushImage(t *testing.T, file string) name.Reference {
	t.Helper()
	dir := t.TempDir()
	unpackFile(t, file, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	if index, err = index.ImageIndex(manifest.Manifests[0].Digest); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/mcp-tools:check")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	return ref
}

func tryImage(t *testing.T, file string) {
	ref := pushImage(t, file)
	img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil || config.Config.Labels["io.modelcontextprotocol.server.name"] != "io.github.mcp-tools/mcp-tools" {
		t.Fatalf("%+v, %v", config, err)
	}
	root := filepath.Join(t.TempDir(), "root")
	flat := mutate.Extract(img)
	defer flat.Close()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack(t, flat, root)
	for _, dir := range []string{"proc", "dev"} { // engines make them
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	need(t, "unshare")
	args := contained(root, config.Config.Entrypoint...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = config.Config.Env
	client := start(t, cmd)
	client.tryFiles()
	if strings.Contains(file, "full") {
		for _, program := range []string{"pdftotext -v", "tesseract --version", "chromium --version", "git --version"} {
			args := contained(root, "/bin/bash", "-c", "HOME=/tmp "+program+" 2>&1")
			out := output(t, args[0], args[1:]...)
			t.Log(strings.TrimSpace(out))
		}
	}
}

// contained returns a command that runs another one as the user of the image, in root, with
// namespaces as an engine would.
func contained(root string, args ...string) []string {
	return append([]string{
		"/usr/bin/unshare", "--mount", "--pid", "--fork", "--mount-proc=" + root + "/proc", "/bin/sh", "-c",
		`mount --bind /dev "$0/dev" && exec /usr/sbin/chroot --userspec=65532:65532 "$0" "$@"`, root,
	}, args...)
}

// TestDocker runs the line of the README with an engine that has pulled the image, and the image as a server over
// stdio. Only the name of the image, the port and the names of the volumes are others.
func TestDocker(t *testing.T) {
	docker := need(t, "docker")
	if out, err := exec.Command(docker, "version").CombinedOutput(); err != nil {
		t.Skipf("no engine: %s", out)
	}
	image := pushImage(t, find(t, "_image.tar")).Name()
	output(t, docker, "pull", "-q", image)
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "-f", image).Run() }) // what is left is the engine's
	start(t, exec.Command(docker, "run", "--rm", "-i", image)).tryFiles()

	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^docker run .*$`).FindString(string(readme))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	container := fmt.Sprint("mcp-tools-check-", os.Getpid())
	line = strings.NewReplacer("127.0.0.1:8080:", address+":", "-v mcp-tools:", "-v "+container+"-1:",
		"-v mcp-tools-workspace:", "-v "+container+"-2:", "ghcr.io/mcp-tools/mcp-tools:VERSION", "--name "+container+" "+image).Replace(line)
	t.Log(line)
	cmd := exec.Command("sh", "-c", line)
	printed, said := io.Pipe()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command(docker, "stop", container).Run()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
		_ = exec.Command(docker, "volume", "rm", container+"-1", container+"-2").Run()
	})
	lines, text, token := bufio.NewScanner(printed), "", []string(nil)
	for token == nil && lines.Scan() {
		text += lines.Text() + "\n"
		token = regexp.MustCompile(`Token: (\S+)`).FindStringSubmatch(lines.Text())
	}
	if token == nil {
		t.Fatalf("no token: %s", text)
	}
	for lines.Scan() && !strings.Contains(lines.Text(), "8080") { // where it listens
		text += lines.Text() + "\n"
	}
	go func() { _, _ = io.Copy(io.Discard, printed) }()
	session := ""
	ask := func(body string) string {
		r, err := http.NewRequest(http.MethodPost, "http://"+address+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token[1])
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		session = cmp.Or(session, res.Header.Get("Mcp-Session-Id"))
		return string(answer)
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"check","version":"1"}}}`)
	if list := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(list, `"write_file"`) {
		t.Errorf("the tools: %s", list)
	}
	made := ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_file","arguments":` +
		`{"path":"a.txt","content":"one"}}}`)
	if !strings.Contains(made, "created") {
		t.Errorf("write_file: %s", made)
	}
}

// TestBundle does what Claude Desktop does with a bundle.
func TestBundle(t *testing.T) {
	dir := t.TempDir()
	unzip(t, find(t, "_"+runtime.GOOS+"_"+runtime.GOARCH+".mcpb"), dir)
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Version string `json:"manifest_version"`
		Server  struct {
			Entry  string `json:"entry_point"`
			Config struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
		User map[string]struct{ Default string } `json:"user_config"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.Version != "0.3" {
		t.Fatalf("%s: %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, manifest.Server.Entry)); err != nil {
		t.Error(err)
	}
	fill := strings.NewReplacer("${__dirname}", dir, "${user_config.workspace}", t.TempDir(),
		"${user_config.profile}", manifest.User["profile"].Default)
	var args []string
	for _, arg := range manifest.Server.Config.Args {
		args = append(args, fill.Replace(arg))
	}
	cmd := exec.Command(fill.Replace(manifest.Server.Config.Command), args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	start(t, cmd).tryFiles()
}

// TestWindows runs the program for Windows under Wine.
func TestWindows(t *testing.T) {
	wine := need(t, "wine")
	dir := t.TempDir()
	unzip(t, find(t, "_windows_amd64.zip"), dir)
	found, _ := filepath.Glob(filepath.Join(dir, "*", "mcp-tools.exe"))
	if len(found) != 1 {
		t.Fatalf("programs in the archive: %v", found)
	}
	work := t.TempDir()
	cmd := exec.Command(wine, found[0], "--workspace", "Z:"+work, "--data", "Z:"+t.TempDir())
	cmd.Env = newWine(t)
	client := start(t, cmd)
	client.tryFiles()
	if text, err := os.ReadFile(filepath.Join(work, "notes", "a.txt")); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// newWine makes the directory of a Windows and returns the environment for programs in it.
func newWine(t *testing.T) []string {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "wine")
	t.Setenv("WINEPREFIX", prefix)
	t.Setenv("WINEDEBUG", "-all")
	t.Setenv("DISPLAY", "")
	output(t, "wine", "wineboot", "--init")
	t.Cleanup(func() { _ = exec.Command("wine", "wineboot", "--kill").Run() }) // it may have ended
	system := filepath.Join(prefix, "drive_c", "windows", "system32")
	if _, err := os.Stat(filepath.Join(system, "bcryptprimitives.dll")); err == nil {
		return os.Environ()
	}
	// Go takes random numbers from this library, which Wine 8 does not have: another one has
	// the same function.
	def := filepath.Join(prefix, "forward.def")
	const exports = "LIBRARY bcryptprimitives.dll\nEXPORTS\nProcessPrng = advapi32.SystemFunction036\n"
	if err := os.WriteFile(def, []byte(exports), 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, need(t, "x86_64-w64-mingw32-ld"), "-shared", "-o", filepath.Join(system, "bcryptprimitives.dll"), def)
	return os.Environ()
}

// TestChart has helm check the chart and compares what it makes with a file.
func TestChart(t *testing.T) {
	dir := t.TempDir()
	unpackFile(t, find(t, "mcp-tools-*.tgz"), dir)
	chart := filepath.Join(dir, "mcp-tools")
	// The golden file does not change with the version.
	name := filepath.Join(chart, "Chart.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if key, _, _ := strings.Cut(line, ":"); key == "version" || key == "appVersion" {
			lines[i] = key + `: "1.0.0"`
		}
	}
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	helm := func(args ...string) string { return output(t, "go", append([]string{"run", helmModule}, args...)...) }
	helm("lint", "--strict", chart)
	got := helm("template", "tools", chart, "--set", "ingress.enabled=true,ingress.tlsSecret=tls,replicas=3,"+
		"store.existingSecret=database,publicURL=https://mcp.example.com/mcp,sandboxes.enabled=true,sandboxes.image=python:3.14")
	golden := filepath.Join("testdata", "chart.yaml")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("%v; the chart makes\n%s", err, got)
	}
	out, err := exec.Command("go", "run", helmModule, "template", "tools", chart, "--set", "replicas=2").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "set store.existingSecret") {
		t.Errorf("two replicas without a store: %v\n%s", err, out)
	}
}

const helmModule = "helm.sh/helm/v3/cmd/helm@v3.22.0"

// TestLists checks the lists of package managers and registries against the results.
func TestLists(t *testing.T) {
	sums, err := os.ReadFile(find(t, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = sum
	}
	var server struct {
		Description string
		Packages    []struct{ RegistryType, Identifier, FileSha256 string }
	}
	var scoop struct {
		Architecture map[string]struct{ URL, Hash string }
	}
	for name, into := range map[string]any{"server.json": &server, "mcp-tools.json": &scoop} {
		text, err := os.ReadFile(find(t, name))
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(server.Description); n == 0 || n > 100 {
		t.Errorf("the description has %d characters, the max is 100", n)
	}
	checked := 0
	check := func(url, sum string) {
		checked++
		if name := url[strings.LastIndex(url, "/")+1:]; sum == "" || known[name] != sum {
			t.Errorf("%s has the digest %s, listed is %s", name, known[name], sum)
		}
	}
	for _, p := range server.Packages {
		if p.RegistryType == "mcpb" {
			check(p.Identifier, p.FileSha256)
		}
	}
	for _, a := range scoop.Architecture {
		check(a.URL, a.Hash)
	}
	formula, err := os.ReadFile(find(t, "mcp-tools.rb"))
	if err != nil {
		t.Fatal(err)
	}
	url := ""
	for line := range strings.Lines(string(formula)) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), ` "`)
		value = strings.TrimSuffix(value, `"`)
		switch word {
		case "url":
			url = value
		case "sha256":
			check(url, value)
		}
	}
	if checked < 2 {
		t.Errorf("only %d digests were checked", checked)
	}
	dir := t.TempDir()
	unpackFile(t, find(t, "_plugins.tar.gz"), dir)
	plugins, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.json"))
	if err != nil || len(plugins) < 2 {
		t.Fatalf("%v, %v", plugins, err)
	}
	for _, name := range plugins {
		if text, err := os.ReadFile(name); err != nil || !json.Valid(text) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestNPX serves the packages for npm as a registry does, and uses them with npx in an empty home:
// connect writes an entry, and its command serves.
func TestNPX(t *testing.T) {
	need(t, "npx")
	all := npmRegistry(t)
	home := t.TempDir()
	workspace := filepath.Join(home, "src")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	npx := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "npm_config_registry=" + all.URL,
			"npm_config_update_notifier=false"}
		return cmd
	}
	out, err := npx("npx", "-y", "mcp-tools", "connect", "claude-desktop", "--workspace", workspace).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(home, ".config", "Claude", "claude_desktop_config.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var settings struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	entry := settings.Servers["mcp-tools"]
	if entry.Command != "npx" || len(entry.Args) < 3 || !strings.HasPrefix(entry.Args[2], "mcp-tools@") {
		t.Fatalf("the entry is %s", text)
	}
	all.Close() // npx has the version in its cache
	start(t, npx(entry.Command, entry.Args...)).tryFiles()
}

// npmRegistry serves the packages of a release for npm.
func npmRegistry(t *testing.T) *httptest.Server {
	t.Helper()
	find(t, "SHA256SUMS")
	files, err := filepath.Glob(filepath.Join(*dist, "*_npm.tgz"))
	if err != nil || len(files) < 2 {
		t.Fatalf("packages for npm: %v, %v", files, err)
	}
	served := map[string]http.HandlerFunc{} // by path; npm sends the slash of a name as %2f
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serve := served[r.URL.Path]; serve != nil {
			serve(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	for _, file := range files {
		dir := t.TempDir()
		unpackFile(t, file, dir)
		text, err := os.ReadFile(filepath.Join(dir, "package", "package.json"))
		var about map[string]any
		if err == nil {
			err = json.Unmarshal(text, &about)
		}
		if err != nil {
			t.Fatal(err)
		}
		name, version := about["name"].(string), about["version"].(string)
		about["dist"] = map[string]string{"tarball": server.URL + "/-/" + filepath.Base(file)}
		served["/-/"+filepath.Base(file)] = func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }
		served["/"+name] = func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{
				"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: about},
			})
		}
	}
	return server
}

// TestNPMScript starts a script in place of the program: arguments, streams, signals and exit
// codes are passed on.
func TestNPMScript(t *testing.T) {
	node := need(t, "node")
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script here")
	}
	dir := filepath.Join(t.TempDir(), "_npx", "0", "node_modules", "mcp-tools")
	platform := filepath.Join(filepath.Dir(dir), npmOf(program{os: runtime.GOOS, arch: runtime.GOARCH}).Name)
	run := filepath.Join(dir, "mcp-tools.js")
	script, err := packed("npm/mcp-tools.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(run, script, 0o644),
		os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"version":"1.2.3"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, run).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is missing") {
		t.Errorf("without the package of the platform: %v\n%s", err, out)
	}
	const fake = "#!/bin/sh\ntrap 'echo ended; exit 7' TERM\necho \"$MCP_TOOLS_NPX $*\"\ncat\nkill -TERM $PPID\n" +
		"while :; do sleep 1; done\n"
	if err := errors.Join(os.MkdirAll(platform, 0o755),
		os.WriteFile(filepath.Join(platform, "mcp-tools"), []byte(fake), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, run, "two words", "x")
	cmd.Stdin = strings.NewReader("from stdin\n")
	out, err = cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("the exit code is %d, want 7: %v", code, err)
	}
	if want := "mcp-tools@1.2.3 two words x\nfrom stdin\nended\n"; string(out) != want {
		t.Errorf("output %q, want %q", out, want)
	}
}
