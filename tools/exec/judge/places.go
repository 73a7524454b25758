package judge

import (
	"path"
	"slices"
	"strings"
)

// A place is what a path stands for.
type place uint8

// The places.
const (
	unknownPlace  place = iota
	harmlessPlace       // /dev/null and the like
	insidePlace         // below a root
	globPlace           // everything in a root
	rootPlace           // a root itself
	abovePlace          // what holds a root
	tempPlace
	homePlace    // below the home directory
	topPlace     // / and the home directory
	systemPlace  // /etc, /usr and so on
	otherPlace   // elsewhere
	devicePlace  // disks and memory
	kernelPlace  // /proc/sys, /sys
	environPlace // /proc/*/environ
	netPlace     // /dev/tcp
	enginePlace  // docker.sock
	secretPlace  // what holds credentials
	startPlace   // what runs when somebody logs in, or at times
	ourPlace     // the data of mcp-tools
)

// place is the worst of the places where a word may lead.
func (j *judge) place(s *scope, a arg) place {
	if strings.HasPrefix(a.text, "/dev/fd/") {
		return harmlessPlace
	}
	text := a.text
	if i := strings.Index(text, unknown); i >= 0 {
		if strings.HasPrefix(text, "/dev/tcp/") || strings.HasPrefix(text, "/dev/udp/") {
			return netPlace
		}
		if strings.HasPrefix(text, "/proc/") && strings.HasSuffix(text, "/environ") {
			return environPlace
		}
		return unknownPlace
	}
	all := s.resolve(text)
	worst := unknownPlace
	for _, p := range all {
		worst = max(worst, j.placeOf(p, a.glob))
	}
	return worst
}

// placeOf is what an absolute clean path stands for.
func (j *judge) placeOf(p string, glob bool) place {
	if glob {
		if fixed := fixedPart(p); fixed != p {
			return j.placeOfGlob(p, fixed)
		}
	}
	if special, ok := j.special(p); ok {
		return special
	}
	home := j.req.Home
	for _, r := range j.req.Roots {
		r = path.Clean(r)
		if p == r {
			return rootPlace
		}
		if below(r, p) && p != "/" && p != home {
			return abovePlace
		}
		if below(p, r) {
			return insidePlace
		}
	}
	switch {
	case p == "/" || home != "" && (p == home || below(home, p)) || p == "/home" || p == "/root" || p == "/Users":
		return topPlace
	case home != "" && below(p, home):
		return homePlace
	case below(p, "/tmp") || below(p, "/var/tmp") || below(p, "/dev/shm") || below(p, "/private/tmp"):
		return tempPlace
	case below(p, "/home") || below(p, "/root") || below(p, "/Users"):
		return otherPlace
	case isSystem(p):
		return systemPlace
	}
	return otherPlace
}

// placeOfGlob judges a path with patterns by what stands before the first.
func (j *judge) placeOfGlob(p, fixed string) place {
	rest := strings.TrimPrefix(strings.TrimPrefix(p, fixed), "/")
	first, _, more := strings.Cut(rest, "/")
	where := j.placeOf(fixed, false)
	if where == harmlessPlace {
		where = systemPlace
	}
	switch {
	case strings.HasPrefix(fixed, "/proc") && strings.HasSuffix(p, "/environ"):
		return environPlace
	case strings.HasPrefix(fixed, "/dev") && !below(fixed, "/dev"):
		return devicePlace
	case slices.ContainsFunc(j.req.Roots, func(r string) bool { return path.Clean(r) == fixed }):
		if !more && everything(first) {
			return globPlace
		}
		return insidePlace
	case fixed == "/tmp" || fixed == "/var/tmp":
		return tempPlace
	}
	return where
}

// special finds the paths that mean something of their own.
func (j *judge) special(p string) (place, bool) {
	base := path.Base(p)
	switch {
	case below(p, "/dev"):
		return devPlace(p), true
	case below(p, "/proc/sys") || below(p, "/sys") || p == "/proc/sysrq-trigger":
		return kernelPlace, true
	case strings.HasPrefix(p, "/proc/") && (base == "environ" || base == "mem" || base == "maps" || base == "auxv"):
		return environPlace, true
	case strings.HasPrefix(p, "/proc/") && strings.Contains(p, "/root/"):
		return environPlace, true
	case p == "/var/run/docker.sock" || p == "/run/docker.sock" || p == "/run/containerd/containerd.sock" || strings.HasSuffix(p, "/podman/podman.sock"):
		return enginePlace, true
	case isOurs(p):
		return ourPlace, true
	case isStart(p, j.inRoots(p)):
		return startPlace, true
	case isSecret(p) && !j.inRoots(p):
		return secretPlace, true
	}
	return 0, false
}

func (j *judge) inRoots(p string) bool {
	return slices.ContainsFunc(j.req.Roots, func(r string) bool { return below(p, path.Clean(r)) })
}

func devPlace(p string) place {
	rest := strings.TrimPrefix(p, "/dev/")
	first, _, _ := strings.Cut(rest, "/")
	switch first {
	case "null", "zero", "stdin", "stdout", "stderr", "tty", "random", "urandom", "fd", "full", "ptmx", "pts":
		return harmlessPlace
	case "tcp", "udp":
		return netPlace
	case "shm", "mqueue":
		return tempPlace
	}
	return devicePlace
}

// below reports whether p is strictly inside dir.
func below(p, dir string) bool {
	if dir == "/" {
		return p != "/"
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}

// isSystem reports whether p belongs to the system.
func isSystem(p string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	switch first {
	case "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "srv", "sys", "usr", "var",
		"System", "Library", "Applications", "private", "snap", "nix":
		return true
	}
	return false
}

// isSecret reports whether p is known to hold credentials.
func isSecret(p string) bool {
	switch p {
	case "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/krb5.keytab", "/etc/shadow-", "/etc/master.passwd":
		return true
	}
	for _, part := range []string{"/.ssh", "/.aws", "/.gnupg", "/.kube", "/.azure", "/.config/gcloud", "/.config/gh", "/.password-store", "/.mozilla", "/.config/google-chrome", "/etc/sudoers.d", "/run/secrets", "/etc/ssl/private", "/.docker", "/Keychains"} {
		if strings.Contains(p+"/", part+"/") {
			return true
		}
	}
	switch path.Base(p) {
	case ".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc", ".my.cnf", ".vault-token", "id_rsa", "id_ed25519", "id_ecdsa", ".bash_history", ".zsh_history":
		return true
	}
	return false
}

// isStart reports whether p is run by itself at some time. Within a root the
// files of a login mean nothing.
func isStart(p string, inside bool) bool {
	for _, dir := range []string{"/etc/cron.d", "/etc/cron.daily", "/etc/cron.hourly", "/etc/cron.weekly", "/etc/cron.monthly", "/var/spool/cron", "/etc/init.d", "/etc/systemd", "/lib/systemd", "/usr/lib/systemd", "/etc/profile.d", "/Library/LaunchAgents", "/Library/LaunchDaemons", "/etc/rc.d", "/etc/xdg/autostart", "/etc/update-motd.d"} {
		if below(p, dir) {
			return true
		}
	}
	switch p {
	case "/etc/crontab", "/etc/profile", "/etc/bash.bashrc", "/etc/rc.local", "/etc/zshrc", "/etc/environment", "/etc/inittab":
		return true
	}
	if strings.Contains(p, "/.git/hooks/") && !strings.HasSuffix(p, ".sample") {
		return true
	}
	if inside {
		return false
	}
	if strings.Contains(p, "/.config/systemd/") || strings.Contains(p, "/.config/autostart/") || strings.Contains(p, "/Library/LaunchAgents/") || strings.HasSuffix(p, "/.ssh/authorized_keys") || strings.HasSuffix(p, "/.ssh/rc") || strings.HasSuffix(p, "/.config/fish/config.fish") {
		return true
	}
	switch path.Base(p) {
	case ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".xinitrc", ".xprofile", ".kshrc", ".cshrc", ".tcshrc", ".login":
		return true
	}
	return false
}

// isOurs reports whether p is where mcp-tools keeps its data or configuration,
// whoever's home that is in.
func isOurs(p string) bool {
	for _, dir := range []string{"/.local/share/mcp-tools/", "/.config/mcp-tools/", "/Library/Application Support/mcp-tools/"} {
		if strings.Contains(p+"/", dir) {
			return true
		}
	}
	return false
}

// fixedPart is what stands before the first component with a pattern.
func fixedPart(p string) string {
	i := strings.IndexAny(p, "*?[")
	if i < 0 {
		return p
	}
	return path.Clean(p[:strings.LastIndexByte(p[:i], '/')+1])
}

// everything reports whether a pattern matches nearly any name: nothing in it
// must be just so, but perhaps a dot at the beginning.
func everything(pattern string) bool {
	rest := strings.TrimPrefix(pattern, ".")
	inBrackets := false
	for _, c := range rest {
		switch {
		case c == '[':
			inBrackets = true
		case c == ']':
			inBrackets = false
		case !inBrackets && c != '*' && c != '?':
			return false
		}
	}
	return rest != "" && strings.ContainsAny(rest, "*[") || rest == ""
}
