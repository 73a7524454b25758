package exec

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// judge says what a command would do. What a shell reads as its input is a
// command, too.
func (r *runner) judge(s Site, a execArgs) judge.Verdict {
	rules := r.rules()
	request := judge.Request{
		Command: a.Command, Argv: a.Argv, Dir: s.Dir, Roots: s.Roots, Home: s.Home,
		Env: slices.Sorted(maps.Keys(a.Env)), Sealed: s.Sealed, Network: s.Network,
	}
	v := judge.Judge(request, rules)
	if a.Stdin == "" || typist(v) != shell {
		return v
	}
	request.Command, request.Argv, request.Env = a.Stdin, nil, nil
	return worse(v, judge.Judge(request, rules))
}

// worse joins two verdicts about one call.
func worse(a, b judge.Verdict) judge.Verdict {
	if b.Risk > a.Risk || b.Risk == a.Risk && a.Why == "" {
		a.Risk, a.Why = b.Risk, b.Why
	}
	if a.Denied == nil {
		a.Denied = b.Denied
	}
	a.Simple = append(slices.Clone(a.Simple), b.Simple...)
	a.Always = false
	return a
}

// refusal is the error for what no autonomy allows.
func refusal(v judge.Verdict) error {
	if v.Denied == nil {
		return nil
	}
	d := v.Denied
	err := tools.Errorf(tools.Refused, "%s (rule %s of the group %s)", d.Reason, d.Rule, d.Group)
	if d.Instead == "" {
		return err.Try("do it another way, or ask the user")
	}
	return err.Try("%s", d.Instead)
}

// terms are what a person's word rests on.
func (k task) terms() tools.Terms {
	facts := map[string]string{
		"directory": strings.TrimSpace(k.site.Dir + " " + k.site.Inode),
		"sandbox":   k.site.where(),
	}
	if len(k.args.Env) > 0 {
		facts["environment"] = strings.Join(slices.Sorted(maps.Keys(k.args.Env)), " ")
	}
	var files []string
	if len(k.args.Argv) == 0 {
		files = append(files, k.args.argv(k.site)[0])
	}
	for _, c := range k.verdict.Simple {
		files = append(files, c.Program, scriptOf(c))
	}
	if programs := k.files(files); programs != "" {
		facts["programs"] = programs
	}
	return tools.Terms{Facts: facts, Once: !k.verdict.Always}
}

// files tells which files programs and scripts are today, as far as that can be
// told from here. What is in the sandbox's own image stays the same with it.
func (k task) files(names []string) string {
	var found []string
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "\x00\n…") {
			continue
		}
		at := name
		if strings.Contains(name, "/") && !path.IsAbs(name) {
			at = path.Join(k.site.Dir, name)
		}
		file, identity := k.site.Find(at)
		if file == "" && path.IsAbs(at) && k.site.File != nil {
			if identity = k.site.File(at); identity != "" {
				file = at
			}
		}
		if one := fmt.Sprintf("%s is %s (%s)", name, file, identity); file != "" && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return strings.Join(found, "; ")
}

// scriptOf is the file that a shell or interpreter is to run.
func scriptOf(c judge.Simple) string {
	if kindOf(c.Program) == other || len(c.Argv) < 2 {
		return ""
	}
	for _, word := range c.Argv[1:] {
		if word == "-c" || word == "-e" || word == "-m" || word == "--eval" {
			return ""
		}
		if !strings.HasPrefix(word, "-") {
			if !strings.Contains(word, "/") {
				word = "./" + word
			}
			return word
		}
	}
	return ""
}

// A kind says what typing into a program means.
type kind uint8

const (
	other       kind = iota // words for it
	interpreter             // code in some language
	shell                   // commands
)

// kindOf goes by the name of a program, without its directory and version.
func kindOf(program string) kind {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/"))), ".exe")
	name = strings.TrimRight(name, "0123456789.")
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "tcsh", "csh", "rbash", "powershell", "pwsh", "cmd":
		return shell
	case "python", "pypy", "ipython", "node", "nodejs", "deno", "bun", "ruby", "irb", "perl", "php", "lua", "luajit", "r", "rscript",
		"julia", "ghci", "scala", "groovy", "jshell", "clojure", "iex", "erl", "psql", "mysql", "mariadb", "sqlite", "redis-cli",
		"mongosh", "mongo", "gdb", "lldb", "bc", "ed", "vi", "vim", "nvim", "emacs", "nano", "less", "man", "top", "tmux", "screen",
		"ssh", "telnet", "docker", "podman", "kubectl", "awk", "gawk", "m", "guile", "racket", "sbcl", "tclsh", "expect", "make":
		return interpreter
	}
	return other
}

// typist says what typing into a command means: what it does with its input is
// told by the worst of its programs, and unknown where it cannot be known what
// those are.
func typist(v judge.Verdict) kind {
	worst := other
	for _, c := range v.Simple {
		of := kindOf(c.Program)
		if !c.Static && of == other {
			of = interpreter
		}
		worst = max(worst, of)
	}
	if len(v.Simple) == 0 {
		return interpreter
	}
	return worst
}
