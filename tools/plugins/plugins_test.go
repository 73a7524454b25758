package plugins

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// example returns the files of the plugin in the documentation.
func example(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^`([^`\n]+)`:\n\n```[a-z]*\n(.*?)^```").FindAllStringSubmatch(
		string(text), -1) {
		files[m[1]] = m[2]
	}
	if len(files) != 5 {
		t.Fatalf("the documentation has the files %v", slices.Sorted(maps.Keys(files)))
	}
	return files
}

// writeDir makes a directory of files. Those in bin are programs.
func writeDir(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(name, "bin/") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pack makes an archive tar.gz.
func pack(t *testing.T, headers []tar.Header, texts map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed) // there are 64 MB of zeros
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, h := range headers {
		h.Size = int64(len(texts[h.Name]))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(texts[h.Name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "plugin.tar.gz")
	if err := os.WriteFile(at, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// packed makes an archive with files in one directory, as those of repositories are.
func packed(t *testing.T, files map[string]string) string {
	t.Helper()
	var headers []tar.Header
	texts := map[string]string{}
	for name, text := range files {
		mode := int64(0o644)
		if strings.HasPrefix(name, "bin/") {
			mode = 0o755
		}
		texts["top/"+name] = text
		headers = append(headers, tar.Header{Name: "top/" + name, Mode: mode, Typeflag: tar.TypeReg})
	}
	return pack(t, headers, texts)
}

// states returns the states of all plugins, by name.
func states(t *testing.T, s Set) map[string]State {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]State{}
	for _, p := range list {
		all[p.Name] = p.State
	}
	return all
}

// TestExample installs the plugin of the documentation from an archive.
func TestExample(t *testing.T) {
	s := Set{Dirs: []string{filepath.Join(t.TempDir(), "plugins")}}
	files := example(t)
	p, err := s.Add(t.Context(), packed(t, files))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Dirs[0], "team-notes")
	if p.State != Enabled || p.Path != dir || len(p.Tools) != 1 || !slices.Equal(p.Skills, []string{"write-note"}) ||
		!slices.Equal(p.Context, []string{"TOOLS.md"}) || p.contents.Servers["wiki"].URL == "" {
		t.Errorf("added %+v", p)
	}
	usable, off, err := s.Enabled()
	if err != nil || len(usable) != 1 || len(off) != 0 || usable[0].Digest != p.Digest {
		t.Fatalf("in force %v, off %v, %v", usable, off, err)
	}
	program := usable[0].Tools[0].Command[0][0]
	if info, err := os.Stat(program); err != nil || program != filepath.Join(dir, "bin", "find") ||
		runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("the tool runs %s: %v", program, err)
	}
	// The directory that was unpacked and the one that was packed are equal.
	if same := load(writeDir(t, filepath.Join(t.TempDir(), "team-notes"), files), nil); runtime.GOOS != "windows" &&
		same.Digest != p.Digest {
		t.Error("the digest depends on the form of the plugin")
	}
}

// TestChangesNeedAgreement changes, adds and removes files of an enabled plugin.
func TestChangesNeedAgreement(t *testing.T) {
	s := Set{Dirs: []string{t.TempDir()}}
	dir := writeDir(t, filepath.Join(s.Dirs[0], "team-notes"), example(t))
	if got := states(t, s)["team-notes"]; got != Disabled {
		t.Fatalf("a plugin that was found is %s", got)
	}
	if _, err := s.Enable(t.Context(), "team-notes"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct {
		do   func() error
		want string
	}{
		"a changed file": {func() error {
			return os.WriteFile(filepath.Join(dir, "bin", "find"), []byte("#!/bin/sh\nid\n"), 0o755)
		}, "changed  bin/find"},
		"a new file": {func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644) }, "added    new"},
		"a removed file": {func() error { return os.RemoveAll(filepath.Join(dir, "context")) },
			"removed  context/TOOLS.md"},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		if usable, off, err := s.Enabled(); err != nil || len(usable) != 0 || len(off) != 1 ||
			off[0].State != Changed ||
			!slices.Equal(off[0].Changes, []string{change.want}) {
			t.Fatalf("%s: in force %v, off %+v, %v", name, usable, off, err)
		}
		if p, err := s.Enable(t.Context(), "team-notes"); err != nil || p.State != Enabled {
			t.Fatalf("%s: %s, %v", name, p.State, err)
		}
		if usable, _, err := s.Enabled(); err != nil || len(usable) != 1 {
			t.Fatalf("%s: not in force after the agreement: %v", name, err)
		}
	}
	if err := s.Disable(t.Context(), "team-notes"); err != nil {
		t.Fatal(err)
	}
	if usable, off, err := s.Enabled(); err != nil || len(usable)+len(off) != 0 {
		t.Errorf("a disabled plugin is in force: %v %v %v", usable, off, err)
	}
	if err := s.Remove(t.Context(), "team-notes"); err != nil || isDir(dir) {
		t.Errorf("not removed: %v", err)
	}
	if _, err := s.Get("team-notes"); !errors.Is(err, ErrUnknown) {
		t.Errorf("after the removal: %v", err)
	}
	o := operator{set: func() (Set, error) { return s, nil }}
	for name, verb := range map[string]func(context.Context, nameArgs) (tool.Result, error){
		"show": o.show, "enable": o.enable, "disable": o.disable, "remove": o.remove,
	} {
		if _, err := verb(t.Context(), nameArgs{"team-notes"}); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("%s after the removal: %v", name, err)
		}
	}
}

// TestNewerVersionReplaces adds a plugin twice, and says what differs.
func TestNewerVersionReplaces(t *testing.T) {
	s := Set{Dirs: []string{t.TempDir()}}
	files := example(t)
	if _, err := s.Add(t.Context(), packed(t, files)); err != nil {
		t.Fatal(err)
	}
	files["plugin.yaml"] = strings.Replace(files["plugin.yaml"], "1.0.0", "1.1.0", 1)
	delete(files, "context/TOOLS.md")
	// A crash while it was replaced has left the former directory under another name.
	if err := os.Rename(filepath.Join(s.Dirs[0], "team-notes"),
		filepath.Join(s.Dirs[0], ".team-notes.old")); err != nil {
		t.Fatal(err)
	}
	if got := states(t, s)["team-notes"]; got != Missing {
		t.Errorf("a plugin without its directory is %s", got)
	}
	p, err := s.Add(t.Context(), packed(t, files))
	if err != nil || !slices.Equal(p.Changes, []string{"changed  plugin.yaml", "removed  context/TOOLS.md"}) {
		t.Fatalf("changes %v, %v", p.Changes, err)
	}
	if usable, _, err := s.Enabled(); err != nil || len(usable) != 1 || usable[0].Version != "1.1.0" {
		t.Errorf("in force %v, %v", usable, err)
	}
	entries, err := os.ReadDir(s.Dirs[0])
	if err != nil || len(entries) != 3 { // the plugin, the lock, and what is enabled
		t.Errorf("there is %v, %v", entries, err)
	}
}

// TestArchivesAreFound finds an archive in a directory, and unpacks it when it is enabled.
func TestArchivesAreFound(t *testing.T) {
	s := Set{Dirs: []string{t.TempDir(), t.TempDir()}}
	if err := os.Rename(packed(t, example(t)), filepath.Join(s.Dirs[1], "notes-1.tgz")); err != nil {
		t.Fatal(err)
	}
	if got := states(t, s)["team-notes"]; got != Packed {
		t.Fatalf("the archive is %s", got)
	}
	p, err := s.Enable(t.Context(), "team-notes")
	if err != nil || p.State != Enabled || p.Path != filepath.Join(s.Dirs[0], "team-notes") {
		t.Errorf("%s in %s: %v", p.State, p.Path, err)
	}
}

// TestHostileArchives refuses archives that reach out of their directory or are too large, and writes nothing.
func TestHostileArchives(t *testing.T) {
	manifest := "name: x\ndescription: X.\n"
	regular := func(name string) tar.Header { return tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg} }
	for name, try := range map[string]struct {
		entries []tar.Header
		text    string
		want    string
	}{
		"traversal":       {[]tar.Header{regular("../evil")}, "", "is not the path of a file"},
		"inner traversal": {[]tar.Header{regular("a/../../evil")}, "", "is not the path of a file"},
		"absolute":        {[]tar.Header{regular("/etc/evil")}, "", "is not the path of a file"},
		"backslashes":     {[]tar.Header{regular(`..\evil`)}, "", "is not the path of a file"},
		"a drive":         {[]tar.Header{regular("C:evil")}, "", "is not the path of a file"},
		"a link": {[]tar.Header{{Name: "evil", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}, "",
			"is a link or a special file"},
		"a hard link": {[]tar.Header{{Name: "evil", Linkname: "plugin.yaml", Typeflag: tar.TypeLink}}, "",
			"is a link or a special file"},
		"a pipe":       {[]tar.Header{{Name: "evil", Typeflag: tar.TypeFifo}}, "", "is a link or a special file"},
		"twice":        {[]tar.Header{regular("evil"), regular("EVIL")}, "", "is there twice"},
		"both":         {[]tar.Header{regular("evil"), regular("evil/file")}, "", "in a directory that is a file"},
		"a bomb":       {[]tar.Header{regular("evil")}, strings.Repeat("\x00", maxBytes+1), "have more than"},
		"no manifest":  {nil, "", "it has no plugin.yaml"},
		"other fields": {[]tar.Header{regular("plugin.yaml")}, manifest + "run: id\n", "field run not found"},
		"a wrong name": {[]tar.Header{regular("plugin.yaml")}, "name: ../x\ndescription: X.\n", "name is"},
		"a wrong tool": {[]tar.Header{regular("plugin.yaml"), regular("tools/a.yaml")}, manifest, "tools/a.yaml: "},
		"its own SOUL": {[]tar.Header{regular("plugin.yaml"), regular("context/SOUL.md")}, manifest,
			"a plugin has only"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Set{Dirs: []string{t.TempDir()}}
			texts := map[string]string{}
			for _, h := range try.entries {
				if h.Typeflag == tar.TypeReg && try.text != "" {
					texts[h.Name] = try.text
				}
			}
			if _, err := s.Add(t.Context(), pack(t, try.entries, texts)); err == nil ||
				!strings.Contains(err.Error(), try.want) {
				t.Errorf("error %v, want %q", err, try.want)
			}
			if list, err := s.List(); err != nil || len(list) != 0 {
				t.Errorf("there is %v, %v", list, err)
			}
		})
	}
}

// TestManyFilesAreRefused reads archives with more files than a plugin may have.
func TestManyFilesAreRefused(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range maxFiles + 1 {
		if _, err := w.Create(strings.Repeat("a", 1+i%50) + "/" + strings.Repeat("b", 1+i/50)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "many.zip")
	if err := os.WriteFile(at, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTree(at); err == nil || !strings.Contains(err.Error(), "more than 2000 files") {
		t.Errorf("error %v", err)
	}
}

// TestWhatIsMissing does not put plugins in force that cannot work here.
func TestWhatIsMissing(t *testing.T) {
	for name, more := range map[string]string{
		"it is for plan9":                 "platforms: [plan9]\n",
		"it needs the program no-such-it": "programs: [no-such-it]\n",
	} {
		s := Set{Dirs: []string{t.TempDir()}}
		writeDir(t, filepath.Join(s.Dirs[0], "x"),
			map[string]string{"plugin.yaml": "name: x\ndescription: X.\n" + more})
		if _, err := s.Enable(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if usable, off, err := s.Enabled(); err != nil || len(usable) != 0 || len(off) != 1 ||
			off[0].State != Lacking ||
			!strings.HasPrefix(off[0].Why, name) {
			t.Errorf("in force %v, off %+v, %v", usable, off, err)
		}
	}
}

// TestLinksAreRefused does not read a directory with a link.
func TestLinksAreRefused(t *testing.T) {
	dir := writeDir(t, filepath.Join(t.TempDir(), "x"), map[string]string{"plugin.yaml": "name: x\ndescription: X.\n"})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if p := load(dir, nil); p.State != Broken || !strings.Contains(p.Why, "is a link") {
		t.Errorf("%s: %s", p.State, p.Why)
	}
}
