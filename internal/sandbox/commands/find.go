package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// finder returns a function that looks up programs for a command in dir. A container has the
// files of an image, unknown here: the function finds nothing.
func (p *target) finder(dir string) func(string) (path, identity string) {
	return func(program string) (string, string) {
		if p.layout.Image || program == "" {
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

// identity returns the identity of the file at an absolute path, or "" if
// commands cannot see it.
func (p *target) identity(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) || p.site.Isolated && !p.layout.Shows(real) {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fileIdentity(real, info)
}

// program returns the file that a path resolves to, if commands can see and run it.
func (p *target) program(path string) (found, identity string) {
	for _, ending := range executableSuffixes() {
		real, err := filepath.EvalSymlinks(path + ending)
		if err != nil || p.site.Isolated && !p.layout.Shows(real) {
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

// executableSuffixes returns the file name suffixes that a program's name may omit.
func executableSuffixes() []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	usual := os.Getenv("PATHEXT")
	if usual == "" {
		usual = ".com;.exe;.bat;.cmd"
	}
	return append([]string{""}, strings.Split(strings.ToLower(usual), ";")...)
}
