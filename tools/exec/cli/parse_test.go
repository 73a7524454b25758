package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		command string
		want    []string
	}{
		{"gh pr list", []string{"gh", "pr", "list"}},
		{"  gh   pr\tlist ", []string{"gh", "pr", "list"}},
		{"gh pr \\\n  list", []string{"gh", "pr", "list"}},
		{`gh api x --jq '.[] | select(.a > 1) && .b'`,
			[]string{"gh", "api", "x", "--jq", ".[] | select(.a > 1) && .b"}},
		{`gh api x --jq ".[] | \"\$x\" \\ \n"`, []string{"gh", "api", "x", "--jq", `.[] | "$x" \ \n`}},
		{`gh a\ b c\*d ''`, []string{"gh", "a b", "c*d", ""}},
		{`gh pre'fix'"ed"`, []string{"gh", "prefixed"}},
		{`gh --jq='{a,b}' '~/x' '$(x)' "#1"`, []string{"gh", "--jq={a,b}", "~/x", "$(x)", "#1"}},
		{"gh issue create --body 'first\nsecond'", []string{"gh", "issue", "create", "--body", "first\nsecond"}},
		{"gh x {} a{b", []string{"gh", "x", "{}", "a{b"}},
		{"gh 'ünï' 日本", []string{"gh", "ünï", "日本"}},
	} {
		if got, err := Parse(test.command); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v; want %q", test.command, got, err, test.want)
		}
	}
}

// TestShellReadsTheSame asks a real shell what ordinary commands consist of.
func TestShellReadsTheSame(t *testing.T) {
	bash := needtest.Program(t, "bash")
	for _, list := range []string{readingCommands, changingCommands, deletingCommands} {
		for _, command := range commands(list) {
			out, err := exec.Command(bash, "-c", "printf '%s\\0' "+command).Output()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			if got, err := Parse(command); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v; a shell reads %q", command, got, err, want)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"":                             "no program",
		"  \n ":                        "no program",
		"gh a | sh":                    "(|)",
		"gh a |& sh":                   "(|&)",
		"gh a && rm x":                 "(&&)",
		"gh a || rm x":                 "(||)",
		"gh a; rm x":                   "several",
		"gh a;":                        "only a shell",
		"gh a\nrm x":                   "several",
		"gh a\r\nrm x":                 "several",
		"gh a &":                       "only a shell",
		"! gh a":                       "only a shell",
		"gh a > out":                   "only a shell reads: \"gh a > out\"",
		"gh a 2>&1":                    "only a shell",
		"gh a < in":                    "only a shell",
		"gh a <<< in":                  "only a shell",
		"gh a <<E\nx\nE":               "only a shell",
		"gh $(x)":                      "only a shell",
		"gh `x`":                       "only a shell",
		`gh "$(x)"`:                    "only a shell",
		"gh \"`x`\"":                   "only a shell",
		"gh $HOME":                     "HOME",
		`gh "${HOME}"`:                 "HOME",
		"gh ${!x*}":                    "only a shell",
		"gh $'a'":                      "only a shell",
		`gh $"a"`:                      "only a shell",
		"gh $((1+1))":                  "only a shell",
		"gh <(x)":                      "only a shell",
		"gh *.go":                      "pattern",
		"gh a?b":                       "pattern",
		"gh [ab]":                      "pattern",
		"gh @(a|b)":                    "only a shell",
		"gh {a,b}":                     "expansion",
		"gh x{1..3}":                   "expansion",
		"gh ~/x":                       "expansion (~)",
		"gh a # list":                  "comment",
		"# gh a":                       "no program",
		"GH_HOST=evil gh a":            "GH_HOST=evil",
		"GH_HOST=evil":                 "only a shell",
		"(gh a)":                       "only a shell",
		"{ gh a; }":                    "only a shell",
		"if true; then gh a; fi":       "only a shell",
		"for x in a; do gh $x; done":   "only a shell",
		"gh() { x; }":                  "only a shell",
		"time gh a":                    "only a shell",
		"coproc gh a":                  "only a shell",
		"[[ a ]]":                      "only a shell",
		"gh 'a":                        "cannot be read",
		"gh \"a":                       "cannot be read",
		"gh )":                         "cannot be read",
		"gh \x00":                      "no text",
		"gh \xff":                      "no text",
		"gh a\\":                       "backslash",
		"''":                           "no command",
		strings.Repeat("gh ", 300):     "arguments",
		strings.Repeat("(", 5000):      "construct",
		strings.Repeat("x", maxText+1): "bytes",
	} {
		argv, err := Parse(command)
		if err == nil {
			t.Errorf("%.60q was read as %q", command, argv)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v; want %q", command, err, want)
		}
	}
}

// FuzzParse checks that what is read is one command that a shell would run
// exactly so: nothing in it is left to expand.
func FuzzParse(f *testing.F) {
	for _, list := range []string{readingCommands, changingCommands, dangerous} {
		for _, command := range commands(list) {
			f.Add(command)
		}
	}
	for _, command := range []string{"gh \\\n a", "gh $'a'", "gh a\\", "gh ${a:-b}", "gh \"a\\\nb\"", "gh !x",
		"gh a=~/b", "gh a:~", "gh <<E\nE", "gh {a,b}", "gh {a..b}"} {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		argv, err := Parse(command)
		if err != nil {
			return
		}
		var quoted []string
		size := 0
		for _, a := range argv {
			quoted = append(quoted, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
			size += len(quoted[len(quoted)-1]) + 1
		}
		again, err := Parse(strings.Join(quoted, " "))
		if err != nil && size <= maxText {
			t.Fatalf("%q: %v", quoted, err)
		} else if err != nil {
			return
		}
		if !slices.Equal(argv, again) {
			t.Fatalf("%q was read as %q, which is written %q and read as %q", command, argv, quoted, again)
		}
	})
}

// FuzzJudge checks that no arguments make judging fail, or take long, and that
// the words and values that are judged are arguments that were given.
func FuzzJudge(f *testing.F) {
	var all []program
	for _, name := range Presets() {
		p, err := compile(Program{Name: name, Path: "/usr/bin/" + name, Preset: name})
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, p)
	}
	for _, list := range []string{readingCommands, deletingCommands, dangerous} {
		for _, command := range commands(list) {
			f.Add(strings.Join(strings.Fields(command)[1:], "\n"))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		for _, p := range all {
			v := p.judge(args)
			if v.err == nil && v.effect == unlisted {
				t.Fatalf("%s %q is neither allowed nor refused", p.Name, args)
			}
			for _, w := range p.preset.read(args).words {
				if !slices.Contains(args, w.text) {
					t.Fatalf("%s %q: the word %q was not given", p.Name, args, w.text)
				}
			}
			_ = p.checkPaths(args, reach{dir: "/workspace"})
		}
	})
}
