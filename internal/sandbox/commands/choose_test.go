package commands

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestChoiceOfSandbox(t *testing.T) {
	works := sandbox.ProbeResult{Works: true, Guarantees: []sandbox.Guarantee{sandbox.Files}}
	strong := sandbox.ProbeResult{Works: true, Guarantees: []sandbox.Guarantee{sandbox.Files, sandbox.Memory}}
	broken := sandbox.ProbeResult{Text: "no engine answers", Advice: "start it"}
	memory := []sandbox.Guarantee{sandbox.Memory}
	tests := []struct {
		name           string
		policy         Policy
		docker, kernel sandbox.ProbeResult
		tier, note     string
		says           string
	}{
		{"the strongest", Policy{}, works, works, "docker", "", ""},
		{"the next", Policy{Mode: Auto}, broken, works, "kernel", "docker: no engine answers", ""},
		{"what is required", Policy{Require: memory}, works, strong, "kernel",
			`docker: it cannot guarantee "memory", which this profile requires`, ""},
		{"never the host", Policy{Mode: Auto}, broken, broken, "", "", "doctor"},
		{"nobody keeps it", Policy{Require: memory}, works, works, "", "", "memory"},
		{"fixed", Policy{Mode: Kernel}, works, works, "kernel", "", ""},
		{"fixed never falls back", Policy{Mode: Docker}, broken, works, "", "", "start it"},
		{"fixed and required", Policy{Mode: Docker, Require: memory}, works, strong, "", "", "memory"},
		{"the host when it is wanted", Policy{Mode: Host}, works, works, "host", "", ""},
		{"the host keeps nothing", Policy{Mode: Host, Require: memory}, works, works, "", "", "memory"},
		{"none", Policy{Mode: Off}, works, works, "", "", "no commands"},
		{"not there", Policy{Mode: "vm"}, works, works, "", "", "vm"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docker, kernel, host := newFake("docker"), newFake("kernel"), newFake("host")
			docker.finds(tt.docker)
			kernel.finds(tt.kernel)
			host.finds(sandbox.ProbeResult{Works: true})
			c := withFakes(t, tt.policy, nil, docker, kernel, host)
			s, err := c.Site(caller(t), "", false)
			if tt.says != "" {
				refused(t, err, tool.Unavailable, tt.says)
				_, err = c.Start(caller(t), word("ok"))
				refused(t, err, tool.Unavailable, tt.says)
				return
			}
			if err != nil || s.Tier != tt.tier || s.Note != tt.note || s.Isolated != (tt.tier != "host") {
				t.Errorf("got %+v, %v", s, err)
			}
			if _, ended := run(caller(t), t, c, word("ok")); ended.Tier != tt.tier || ended.Note != tt.note {
				t.Errorf("it ran as %+v", ended)
			}
		})
	}
}

func TestProbesAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docker, kernel := newFake("docker"), newFake("kernel")
		docker.finds(sandbox.ProbeResult{Text: "not yet"})
		c := withFakes(t, Policy{}, nil, docker, kernel)
		tier := func() string {
			s, err := c.Site(as(t.Context(), "a", "s"), "", false)
			if err != nil {
				t.Fatal(err)
			}
			return s.Tier
		}
		for range 10 {
			if tier() != "kernel" {
				t.Error("docker does not work")
			}
		}
		docker.finds(sandbox.ProbeResult{Works: true})
		time.Sleep(50 * time.Second)
		if tier() != "kernel" || docker.probes != 1 || kernel.probes != 1 {
			t.Errorf("there were %d and %d probes", docker.probes, kernel.probes)
		}
		time.Sleep(20 * time.Second)
		if tier() != "docker" || docker.probes != 2 {
			t.Errorf("after a minute there were %d probes", docker.probes)
		}
		// A start that fails puts what was found into doubt, and never goes elsewhere by itself.
		docker.fails = errors.New("the engine is gone")
		docker.finds(sandbox.ProbeResult{Text: "gone"})
		_, err := c.Start(as(t.Context(), "a", "s"), word("ok"))
		refused(t, err, tool.Unavailable, "docker sandbox did not start")
		if tier() != "kernel" {
			t.Error("docker has failed")
		}
	})
}

func TestIsolatedSites(t *testing.T) {
	f := newFake("docker")
	ws, base := filepath.FromSlash("/w"), t.TempDir()
	other, late := filepath.Join(base, "x", "data"), filepath.Join(base, "late")
	if err := errors.Join(os.MkdirAll(other, 0o700), os.MkdirAll(filepath.Join(base, "y", "data"), 0o700)); err != nil {
		t.Fatal(err)
	}
	opened, stopped := []string{}, 0
	c := withFakes(t, Policy{Network: true}, func(o *Options) {
		o.ExtraRead, o.ExtraWrite = []string{late, other}, []string{filepath.Join(base, "y", "data")}
		o.Dir = func(_ context.Context, path string) (string, string, error) {
			if path == "data" {
				return filepath.Join(other, "deep"), "3:4", nil
			}
			if path == "elsewhere" {
				return filepath.FromSlash("/elsewhere"), "", nil
			}
			return ws, "", nil
		}
		o.Proxy = func(_ context.Context, c tool.Caller, hosts []string, asks bool) (string, func(), error) {
			opened = append(opened, c.Agent)
			opened = append(opened, hosts...)
			if asks {
				opened = append(opened, "asks")
			}
			return "/socket", func() { stopped++ }, nil
		}
	}, f)
	ctx := caller(t)
	s, err := c.Site(ctx, "data", false)
	if err != nil || s.Dir != "/roots/data/deep" || s.Inode != "3:4" || !s.Network || s.Home != "/home" ||
		s.DefaultTimeout != 300*time.Second {
		t.Errorf("the site is %+v, %v", s, err)
	}
	if !slices.Equal(s.Roots, []string{"/workspace", "/roots/data-2"}) {
		t.Errorf("commands may write to %q", s.Roots)
	}
	if path, id := s.Find("sh"); path != "" || id != "" {
		t.Errorf("in a container sh is %q %q", path, id)
	}
	_, err = c.Site(ctx, "elsewhere", false)
	refused(t, err, tool.Refused, "cannot see")
	cmd := word("ok")
	cmd.Dir = "data"
	run(ctx, t, c, cmd)
	body := <-f.links[0].starts
	for _, want := range []string{"HTTPS_PROXY=" + sandbox.ProxyURL, "HOME=/home", "USER=sandbox", "TMPDIR=/tmp", "PATH=" +
		sandbox.DefaultPath} {
		if !slices.Contains(body.Env, want) {
			t.Errorf("%s is not in %q", want, body.Env)
		}
	}
	if body.Dir != "/roots/data/deep" || f.spec[0].Proxy != "/socket" || f.spec[0].Open || f.spec[0].Owner != "a/" {
		t.Errorf("it starts in %q behind %+v", body.Dir, f.spec[0])
	}
	cmd = sandbox.Command{Argv: []string{"/p/gh"},
		Private: &sandbox.Private{Program: "/p/gh", Hosts: []string{"h:1"}, Files: map[string][]byte{"K": nil}}}
	p := start(ctx, t, c, cmd)
	finish(ctx, t, p)
	body = <-f.links[1].starts
	if body.Argv[0] != "/roots/gh" || !slices.ContainsFunc(body.Env, isCredential) ||
		!slices.Equal(opened, []string{"a", "asks", "a", "h:1"}) {
		t.Errorf("apart it starts %q with %q and %q", body.Argv, body.Env, opened)
	}
	if err := p.Remove(ctx); err != nil || stopped != 1 {
		t.Errorf("%d proxies were stopped (%v)", stopped, err)
	}
}

// isCredential reports whether a variable has the path of a credential file.
func isCredential(v string) bool {
	return strings.HasPrefix(v, "K=/roots/") && strings.HasSuffix(v, "/K")
}

// TestMissingDirectories has settings that name a missing directory: it is left out, and added once it exists.
func TestMissingDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := filepath.Join(t.TempDir(), "late")
		f := newFake("kernel")
		c := withFakes(t, Policy{}, func(o *Options) {
			o.ExtraRead, o.ExtraWrite = []string{late},
				[]string{late + "r"}
		}, f)
		ctx := as(t.Context(), "a", "s")
		run(ctx, t, c, word("ok"))
		if err := os.Mkdir(late, 0o700); err != nil {
			t.Fatal(err)
		}
		run(ctx, t, c, word("ok"))
		time.Sleep(dirsTTL + time.Second)
		run(ctx, t, c, word("ok"))
		if len(f.spec) != 2 || len(f.spec[0].Binds) != 1 || len(f.spec[1].Binds) != 2 ||
			f.spec[1].Binds[1].Host != late {
			t.Errorf("the specs were %+v", f.spec)
		}
	})
}

// TestTemp checks that the directory for temporary files is writable for the command.
func TestTemp(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp")
	for _, tt := range []struct {
		tier     Mode
		home     string
		only     bool // there is no other such directory
		isolated bool
		want     string
	}{
		{Kernel, "/home/sandbox", false, true, "/tmp"},
		{Kernel, "/tmp/mcp-tools-home-1", true, true, "/tmp/mcp-tools-home-1"},
		{Docker, "/tmp/home", false, true, "/tmp"},
		{Host, "/root", false, false, "/tmp"},
	} {
		p := &target{site: sandbox.Site{Isolated: tt.isolated}}
		p.layout.HomeIsTemp = tt.only
		if got := p.temp(tt.home); filepath.ToSlash(got) != tt.want && (tt.isolated || filepath.Separator == '/') {
			t.Errorf("%s with the home %s: %s", tt.tier, tt.home, got)
		}
	}
}
