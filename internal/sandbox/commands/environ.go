package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// passed returns the names of the variables that commands inherit from the server.
func passed() []string {
	names := []string{
		"LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "TZ",
	}
	if runtime.GOOS == "windows" {
		names = append(names, "ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMSPEC", "HOMEDRIVE", "HOMEPATH",
			"LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
			"PROGRAMFILES", "PROGRAMFILES(X86)", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
			"USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR")
	}
	return names
}

// environ returns the environment of a command. Later values replace earlier ones.
func (c *Commands) environ(p *target, n *instance, tty bool, own []string) []string {
	env := environment{}
	env.set("LANG", "C.UTF-8")
	for _, name := range passed() {
		if value, ok := os.LookupEnv(name); ok {
			env.set(name, value)
		}
	}
	env.set("PATH", strings.Join(p.path, string(os.PathListSeparator)))
	env.set("HOME", n.home)
	env.set("TERM", "dumb")
	if tty {
		env.set("TERM", "xterm-256color")
	}
	user := "sandbox"
	if !p.site.Isolated {
		user = os.Getenv("USER")
	}
	if user != "" {
		env.set("USER", user)
		env.set("LOGNAME", user)
	}
	env.set("SHELL", "/bin/sh")
	env.set("TMPDIR", p.temp(n.home))
	switch {
	case n.proxy:
		for _, v := range sandbox.ProxyVariables(n.box.ProxyURL()) {
			name, value, _ := strings.Cut(v, "=")
			env.set(name, value)
		}
	case p.site.Isolated: // no host can be reached: retries only cost time
		env.set("CARGO_NET_RETRY", "0")
		env.set("PIP_RETRIES", "0")
		env.set("npm_config_fetch_retries", "0")
	}
	env.setCaches(n)
	for _, v := range slices.Concat(c.o.Environ, own) {
		name, value, _ := strings.Cut(v, "=")
		env.set(name, value)
	}
	return env.list
}

// home returns the home directory of commands, as they see it.
func home(p *target) string {
	if p.layout.Home != "" {
		return p.layout.Home
	}
	if dir, err := os.UserHomeDir(); err == nil && !p.site.Isolated {
		return dir
	}
	return "/tmp"
}

// temp returns the directory for temporary files, as a command sees it. A sandbox
// has its own /tmp, or only its home is private.
func (p *target) temp(home string) string {
	switch {
	case !p.site.Isolated:
		return strings.TrimSuffix(os.TempDir(), string(filepath.Separator))
	case p.layout.HomeIsTemp:
		return home
	}
	return "/tmp"
}

// An environment holds each name once, in the order of the first assignment.
type environment struct{ list []string }

func (e *environment) set(name, value string) {
	at := slices.IndexFunc(e.list, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if at < 0 {
		e.list = append(e.list, name+"="+value)
	} else {
		e.list[at] = name + "=" + value
	}
}

// checkEnviron returns an error for variables that cannot be passed to a program.
func checkEnviron(env []string) error {
	for _, v := range env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) {
			return tool.Errorf(tool.Invalid, "a variable for the command has no name, or contains a zero byte").
				Try("write it as NAME=value")
		}
	}
	return nil
}

// searchPath returns the directories for looking up programs: the directories in the server's
// PATH that commands can see and cannot change.
func (p *target) searchPath() []string {
	if p.layout.Image {
		return strings.Split(sandbox.DefaultPath, ":") // the files of the image, not of this machine
	}
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, filepath.Clean(dir)) && p.trusts(filepath.Clean(dir)) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	if len(dirs) == 0 && runtime.GOOS != "windows" {
		return strings.Split(sandbox.DefaultPath, ":")
	}
	return dirs
}

// trusts reports whether programs in dir may be run by name alone: commands can
// see dir, and neither they nor other users can write to it.
func (p *target) trusts(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return false
	}
	for _, b := range p.layout.Binds {
		if _, within := sandbox.Beneath(b.Host, real); within && b.Write {
			return false
		}
	}
	return !p.site.Isolated || p.layout.Shows(real)
}
