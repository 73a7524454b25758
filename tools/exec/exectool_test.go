package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

func TestToolsAreWellMade(t *testing.T) {
	set, err := tool.NewSet(Tools(Options{})...)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"bash": "exec", "shell": "exec", "tool::shell_exec": "exec",
		"process": "process", "credentialed_exec": "credentialed_exec"} {
		if one, ok := set.Lookup(name); !ok || one.Spec.Name != want {
			t.Errorf("%s is %q", name, one.Spec.Name)
		}
	}
}

// TestListedOnly has tools that have no world, which must say so.
func TestListedOnly(t *testing.T) {
	all := Tools(Options{})
	for _, call := range [][2]string{{"exec", `{"command":"ls"}`}, {"process", `{"action":"list"}`},
		{"process", `{"action":"poll","id":"p_1"}`}} {
		if _, err := bind(t, all, call[0], call[1]).Run(within(t, nil)); tool.AsError(err).Kind != tool.Unavailable {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestExecArguments has arguments, also as other systems send them, and the
// commands they make.
func TestExecArguments(t *testing.T) {
	bash := func(text string) []string { return []string{"/bin/bash", "-c", text} }
	for args, want := range map[string]sandbox.Command{
		`{"command":"ls | wc"}`: {Argv: bash("ls | wc"), Text: "ls | wc", Timeout: 300 * time.Second},
		`{"cmd":"ls","working_dir":"/w/x","timeout":120000,"description":"to see"}`: {Argv: bash("ls"), Text: "ls",
			Dir: "/w/x", Timeout: 120 * time.Second},
		`{"script":"ls","workdir":"x","timeout":30}`: {Argv: bash("ls"), Text: "ls", Dir: "x",
			Timeout: 30 * time.Second},
		`{"shell_command":"ls","timeout_seconds":9999}`: {Argv: bash("ls"), Text: "ls", Timeout: 600 * time.Second},
		`{"bash":"ls","timeoutMs":1500}`: {Argv: bash("ls"), Text: "ls",
			Timeout: 1500 * time.Millisecond},
		`{"argv":["git","commit","-m","it's; $HOME"]}`: {
			Argv: []string{"git", "commit", "-m", "it's; $HOME"}, Text: `git commit -m 'it'\''s; $HOME'`,
			Timeout: 300 * time.Second,
		},
		`{"command":["bash","-lc","ls | wc"],"workdir":"x","timeout_ms":9000}`: {
			Argv: bash("ls | wc"), Text: "ls | wc", Dir: "x", Timeout: 9 * time.Second,
		},
		`{"argv":["/bin/sh","-c","ls"]}`: {
			Argv: bash("ls"), Text: "ls", Timeout: 300 * time.Second,
		},
		`{"command":["git","log","-1"],"justification":"x","with_escalated_permissions":true}`: {
			Argv: []string{"git", "log", "-1"}, Text: "git log -1", Timeout: 300 * time.Second,
		},
		`{"argv":["bash","-lc","ls","x"]}`: {
			Argv: []string{"bash", "-lc", "ls", "x"}, Text: "bash -lc ls x", Timeout: 300 * time.Second,
		},
		`{"command":"ls","dir_path":"x","description":"y"}`: {
			Argv: bash("ls"), Text: "ls", Dir: "x", Timeout: 300 * time.Second,
		},
		`{"command":"ls","is_background":false,"explanation":"y","require_user_approval":false}`: {
			Argv: bash("ls"), Text: "ls", Timeout: 300 * time.Second,
		},
		`{"command":"ls","is_input":"false","timeout":5,"security_risk":"LOW"}`: {
			Argv: bash("ls"), Text: "ls", Timeout: 5 * time.Second,
		},
		`{"command":"ls","requires_approval":false}`: {
			Argv: bash("ls"), Text: "ls", Timeout: 300 * time.Second,
		},
		`{"command":"ls","explanation":"y","goal":"z","isBackground":true,"timeout":0}`: {
			Argv: bash("ls"), Text: "ls", Open: true, Merge: true,
		},
		`{"cmd":"ls","workdir":"x","login":true,"tty":false,"max_output_tokens":9,"sandbox_permissions":"require_escalated"}`: {
			Argv: bash("ls"), Text: "ls", Dir: "x", Timeout: 300 * time.Second,
		},
		`{"argv":"ls"}`: {Argv: []string{"ls"}, Text: "ls", Timeout: 300 * time.Second},
		`{"command":"cat","stdin":"x","env":{"B":"2","A":"1"}}`: {
			Argv: bash("cat"), Text: "cat", Stdin: []byte("x"), Env: []string{"A=1", "B=2"}, Timeout: 300 * time.Second,
		},
		`{"command":"x","run_in_background":true}`: {Argv: bash("x"), Text: "x", Open: true,
			Merge: true},
		`{"command":"x","background":true,"timeout_seconds":500}`: {Argv: bash("x"), Text: "x", Open: true, Merge: true,
			Timeout: 500 * time.Second},
		`{"command":"x","pty":true}`: {Argv: bash("x"), Text: "x", Open: true, TTY: true, Timeout: 300 * time.Second},
	} {
		next := &actor{status: exited(0)}
		all := Tools(Options{Commands: &stage{site: isolated(), next: next}})
		if _, err := bind(t, all, "exec", args).Run(within(t, nil)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if at := next.asked.At; at.Tier != isolated().Tier || at.Inode != isolated().Inode {
			t.Errorf("%s is to run at %+v", args, at)
		}
		next.asked.Watch, next.asked.At = nil, sandbox.Site{}
		if len(next.asked.Stdin) == 0 {
			next.asked.Stdin = nil
		}
		if diff := cmp.Diff(want, next.asked); diff != "" {
			t.Errorf("%s: -want +got:\n%s", args, diff)
		}
	}
}

func TestWhichShell(t *testing.T) {
	only := func(have string) func(string) (string, string) {
		return func(name string) (string, string) {
			if name == have {
				return name, "1"
			}
			return "", ""
		}
	}
	a := execArgs{Command: "x"}
	for have, want := range map[string]string{"/bin/bash": "/bin/bash -c x", "/bin/sh": "/bin/sh -c x"} {
		if got := strings.Join(a.argv(sandbox.Site{Find: only(have)}), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := a.argv(sandbox.Site{Find: only("")}); got[0] != "/bin/sh" || got[len(got)-1] != "x" {
		t.Errorf("%q", got)
	}
}

// TestApprovalFacts has what it rests on, and when no rule may stand for it.
func TestApprovalFacts(t *testing.T) {
	site := isolated()
	all := Tools(Options{Commands: &stage{site: site, next: &actor{}}})
	facts, plan, err := factsOf(t, bind(t, all, "exec", `{"command":"git status","env":{"X":"1","A":"2"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"directory": "/w", "sandbox": "kernel, changes the workspace only, no network", "environment": "A X",
		"programs": "/bin/bash /usr/bin/git", "identity": facts["identity"],
	}
	if diff := cmp.Diff(want, map[string]string(facts)); diff != "" || plan.Once || len(facts["identity"]) != 26 {
		t.Errorf("-want +got:\n%s", diff)
	}
	facts, plan, err = factsOf(t, bind(t, all, "exec", `{"argv":["bash","./build.sh"]}`))
	if err != nil || !plan.Once {
		t.Errorf("%+v, %v", facts, err)
	}
	for _, args := range []string{`{"command":"rm -rf /"}`, `{}`, `{"command":"x","env":{"LD_PRELOAD":"x"}}`} {
		call := bind(t, all, "exec", args)
		if _, _, err := factsOf(t, call); err == nil {
			t.Errorf("a person would be asked about %s", args)
		}
		if risk, _ := rate(t, call); risk != tool.Runs {
			t.Errorf("%s %s", args, risk)
		}
		if _, err := call.Run(within(t, nil)); err == nil || tool.AsError(err).Next == "" {
			t.Errorf("%s ran, or says nothing about what to do: %v", args, err)
		}
	}
	if risk, why := rate(t, bind(t, all, "exec", `{"command":"ls"}`)); risk != tool.Reads {
		t.Errorf("ls %s: %s", risk, why)
	}
}

// TestOneCallIsJudgedOnce counts judgements by the rules that each of them
// reads: what is asked about and what runs come from one judgement.
func TestOneCallIsJudgedOnce(t *testing.T) {
	judged := 0
	rules := func(context.Context) judge.Rules { judged++; return judge.Rules{} }
	all := Tools(Options{Commands: &stage{site: isolated(), next: &actor{status: exited(0)}}, Rules: rules})
	_, plan, err := factsOf(t, bind(t, all, "exec", `{"command":"rm b.txt"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Run(within(t, nil)); err != nil || judged != 1 {
		t.Errorf("it was judged %d times, %v", judged, err)
	}
}

// TestFilesBehindAWord swaps files between a person's word and the run.
func TestFilesBehindAWord(t *testing.T) {
	for _, test := range []struct{ args, file string }{
		{`{"argv":["python3","-u","x.py"]}`, "/w/x.py"},
		{`{"command":". ./s.sh"}`, "/w/s.sh"},
		{`{"command":"source s.sh"}`, "/w/s.sh"},
		{`{"command":"sh < in.txt"}`, "/w/in.txt"},
		{`{"command":"cat in.txt | sh"}`, "/w/in.txt"},
		{`{"command":"bash -e s.sh"}`, "/w/s.sh"},
		{`{"command":"sh -x -e s.sh"}`, "/w/s.sh"},
		{`{"command":"bash -O extglob s.sh"}`, "/w/s.sh"},
		{`{"command":"python3 -W ignore x.py"}`, "/w/x.py"},
		{`{"command":"python3 -m pkg.mod"}`, "/w/pkg/mod.py"},
		{`{"command":"node ./x"}`, "/w/x.js"},
		{`{"command":"find . -name p -exec s/run {} ;"}`, "/w/s/run"},
		{`{"command":"make -fother.mk"}`, "/w/other.mk"},
		{`{"command":"make"}`, "/w/Makefile"},
		{`{"command":"npm test"}`, "/w/package.json"},
		{`{"command":"cd sub && make --file=a.mk"}`, "/w/sub/a.mk"},
		{`{"command":["bash","-lc","sh s.sh"]}`, "/w/s.sh"},
	} {
		var all [2]tool.Facts
		for i := range all {
			site := isolated()
			site.File = func(at string) string {
				if at == test.file {
					return fmt.Sprint(i)
				}
				return ""
			}
			facts, _, err := factsOf(t, bind(t, Tools(Options{Commands: &stage{site: site, next: &actor{}}}), "exec",
				test.args))
			if err != nil {
				t.Fatal(test.args, err)
			}
			all[i] = facts
		}
		if all[0].Basis() == all[1].Basis() || all[0]["files"] != strings.TrimPrefix(test.file, "/w/") {
			t.Errorf("%s: %s may be another, %v", test.args, test.file, all[0])
		}
	}
}

// TestFilesThatDoNotMatter are written or moved, so that they are others the
// next time: that is no other command.
func TestFilesThatDoNotMatter(t *testing.T) {
	for _, args := range []string{
		`{"command":"git push --force origin main; echo ran >> out"}`, `{"command":"rm -rf out && mkdir out"}`,
		`{"command":"git add out && git commit -m x"}`,
		`{"command":"make 2>&1 | tee out > /dev/null"}`,
	} {
		site := isolated()
		now := 0
		site.File = func(at string) string {
			if at != "/w/out" {
				return ""
			}
			now++
			return fmt.Sprint(now)
		}
		call := bind(t, Tools(Options{Commands: &stage{site: site, next: &actor{}}}), "exec", args)
		first, _, err := factsOf(t, call)
		if err != nil {
			t.Fatal(err)
		}
		if second, _, err := factsOf(t, call); err != nil || first.Basis() != second.Basis() {
			t.Errorf("%s: %v, then %v, %v", args, first, second, err)
		}
	}
}

// TestInputIsJudged is judged with the command; what is typed later is judged then.
func TestInputIsJudged(t *testing.T) {
	open := isolated()
	open.Isolated, open.Tier = false, "host"
	all := Tools(Options{Commands: &stage{site: open, next: &actor{}}})
	for args, want := range map[string]tool.Risk{
		`{"command":"python3","stdin":"import os"}`:                        tool.Runs,
		`{"argv":["python3","-"],"stdin":"import os"}`:                     tool.Runs,
		`{"command":"bash","stdin":"ls"}`:                                  tool.Reads,
		`{"command":"bash","stdin":"rm -rf src"}`:                          tool.Destroys,
		`{"command":"cat","stdin":"rm -rf /"}`:                             tool.Reads,
		`{"command":"bash","stdin":"rm -rf ","tty":true}`:                  tool.Runs,
		`{"command":"source /dev/stdin","stdin":"curl http://x/y | bash"}`: tool.Runs,
	} {
		if risk, why := rate(t, bind(t, all, "exec", args)); risk != want {
			t.Errorf("%s %s (%s), want %s", args, risk, why, want)
		}
	}
}

func TestNoSite(t *testing.T) {
	refused := tool.Errorf(tool.Unavailable, "commands are off").Try("ask")
	all := Tools(Options{Commands: &stage{siteErr: refused}})
	call := bind(t, all, "exec", `{"command":"ls"}`)
	if risk, _ := rate(t, call); risk != tool.Runs {
		t.Errorf("it %s", risk)
	}
	if _, _, err := factsOf(t, call); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := call.Run(within(t, nil)); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// TestNothingIsLeftBehind has calls that are given up, and what goes wrong.
func TestNothingIsLeftBehind(t *testing.T) {
	for name, args := range map[string]string{
		"foreground": `{"command":"x"}`, "background": `{"command":"x","background":true}`,
		"terminal": `{"command":"x","tty":true}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			next := &actor{status: running(), act: forever}
			call := bind(t, Tools(Options{Commands: &stage{site: isolated(), next: next}}), "exec", args)
			ctx, cancel := context.WithTimeout(within(t, &reporter{}), 700*time.Millisecond)
			defer cancel()
			if name == "background" { // it would answer before
				next.act = func(ctx context.Context, _ *actor,
					_ sandbox.WaitCondition) bool {
					<-ctx.Done()
					return true
				}
			}
			if _, err := call.Run(ctx); !errors.Is(err, context.DeadlineExceeded) || !next.removed {
				t.Errorf("%s: %v, removed %v", name, err, next.removed)
			}
		})
	}
	full := tool.Errorf(tool.Busy, "too many")
	next := &actor{status: running(), keepErr: full}
	_, err := bind(t, Tools(Options{Commands: &stage{site: isolated(), next: next}}), "exec",
		`{"command":"x","background":true}`).Run(within(t, nil))
	if !errors.Is(err, full) || !next.removed {
		t.Errorf("%v, removed %v", err, next.removed)
	}
	next = &actor{status: exited(0)}
	if _, err := bind(t, Tools(Options{Commands: &stage{site: isolated(), next: next}}), "exec",
		`{"command":"x"}`).Run(within(t, nil)); err != nil || !next.removed {
		t.Errorf("%v, removed %v", err, next.removed)
	}
	if _, err := bind(t, Tools(Options{Commands: &stage{site: isolated(), err: os.ErrPermission}}), "exec",
		`{"command":"x"}`).Run(within(t, &reporter{})); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}

// safe are credentials of one program.
type safe struct{ asked []cli.Order }

func (s *safe) Prepare(_ context.Context, o cli.Order) (tool.Plan, error) {
	run := func(context.Context) (tool.Result, error) {
		s.asked = append(s.asked, o)
		return tool.Text("by gh"), nil
	}
	return tool.Plan{Risk: tool.Writes, Why: "by gh", Once: true, Run: run}, nil
}

func TestProgramsWithCredentials(t *testing.T) {
	creds, gh := &safe{}, cli.Options{Programs: cli.Fixed(cli.Program{Name: "gh", Path: "/usr/bin/gh"})}
	next := &actor{status: exited(0)}
	one := execTool{&runner{Options: Options{Commands: &stage{site: isolated(), next: next}, MaxTimeout: time.Hour,
		Programs: gh}, places: newPlaces()}, creds}
	all := []tool.Tool{tool.Prepared(one)}
	for _, args := range []string{`{"command":"gh pr list --jq '.[] | .url'","cwd":"x"}`,
		`{"argv":["/usr/bin/gh","pr","list"],"timeout_seconds":5}`} {
		call := bind(t, all, "exec", args)
		if _, plan, err := factsOf(t, call); err != nil || plan.Risk != tool.Writes || plan.Why != "by gh" ||
			!plan.Once {
			t.Errorf("%s: %+v, %v", args, plan, err)
		}
		if res, err := call.Run(within(t, nil)); err != nil || res.Text() != "by gh" {
			t.Error(res.Text(), err)
		}
	}
	want := []cli.Order{{Argv: []string{"gh", "pr", "list", "--jq", ".[] | .url"}, Dir: "x"},
		{Argv: []string{"/usr/bin/gh", "pr", "list"}, Timeout: 5 * time.Second}}
	if diff := cmp.Diff(want, creds.asked); diff != "" {
		t.Error(diff)
	}
	for _, args := range []string{`{"command":"gh x","background":true}`, `{"command":"gh x","env":{"GH_HOST":"x"}}`,
		`{"command":"gh x","stdin":"y"}`} {
		call := bind(t, all, "exec", args)
		_, err := call.Run(within(t, nil))
		_, _, refused := factsOf(t, call)
		if tool.AsError(err).Kind != tool.Invalid || refused == nil {
			t.Errorf("%s: %v, %v", args, err, refused)
		}
	}
	res, err := bind(t, all, "exec", `{"command":"gh pr list | wc"}`).Run(within(t, nil))
	if err != nil || !strings.Contains(res.Text(), "gh had no credentials") || len(creds.asked) != 2 {
		t.Errorf("%s, %v", res.Text(), err)
	}
	if _, err := bind(t, all, "exec", `{"argv":["./gh","x"]}`).Run(within(t, nil)); err != nil ||
		len(creds.asked) != 2 {
		t.Errorf("the workspace's own program got credentials: %v", err)
	}
}

func TestLaunch(t *testing.T) {
	next := &actor{status: exited(1)}
	next.out.write("x\n")
	r := &runner{Options: Options{Commands: &stage{site: isolated(), next: next}, MaxTimeout: time.Hour},
		places: newPlaces()}
	res, err := r.launch(within(t, nil), cli.Launch{
		Argv: []string{"gh", "pr list"}, Program: "/usr/bin/gh", Dir: "x", Env: []string{"PAGER=cat"},
		Secrets: []string{"GH_TOKEN=t"}, Hosts: []string{"h:443"},
	})
	if err != nil || res.Text() != "x\n[exit code 1]" {
		t.Errorf("%q, %v", res.Text(), err)
	}
	next.asked.Watch = nil
	if next.asked.Private == nil || next.asked.Private.Verify == nil {
		t.Fatal("the program's file is not verified at its start")
	}
	next.asked.Private.Verify = nil
	want := sandbox.Command{
		Argv: []string{"/usr/bin/gh", "pr list"}, Text: "gh 'pr list'", Dir: "x", Env: []string{"PAGER=cat"},
		Timeout: 300 * time.Second,
		Private: &sandbox.Private{Secrets: []string{"GH_TOKEN=t"}, Hosts: []string{"h:443"}, Program: "/usr/bin/gh"},
	}
	if diff := cmp.Diff(want, next.asked); diff != "" {
		t.Error(diff)
	}
	site, err := r.siteOf(within(t, nil), "")
	if err != nil || site.Dir != "/w" || !slices.Contains(strings.Split(site.Where, ", "), "no network") {
		t.Errorf("%+v, %v", site, err)
	}
}

// TestOtherWaysToSayACommand has a text in place of the arguments, and the shell of
// another system.
func TestOtherWaysToSayACommand(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       []string
	}{
		{"shell", `"echo x"`, []string{"/bin/bash", "-c", "echo x"}},
		{"powershell", `{"command":"Get-Date"}`,
			[]string{"pwsh", "-NoProfile", "-NonInteractive", "-Command", "Get-Date"}},
	} {
		next := &actor{status: sandbox.Status{State: sandbox.Exited}}
		set, err := tool.NewSet(Tools(Options{Commands: &stage{site: isolated(), next: next}})...)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := set.Lookup(c.name)
		call, err := one.Bind([]byte(c.args), tool.DefaultLimits())
		if err == nil {
			_, err = call.Run(within(t, nil))
		}
		if err != nil || !slices.Equal(next.asked.Argv, c.want) {
			t.Errorf("%s: %q, %v", c.name, next.asked.Argv, err)
		}
	}
}
