package agent

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

func TestReadingProcesses(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := cmd.Process.Pid
	p, ok := look(pid)
	if !ok || p.parent != os.Getpid() || !p.alive {
		t.Errorf("%+v, %v", p, ok)
	}
	for name, list := range map[string][]int{
		"by lists":   children(os.Getpid()),
		"by parents": childrenByParent(os.Getpid()),
	} {
		if !slices.Contains(list, pid) {
			t.Errorf("children %s: %d, without %d", name, list, pid)
		}
	}
	if all := livingTree([]int{os.Getpid()}, 0); !slices.Contains(all, pid) {
		t.Errorf("the family: %d, without %d", all, pid)
	}
	if _, ok := look(1 << 30); ok {
		t.Error("there is a process that cannot be")
	}
	if n := own(os.Getpid()); n <= 0 {
		t.Errorf("%d bytes of its own", n)
	}
}

func FuzzStat(f *testing.F) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("7 (a) R b) c) Z 1 7 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 77 0"))
	f.Add([]byte("7 (a)"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, text []byte) { parseStat(text) })
}

func TestANameThatLooksLikeFields(t *testing.T) {
	p, ok := parseStat([]byte("7 (a) R 9 9 9) Z 1 7 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 2 0"))
	if !ok || p.parent != 1 || p.session != 3 || p.alive || p.resident != 2*int64(os.Getpagesize()) {
		t.Errorf("%+v, %v", p, ok)
	}
}

// TestWrittenBytesHaveArrived checks that a byte is counted from the moment at which it was written, also while it goes
// from the pipe to the agent.
func TestWrittenBytesHaveArrived(t *testing.T) {
	r, w, err := pipeFrom()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &command{streams: []stream{{wire.Stdout, r}}}
	read := make(chan error)
	go func() {
		for buf := make([]byte, 100); ; {
			if _, err := c.take(c.streams[0], buf); err != nil {
				read <- err
				return
			}
		}
	}()
	for written, text := int64(0), make([]byte, 70); written < 70*5000; {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		written += int64(len(text))
		if got := c.arrived(); got != written {
			t.Fatalf("%d bytes have arrived of %d", got, written)
		}
	}
	w.Close()
	if err := <-read; err != io.EOF {
		t.Error(err)
	}
}
