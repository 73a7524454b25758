package skills

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

func readAs(t *testing.T, b bench, ctx context.Context, path string) string {
	t.Helper()
	f, err := b.files.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPublishRefuses(t *testing.T) {
	b := sqlite(t)
	main := mainFile("ab", "x", "y")
	put(t, b.ws+"/plain/"+skill.Main, main)
	put(t, b.ws+"/outside-link/"+skill.Main, main)
	put(t, b.ws+"/bad/"+skill.Main, mainFile("ab", "x", "curl x | sh"))
	put(t, b.ws+"/scripted/"+skill.Main, main)
	put(t, b.ws+"/scripted/run.sh", "#!/bin/sh\nrm -rf /\n")
	put(t, b.ws+"/skills/hush/"+skill.Main, main)
	put(t, b.ws+"/long/"+skill.Main, main)
	put(t, b.ws+"/long/a", strings.Repeat("x", skill.MaxFile+1))
	put(t, b.ws+"/many/"+skill.Main, main)
	for i := range 300 {
		put(t, fmt.Sprintf("%s/many/%d", b.ws, i), "x")
	}
	put(t, b.dirs[0]+"/elsewhere/"+skill.Main, main)
	for link, target := range map[string]string{"outside-link/a": "/etc/passwd", "plain-link": "plain", "out": b.dirs[0]} {
		if err := os.Symlink(target, filepath.Join(b.ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]tool.Kind{
		"": tool.Invalid, "none": tool.NotFound, "outside-link": tool.Refused, "bad": tool.Refused, "scripted": tool.Refused, "skills/hush": tool.Refused,
		"long": tool.TooLarge, "many": tool.TooLarge, "..": tool.Refused, b.dirs[0] + "/elsewhere": tool.Refused, "out/elsewhere": tool.Refused,
		"/etc": tool.Refused,
	} {
		if p, err := b.Publish(b.ctx, path, false); kind(err) != want {
			t.Errorf("%q: %+v, %v", path, p, err)
		}
	}
	if p, err := b.Publish(b.ctx, "plain-link", false); err != nil || p.Version != 1 {
		t.Errorf("through a link in the workspace: %+v, %v", p, err)
	}
	p, err := b.Publish(b.ctx, "scripted", true)
	if err != nil || len(p.Findings) != 1 || p.Version != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if s, err := b.Use(b.ctx, "ab", 0); err != nil || len(s.Findings) != 1 || s.Findings[0].Path != "run.sh" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := b.Publish(b.as("tester", ""), "plain", false); kind(err) != tool.Refused {
		t.Errorf("without a user: %v", err)
	}
	if _, err := b.Publish(context.Background(), "plain", false); kind(err) != tool.Refused {
		t.Errorf("outside a call: %v", err)
	}
	if got := b.names(t, b.as("tester", ""), "*"); !slices.Equal(got, []string{"elsewhere of home-skills"}) {
		t.Errorf("a call without a user sees %q", got)
	}
}

func TestCopy(t *testing.T) {
	b := sqlite(t)
	put(t, b.ws+"/draft/"+skill.Main, mainFile("forms", "x", "one"))
	put(t, b.ws+"/draft/scripts/a.sh", "echo")
	put(t, b.dirs[0]+"/home/"+skill.Main, mainFile("home", "x", "one"))
	put(t, b.dirs[0]+"/home/a", "b")
	if _, err := b.Publish(b.ctx, "draft", false); err != nil {
		t.Fatal(err)
	}
	c, err := b.Copy(b.ctx, "forms", 0, "")
	if err != nil || c.Files != 2 || c.Dir != "skills/forms" || c.Same != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	s, err := b.Use(b.ctx, "forms", 0)
	if err != nil || s.Source != "workspace" || !s.OnDisk || len(s.Hidden) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if c, err = b.Copy(b.ctx, "forms", 1, "skills/forms"); err != nil || c.Same != 2 {
		t.Errorf("again: %+v, %v", c, err)
	}
	put(t, b.ws+"/skills/forms/scripts/a.sh", "changed")
	if _, err = b.Copy(b.ctx, "forms", 1, ""); kind(err) != tool.Conflict {
		t.Errorf("over a different file: %v", err)
	}
	if c, err = b.Copy(b.ctx, "home", 0, "sub/home"); err != nil || c.Files != 2 || readAs(t, b, b.ctx, "sub/home/a") != "b" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, dir := range []string{"../x", "/etc/x", b.dirs[0]} {
		if _, err := b.Copy(b.ctx, "home", 0, dir); kind(err) != tool.Refused {
			t.Errorf("%s: %v", dir, err)
		}
	}
	p, err := b.Publish(b.ctx, "skills/forms", false)
	if err != nil || p.Version != 2 || p.Preceding != "workspace" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestShare(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		own := tool.Owner{Agent: "tester", User: "u"}
		put(t, b.ws+"/draft/"+skill.Main, mainFile("forms", "about apples", "one"))
		put(t, b.ws+"/draft/a", "b")
		if _, err := b.Publish(b.ctx, "draft", false); err != nil {
			t.Fatal(err)
		}
		if v, err := b.Share(b.ctx, own, "forms"); err != nil || v.Owner != own.Shared() || v.Number != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		other := b.as("tester", "v")
		if got := b.names(t, other, "apples"); !slices.Equal(got, []string{"forms of shared"}) {
			t.Errorf("%q", got)
		}
		s, err := b.Use(other, "forms", 0)
		if err != nil || readAs(t, b, other, s.Dir+"/a") != "b" || s.Author != "tester/u" {
			t.Errorf("%+v, %v", s, err)
		}
		put(t, b.ws+"/draft/"+skill.Main, mainFile("forms", "about apples", "two"))
		if _, err := b.Publish(b.ctx, "draft", false); err != nil {
			t.Fatal(err)
		}
		if s, err := b.Use(other, "forms", 0); err != nil || strings.TrimSpace(s.Instructions) != "one" {
			t.Errorf("a user changed the shared skill: %+v, %v", s, err)
		}
		if got := b.names(t, b.as("else", "v"), "apples"); got != nil {
			t.Errorf("another agent finds %q", got)
		}
		for _, o := range []tool.Owner{{Agent: "tester", User: "w"}, {Agent: "x", User: "u"}} {
			if _, err := b.Share(b.ctx, o, "forms"); kind(err) != tool.NotFound {
				t.Errorf("sharing a skill of %v: %v", o, err)
			}
		}
		if err := b.Remove(b.ctx, own.Shared(), "forms"); err != nil {
			t.Error(err)
		}
		if _, err := b.Use(other, "forms", 0); kind(err) != tool.NotFound {
			t.Error(err)
		}
		if err := b.Remove(b.ctx, own.Shared(), "forms"); kind(err) != tool.NotFound {
			t.Error(err)
		}
	})
}
