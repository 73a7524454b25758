package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/apk"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes packages for Linux. That for Alpine has no service, since Alpine has no
// systemd.
func (r *release) packages() error {
	formats := map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM, "apk": apk.Default}
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		for name, format := range formats {
			info, err := r.packageInfo(p, name)
			if err != nil {
				return err
			}
			if err := nfpm.PrepareForPackager(info, name); err != nil {
				return err
			}
			err = create(r.path(format.ConventionalFileName(info)), func(w io.Writer) error {
				return format.Package(info, w)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A placed file is installed at path.
type placed struct {
	path, from string
	mode       fs.FileMode
	kind       string
}

func (r *release) packageInfo(p program, format string) (*nfpm.Info, error) {
	number, pre, _ := strings.Cut(r.version, "-")
	if format == "apk" { // apk knows _rc1 and _git20261123, and no dots in them
		pre = strings.ReplaceAll(pre, ".", "")
	}
	all := []placed{{path: "/usr/bin/mcp-tools", from: p.path, mode: 0o755}}
	add := func(e entry, path string, mode fs.FileMode, kind string) error {
		from, err := r.stage(e)
		all = append(all, placed{path, from, mode, kind})
		return err
	}
	for _, e := range r.manual {
		if err := add(e, "/usr/share/man/man1/"+e.name, 0o644, ""); err != nil {
			return nil, err
		}
	}
	for _, e := range r.docs {
		path := "/usr/share/doc/mcp-tools/" + map[string]string{"LICENSE": "copyright"}[e.name]
		if e.name != "LICENSE" {
			path += e.name
		}
		if err := add(e, path, 0o644, ""); err != nil {
			return nil, err
		}
	}
	completions := map[string]string{
		"mcp-tools.bash": "bash-completion/completions/mcp-tools", "_mcp-tools": "zsh/site-functions/_mcp-tools",
		"mcp-tools.fish": "fish/vendor_completions.d/mcp-tools.fish",
	}
	if format == "deb" {
		completions["_mcp-tools"] = "zsh/vendor-completions/_mcp-tools"
	}
	for _, e := range r.complete {
		if path := completions[e.name]; path != "" {
			if err := add(e, "/usr/share/"+path, 0o644, ""); err != nil {
				return nil, err
			}
		}
	}
	info := &nfpm.Info{
		Name: "mcp-tools", Arch: p.arch, Platform: "linux", Version: number, Prerelease: pre, Release: "1",
		VersionSchema: "none", Section: "utils", Priority: "optional", License: "MIT",
		Maintainer:  "The authors of mcp-tools <mcp-tools@users.noreply.github.com>",
		Description: "Tools for agents over the Model Context Protocol\n" + about + ".", Homepage: home,
		DisableGlobbing: true, MTime: r.date,
	}
	info.RPM.BuildHost, info.RPM.Summary = "localhost", "Tools for agents over the Model Context Protocol"
	if format == "apk" {
		info.Release = "0"
	} else if err := r.addService(info, add); err != nil {
		return nil, err
	}
	for _, f := range all {
		info.Contents = append(info.Contents, &files.Content{
			Source: f.from, Destination: f.path, Type: f.kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.date},
		})
	}
	return nfpm.WithDefaults(info), nil
}

// addService adds the unit, its settings and the scripts, and recommends the packages that
// tools use.
func (r *release) addService(info *nfpm.Info, add func(entry, string, fs.FileMode, string) error) error {
	for _, f := range []struct {
		name, path string
		mode       fs.FileMode
		kind       string
	}{
		{"mcp-tools.service", "/usr/lib/systemd/system/mcp-tools.service", 0o644, ""},
		{"config.yaml", "/etc/mcp-tools/config.yaml", 0o644, files.TypeConfigNoReplace},
		{"environment", "/etc/default/mcp-tools", 0o640, files.TypeConfigNoReplace},
	} {
		data, err := packed("systemd/" + f.name)
		if err != nil {
			return err
		}
		if err := add(entry{name: f.name, data: data}, f.path, f.mode, f.kind); err != nil {
			return err
		}
	}
	for name, script := range map[string]*string{
		"postinstall.sh": &info.Scripts.PostInstall, "preremove.sh": &info.Scripts.PreRemove,
		"postremove.sh": &info.Scripts.PostRemove,
	} {
		data, err := packed("scripts/" + name)
		if err != nil {
			return err
		}
		if *script, err = r.stage(entry{name: name, data: data}); err != nil {
			return err
		}
	}
	info.Recommends = []string{"ca-certificates", "git", "ripgrep"}
	info.Suggests = []string{"tesseract-ocr", "chromium"}
	return nil
}

// stage writes an entry to a file, because packagers read files.
func (r *release) stage(e entry) (string, error) {
	name := filepath.Join(r.work, "stage", e.name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	return name, os.WriteFile(name, e.data, 0o644)
}
