package clients

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkedFile checks settings that are a link to a file elsewhere, as
// dotfile managers create them: the link stays, its target changes, and the
// backup is in the directory of the link.
func TestLinkedFile(t *testing.T) {
	c, env := mustFind(t, "zed"), testEnv(t)
	path, target := c.Path(env), filepath.Join(env.WorkDir, "dotfiles", "zed.json")
	const text = "// linked\n{}\n"
	write(t, target, text)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	ch, err := c.Connect(env, stdioServer())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.Readlink(path); got != target {
		t.Errorf("the link now leads to %q", got)
	}
	if !strings.Contains(read(t, target), "mcp-tools") || filepath.Dir(ch.Backup) != filepath.Dir(path) {
		t.Errorf("the target says %q, the backup is %q", read(t, target), ch.Backup)
	}
	const after = "// linked\n{\n  \"context_servers\": {}\n}\n"
	if _, err := c.Disconnect(env, "mcp-tools"); err != nil || read(t, target) != after {
		t.Errorf("after disconnecting: %q, %v", read(t, target), err)
	}
}

// TestLinkedFileIsNotRemoved keeps a file that the user has linked, even if it has only our entry.
func TestLinkedFileIsNotRemoved(t *testing.T) {
	c, env := mustFind(t, "cursor"), testEnv(t)
	target := filepath.Join(env.WorkDir, "cursor.json")
	ours, err := c.Render(stdioServer())
	if err != nil {
		t.Fatal(err)
	}
	write(t, target, string(ours))
	if err := os.MkdirAll(filepath.Dir(c.Path(env)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, c.Path(env)); err != nil {
		t.Fatal(err)
	}
	if ch, err := c.Disconnect(env, "mcp-tools"); err != nil || ch.Removed {
		t.Errorf("%+v, %v", ch, err)
	}
	if got := read(t, target); got != "{\n  \"mcpServers\": {}\n}\n" {
		t.Errorf("the target says %q", got)
	}
}

func TestModeIsKept(t *testing.T) {
	c, env := mustFind(t, "cursor"), testEnv(t)
	path := c.Path(env)
	write(t, path, "{\"a\": 1}")
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		ch, err := c.Connect(env, stdioServer())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, ch.Backup} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s has mode %v, %v; want %v", p, info.Mode(), err, mode)
			}
		}
		if _, err := c.Disconnect(env, "mcp-tools"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProjectFile checks that a project's file has the permissions of a source file, since others read it.
func TestProjectFile(t *testing.T) {
	env := testEnv(t)
	c, err := mustFind(t, "vscode").Project()
	if err != nil {
		t.Fatal(err)
	}
	ch, err := c.Connect(env, Server{Name: "mcp-tools", URL: "https://host/mcp", TokenEnv: "TOKEN"})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(ch.Path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestBackupsAreNeverOverwritten checks that each of several changes within one
// second has its own backup.
func TestBackupsAreNeverOverwritten(t *testing.T) {
	c, env := mustFind(t, "cursor"), testEnv(t)
	write(t, c.Path(env), "{\"a\": 1}")
	seen := map[string]bool{}
	for range 3 {
		on, err := c.Connect(env, stdioServer())
		if err != nil {
			t.Fatal(err)
		}
		off, err := c.Disconnect(env, "mcp-tools")
		if err != nil {
			t.Fatal(err)
		}
		seen[on.Backup], seen[off.Backup] = true, true
	}
	if len(seen) != 6 || !seen[c.Path(env)+".mcp-tools-backup-20260304-050607"] || !seen[c.Path(env)+".mcp-tools-backup-20260304-050607-6"] {
		t.Errorf("the backups are %v", seen)
	}
}

func TestUnusablePlaces(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		prepare    func(t *testing.T, path string)
	}{
		{"a directory", "not an ordinary file", func(t *testing.T, path string) {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link to nothing", "link to a file that is not there", func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(t.TempDir(), "gone"), path); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file in the place of the directory", "not a directory", func(t *testing.T, path string) {
			write(t, filepath.Dir(path), "")
		}},
		{"far too large", "add the entry by hand", func(t *testing.T, path string) {
			write(t, path, "{}")
			if err := os.Truncate(path, maxFile+1); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, c := range []Client{mustFind(t, "cursor"), mustFind(t, "codex")} {
				env := testEnv(t)
				tc.prepare(t, c.Path(env))
				if _, err := c.Connect(env, stdioServer()); err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: connecting says %v, want %q", c.Name, err, tc.want)
				}
				if _, err := c.Disconnect(env, "mcp-tools"); err == nil {
					t.Errorf("%s: disconnecting works", c.Name)
				}
			}
		})
	}
}

// TestReadOnlyDirectory checks that a directory without write permission stays
// unchanged, without temporary files.
func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	for _, c := range All() {
		env := testEnv(t)
		path := c.Path(env)
		write(t, path, "")
		dir := filepath.Dir(path)
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		if _, err := c.Connect(env, stdioServer()); err == nil || !strings.Contains(err.Error(), "yours to write to") {
			t.Errorf("%s: %v", c.Name, err)
		}
		if got := read(t, path); got != "" {
			t.Errorf("%s: the file became %q", c.Name, got)
		}
	}
}

// TestChangedMeanwhile has a client that writes its file during the edit: its version stays, and the error says
// so.
func TestChangedMeanwhile(t *testing.T) {
	for name, meddle := range map[string]func(path string) error{
		"written": func(path string) error { return os.WriteFile(path, []byte("{\"new\": 1}"), 0o600) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			write(t, path, "{}")
			file, err := readSettings(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := meddle(path); err != nil {
				t.Fatal(err)
			}
			want, _ := os.ReadFile(path)
			now := testEnv(t).now()
			if _, err := file.replace([]byte("{\"ours\": 1}"), false, now); err == nil {
				t.Error("replace went over it")
			}
			if _, err := file.remove(now); err == nil {
				t.Error("remove went over it")
			}
			if got, _ := os.ReadFile(path); string(got) != string(want) {
				t.Errorf("the file says %q", got)
			}
			entries, _ := os.ReadDir(filepath.Dir(path))
			if len(entries) > 1 {
				t.Errorf("files were left behind: %v", entries)
			}
		})
	}
	t.Run("created", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "settings.json")
		file, err := readSettings(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, "{\"new\": 1}")
		if _, err := file.replace([]byte("{}"), false, testEnv(t).now()); err == nil {
			t.Error("replace went over it")
		}
		untouched(t, path, "{\"new\": 1}")
	})
}
