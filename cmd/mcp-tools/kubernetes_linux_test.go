package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/kubernetes/kubetest"
)

// A podPlace is a cluster with one node, and the program with sandboxes in its namespace boxes.
type podPlace struct {
	*testing.T
	*kubetest.Cluster
	path, data string
}

func newPodPlace(t *testing.T) *podPlace {
	c := kubetest.New(t)
	p := &podPlace{T: t, Cluster: c, path: filepath.Join(t.TempDir(), "mcp-tools")}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.data = filepath.Join(t.TempDir(), "data")
	c.StartNode(p.path)
	c.Space("boxes")
	return p
}

// A podServer is the program over stdio.
type podServer struct {
	*podPlace
	*pipe
	ws string
}

// settings returns the file of settings, with changes of sandbox.kubernetes.
func (p *podPlace) settings(change map[string]string, more string) string {
	p.Helper()
	kubernetes := map[string]string{"image": kubetest.Commands, "agent": kubetest.Program, "namespace": "boxes",
		"kubeconfig": p.Config(kubetest.Server), "disk": "1GiB", "cpu": "500m"}
	maps.Copy(kubernetes, change)
	flow, err := json.Marshal(kubernetes)
	file := filepath.Join(p.TempDir(), "config.yaml")
	if err == nil {
		err = os.WriteFile(file, []byte(generous+"sandbox:\n  mode: kubernetes\n  network: on\n  memory: 96MiB\n  temp: 16MiB\n  kubernetes: "+
			string(flow)+"\n"+more), 0o600)
	}
	if err != nil {
		p.Fatal(err)
	}
	return file
}

// serve starts a server on a workspace of its own.
func (p *podPlace) serve(change map[string]string, more string, flags ...string) *podServer {
	p.Helper()
	ws := filepath.Join(p.TempDir(), "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		p.Fatal(err)
	}
	link, err := dialPipe(p.T, apart(p.path, append([]string{"--config", p.settings(change, more), "--data", p.data, "--workspace", ws,
		"--profile", "full", "--autonomy", "full"}, flags...)...))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(link.kill)
	return &podServer{podPlace: p, pipe: link, ws: ws}
}

// does makes a call, whose text must have the words.
func (s *podServer) does(name string, args map[string]any, words ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute)
	defer cancel()
	text, _, err := s.call(ctx, name, args)
	if err != nil {
		s.Fatalf("%s %v: %v", name, args, err)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			s.Errorf("%s %v: %q lacks %q", name, args, text, word)
		}
	}
	return text
}

// runs runs a command.
func (s *podServer) runs(command string, words ...string) string {
	s.Helper()
	return s.does("exec", map[string]any{"command": command, "timeout_seconds": 240}, words...)
}

// begins runs a command in the background, which prints begun, and returns its id.
func (s *podServer) begins(command string) string {
	s.Helper()
	text := s.does("exec", map[string]any{"command": "echo begun; " + command, "background": true})
	id := regexp.MustCompile(`\bp_\w+`).FindString(text)
	if id == "" {
		s.Fatalf("no id: %s", text)
	}
	s.sees(id, "begun")
	return id
}

// sees waits until a command has written a word.
func (s *podServer) sees(id, word string) {
	s.Helper()
	text := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if text = s.does("process", map[string]any{"action": "log", "id": id}); strings.Contains(text, word) {
			return
		}
	}
	s.Fatalf("%q was not written: %s", word, text)
}

// loses waits until a command is lost for a reason.
func (s *podServer) loses(id, why string) {
	s.Helper()
	s.does("process", map[string]any{"action": "wait", "id": id, "timeout_seconds": 120}, why, "lost with its sandbox")
}

// A livePod is a pod with a part of its fields.
type livePod struct {
	Metadata struct{ Name string }
	Status   struct{ Phase, Reason, Message string }
}

// pods returns all pods.
func (p *podPlace) pods() []livePod {
	var list struct{ Items []livePod }
	if err := p.Do(http.MethodGet, "/api/v1/namespaces/boxes/pods", "", &list); err != nil {
		p.Error(err)
	}
	return list.Items
}

// only waits until there is one pod: pods that have ended are removed in the background.
func (p *podPlace) only() (one livePod) {
	p.Helper()
	p.Until("there is not one pod", "kubelet", func() error {
		list := p.pods()
		if len(list) != 1 {
			return fmt.Errorf("%+v", list)
		}
		one = list[0]
		return nil
	})
	return one
}

// TestPods runs commands in the pods of a node.
func TestPods(t *testing.T) {
	p := newPodPlace(t)
	for _, one := range []struct {
		name string
		try  func(*testing.T, *podPlace)
	}{
		{"commands", podCommands}, {"limits", podLimits}, {"ends", podEnds}, {"servers", podServers}, {"refusals", podRefusals}, {"faults", podFaults},
		{"times", podTimes},
	} {
		t.Run(one.name, func(t *testing.T) {
			on := *p
			on.T = t
			one.try(t, &on)
		})
		p.RemovePods() // those of servers that were killed
	}
}

// podCommands runs commands with output, input and files, in the background, and with the proxy as the only way out.
func podCommands(t *testing.T, p *podPlace) {
	s := p.serve(nil, "")
	s.runs("echo out; echo err >&2; id -u; exit 3", "out", "err", "65534", "exit code 3")
	s.does("exec", map[string]any{"command": "tr a-z A-Z", "stdin": "typed"}, "TYPED")
	s.does("write_file", map[string]any{"path": "notes.txt", "content": "by a tool\n"})
	s.runs("cat notes.txt; echo by a command >made.txt; head -c 1000000 /dev/urandom >big.bin", "by a tool")
	s.does("read_file", map[string]any{"path": "made.txt"}, "by a command")
	if i, err := os.Stat(filepath.Join(s.ws, "big.bin")); err != nil || i.Size() != 1000000 {
		t.Errorf("big.bin: %v, %v", i, err)
	}
	id := s.begins("read x; echo got $x; sleep 4242")
	s.does("process", map[string]any{"action": "write", "id": id, "data": "this\n"})
	s.sees(id, "got this")
	s.does("process", map[string]any{"action": "kill", "id": id})
	s.runs("ps | grep -c '[s]leep 4242'", "0")
	s.runs("wget -O - http://127.0.0.1:1/ 2>&1", "403 Forbidden") // by the proxy: it is an address of the server
	s.runs("nc -w 5 192.0.2.1 80 2>&1 </dev/null", "unreachable")
	s.runs("ls /var/run/secrets 2>&1; touch /x 2>&1", "No such file", "Read-only file system")

	other := p.serve(nil, "")
	other.runs("ls -A; echo here >/tmp/mine")
	if text := s.runs("ls /tmp"); strings.Contains(text, "mine") {
		t.Errorf("files of another session: %s", text)
	}
	if list := p.pods(); len(list) != 2 {
		t.Errorf("%d pods for two sessions", len(list))
	}
	if text := finish(t, apart(p.path, "doctor", "--config", p.settings(nil, ""), "--data", p.data)); !strings.Contains(text, "admits pods") {
		t.Errorf("doctor: %s", text)
	}
	other.kill()
	s.kill()
}

// podLimits has commands that use more than they may.
func podLimits(t *testing.T, p *podPlace) {
	s := p.serve(nil, "")
	s.runs("tail /dev/zero", "more than 96 MiB of memory")
	s.runs("echo goes on", "goes on")
	s.runs("dd if=/dev/zero of=/tmp/full bs=1M count=50 2>&1; echo goes on", "No space left", "goes on")
	s.runs("rm /tmp/full; head -c 1500000000 /dev/zero >/roots/big; sleep 4242", "lost", "Evicted")
	s.runs("echo again", "again")
	s.kill()
}

// podEnds has pods that end with their server, by another hand, and by their deadline.
func podEnds(t *testing.T, p *podPlace) {
	s := p.serve(nil, "")
	s.begins("(setsid sleep 4242 &); sleep 4242")
	s.kill()
	p.Until("the pod of a killed server runs on", "kubelet", func() error {
		if one := p.only(); one.Status.Phase != "Succeeded" && one.Status.Phase != "Failed" {
			return errors.New(one.Status.Phase)
		}
		return nil
	})

	s = p.serve(nil, "")
	id := s.begins("sleep 4242")
	pod := p.only().Metadata.Name
	p.Send(http.MethodDelete, "/api/v1/namespaces/boxes/pods/"+pod, "")
	s.loses(id, "the pod was deleted")

	id = s.begins("sleep 4242")
	pod = p.only().Metadata.Name
	p.Patch("/api/v1/namespaces/boxes/pods/"+pod, `{"spec":{"activeDeadlineSeconds":1}}`)
	s.loses(id, "DeadlineExceeded")
	s.runs("echo again", "again")
	s.kill()
}

// podServers has a bridged MCP server in a pod.
func podServers(t *testing.T, p *podPlace) {
	s := p.serve(nil, "mcp_servers:\n  inner: {command: [/.mcp/agent, --sandbox, host], sandbox: kubernetes, trust: full}\n")
	s.Until("the server in the pod is not connected", "kubelet", func() error {
		text, failed, err := s.call(t.Context(), "inner__exec", map[string]any{"command": "hostname; id -u"})
		if err == nil && (failed || !strings.Contains(text, "sandbox\n65534")) {
			err = errors.New(text)
		}
		return err
	})
	s.kill()
}

// podRefusals has pods that cannot start.
func podRefusals(t *testing.T, p *podPlace) {
	p.serve(map[string]string{"image": "localhost/none:1"}, "").runs("true", "cannot be pulled")
	p.serve(map[string]string{"agent": "localhost/none:1"}, "").runs("true", "cannot be pulled")
	p.serve(map[string]string{"cpu": "64"}, "").runs("true", "no node takes it", "Insufficient cpu")
	if list := p.pods(); len(list) > 0 {
		t.Errorf("pods that did not start are left: %+v", list)
	}
}

// podFaults has an API server and a kubelet that end while commands run.
func podFaults(t *testing.T, p *podPlace) {
	s := p.serve(nil, "")
	id := s.begins("sleep 4242")
	p.Stop()
	s.loses(id, "the API server of Kubernetes")
	s.runs("true", "cannot be reached")
	p.Start()
	s.runs("echo again", "again")

	id = s.begins("sleep 4242")
	thaw := p.FreezeKubelet()
	defer thaw()
	s.loses(id, "it does not answer")
	thaw()
	s.runs("echo again", "again")

	id = s.begins("sleep 4242")
	p.StopKubelet()
	s.loses(id, "the connection was lost")
	s.runs("true", "does not start in time")
	p.StartKubelet()
	s.runs("echo again", "again")
	s.kill()
	p.Until("pods run on", "kubelet", func() error {
		for _, one := range p.pods() {
			if one.Status.Phase != "Succeeded" && one.Status.Phase != "Failed" {
				return errors.New(one.Metadata.Name + " " + one.Status.Phase)
			}
		}
		return nil
	})
}

// podTimes logs the times of commands in pods, beside those in a container and in the sandbox of the kernel.
func podTimes(t *testing.T, p *podPlace) {
	script(t, `mkdir -p "$1/bin" "$1/tmp" "$1/etc"; chmod 1777 "$1/tmp"; cp "$(command -v busybox)" "$1/bin/busybox"
for a in $(busybox --list | grep -vx busybox); do ln -sf busybox "$1/bin/$a"; done
tar -C "$1" -c . | docker import - mcp-tools-pods:1`, t.TempDir())
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "mcp-tools-pods:1").Run() })
	for _, tier := range []string{"kubernetes", "docker", "kernel"} {
		s := p.serve(map[string]string{"cpu": "1", "disk": "4GiB"}, "", "--sandbox", tier, "--sandbox-image", "mcp-tools-pods:1")
		s.does("list_files", nil)
		took := func(n int, do func(n int)) time.Duration {
			var all []time.Duration
			for n := range n {
				begun := time.Now()
				do(n)
				all = append(all, time.Since(begun))
			}
			slices.Sort(all)
			return all[len(all)/2]
		}
		first := took(1, func(int) { s.runs("true", "no output") })
		warm := took(100, func(int) { s.runs("true", "no output") })
		content := strings.Repeat("0123456789abcde\n", 1<<16)
		sent := took(10, func(n int) {
			if err := os.WriteFile(filepath.Join(s.ws, "in"), []byte(fmt.Sprint(n)+content), 0o644); err != nil {
				t.Fatal(err)
			}
			s.runs("true", "no output")
		})
		back := took(10, func(n int) { s.runs(fmt.Sprintf("(echo %d; cat in) >out", n), "no output") })
		if i, err := os.Stat(filepath.Join(s.ws, "out")); err != nil || i.Size() < 1<<20 {
			t.Errorf("%s: out: %v, %v", tier, i, err)
		}
		t.Logf("%-10s first %s, then %s, with 1 MB to it %s, with 1 MB from it %s", tier, first, warm, sent, back)
		s.kill()
	}
}
