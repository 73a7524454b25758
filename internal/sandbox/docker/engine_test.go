package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	imagetype "github.com/docker/docker/api/types/image"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

const (
	testImage = "mcp-tools-test:busybox-3"
	long      = 3 * time.Minute // stops a hang, measures nothing
)

// TestMain is also the server of tests that kill one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "test-server" {
		os.Exit(testServer(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// testEngine is the engine of this machine, with the image of the tests.
func testEngine(t testing.TB) *engine {
	t.Helper()
	if os.Getenv("DOCKER_HOST") != "" {
		needtest.Lacking(t, "docker", "DOCKER_HOST is set: the tests want an engine on this machine")
	}
	e, err := newEngine("unix:///var/run/docker.sock", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	if _, err := e.api.Ping(ctx); err != nil {
		needtest.Lacking(t, "docker", "there is no docker engine here: "+err.Error())
	}
	if _, err := e.api.ImageInspect(ctx, testImage); errdefs.IsNotFound(err) {
		importImage(t, e)
	}
	return e
}

// importImage makes the image from the busybox of this machine.
func importImage(t testing.TB, e *engine) {
	t.Helper()
	busybox, err := os.ReadFile(needtest.Program(t, "busybox"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.NewFile(bytes.NewReader(busybox))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			needtest.Lacking(t, "busybox", "busybox needs shared libraries; install busybox-static")
		}
	}
	applets, err := exec.Command("busybox", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	put := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for dir, mode := range map[string]int64{"bin/": 0o755, "etc/": 0o755, "tmp/": 0o1777} {
		put(tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: mode}, nil)
	}
	put(tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("root:x:0:0::/:/bin/sh\n"))
	put(tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755}, busybox)
	put(tar.Header{Name: "bin/busybox-suid", Typeflag: tar.TypeReg, Mode: 0o4755}, busybox)
	for _, a := range strings.Fields(string(applets)) {
		if a != "busybox" {
			put(tar.Header{Name: "bin/" + a, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := e.api.ImageImport(context.Background(), imagetype.ImportSource{Source: &buf, SourceName: "-"}, testImage,
		imagetype.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
}

// agentProgram builds, once for all tests, what runs in the containers.
func agentProgram(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("MCP_TOOLS_TEST_AGENT"); path != "" {
		return path
	}
	path, err := buildAgent()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildAgent = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "mcp-tools-docker-test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-o", path, "./testdata/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &os.PathError{Op: string(out), Path: path, Err: err}
	}
	return path, os.Chmod(path, 0o755)
})

// A place is a launcher and a ground for one test.
type place struct {
	t        testing.TB
	launcher *Launcher
	dir      string
	log      *bytes.Buffer
}

func newPlace(t testing.TB, change ...func(*Options)) *place {
	t.Helper()
	testEngine(t)
	var log bytes.Buffer
	o := Options{
		Image: testImage, Hosts: []string{"unix:///var/run/docker.sock"}, Agent: agentProgram(t),
		Mounts: filepath.Join(t.TempDir(), "mounts"), Prefix: "mcp-tools-test-", Data: t.Name(),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &place{t, l, dir, &log}
}

func (p *place) spec() sandbox.Spec {
	return sandbox.Spec{
		ID: strings.ToLower(thisProcess().random), Owner: "tester",
		Binds:  p.launcher.Layout(sandbox.Directories{Dir: p.dir}).Binds,
		Limits: sandbox.Limits{Memory: 128 << 20, Processes: 64, Temp: 16 << 20, FileSize: 32 << 20},
	}
}

func (p *place) open(w sandbox.Spec) *box.Box {
	p.t.Helper()
	b, err := p.try(w)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *place) try(w sandbox.Spec) (*box.Box, error) {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	link, err := p.launcher.Launch(ctx, w)
	if err != nil {
		return nil, err
	}
	b, err := box.Open(ctx, link)
	if err != nil {
		return nil, err
	}
	p.t.Cleanup(func() { b.Close() })
	return b, nil
}

// An outcome is what came of a command.
type outcome struct {
	wire.ExitBody
	out  string
	lost error
}

// A sink gathers an outcome.
type sink struct {
	mu   sync.Mutex
	got  outcome
	buf  bytes.Buffer
	done chan struct{}
}

func (s *sink) Output(_ sandbox.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf.Len() < 1<<20 {
		s.buf.Write(data)
	}
}

func (s *sink) Skipped(sandbox.Stream, int64) {}

func (s *sink) Exited(e wire.ExitBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got.ExitBody = e
}

func (s *sink) Gone(err error) {
	s.mu.Lock()
	s.got.lost, s.got.out = err, s.buf.String()
	s.mu.Unlock()
	close(s.done)
}

func start(t testing.TB, b *box.Box, body wire.StartBody) (*box.Child, *sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	body.Env = append(body.Env, "PATH=/bin:/usr/bin", "HOME="+home)
	if body.Dir == "" {
		body.Dir = "/workspace"
	}
	s := &sink{done: make(chan struct{})}
	c, err := b.Start(ctx, body, s)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func (s *sink) wait(t testing.TB) outcome {
	t.Helper()
	select {
	case <-s.done:
		return s.got
	case <-time.After(long):
		t.Fatal("the command does not end")
		return outcome{}
	}
}

// sh runs a line in a shell.
func sh(t testing.TB, b *box.Box, line string) outcome {
	t.Helper()
	_, s := start(t, b, wire.StartBody{Argv: []string{"sh", "-c", line}, Merge: true, Timeout: long})
	return s.wait(t)
}
