// Command release builds everything that users install, from the last commit of a checkout:
// archives, packages for Linux and npm, container images, bundles and extensions of clients, lists
// for package managers, bills of materials and checksums. It needs Go, make and git, and no Docker
// daemon. The same commit gives the same bytes.
//
// It is a module of its own, so that its dependencies do not become dependencies of the
// program. Begin with run; files has the other files of the packages.
package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"aead.dev/minisign"
)

//go:embed all:files
var sources embed.FS

const (
	about = "Files, commands, web pages, documents and memory for agents, with approvals and a sandbox"
	home  = "https://github.com/mcp-tools/mcp-tools"
	image = "ghcr.io/mcp-tools/mcp-tools"
)

// A release is one version that is being built.
type release struct {
	out  string // gets the finished files
	work string // temporary
	src  string // a checkout of the commit

	version  string    // without v
	date     time.Time // of the commit
	programs []program
	docs     []entry // for all archives
	manual   []entry
	complete []entry
	debian   bool                 // build the larger image too
	key      *minisign.PrivateKey // signs the checksums; nil for none
	public   string               // key that the programs know, "" for none
}

func main() {
	from := flag.String("from", ".", "checkout whose last commit is built")
	out := flag.String("out", "dist", "directory for the results; it is emptied")
	only := flag.String("only", "", "platforms, such as linux/amd64,windows/amd64 (default: all six)")
	debian := flag.Bool("debian", false, "build the larger image too, from packages of Debian; needs apt and dpkg")
	flag.Parse()
	if err := run(*from, *out, *only, *debian); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func platforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
}

func run(from, out, only string, debian bool) error {
	wanted := platforms()
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	work, err := os.MkdirTemp("", "mcp-tools-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	r := &release{out: out, work: work, src: filepath.Join(work, "src"), debian: debian}
	if err := r.readKey(); err != nil {
		return err
	}
	if err := r.checkout(from); err != nil {
		return err
	}
	if err := r.build(wanted); err != nil {
		return err
	}
	for _, step := range []func() error{
		r.archives, r.packages, r.npm, r.bundles, r.images, r.plugins, r.deployments, r.listings, r.bills, r.sums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// path returns the path of a result.
func (r *release) path(name string) string { return filepath.Join(r.out, name) }

// name returns the file name of a result for a platform.
func (r *release) name(p program, ending string) string {
	return fmt.Sprintf("mcp-tools_%s_%s_%s%s", r.version, p.os, p.arch, ending)
}

// url returns the address of a result.
func (r *release) url(name string) string {
	return home + "/releases/download/v" + r.version + "/" + name
}

// An asset is a result that a list refers to.
type asset struct{ OS, CPU, Scoop, Dir, URL, SHA256 string }

func (r *release) asset(p program, ending string) (asset, error) {
	sum, err := digest(r.path(r.name(p, ending)))
	return asset{
		OS:    map[string]string{"darwin": "macos"}[p.os],
		CPU:   map[string]string{"amd64": "intel", "arm64": "arm"}[p.arch],
		Scoop: map[string]string{"amd64": "64bit", "arm64": "arm64"}[p.arch],
		Dir:   r.name(p, ""), URL: r.url(r.name(p, ending)), SHA256: sum,
	}, err
}

// fill returns a file of files with the marks [[ ]] replaced.
func (r *release) fill(name string, values map[string]any) ([]byte, error) {
	text, err := sources.ReadFile("files/" + name)
	if err != nil {
		return nil, err
	}
	all := map[string]any{"Semver": r.version, "About": about, "Home": home, "Image": image + ":" + r.version}
	for key, value := range values {
		all[key] = value
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, all)
	return b.Bytes(), err
}

// tree returns the files below a directory of files, filled, with names below prefix.
func (r *release) tree(dir, prefix string, filled func(name string) bool) (all []entry, err error) {
	root := "files/" + dir
	err = fs.WalkDir(sources, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(name)
		if err == nil && filled(name) {
			data, err = r.fill(strings.TrimPrefix(name, "files/"), nil)
		}
		all = append(all, entry{name: prefix + strings.TrimPrefix(name, root+"/"), data: data})
		return err
	})
	return all, err
}

// plugins writes the plugins of clients. They start the mcp-tools of the PATH.
func (r *release) plugins() error {
	all, err := r.tree("plugins", "mcp-tools-plugins/", func(string) bool { return true })
	if err != nil {
		return err
	}
	return writeTarGz(r.path("mcp-tools_"+r.version+"_plugins.tar.gz"), r.date, all)
}

// deployments writes the Helm chart and the example for Docker Compose.
func (r *release) deployments() error {
	chart, err := r.tree("chart", "mcp-tools/", func(name string) bool { return strings.HasSuffix(name, "Chart.yaml") })
	if err != nil {
		return err
	}
	if err := writeTarGz(r.path("mcp-tools-"+r.version+".tgz"), r.date, chart); err != nil {
		return err
	}
	compose, err := r.tree("compose", "mcp-tools-compose/", func(string) bool { return true })
	if err != nil {
		return err
	}
	return writeTarGz(r.path("mcp-tools_"+r.version+"_compose.tar.gz"), r.date, compose)
}

// listings writes the lists for package managers and registries. They name digests, so the
// other files are finished before.
func (r *release) listings() error {
	var bundles, windows []asset
	type system struct {
		OS       string
		Archives []asset
	}
	systems := map[string]*system{"darwin": {OS: "macos"}, "linux": {OS: "linux"}}
	for _, p := range r.programs {
		bundle, err := r.asset(p, ".mcpb")
		if err != nil {
			return err
		}
		bundles = append(bundles, bundle)
		archive, err := r.asset(p, p.archive())
		if err != nil {
			return err
		}
		if p.os == "windows" {
			windows = append(windows, archive)
		} else {
			systems[p.os].Archives = append(systems[p.os].Archives, archive)
		}
	}
	values := map[string]any{
		"Bundles": bundles, "Windows": windows, "Homebrew": []*system{systems["darwin"], systems["linux"]},
	}
	for _, name := range []string{"server.json", "mcp-tools.rb", "mcp-tools.json", "latest.json"} {
		text, err := r.fill(name, values)
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.path(name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sums writes the checksums of all results, in the format of sha256sum.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		sum, err := digest(r.path(e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+e.Name()+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	text := []byte(strings.Join(lines, ""))
	if err := os.WriteFile(r.path("SHA256SUMS"), text, 0o644); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Fprintf(os.Stderr, "release: SHA256SUMS is not signed: %s names no file with a key of minisign\n", keyEnv)
		return nil
	}
	// upgrade --check wants the version in the comment, which is signed too.
	signature := minisign.SignWithComments(*r.key, text, "mcp-tools v"+r.version, "signature of a release of mcp-tools")
	fmt.Fprintf(os.Stderr, "release: SHA256SUMS is signed; the public key is %s\n", r.public)
	return os.WriteFile(r.path("SHA256SUMS.minisig"), signature, 0o644)
}

// Environment variables with a file that has a key of minisign, and its password, if it has one; and with the
// public key alone, to build the programs of a release again without the other key.
const (
	keyEnv      = "MCP_TOOLS_RELEASE_KEY"
	passwordEnv = "MCP_TOOLS_RELEASE_PASSWORD"
	publicEnv   = "MCP_TOOLS_RELEASE_PUBLIC_KEY"
)

// readKey reads the key that signs, if there is one.
func (r *release) readKey() error {
	r.public = os.Getenv(publicEnv)
	name := os.Getenv(keyEnv)
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: %w", keyEnv, err)
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		key, err = minisign.DecryptKey(os.Getenv(passwordEnv), text)
	} else {
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return fmt.Errorf("%s has no key of minisign, or %s is not its password: %w", name, passwordEnv, err)
	}
	r.key, r.public = &key, key.Public().(minisign.PublicKey).String()
	return nil
}

func digest(name string) (string, error) {
	data, err := os.ReadFile(name)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// packed returns a file of files as it is.
func packed(name string) ([]byte, error) { return sources.ReadFile("files/" + name) }
