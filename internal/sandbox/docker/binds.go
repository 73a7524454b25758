package docker

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// checkBinds returns an error for binds that would give access to the whole machine.
// For a remote engine it checks only the names.
func checkBinds(local bool, w sandbox.Spec) error {
	targets := map[string]bool{}
	for _, b := range w.Binds {
		if b.Host == "" || b.Host != path.Clean(b.Host) || !path.IsAbs(filepath.ToSlash(b.Host)) &&
			!filepath.IsAbs(b.Host) {
			return tool.Errorf(tool.Invalid, "a directory for the sandbox is not absolute").Try("ask the operator")
		}
		if !allowedTarget(b.Inside) || targets[b.Inside] {
			return tool.Errorf(tool.Invalid, "nothing can be put at %q in a container",
				b.Inside).Try("give the root another name")
		}
		targets[b.Inside] = true
		host := b.Host
		if local {
			real, err := filepath.EvalSymlinks(host)
			if err != nil {
				return unavailable("the directory of %s is not there", b.Inside).Try("ask the operator").Because(err)
			}
			if real != host {
				return tool.Errorf(tool.Refused, "the directory of %s leads through a link",
					b.Inside).Try("ask the operator to name where it leads")
			}
			if st, err := os.Stat(real); err != nil || !st.IsDir() && !st.Mode().IsRegular() {
				return tool.Errorf(tool.Refused, "the source of the mount %s is neither a directory nor a file",
					b.Inside).Try("ask the operator")
			}
		}
		if forbidden(host) {
			return tool.Errorf(tool.Refused, "containers never get the directory that %s would be", b.Inside).
				Try("use a directory that holds nothing of the system")
		}
	}
	return nil
}

// forbidden reports whether p is a system directory, or in one, or contains one.
func forbidden(p string) bool {
	for _, whole := range []string{"/etc", "/proc", "/sys", "/dev", "/run", "/boot", "/var/run", "/var/lib/docker",
		"/var/lib/containerd"} {
		if p == whole || strings.HasPrefix(p, whole+"/") || strings.HasPrefix(whole, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	for _, itself := range []string{"/root", "/home", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/Users",
		"/private", "/System", "/Library"} {
		if p == itself {
			return true
		}
	}
	return strings.HasSuffix(p, ".sock")
}

// allowedTarget reports whether p is a path in a container where a bind may be mounted.
func allowedTarget(p string) bool {
	if p != path.Clean(p) || !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\x00:") {
		return false
	}
	for _, dir := range []string{"/workspace", "/roots", files} {
		if p == dir && dir == "/workspace" || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}
