package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// finder finds programs for a command that runs in dir. In a container the
// files are those of the image, and nothing is known about them here.
func (p *place) finder(dir string) func(string) (path, identity string) {
	return func(program string) (string, string) {
		if p.site.Tier == string(Docker) || program == "" {
			return "", ""
		}
		if filepath.IsAbs(program) {
			return p.program(program)
		}
		if strings.ContainsRune(filepath.ToSlash(program), '/') {
			return p.program(filepath.Join(dir, program))
		}
		for _, d := range p.path {
			if path, identity := p.program(filepath.Join(d, program)); identity != "" {
				return path, identity
			}
		}
		return "", ""
	}
}

// identity tells the file at an absolute path from another, when commands can
// see it.
func (p *place) identity(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) || p.site.Sealed && !p.admits(real) {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fileIdentity(real, info)
}

// program tells which file a path leads to, when commands can see and run it.
func (p *place) program(path string) (found, identity string) {
	for _, ending := range endings() {
		real, err := filepath.EvalSymlinks(path + ending)
		if err != nil || p.site.Sealed && !p.admits(real) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
			continue
		}
		return filepath.Clean(path + ending), fileIdentity(real, info)
	}
	return "", ""
}

// endings are what a name of a program may lack.
func endings() []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	usual := os.Getenv("PATHEXT")
	if usual == "" {
		usual = ".com;.exe;.bat;.cmd"
	}
	return append([]string{""}, strings.Split(strings.ToLower(usual), ";")...)
}
