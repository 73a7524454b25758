package skills

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const canary = "canary text"

// FuzzPaths publishes, copies and reads any path. Files outside of the workspace and denied ones must never be
// returned, and nothing must be written outside.
func FuzzPaths(f *testing.F) {
	b := sqlite(f)
	outside := filepath.Dir(b.ws)
	put(f, b.ws+"/draft/"+skill.Main, mainFile("forms", "x", "fine"))
	put(f, b.ws+"/draft/a/b.txt", "fine")
	for _, dir := range []string{outside + "/beside", b.ws + "/skills/hush", b.dirs[1] + "/theirs"} {
		put(f, dir+"/"+skill.Main, mainFile("canary", "x", canary))
	}
	for link, target := range map[string]string{
		"up": "..", "theirs": b.dirs[1], "draft/link": outside + "/beside/" + skill.Main, "skills/linked": outside + "/beside",
	} {
		if err := os.Symlink(target, filepath.Join(b.ws, link)); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Remove(b.ws + "/draft/link"); err != nil {
		f.Fatal(err)
	}
	if _, err := b.Publish(b.ctx, "draft", false); err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{
		"draft", "../beside", "up/beside", "skills/hush", "skills/linked", "theirs/theirs", "~", "/", ".git", "draft/../../beside", "@draft", "file://" + outside + "/beside",
		outside + "/beside", "skills/forms@1", "draft\x00", "draft/SKILL.md/..", "SKILL.md", "workspace_dir/draft", "file_cache_dir/x", "skill://theirs/../hush/SKILL.md",
	} {
		f.Add(path)
	}
	before, err := os.ReadDir(outside)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if p, err := b.Publish(b.ctx, path, true); err == nil && p.Name != "forms" {
			t.Errorf("%q: %+v was published", path, p)
		}
		if c, err := b.Copy(b.ctx, "forms", 1, path); err == nil {
			above := c.Dir == ".." || strings.HasPrefix(c.Dir, "../")
			if above || filepath.IsAbs(c.Dir) && !strings.HasPrefix(c.Dir, b.ws) {
				t.Errorf("%q: copied to %s", path, c.Dir)
			}
		}
		for _, uri := range []string{path, "skill://forms/" + path, "skill://" + path} {
			part, err := b.Resource(b.ctx, uri)
			allowed := strings.HasPrefix(uri, "skill://theirs/")
			if err == nil && strings.Contains(part.Text+string(part.Data), canary) && !allowed {
				t.Errorf("%q: %+v", uri, part)
			}
		}
		if data, _, err := b.served.Read(b.ctx, path); err == nil && strings.Contains(string(data), canary) {
			t.Errorf("%q: %q", path, data)
		}
		_, err := b.Use(b.ctx, path, 0)
		if err == nil && strings.ContainsAny(path, "/\\.") && !skill.ValidSlug(skill.Slug(path)) {
			t.Errorf("%q was used", path)
		}
		if now, err := os.ReadDir(outside); err != nil || len(now) != len(before) {
			t.Fatalf("%q: files were written outside: %v, %v", path, now, err)
		}
	})
}
