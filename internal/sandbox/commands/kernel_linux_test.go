package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestKernelSandbox checks what a command sees in the kernel sandbox: its own files, what the operator adds,
// and only its own credentials.
func TestKernelSandbox(t *testing.T) {
	launcher := &kernel.Launcher{}
	needtest.Sandbox(t, launcher)
	extra, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{extra, filepath.Dir(extra)} { // commands may be another user
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(extra, "file"), []byte("extra\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := newCommands(t, func(o *Options) {
		o.Tiers = sandbox.NewTiers(launcher)
		o.Mode = func(tool.Caller) Policy { return Policy{} }
		o.ExtraRead = []string{extra}
	})
	ctx := caller(t)
	s, err := c.Site(ctx, "", false)
	if err != nil || s.Tier != "kernel" || !s.Isolated || s.Network || len(s.Roots) != 1 || s.Roots[0] != s.Dir {
		t.Fatalf("the site is %+v, %v", s, err)
	}
	if path, id := s.Find("sh"); path == "" || id == "" {
		t.Errorf("sh is %q %q", path, id)
	}
	dir, err := c.spool.place()
	if err != nil {
		t.Fatal(err)
	}
	canary := filepath.Join(dir, "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	if path, id := s.Find(canary); id != "" || s.File(canary) != "" {
		t.Errorf("what is outside is found as %q", path)
	}
	text := `echo mine > file && cat file; cat ` + extra + `/file; (echo x > ` + extra +
		`/file) 2>/dev/null || echo locked; cat ` + canary + ` 2>/dev/null || echo hidden; cd && pwd`
	if out, _ := run(ctx, t, c, sh(text)); out != "mine\nextra\nlocked\nhidden\n"+s.Home+"\n" {
		t.Errorf("it wrote %q", out)
	}
	program, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/environ", filepath.Join(s.Dir, "innocent")); err != nil {
		t.Fatal(err)
	}
	p := start(ctx, t, c, sandbox.Command{
		Argv: []string{program, "-c", `cat "$KEY"; echo $TOKEN; ls "$HOME" | wc -l; cat innocent 2>/dev/null`},
		Private: &sandbox.Private{
			Program: program, Secrets: []string{"TOKEN=s3cret"}, Files: map[string][]byte{"KEY": []byte("k3y\n")},
		},
	})
	finish(ctx, t, p)
	if out := readAll(t, p); strings.Join(strings.Fields(out), " ") != "k3y s3cret 0" {
		t.Errorf("apart it wrote %q", out)
	}
	if err := p.Remove(ctx); err != nil {
		t.Error(err)
	}
}

func readAll(t *testing.T, p *process) string {
	t.Helper()
	return text(t, p.Log(sandbox.Stdout)) + text(t, p.Log(sandbox.Stderr))
}
