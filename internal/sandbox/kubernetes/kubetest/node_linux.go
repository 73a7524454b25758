package kubetest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// The images of a node.
const (
	Commands = "localhost/commands:1"  // busybox
	Program  = "localhost/mcp-tools:1" // the program under test
)

// node is the name of the node. The API server reaches its kubelet by this name.
const node = "localhost"

// StartNode starts containerd, a kubelet, and the controllers that a node needs; program is a static build of mcp-tools. It
// needs root. The pods have no network but an interface without a route: no plugin of Debian enforces network policies.
func (c *Cluster) StartNode(program string) {
	c.t.Helper()
	if os.Getuid() != 0 {
		needtest.Lacking(c.t, "root", "a node needs root")
	}
	for _, name := range []string{"containerd", "ctr", "runc", "docker", "busybox", "ip"} {
		needtest.Program(c.t, name)
	}
	if _, err := os.Stat("/usr/lib/cni/bridge"); err != nil {
		needtest.Lacking(c.t, "cni", "containernetworking-plugins is not installed")
	}
	c.keepSysctls()
	containerd := c.run("containerd", "containerd", "--config", c.write("containerd.toml", strings.ReplaceAll(containerdConfig, "DIR", c.dir)))
	c.t.Cleanup(func() {
		end(containerd)
		c.sweep()
	})
	c.write("cni/1.conflist", strings.ReplaceAll(network, "DIR", c.dir))
	c.Until("containerd does not start", "containerd", func() error { return c.ctr("version") })
	c.images(program)
	admin := c.Config(Admin)
	scheduler := c.run("scheduler", filepath.Join(c.bin, "kube-scheduler"), "--kubeconfig", admin, "--leader-elect=false", "--secure-port", "0")
	c.t.Cleanup(func() { end(scheduler) })
	controllers := c.run("controllers", filepath.Join(c.bin, "kube-controller-manager"), "--kubeconfig", admin, "--leader-elect=false",
		"--secure-port", "0", "--controllers", "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller",
		"--node-monitor-grace-period", "15s")
	c.t.Cleanup(func() { end(controllers) })
	c.write("kubelet.yaml", strings.NewReplacer("DIR", c.dir, "PORT", free(c.t)).Replace(kubeletConfig))
	c.StartKubelet()
	c.t.Cleanup(c.StopKubelet)
	c.t.Cleanup(c.RemovePods)
}

// StartKubelet starts the kubelet again, and waits until the node takes pods.
func (c *Cluster) StartKubelet() {
	c.t.Helper()
	c.kubelet = c.run("kubelet", filepath.Join(c.bin, "kubelet"), "--config", c.dir+"/kubelet.yaml", "--kubeconfig", c.Config(Admin),
		"--root-dir", c.dir+"/kubelet", "--cert-dir", c.dir+"/kubelet-certs", "--hostname-override", node)
	c.Until("the node does not get ready", "kubelet", func() error {
		if ready, taints := c.Node(); !ready || taints != 0 {
			return fmt.Errorf("ready: %v, %d taints", ready, taints)
		}
		return nil
	})
}

// StopKubelet kills the kubelet. Its containers run on.
func (c *Cluster) StopKubelet() { end(c.kubelet) }

// FreezeKubelet stops the kubelet as a frozen machine does, and the result lets it go on.
func (c *Cluster) FreezeKubelet() (thaw func()) {
	_ = c.kubelet.Process.Signal(syscall.SIGSTOP)
	return func() { _ = c.kubelet.Process.Signal(syscall.SIGCONT) }
}

// Node reports whether the node is ready, and how many taints it has.
func (c *Cluster) Node() (ready bool, taints int) {
	var n struct {
		Spec   struct{ Taints []struct{ Key string } }
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if c.Do(http.MethodGet, "/api/v1/nodes/"+node, "", &n) != nil {
		return false, 0
	}
	for _, one := range n.Status.Conditions {
		ready = ready || one.Type == "Ready" && one.Status == "True"
	}
	return ready, len(n.Spec.Taints)
}

func (c *Cluster) ctr(args ...string) error {
	out, err := exec.Command("ctr", append([]string{"-a", c.dir + "/containerd.sock", "-n", "k8s.io"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// images makes the images, and imports them.
func (c *Cluster) images(program string) {
	c.t.Helper()
	cmd := exec.Command("sh", "-ec", `cd "$1"
mkdir -p root/bin root/tmp root/etc program
cp "$(command -v busybox)" root/bin/busybox
for a in $(busybox --list | grep -vx busybox); do ln -sf busybox root/bin/$a; done
cp "$2" program/mcp-tools
tar -C root -c . | docker import --change 'ENTRYPOINT ["/bin/sleep","1000000000"]' - localhost/pause:1
tar -C root -c . | docker import - "$3"
tar -C program -c . | docker import --change 'ENTRYPOINT ["/mcp-tools"]' - "$4"
docker save localhost/pause:1 "$3" "$4" >images.tar
docker rmi localhost/pause:1 "$3" "$4" >/dev/null
rm -r root program`, "sh", c.dir, program, Commands, Program)
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = c.ctr("images", "import", c.dir+"/images.tar")
	}
	if err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

// RemovePods removes all pods, and waits until they have ended.
func (c *Cluster) RemovePods() {
	c.Until("pods do not end", "kubelet", func() error {
		var list struct {
			Items []struct {
				Metadata struct{ Name, Namespace string }
			}
		}
		if err := c.Do(http.MethodGet, "/api/v1/pods", "", &list); err != nil {
			return err
		}
		for _, p := range list.Items {
			_ = c.Do(http.MethodDelete, "/api/v1/namespaces/"+p.Metadata.Namespace+"/pods/"+p.Metadata.Name+"?gracePeriodSeconds=0", "", nil)
		}
		if out, err := exec.Command("ctr", "-a", c.dir+"/containerd.sock", "-n", "k8s.io", "task", "ls", "-q").Output(); err != nil || len(out) > 0 {
			return fmt.Errorf("%w: they run: %s", errors.Join(err), out)
		}
		return nil
	})
}

// sweep removes what a node leaves: shims, mounts and the bridge.
func (c *Cluster) sweep() {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range lines {
		var pid int
		text, _ := os.ReadFile(at)
		if _, err := fmt.Sscanf(at, "/proc/%d/cmdline", &pid); err == nil && bytes.Contains(text, []byte(c.dir+"/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for range 2 { // some are mounted over others
		mounts, _ := os.ReadFile("/proc/self/mounts")
		for line := range strings.Lines(string(mounts)) {
			if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], c.dir+"/") {
				_ = syscall.Unmount(f[1], syscall.MNT_DETACH)
			}
		}
	}
	_ = exec.Command("ip", "link", "delete", "mcpkube0").Run() // it exists only if a pod ran
}

// keepSysctls restores the settings of the kernel that a kubelet changes.
func (c *Cluster) keepSysctls() {
	for _, name := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"} {
		path := "/proc/sys/" + name
		if text, err := os.ReadFile(path); err == nil {
			c.t.Cleanup(func() { _ = os.WriteFile(path, text, 0) })
		}
	}
}

const containerdConfig = `version = 2
root = "DIR/containerd"
state = "DIR/run"
[grpc]
  address = "DIR/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true # there may be no CAP_SYS_RESOURCE
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "DIR/cni"
`

const network = `{"cniVersion":"0.4.0","name":"test","plugins":[{"type":"bridge","bridge":"mcpkube0","ipam":
{"type":"host-local","dataDir":"DIR/ipam","ranges":[[{"subnet":"10.199.0.0/24"}]]}}]}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: PORT
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://DIR/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
podLogsDir: DIR/podlogs
nodeStatusUpdateFrequency: 2s
volumeStatsAggPeriod: 10s
resolvConf: ""
`
