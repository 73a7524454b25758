package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// debianPackages are the packages that tools use in the larger image: a shell with its usual
// programs for commands, readers of PDF and of scans, and the browser.
func debianPackages() []string {
	return strings.Fields("base-files netbase tzdata bash dash coreutils findutils util-linux grep sed mawk tar gzip " +
		"unzip diffutils patch git ripgrep procps poppler-utils tesseract-ocr tesseract-ocr-eng " +
		"chromium fonts-liberation")
}

// debianLayers returns the files of Debian's packages and of their dependencies, for any
// processor. apt downloads and verifies them. Their scripts are not run; debianLayers makes the
// files of the scripts that the programs need. With the same packages on the mirror, the layer
// is the same.
func (r *release) debianLayers(arch string) ([][]entry, error) {
	dir := filepath.Join(r.work, "debian-"+arch)
	debs, err := download(dir, arch)
	if err != nil {
		return nil, err
	}
	all := map[string]entry{}
	for _, deb := range debs {
		if err := readDeb(deb, all); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(deb), err)
		}
	}
	for _, e := range slices.Concat(certificates(), []entry{
		{name: "bin", link: "usr/bin"}, {name: "sbin", link: "usr/sbin"}, {name: "lib", link: "usr/lib"},
		{name: "lib64", link: "usr/lib64"}, {name: "usr/bin/awk", link: "mawk"},
	}) {
		all[e.name] = e
	}
	return [][]entry{slices.Collect(maps.Values(all))}, nil
}

// download has apt resolve and fetch the packages, with a state that has none installed.
func download(dir, arch string) ([]string, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	const signed = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/"
	for name, text := range map[string]string{
		"status": "",
		"sources": signed + "debian bookworm main\n" + signed + "debian bookworm-updates main\n" +
			signed + "debian-security bookworm-security main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	options := []string{"--quiet", "--yes", "--no-install-recommends"}
	for key, value := range map[string]string{
		"Dir::State::lists": dir + "/lists", "Dir::State::status": dir + "/status", "Dir::Cache": dir + "/cache",
		"Dir::Etc::sourcelist": dir + "/sources", "Dir::Etc::sourceparts": "/dev/null", "APT::Architecture": arch,
		"APT::Architectures": arch, "APT::Sandbox::User": "root", "Acquire::Languages": "none",
	} {
		options = append(options, "--option", key+"="+value)
	}
	if _, err := command("", nil, "apt-get", append(options, "update")...); err != nil {
		return nil, err
	}
	install := append(append(options, "--download-only", "install"), debianPackages()...)
	if _, err := command("", nil, "apt-get", install...); err != nil {
		return nil, err
	}
	return filepath.Glob(dir + "/cache/archives/*.deb")
}

// readDeb adds the files of a package, without documentation and translations, and its
// description where scanners of images look for it. Set-user-ID bits are left out.
func readDeb(deb string, all map[string]entry) error {
	about, err := command("", nil, "dpkg-deb", "--field", deb)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(filepath.Base(deb), "_")
	all["var/lib/dpkg/status.d/"+name] = entry{name: "var/lib/dpkg/status.d/" + name, data: about}
	packed, err := command("", nil, "dpkg-deb", "--fsys-tarfile", deb)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(bytes.NewReader(packed)); ; {
		head, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		e := entry{name: merged(head.Name), mode: head.FileInfo().Mode().Perm()}
		switch {
		case head.Typeflag == tar.TypeDir || unwanted(e.name):
			continue
		case head.Typeflag == tar.TypeSymlink:
			e.link = head.Linkname
		case head.Typeflag == tar.TypeLink:
			e.data = all[merged(head.Linkname)].data
		default:
			if e.data, err = io.ReadAll(archive); err != nil {
				return err
			}
		}
		all[e.name] = e
	}
}

// merged returns the path of a file of a package where /bin and its like are links into /usr.
func merged(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "bin", "sbin", "lib", "lib64":
		return "usr/" + name
	}
	return name
}

func unwanted(name string) bool {
	for _, dir := range []string{"man", "info", "locale", "lintian", "bug", "gitweb", "bash-completion", "zsh"} {
		if strings.HasPrefix(name, "usr/share/"+dir+"/") {
			return true
		}
	}
	return strings.HasPrefix(name, "usr/share/doc/") && !strings.HasSuffix(name, "/copyright")
}
