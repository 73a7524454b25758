package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

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
