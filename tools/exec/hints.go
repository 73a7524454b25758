package exec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// hinted is how much of the end of the output the hints read.
const hinted = 4 << 10

// hint returns one line of advice about a command that failed, or "".
func (a answer) hint() string {
	st := a.status
	if a.k == nil || st.State == sandbox.Exited && st.Code == 0 && st.Signal == "" || st.State == sandbox.Killed ||
		st.State == sandbox.Lost {
		return ""
	}
	end := a.text[max(0, len(a.text)-hinted):]
	for _, hint := range []func(string) string{a.missing, a.screen, a.input, a.network, a.git, a.locked} {
		if text := hint(end); text != "" {
			return text
		}
	}
	return ""
}

// elsewhere returns alternatives for programs that may be missing.
func elsewhere() map[string][]string {
	return map[string][]string{
		"python": {"python3"}, "python2": {"python3"}, "pip": {"pip3", "python3"}, "pip3": {"pip", "python3"},
		"node": {"nodejs", "bun"},
		"fd":   {"fdfind", "find"}, "bat": {"batcat", "cat"}, "rg": {"grep"}, "ag": {"grep"}, "ack": {"grep"},
		"vim": {"vi"}, "nvim": {"vim", "vi"},
		"docker-compose": {"docker"}, "ifconfig": {"ip"}, "netstat": {"ss"}, "wget": {"curl"}, "curl": {"wget"},
		"md5":    {"md5sum"},
		"shasum": {"sha256sum"}, "gsed": {"sed"}, "ggrep": {"grep"}, "gdate": {"date"}, "gmake": {"make"},
		"make": {"gmake"}, "cc": {"gcc", "clang"},
		"gcc": {"cc", "clang"}, "yarn": {"npm"}, "pnpm": {"npm"}, "npm": {"pnpm", "yarn"}, "podman": {"docker"},
		"docker": {"podman"},
		"bash":   {"sh"}, "zsh": {"bash", "sh"}, "nc": {"ncat"}, "tree": {"find"}, "xxd": {"od"}, "hexdump": {"od"},
		"zip": {"tar"}, "unzip": {"python3"},
	}
}

// traces match messages of programs about problems of their environment.
type traces struct {
	// missing finds the name in «bash: line 1: foo: command not found», «sh: 1:
	// foo: not found» and «env: 'foo': No such file or directory».
	missing     *regexp.Regexp
	asks        *regexp.Regexp // a question at the end
	blind       *regexp.Regexp // it needs a terminal
	unreachable *regexp.Regexp
	locked      *regexp.Regexp
	author      *regexp.Regexp // git has no name for the author
	editor      *regexp.Regexp
	engine      *regexp.Regexp
}

var known = sync.OnceValue(func() traces {
	return traces{
		missing: regexp.MustCompile(`(?m)(?:: |^)'?‘?([\w.+-]+)’?'?: (?:command )?not found$|` +
			`^(?:[\w/]*env|xargs|nohup|timeout)(?:: [^:]*)?: ['‘]?([\w.+-]+)['’]?: No such file`),
		asks: regexp.MustCompile(`(?i)(?:\[y/n\]|\(y/n\)|\(yes/no[^)]*\)|password[^\n]*:|passphrase[^\n]*:|` +
			`continue\?|username[^\n]*:)\s*$`),
		blind: regexp.MustCompile(`(?i)not a tty|not a terminal|isn't a terminal|EOF when reading a line|` +
			`inappropriate ioctl|stdin is not|no tty present|could not read (?:username|password)`),
		unreachable: regexp.MustCompile(`(?i)could not resolve|name resolution|network is unreachable|` +
			`no route to host|ENOTFOUND|EAI_AGAIN|ENETUNREACH|` +
			`no such host|name or service not known|failed to establish a new connection|proxyconnect|` +
			`tunnel connection failed|` +
			`dial tcp: lookup|ENOTCACHED|no matching distribution found|GOPROXY=off`),
		locked: regexp.MustCompile(`(?i)permission denied|read-only file system|operation not permitted|` +
			`EACCES|EROFS|EPERM`),
		author: regexp.MustCompile(`(?i)please tell me who you are|empty ident name|auto-detect email`),
		editor: regexp.MustCompile(`(?i)EDITOR unset|problem with the editor|no editor`),
		engine: regexp.MustCompile(`(?i)cannot connect to the docker daemon|podman socket`),
	}
})

func (a answer) missing(end string) string {
	found := known().missing.FindStringSubmatch(end)
	if found == nil || a.status.State != sandbox.Exited {
		return ""
	}
	name := found[1] + found[2]
	for _, instead := range elsewhere()[name] {
		if file, _ := a.site.Find(instead); file != "" {
			return fmt.Sprintf("there is no %s here, but %s", name, path.Base(file))
		}
	}
	if name == "sudo" || name == "doas" {
		return "commands cannot become another user here; leave it out"
	}
	if a.site.Tier == sandbox.Docker && a.status.Code == 127 {
		return fmt.Sprintf("the sandbox's image has no %s; the operator chooses the image", name)
	}
	if a.site.Isolated && a.status.Code == 127 && !strings.Contains(name, ".") {
		return fmt.Sprintf("commands find no program %s: check its name; "+
			"the operator can add its directory to sandbox.read", name)
	}
	return ""
}

func (a answer) input(end string) string {
	switch {
	case a.status.State == sandbox.Running:
		return ""
	case a.status.Waiting || known().asks.MatchString(end):
		return "it seems to wait for an answer: use its option that answers yes, or send stdin or tty: true"
	case known().blind.MatchString(end):
		return "it needs a terminal or an answer: send tty: true or stdin, or use its option that asks nothing"
	}
	return ""
}

func (a answer) network(end string) string {
	if a.site.Network {
		return a.refused
	}
	switch late := a.status.State == sandbox.TimedOut; {
	case !late && known().engine.MatchString(end):
		return "commands cannot reach the container engine here"
	case late && a.fetches(), known().unreachable.MatchString(end):
		return "commands have no network here; the operator can allow it (sandbox.network) " +
			"or let in a cache (sandbox.read)"
	}
	return ""
}

// fetches reports whether the command was to get something from elsewhere.
func (a answer) fetches() bool {
	return slices.ContainsFunc(a.k.verdict.Simple, func(c judge.Simple) bool {
		switch path.Base(c.Program) {
		case "npx", "curl", "wget", "pip", "pip3", "apt-get", "apt", "pipx", "uvx":
			return true
		case "npm", "pnpm", "yarn", "bun", "go", "cargo", "git", "gem", "bundle", "composer", "uv", "poetry", "deno",
			"mvn", "gradle":
			return len(c.Argv) == 1 || slices.Contains([]string{
				"install", "i", "ci", "add", "update", "upgrade", "create", "exec", "dlx", "get", "mod", "fetch",
				"clone", "pull", "push", "sync",
			}, c.Argv[1])
		}
		return false
	})
}

// screen advises about programs that fill a terminal.
func (a answer) screen(string) string {
	if a.k.args.TTY || a.status.State != sandbox.TimedOut {
		return ""
	}
	for _, c := range a.k.verdict.Simple {
		switch name := path.Base(c.Program); name {
		case "vi", "vim", "nvim", "nano", "pico", "emacs":
			return name + " waits for input: change files with edit or sed, or start it with tty: true"
		case "less", "more", "man", "top", "htop", "watch", "tail":
			return name + " does not end by itself: use an option that ends it, or background: true"
		}
	}
	return ""
}

func (a answer) git(end string) string {
	switch {
	case known().author.MatchString(end):
		return "git has no name here: git -c user.name=... -c user.email=... commit; the operator can set both for all"
	case known().editor.MatchString(end):
		return "there is no editor: give the text with -m or -F, or use --no-edit"
	}
	return ""
}

func (a answer) locked(end string) string {
	if !a.site.Isolated || !known().locked.MatchString(end) {
		return ""
	}
	roots := append([]string(nil), a.site.Roots[:min(len(a.site.Roots), 4)]...)
	for _, more := range []string{a.site.Home, "/tmp"} {
		if more != "" {
			roots = append(roots, more)
		}
	}
	return "commands can change only " + strings.Join(roots, ", ") + " here, and nothing that is denied or " +
		"protected in it, such as .env and .git/hooks; the operator can let more in"
}
