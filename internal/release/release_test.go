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
	"slices"
	"strings"
	"testing"

	"aead.dev/minisign"
)

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
	_, unpacked := unpackProgram(t)
	if packed, err := digest(unpacked); err != nil || packed != fresh {
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
	archive, program := unpackProgram(t)
	_, err := os.Stat(filepath.Join(*dist, "SHA256SUMS.minisig"))
	signed := err == nil
	server := httptest.NewServer(http.FileServer(http.Dir(*dist)))
	defer server.Close()
	t.Setenv("MCP_TOOLS_UPGRADE_URL", server.URL+"/latest.json")
	if !signed {
		if out := output(t, program, "upgrade", "--check"); !strings.Contains(out, "is not checked") {
			t.Errorf("it printed %s", out)
		}
		t.Skip("the release is not signed")
	}
	if out := output(t, program, "upgrade", "--check", archive); !strings.Contains(out, "is the file of the release") {
		t.Errorf("it printed %s", out)
	}
	changed := filepath.Join(t.TempDir(), filepath.Base(archive))
	if err := os.WriteFile(changed, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "upgrade", "--check", changed).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the content is not that of the file") {
		t.Errorf("a changed file: %v, %s", err, out)
	}
}

// TestArchive runs the program of the archive.
func TestArchive(t *testing.T) {
	_, program := unpackProgram(t)
	if out := output(t, program, "version"); !strings.Contains(out, "commit") || strings.Contains(out, "unknown") {
		t.Errorf("version: %s", out)
	}
	for _, name := range []string{"LICENSE", "man/mcp-tools-serve.1", "completions/mcp-tools.bash"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(program), name)); err != nil {
			t.Error(err)
		}
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
	work := t.TempDir()
	cmd := exec.Command(wine, programIn(t, dir, "mcp-tools.exe"), "--workspace", "Z:"+work, "--data", "Z:"+t.TempDir())
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
