//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

const (
	token   = "gtok_9f8e7d6c5b4a39281706" // not in the shape of any that the scrubber knows
	account = `{"type":"service_account","client_email":"a@b.example","private_key_id":"0a1b2c3d4e5f60718293","private_key":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQC7\n-----END PRIVATE KEY-----\n"}`
)

// world is a Router with everything around it: a vault, the scrubber, and
// programs that are started as in a sandbox.
type world struct {
	*Router
	scrubber *scrub.Scrubber
	launched []Launch
	files    [][]byte // of the last launch, which are cleared afterwards
	read     [][]byte // what came from the vault
	masked   []string // whether each secret was masked when its program started
}

func newWorld(t *testing.T, script string, programs ...Program) *world {
	t.Helper()
	dir := home(t)
	for i := range programs {
		programs[i].Path = put(t, filepath.Join(dir, programs[i].Name), script, 0o755)
	}
	scrubber, err := scrub.New(scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{scrubber: scrubber}
	secrets := map[string]string{"github": token + "\n", "account": account, "short": "abc", "empty": ""}
	w.Router = New(Options{
		Programs: Fixed(programs...),
		Secret: func(name string) ([]byte, error) {
			value, known := secrets[name]
			if !known {
				return nil, errors.New("/var/lib/vault has no " + name)
			}
			w.read = append(w.read, []byte(value))
			return w.read[len(w.read)-1], nil
		},
		Mask: scrubber.Set,
		Site: func(_ context.Context, dir string) (Site, error) {
			return Site{Dir: "/workspace/" + dir, Inode: "7", Where: "kernel, no network"}, nil
		},
		Run: w.run,
	})
	return w
}

// run starts a program with nothing but what the launch says.
func (w *world) run(ctx context.Context, l Launch) (tool.Result, error) {
	for _, secret := range l.Secrets {
		_, value, _ := strings.Cut(secret, "=")
		if w.scrubber.Text("x "+value+" y") == "x "+value+" y" {
			w.masked = append(w.masked, secret)
		}
	}
	c := exec.CommandContext(ctx, l.Program, l.Argv[1:]...)
	c.Env = append(slices.Clone(l.Env), l.Secrets...)
	for name, content := range l.Files {
		w.files = append(w.files, content)
		c.Env = append(c.Env, name+"="+string(bytes.ReplaceAll(content, []byte("\n"), nil)))
	}
	w.launched = append(w.launched, l)
	out, err := c.CombinedOutput()
	return tool.Text(string(out)), err
}

func TestOnlyTheProgramGetsTheSecrets(t *testing.T) {
	t.Setenv("SERVER_SECRET", "of the server")
	w := newWorld(t, "#!/bin/sh\nenv\necho \"[$*]\"\nprintf %s \"$GH_TOKEN\" | base64\n",
		Program{Name: "gh", Preset: "gh", Env: map[string]string{"GH_TOKEN": "github"},
			Set: map[string]string{"GH_REPO": "o/r"}, Hosts: []string{"ghe.example:443"}})
	result, err := w.Do(t.Context(), Order{Argv: []string{"gh", "pr", "list", "-R", "o/r"}, Dir: "sub"})
	if err != nil {
		t.Fatal(err)
	}
	raw := result.Text()
	for _, want := range []string{"GH_TOKEN=" + token + "\n", "GH_REPO=o/r\n", "PAGER=cat\n", "GH_PROMPT_DISABLED=1\n",
		"GIT_DIR=/dev/null\n", "[pr list -R o/r]"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the program has no %q in\n%s", want, raw)
		}
	}
	if strings.Contains(raw, "of the server") {
		t.Error("the program has the environment of the server")
	}
	if len(w.masked) > 0 {
		t.Errorf("started before it was masked: %s", w.masked)
	}
	shown := w.scrubber.Text(raw)
	for _, secret := range []string{token, base64.StdEncoding.EncodeToString([]byte(token))[:20]} {
		if !strings.Contains(raw, secret) || strings.Contains(shown, secret) {
			t.Errorf("%s is shown in\n%s", secret, shown)
		}
	}
	if slices.ContainsFunc(os.Environ(), func(pair string) bool { return strings.Contains(pair, token) }) {
		t.Error("the server has the secret in its environment")
	}
	for _, value := range w.read {
		if strings.Trim(string(value), "\x00") != "" {
			t.Errorf("%q was not cleared", value)
		}
	}
	l := w.launched[0]
	if strings.Contains(strings.Join(append(l.Argv, l.Env...), " "), token) {
		t.Error("the secret is where it may be seen")
	}
	if !filepath.IsAbs(l.Program) || l.Identity == "" || l.Timeout != 30*time.Second || l.Dir != "sub" ||
		!slices.Equal(l.Hosts, []string{"ghe.example:443"}) {
		t.Errorf("%+v", l)
	}
}

func TestFilesAndTheirParts(t *testing.T) {
	w := newWorld(t, "#!/bin/sh\nenv\n",
		Program{Name: "gcloud", Preset: "gcloud",
			Files: map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "account"}})
	result, err := w.Do(t.Context(), Order{Argv: []string{"gcloud", "projects", "list"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GOOGLE_APPLICATION_CREDENTIALS=", "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE="} {
		if !strings.Contains(result.Text(), name+"{") {
			t.Errorf("no file for %s", name)
		}
	}
	for _, part := range []string{"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "qGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQC7",
		"0a1b2c3d4e5f60718293"} {
		if strings.Contains(w.scrubber.Text("the part "+part+" alone"), part) {
			t.Errorf("%s is shown", part)
		}
	}
	if !strings.Contains(w.scrubber.Text("a@b.example service_account"), "a@b.example service_account") {
		t.Error("what is no secret is hidden")
	}
	for _, content := range w.files {
		if strings.Trim(string(content), "\x00") != "" {
			t.Errorf("%q was not cleared", content)
		}
	}
}

func TestSecretsThatAreNotThere(t *testing.T) {
	for secret, want := range map[string]string{
		"gone":  "mcp-tools secrets set gone",
		"empty": "mcp-tools secrets set empty",
		"short": "cannot be hidden",
	} {
		w := newWorld(t, "#!/bin/sh\nenv\n", Program{Name: "gh", Preset: "gh",
			Env: map[string]string{"GH_TOKEN": secret}})
		_, err := w.Do(t.Context(), Order{Argv: []string{"gh", "pr", "status"}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), secret) ||
			strings.Contains(err.Error(), "/var/lib") {
			t.Errorf("%s: %v", secret, err)
		}
		if len(w.launched) > 0 {
			t.Errorf("%s: it was started", secret)
		}
	}
}

// facts prepares an order and returns what an approval of it depends on.
func (w *world) facts(t *testing.T, o Order) (tool.Facts, tool.Plan, error) {
	plan, err := w.Prepare(t.Context(), o)
	if err != nil {
		return nil, plan, err
	}
	facts, err := plan.Facts(t.Context())
	return facts, plan, err
}

func TestPrepare(t *testing.T) {
	w := newWorld(t, "#!/bin/sh\n", Program{Name: "gh", Preset: "gh", Env: map[string]string{"GH_TOKEN": "github"}})
	order := Order{Argv: []string{"gh", "pr", "create", "-R", "o/r", "--title", "a b"}, Dir: "sub"}
	facts, plan, err := w.facts(t, order)
	if err != nil || plan.Risk != tool.Runs || plan.Why == "" || !plan.Once {
		t.Fatalf("%+v %v", plan, err)
	}
	for name, want := range map[string]string{"program": "inode", "directory": "/workspace/sub (7)",
		"secrets": "github", "sandbox": "kernel, no network", "arguments": `gh pr create -R o/r --title "a b"`} {
		if !strings.Contains(facts[name], want) {
			t.Errorf("%s: %q", name, facts[name])
		}
	}
	if all := strings.Join([]string{facts["program"], facts["secrets"]}, " "); strings.Contains(all, token) {
		t.Error("the facts hold the secret")
	}
	path := w.o.Programs(t.Context())[0].Path
	put(t, path+".new", "#!/bin/sh\n:\n", 0o755)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if after, _, err := w.facts(t, order); err != nil || after.Basis() == facts.Basis() {
		t.Errorf("another program has the same facts: %v", err)
	}
	if _, plan, err := w.facts(t, Order{Argv: []string{"gh", "pr", "status"}}); err != nil || plan.Once {
		t.Errorf("reading: %+v, %v", plan, err)
	}
	for _, argv := range [][]string{{"gh", "auth", "token"}, {"gh", "gist", "create", "/proc/self/environ"}, {"git"},
		{}} {
		if _, _, err := w.facts(t, Order{Argv: argv}); err == nil {
			t.Errorf("a person would be asked about %q", argv)
		}
		if _, err := w.Do(t.Context(), Order{Argv: argv}); err == nil {
			t.Errorf("%q ran", argv)
		}
	}
	if len(w.launched) > 0 {
		t.Error("preparing started something")
	}
}
