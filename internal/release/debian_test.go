package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
	post := connectHTTP(t, "http://"+address+"/mcp", lines[len(lines)-1])
	result := post(toolCall("exec", map[string]any{"command": "id"}))
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

// TestUnit has systemd read the unit, with its files in a directory.
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
