package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	// ProxyURL is the URL of the proxy in a sandbox.
	ProxyURL = "http://127.0.0.1:3128"
	// DefaultPath is the PATH of programs in a sandbox.
	DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// ProxyVariables returns the environment variables that name the proxy at an address, as NAME=value.
func ProxyVariables(address string) (all []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		all = append(all, name+"="+address, strings.ToLower(name)+"="+address)
	}
	const local = "localhost,127.0.0.1,::1"
	return append(all, "NO_PROXY="+local, "no_proxy="+local)
}

// Inside returns the path in the sandbox of a file of this machine, if the file is in a bind.
func (l Layout) Inside(host string) (path string, ok bool) {
	best := -1
	for _, b := range l.Binds {
		rel, within := Beneath(b.Host, host)
		if !within || len(b.Host) <= best {
			continue
		}
		best, ok = len(b.Host), true
		path = b.Inside
		if rel != "." {
			path += "/" + filepath.ToSlash(rel)
		}
	}
	return path, ok
}

// Outside returns the path on this machine of a file that programs see; "" if it is in no bind.
func (l Layout) Outside(inside string) string {
	host, best := "", 0
	for _, b := range l.Binds {
		if rel, within := Beneath(b.Inside, inside); within && len(b.Inside) > best {
			host, best = filepath.Join(b.Host, rel), len(b.Inside)
		}
	}
	return host
}

// Shows reports whether programs see a file of this machine under its own path.
func (l Layout) Shows(path string) bool {
	if inside, ok := l.Inside(path); ok && inside == path {
		return true
	}
	return slices.ContainsFunc(l.Shown, func(dir string) bool {
		_, within := Beneath(dir, path)
		return within
	})
}

// Beneath returns the relative path from a directory to path, if path is in it.
func Beneath(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}
