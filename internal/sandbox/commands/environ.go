package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// proxyURL is where an agent with a proxy listens for its commands.
	proxyURL = "http://127.0.0.1:3128"
)

// Directories that the kernel's walls always let in, for reading.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"}
}

// passed are the variables that commands get as the server has them.
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

// environ is what a command gets: nothing is inherited. What comes later wins.
func (c *Commands) environ(p *place, home string, tty, proxy bool, own []string) []string {
	env := environment{}
	env.set("LANG", "C.UTF-8")
	for _, name := range passed() {
		if value, ok := os.LookupEnv(name); ok {
			env.set(name, value)
		}
	}
	env.set("PATH", strings.Join(p.path, string(os.PathListSeparator)))
	env.set("HOME", home)
	env.set("TERM", "dumb")
	if tty {
		env.set("TERM", "xterm-256color")
	}
	user := "sandbox"
	if !p.site.Sealed {
		user = os.Getenv("USER")
	}
	if user != "" {
		env.set("USER", user)
		env.set("LOGNAME", user)
	}
	env.set("SHELL", "/bin/sh")
	env.set("TMPDIR", p.temp(home))
	switch {
	case proxy:
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env.set(name, proxyURL)
			env.set(strings.ToLower(name), proxyURL)
		}
		env.set("NO_PROXY", "localhost,127.0.0.1,::1")
		env.set("no_proxy", "localhost,127.0.0.1,::1")
	case p.site.Sealed: // nobody is there, however often one tries
		env.set("CARGO_NET_RETRY", "0")
		env.set("PIP_RETRIES", "0")
		env.set("npm_config_fetch_retries", "0")
	}
	for _, v := range slices.Concat(c.o.Environ, own) {
		name, value, _ := strings.Cut(v, "=")
		env.set(name, value)
	}
	return env.list
}

// home is where a command's own files go, as it sees it.
func home(p *place) string {
	if p.layout.Home != "" {
		return p.layout.Home
	}
	if dir, err := os.UserHomeDir(); err == nil && !p.site.Sealed {
		return dir
	}
	return "/tmp"
}

// temp is where temporary files go, as a command sees it. Behind walls it has a
// /tmp of its own, but where its home lies in that of this machine: then only
// the home is its own.
func (p *place) temp(home string) string {
	dir := strings.TrimSuffix(os.TempDir(), string(filepath.Separator))
	if !p.site.Sealed {
		return dir
	}
	if _, within := beneath(dir, home); within && home != "/tmp" && p.site.Tier == string(Kernel) {
		return home
	}
	return "/tmp"
}

// An environment holds each name once, in the order in which they came.
type environment struct{ list []string }

func (e *environment) set(name, value string) {
	at := slices.IndexFunc(e.list, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if at < 0 {
		e.list = append(e.list, name+"="+value)
	} else {
		e.list[at] = name + "=" + value
	}
}

// checkEnviron refuses what no program can be given.
func checkEnviron(env []string) error {
	for _, v := range env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) {
			return tool.Errorf(tool.Invalid, "a variable for the command has no name, or a zero byte").
				Try("write it as NAME=value")
		}
	}
	return nil
}

// searchPath is where a command's programs are: the directories of the server's
// own PATH that commands see and cannot change.
func (p *place) searchPath() []string {
	if p.site.Tier == string(Docker) {
		return strings.Split(usualPath, ":") // the image's files, not ours
	}
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, filepath.Clean(dir)) && p.trusts(filepath.Clean(dir)) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	if len(dirs) == 0 && runtime.GOOS != "windows" {
		return strings.Split(usualPath, ":")
	}
	return dirs
}

// trusts says that programs in dir may be run by their names alone: commands
// see it, neither they nor just anybody can put programs there.
func (p *place) trusts(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return false
	}
	for _, b := range p.layout.Binds {
		if _, within := beneath(b.Host, real); within && b.Write {
			return false
		}
	}
	return !p.site.Sealed || p.admits(real)
}

// admits says that commands see a file of this machine under its own name.
func (p *place) admits(path string) bool {
	if inside, ok := p.inside(path); ok && inside == path {
		return true
	}
	if p.site.Tier != string(Kernel) {
		return !p.site.Sealed
	}
	return slices.ContainsFunc(systemDirs(), func(dir string) bool {
		_, within := beneath(dir, path)
		return within
	})
}
