package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Do prepares an order and runs it.
func (r *Router) Do(ctx context.Context, o Order) (tool.Result, error) {
	plan, err := r.Prepare(ctx, o)
	if err != nil {
		return tool.Result{}, err
	}
	return plan.Run(ctx)
}

func TestWithoutProgramsItSaysSo(t *testing.T) {
	one := Tool(Options{})
	if _, err := tool.NewSet(one); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"command":"gh pr list"}`, `{}`, `{"command":"gh |"}`} {
		call, err := one.Bind(json.RawMessage(args), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		_, err = call.Run(t.Context())
		if known := tool.AsError(err); known == nil || known.Kind != tool.Unavailable ||
			!strings.Contains(known.Next, "exec.programs") {
			t.Errorf("%s: %v", args, err)
		}
		if _, err := call.Prepare(t.Context()); err == nil {
			t.Errorf("%s would be asked about", args)
		}
	}
	if size := len(one.Spec.Name) + len(one.Spec.Doc) + len(one.Schema()); size > 900 {
		t.Errorf("the model reads %d bytes", size)
	}
}

func TestArgumentsOfOtherSystems(t *testing.T) {
	want := []string{"gh", "api", "user", "--jq", ".a | .b"}
	for args, problem := range map[string]string{
		`{"command":"gh api user --jq '.a | .b'"}`:                                      "",
		`{"cmd":"gh api user --jq '.a | .b'","working_dir":"d"}`:                        "",
		`{"argv":["gh","api","user","--jq",".a | .b"]}`:                                 "",
		`{"binary":"gh","args":["api","user","--jq",".a | .b"]}`:                        "",
		`{"command":"gh","args":["api","user","--jq",".a | .b"]}`:                       "",
		`{"command":"gh api user","argv":["gh"]}`:                                       "twice",
		`{"command":"gh api user","binary":"gh"}`:                                       "twice",
		`{"argv":["gh"],"args":["api"]}`:                                                "twice",
		`{"args":["api"]}`:                                                              "no program",
		`{}`:                                                                            "no command",
		`{"command":"gh api user | jq ."}`:                                              "operator (|)",
		`{"command":"gh api user","timeout_seconds":1200}`:                              "the most is 10m",
		`{"command":"git status"}`:                                                      `"git" is no program with credentials; use one of gh`,
		`{"command":"/tmp/gh api user"}`:                                                "write just gh",
		`{"command":"./gh api user"}`:                                                   "write just gh",
		`{"command":"GH api user"}`:                                                     "no program",
		`{"argv":["gh","api","a\u0000b"]}`:                                              "NUL",
		`{"argv":["gh"` + strings.Repeat(`,"`+strings.Repeat("x", 1000)+`"`, 70) + `]}`: "arguments",
	} {
		var got []string
		one := Tool(Options{
			Programs: Fixed(Program{Name: "gh", Path: "/usr/bin/env", Preset: "gh"}),
			Site:     func(context.Context, string) (Site, error) { return Site{Dir: "/workspace"}, nil },
			Run: func(_ context.Context, l Launch) (tool.Result, error) {
				got = l.Argv
				return tool.Text("ok"), nil
			},
		})
		call, err := one.Bind(json.RawMessage(args), tool.DefaultLimits())
		if err == nil {
			_, err = call.Run(t.Context())
		}
		switch {
		case problem == "" && (err != nil || !slices.Equal(got, want)):
			t.Errorf("%.80s: %q, %v", args, got, err)
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%.80s: %v, want %q", args, err, problem)
		case problem != "" && got != nil:
			t.Errorf("%.80s: it ran", args)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Program{Name: "gh", Path: "/usr/bin/gh", Preset: "gh", Env: map[string]string{"GH_TOKEN": "github"}}
	if err := Check([]Program{good, {Name: "psql", Path: "/usr/bin/psql", Allow: []string{"status"}}}); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(p *Program){
		"is not the name":        func(p *Program) { p.Name = "a b" },
		`"" is not the name`:     func(p *Program) { p.Name = "" },
		"not absolute":           func(p *Program) { p.Path = "gh" },
		"not absolute and plain": func(p *Program) { p.Path = "/usr/../tmp/gh" },
		"no preset":              func(p *Program) { p.Preset = "git" },
		"without a preset":       func(p *Program) { p.Preset = "" },
		"decides what programs":  func(p *Program) { p.Set = map[string]string{"LD_PRELOAD": "x"} },
		"PATH decides":           func(p *Program) { p.Env = map[string]string{"PATH": "x"} },
		"set twice":              func(p *Program) { p.Set = map[string]string{"GH_TOKEN": "x"} },
		"or by us":               func(p *Program) { p.Set = map[string]string{"GIT_DIR": ".git"} },
		"name of a variable":     func(p *Program) { p.Files = map[string]string{"A-B": "x"} },
		"no name of a secret":    func(p *Program) { p.Files = map[string]string{"A": ""} },
		"one line":               func(p *Program) { p.Set = map[string]string{"A": "x\ny"} },
		"host:port":              func(p *Program) { p.Hosts = []string{"ghe.example"} },
		"begins with no word":    func(p *Program) { p.Allow = []string{"--all"} },
		"empty pattern":          func(p *Program) { p.Allow = []string{" "} },
		"before its flags":       func(p *Program) { p.Allow = []string{"--force push"} },
	} {
		p := good
		change(&p)
		err := Check([]Program{p})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		r := New(Options{Programs: Fixed(p)})
		if _, err := r.Do(t.Context(), Order{Argv: []string{p.Name, "pr", "status"}}); err == nil {
			t.Errorf("%s: it runs all the same", want)
		}
	}
	if err := Check([]Program{good, good}); err == nil {
		t.Error("two programs of one name")
	}
}

func TestOperatorsPatterns(t *testing.T) {
	own := Program{Name: "deployer", Allow: []string{"push", "env list|show", "status"}}
	narrow := Program{Preset: "gh", Allow: []string{"pr list", "pr create", "workflow view", "repo view|edit"}}
	for _, test := range []struct {
		p       Program
		command string
		want    effect // unlisted: it does not run
	}{
		{own, "deployer push staging", changes},
		{own, "deployer status", changes},
		{own, "deployer status --all", changes},
		{own, "deployer env list", changes},
		{own, "deployer env show x --output=yaml", changes},
		{own, "deployer env delete x", unlisted},
		{own, "deployer push x -- prod", changes},
		{own, "deployer --verbose push staging", unlisted},
		{own, "deployer", unlisted},
		{own, "deployer push /proc/self/environ", unlisted},
		{narrow, "gh pr list -R o/r", reads},
		{narrow, "gh pr create -R o/r --title x", changes},
		{narrow, "gh issue list -R o/r", unlisted},
		{narrow, "gh repo edit o/r", unlisted}, // what a preset refuses stays refused
		{narrow, "gh repo view o/r", reads},
	} {
		p := test.p
		v := judged(t, p, test.command)
		if v.effect != test.want || (v.err == nil) != (test.want != unlisted) {
			t.Errorf("%s: effect %d, %v; want %d", test.command, v.effect, v.err, test.want)
		}
	}
}

func TestRefusalListsAllowedCommands(t *testing.T) {
	v := judged(t, Program{}, "gh pr frobnicate")
	if v.err == nil || !strings.Contains(v.err.Error(), "pr list|view") || len(v.err.Error()) > 700 {
		t.Errorf("%v", v.err)
	}
	v = judged(t, Program{}, "aws frobnicate x")
	if v.err == nil || len(v.err.Error()) > 700 {
		t.Errorf("%v", v.err)
	}
}

func TestParts(t *testing.T) {
	for _, test := range []struct {
		name, secret string
		want, not    []string
	}{
		{"kubeconfig",
			"apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0FEQVRBQ0FEQVRB\n    server: https://10.0.0.1:6443\n  name: prod-cluster\nusers:\n- name: admin-user\n  user:\n" +
				"    token: \"eyJ0b2tlbg12\"\n    client-key-data: S0VZREFUQUtFWURB\n    password: 'hunter2hunter2'\n",
			[]string{"eyJ0b2tlbg12", "S0VZREFUQUtFWURB", "hunter2hunter2"},
			[]string{"prod-cluster", "admin-user", "https://10.0.0.1:6443"}},
		{"aws",
			"[default]\naws_access_key_id = AKIAQQQQQQQQ\naws_secret_access_key=abc/def+ghi123\nregion = eu-west-1\n",
			[]string{"AKIAQQQQQQQQ", "abc/def+ghi123"}, []string{"eu-west-1", "[default]"}},
		{"pem", "-----BEGIN KEY-----\nAAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKKLLLL\n-----END KEY-----\n",
			[]string{"AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKKLLLL"}, []string{"-----BEGIN KEY-----"}},
		{"json",
			`{"a":{"refresh_token":"rrrrrrrrrr","list":[{"password":"pppppppppp"}]},"token_uri":"https://t.example/x","short_key":"abc"}`,
			[]string{"rrrrrrrrrr", "pppppppppp"}, []string{"https://t.example/x", "abc"}},
		{"plain", "gtok_9f8e7d6c5b", nil, nil},
	} {
		got := partsOf([]byte(test.secret))
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q is not among %q", test.name, want, got)
			}
		}
		for _, not := range test.not {
			if slices.Contains(got, not) {
				t.Errorf("%s: %q is among %q", test.name, not, got)
			}
		}
		if test.want == nil && len(got) > 0 {
			t.Errorf("%s: %q", test.name, got)
		}
	}
	deep := strings.Repeat(`{"key":`, 9000) + `"x"` + strings.Repeat("}", 9000)
	if got := partsOf([]byte(deep)); len(got) > 0 {
		t.Errorf("%d parts", len(got))
	}
}

func TestTheDescriptionNamesThePrograms(t *testing.T) {
	for want, programs := range map[string][]Program{
		"Runs a configured program, such as gh or aws, with": nil,
		"Runs one of the programs gh, mycli with":            {{Name: "gh"}, {Name: "mycli"}},
	} {
		if doc := Tool(Options{Programs: Fixed(programs...)}).Spec.Doc; !strings.HasPrefix(doc, want) {
			t.Errorf("%q, want %q", doc, want)
		}
	}
}
