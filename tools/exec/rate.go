package exec

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// judge judges a command and its input. Text that is typed into it later is judged then.
func (r *runner) judge(ctx context.Context, s sandbox.Site, a execArgs) judge.Verdict {
	return judge.Judge(judge.Request{
		Command: a.Command, Argv: a.Argv, Dir: s.Dir, Roots: s.Roots, Home: s.Home,
		Env: slices.Sorted(maps.Keys(a.Env)), Stdin: a.Stdin, Open: a.Stdin != "" && (a.TTY || a.inBackground()),
		Isolated: s.Isolated, Network: s.Network && !s.Asks, Disposable: s.Disposable,
		Missing: missing(s), Exists: exists(s),
	}, r.rules(ctx))
}

// missing returns a function that finds out whether a program is missing, or nil where that
// cannot be found out from here.
func missing(s sandbox.Site) func(string) bool {
	if s.Find == nil || s.File == nil { // an image has programs of its own
		return nil
	}
	return func(program string) bool {
		file, _ := s.Find(program)
		return file == ""
	}
}

// exists likewise returns a function that finds files.
func exists(s sandbox.Site) func(string) bool {
	if s.File == nil {
		return nil
	}
	return func(path string) bool { return s.File(path) != "" }
}

// refusal returns the error for a command that is refused at every autonomy; nil if it
// is not.
func refusal(v judge.Verdict) error {
	if v.Denied == nil {
		return nil
	}
	d := v.Denied
	err := tool.Errorf(tool.Refused, "%s (rule %s of the group %s)", d.Reason, d.Rule, d.Group)
	if d.Instead == "" {
		return err.Try("do it another way, or ask the user")
	}
	return err.Try("%s", d.Instead)
}

// A kind is the meaning of input for a program.
type kind uint8

const (
	other       kind = iota // data
	interpreter             // code in some language
	shell                   // commands
)

// kindOf returns the kind of a program by its name, without directory and version.
func kindOf(program string) kind {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/"))), ".exe")
	name = strings.TrimRight(name, "0123456789.")
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "tcsh", "csh", "rbash", "powershell", "pwsh", "cmd":
		return shell
	case "python", "pypy", "ipython", "node", "nodejs", "deno", "bun", "ruby", "irb", "perl", "php", "lua", "luajit",
		"r",
		"rscript", "julia", "ghci", "scala", "groovy", "jshell", "clojure", "iex", "erl", "psql", "mysql", "mariadb",
		"sqlite", "redis-cli",
		"mongosh", "mongo", "gdb", "lldb", "bc", "ed", "vi", "vim", "nvim", "emacs", "nano", "less", "man", "top",
		"tmux", "screen",
		"ssh", "telnet", "docker", "podman", "kubectl", "awk", "gawk", "m", "guile", "racket", "sbcl", "tclsh",
		"expect", "make":
		return interpreter
	}
	return other
}

// readerOf returns the meaning of a command's input: the worst among its programs.
func readerOf(v judge.Verdict) kind {
	worst := other
	for _, c := range v.Simple {
		of := kindOf(c.Program)
		switch {
		case !c.Static && of == other:
			of = interpreter
		case c.Static && reads(c):
			of = other
		}
		worst = max(worst, of)
	}
	if len(v.Simple) == 0 {
		return interpreter
	}
	return worst
}

// reads reports whether a shell or interpreter runs a file, so that its input is
// data. The file must come first, since the values of options are not known here.
func reads(c judge.Simple) bool {
	if len(c.Argv) < 2 {
		return false
	}
	file := c.Argv[1]
	if len(c.Argv) > 2 && (file == "-u" || file == "-B") { // of python: neither takes a value
		file = c.Argv[2]
	}
	if strings.HasPrefix(file, "-") || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") {
		return false
	}
	ending := path.Ext(file)
	switch strings.TrimRight(path.Base(c.Program), "0123456789.") {
	case "python", "pypy":
		return ending == ".py"
	case "node", "nodejs":
		return ending == ".js" || ending == ".mjs" || ending == ".cjs" || ending == ".ts"
	case "ruby":
		return ending == ".rb"
	case "perl":
		return ending == ".pl"
	case "php":
		return ending == ".php"
	case "sh", "bash", "dash":
		return ending == ".sh" || ending == ".bash"
	}
	return false
}
