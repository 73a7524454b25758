package egress

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// run runs a program without the settings of this machine.
func run(t *testing.T, dir string, argv ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Dir = dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x"}
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestCurl(t *testing.T) {
	curl := needtest.Program(t, "curl")
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("plain"))
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("secure"))
	}))
	defer secure.Close()
	inside := listen(t)
	port := plain.Listener.Addr().String()[len("127.0.0.1:"):]
	address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{
		plain.Listener.Addr().String(), secure.Listener.Addr().String(), "plain.example.com:" + port,
	}}, map[string][]string{"plain.example.com": {"127.0.0.1"}})})
	for _, test := range []struct {
		url, want string
		args      []string
	}{
		{plain.URL, "plain", nil}, {secure.URL, "secure", []string{"-k"}}, {plain.URL, "plain", []string{"-p"}},
		{"http://plain.example.com:" + port, "plain", nil}, {"http://127.0.0.1:" + inside.port, "", nil},
		{"https://127.0.0.1:" + inside.port, "", []string{"-k"}},
		{"http://[::ffff:127.0.0.1]:" + inside.port, "", nil}, {"http://0x7f000001:" + inside.port, "", nil},
		{"http://169.254.169.254/latest/meta-data/", "", nil},
	} {
		argv := append([]string{curl, "-sS", "-f", "--noproxy", "", "-m", "60", "-x", "http://" + address}, test.args...)
		out, err := run(t, t.TempDir(), append(argv, test.url)...)
		if test.want != "" && out != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s %q: %q, %v", test.url, test.args, out, err)
		}
	}
	if inside.reached.Load() > 0 {
		t.Error("what is inside was reached")
	}
}

func TestGit(t *testing.T) {
	git := needtest.Program(t, "git")
	top := t.TempDir()
	for _, argv := range [][]string{
		{"init", "-q", "work"}, {"-C", "work", "commit", "-q", "--allow-empty", "-m", "one"},
		{"clone", "-q", "--bare", "work", "repo.git"}, {"-C", "repo.git", "update-server-info"},
	} {
		if out, err := run(t, top, append([]string{git}, argv...)...); err != nil {
			t.Fatal(out, err)
		}
	}
	s := httptest.NewServer(http.FileServer(http.Dir(top)))
	defer s.Close()
	var asked atomic.Int64
	address := proxy(t, ProxyOptions{
		Dialer: dialer(t, Rules{AllowPrivate: []string{s.Listener.Addr().String()}}, nil),
		Allow:  func(context.Context, Target) error { asked.Add(1); return nil },
	})
	if out, err := run(t, top, git, "-c", "http.proxy=http://"+address, "clone", "-q", s.URL+"/repo.git",
		"copy"); err != nil {
		t.Fatal(out, err)
	}
	if out, err := run(t, filepath.Join(top, "copy"), git, "log", "--format=%s"); out != "one\n" || err != nil {
		t.Error(out, err)
	}
	if asked.Load() == 0 {
		t.Error("it did not go through the proxy")
	}
}
