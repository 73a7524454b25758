package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A program is the binary for a platform.
type program struct{ os, arch, path string }

func (p program) file() string {
	if p.os == "windows" {
		return "mcp-tools.exe"
	}
	return "mcp-tools"
}

func (p program) archive() string {
	if p.os == "windows" {
		return ".zip"
	}
	return ".tar.gz"
}

// command runs a program in dir and returns its output.
func command(dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// checkout clones the last commit: changes that are not committed are not built, and Go
// writes commit, tag and date into the program.
func (r *release) checkout(from string) error {
	changed, err := command(from, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		fmt.Fprintln(os.Stderr, "release: changes that are not committed are left out")
	}
	from, err = filepath.Abs(from)
	if err != nil {
		return err
	}
	_, err = command("", nil, "git", "clone", "--quiet", from, r.src)
	return err
}

// build builds the programs, and the files that only a program can write: manual pages and
// completions of shells.
func (r *release) build(wanted []string) error {
	for _, platform := range wanted {
		system, arch, _ := strings.Cut(platform, "/")
		p := program{os: system, arch: arch}
		p.path = filepath.Join(r.work, system+"_"+arch, p.file())
		if err := r.compile(p); err != nil {
			return err
		}
		r.programs = append(r.programs, p)
	}
	own := program{os: runtime.GOOS, arch: runtime.GOARCH, path: filepath.Join(r.work, "own", "mcp-tools")}
	if err := r.compile(own); err != nil {
		return err
	}
	if err := r.readVersion(own); err != nil {
		return err
	}
	return r.describe(own)
}

// compile builds a program as make build does.
func (r *release) compile(p program) error {
	env := []string{"MAKEFLAGS=", "GOFLAGS=-buildvcs=true", "GOWORK=off", "GOOS=" + p.os, "GOARCH=" + p.arch,
		"RELEASE_PUBLIC_KEY=" + r.public}
	_, err := command(r.src, env, "make", "--silent", "build", "BIN="+p.path)
	return err
}

// readVersion takes version and date from the program, so that they are the same everywhere.
func (r *release) readVersion(p program) error {
	info, err := buildinfo.ReadFile(p.path)
	if err != nil {
		return err
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if r.date, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return err
			}
		}
	}
	r.version = packageVersion(info.Main.Version)
	if r.date.IsZero() || r.version == "" {
		return fmt.Errorf("the program has version %q and no date: is this a checkout?", info.Main.Version)
	}
	return nil
}

// packageVersion returns a version of a module as packages have it: v1.2.3 is 1.2.3. The
// version of a commit without a tag, v1.2.4-0.20261123040102-0123456789ab, is
// 1.2.4-git20261123040102.
func packageVersion(module string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(module, "v"), "+")
	number, rest, _ := strings.Cut(version, "-")
	if parts := strings.Split(rest, "-"); len(parts) > 1 && len(parts[len(parts)-1]) == 12 {
		date := parts[len(parts)-2]
		return number + "-git" + date[strings.LastIndex(date, ".")+1:]
	}
	if version == "(devel)" {
		return ""
	}
	return version
}

// describe collects the texts that come with the programs.
func (r *release) describe(own program) error {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.src, name))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, entry{name: name, data: data})
	}
	dir := filepath.Join(r.work, "man")
	if _, err := command("", nil, own.path, "manual", dir); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		r.manual = append(r.manual, entry{name: filepath.Base(page), data: data})
	}
	for shell, name := range map[string]string{
		"bash": "mcp-tools.bash", "zsh": "_mcp-tools", "fish": "mcp-tools.fish", "powershell": "mcp-tools.ps1",
	} {
		text, err := command("", nil, own.path, "completion", shell)
		if err != nil {
			return err
		}
		r.complete = append(r.complete, entry{name: name, data: text})
	}
	return nil
}
