package fs

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs/patch"
)

func enveloped(sections string) string { return "*** Begin Patch\n" + sections + "*** End Patch\n" }

func TestApplyPatch(t *testing.T) {
	version := func(content string) string { return VersionOf([]byte(content)) }
	d := newDesk(map[string]string{"a.go": "one\ntwo\nthree\n", "b.go": "x\r\ny", "old": "gone", "run": "#!\n"})
	d.modes["b.go"] = 0o755
	got, err := call(inSession(t), t, tool.New(applyPatch{d, &Seen{}, nil}), map[string]any{"input": enveloped(
		"*** Add File: docs/new.md\n+# New\n+text\n" +
			"*** Update File: a.go\n@@ -7,2 +7,2 @@\n two\n-three\n+3\n" +
			"*** Update File: b.go\n*** Move to: c.go\n-y\n+z\n" +
			"*** Update File: run\n*** Move to: bin/run\n" +
			"*** Delete File: old\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := `applied to 5 files; to undo it use undo call1
A docs/new.md (2 lines), version ` + version("# New\ntext\n") + `
M a.go (+1 -1), version ` + version("one\ntwo\n3\n") + `
  hunk 1: at line 2, not 7
R b.go -> c.go (+1 -1), version ` + version("x\r\nz") + `
R run -> bin/run
D old`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"docs/new.md": "# New\ntext\n", "a.go": "one\ntwo\n3\n", "c.go": "x\r\nz", "bin/run": "#!\n"}, d.files); diff != "" {
		t.Error(diff)
	}
	if d.modes["c.go"] != 0o755 {
		t.Errorf("the mode became %o", d.modes["c.go"])
	}
}

func TestApplyPatchForOneFile(t *testing.T) {
	d := newDesk(map[string]string{"f": "a\nb\n"})
	one := tool.New(applyPatch{d, &Seen{}, nil})
	diff := "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
	got, err := call(inSession(t), t, one, map[string]any{"path": "f", "patch": diff, "dry_run": true})
	if err != nil || got != "the patch applies; nothing was changed\nM f (+1 -1)" || d.changes != 0 {
		t.Errorf("%q %v", got, err)
	}
	if _, err = call(inSession(t), t, one, map[string]any{"path": "f", "diff": diff}); err != nil || d.files["f"] != "a\nc\n" {
		t.Errorf("%q %v", d.files["f"], err)
	}
	if _, err = call(inSession(t), t, one, map[string]any{"path": "f", "patch": "--- a/elsewhere\n+++ b/elsewhere\n@@ -2 +2 @@\n-c\n+d\n"}); err != nil || d.files["f"] != "a\nd\n" {
		t.Errorf("%q %v", d.files["f"], err)
	}
	mode := "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
	if _, err = call(inSession(t), t, one, map[string]any{"patch": mode}); err != nil || d.files["f"] != "a\nd\n" ||
		d.modes["f"] != 0o755 {
		t.Errorf("%q %o %v", d.files["f"], d.modes["f"], err)
	}
}

func TestApplyPatchRefuses(t *testing.T) {
	files := map[string]string{"a": "one\ntwo\n", "b": "x\n", "secret": "key: abc\nnext\n", "big": strings.Repeat("x", patch.MaxFileBytes+1)}
	for name, test := range map[string]struct {
		patch, path string
		want        string
		kind        tool.Kind
	}{
		"no patch":           {"change it", "", "neither", tool.Invalid},
		"no name":            {"@@ -1 +1 @@\n-one\n+1\n", "", "does not name the file; send path", tool.Invalid},
		"a name for several": {enveloped("*** Delete File: a\n*** Delete File: b\n"), "a", "for 2 files", tool.Invalid},
		"add what is there":  {enveloped("*** Add File: a\n+x\n"), "", `"a" exists already; update it`, tool.Conflict},
		"update nothing":     {enveloped("*** Update File: c\n-x\n+y\n"), "", `no file "c" to update; add it`, tool.NotFound},
		"delete nothing":     {enveloped("*** Delete File: c\n"), "", `no file "c" to delete`, tool.NotFound},
		"move onto a file":   {enveloped("*** Update File: a\n*** Move to: b\n"), "", `"b" exists already`, tool.Conflict},
		"no match":           {enveloped("*** Update File: a\n one\n-2\n+x\n"), "", "conflict: a: hunk 1 does not match", tool.Conflict},
		"several do not fit": {enveloped("*** Update File: a\n-2\n+x\n*** Update File: b\n-y\n+x\n*** Delete File: secret\n"), "", "the patch does not apply to 2 files, and nothing was changed\na: hunk 1", tool.Conflict},
		"a mask in the old":  {enveloped("*** Update File: secret\n-key: [REDACTED]\n-next\n+x\n"), "", "cannot be matched: choose lines around it", tool.Conflict},
		"a large file":       {enveloped("*** Update File: big\n-y\n+x\n"), "", "the maximum for a patch", tool.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(maps.Clone(files))
			_, err := call(inSession(t), t, tool.New(applyPatch{d, &Seen{}, nil}),
				map[string]any{"patch": test.patch, "path": test.path})
			if err == nil {
				t.Fatal("accepted")
			}
			if known := tool.AsError(err); known.Kind != test.kind || !strings.Contains(known.Error(), test.want) {
				t.Errorf("%v, want %s: %s", err, test.kind, test.want)
			}
			if !maps.Equal(files, d.files) || d.changes > 0 {
				t.Error("something was changed")
			}
		})
	}
}

func TestApplyPatchBoundsAllFiles(t *testing.T) {
	d := newDesk(map[string]string{})
	content := "y\n" + strings.Repeat("x", patch.MaxFileBytes-2)
	sections := ""
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.files[name] = content
		sections += "*** Update File: " + name + "\n-y\n+z\n"
	}
	_, err := call(inSession(t), t, tool.New(applyPatch{d, &Seen{}, nil}), map[string]any{"patch": enveloped(sections)})
	if err == nil || tool.AsError(err).Kind != tool.TooLarge {
		t.Error(err)
	}
}

func TestApplyPatchAndWhatWasSeen(t *testing.T) {
	ctx, seen := inSession(t), &Seen{}
	caller := tool.CallerFrom(ctx)
	d := newDesk(map[string]string{"f": "a\nb\n", "g": "x\n"})
	one := tool.New(applyPatch{d, seen, nil})
	seen.Note(caller, "f", VersionOf([]byte("a\nb\n")))
	seen.Note(caller, "g", "aaaaaaaa")
	got, err := call(ctx, t, one, map[string]any{"patch": enveloped("*** Update File: f\n-b\n+c\n*** Update File: g\n-x\n+y\n")})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(got, "had changed since you read it") != 1 {
		t.Errorf("it does not say which file had changed:\n%s", got)
	}
	if v, _ := seen.Version(caller, "f"); v != VersionOf([]byte("a\nc\n")) {
		t.Errorf("f: %s", v)
	}
	if v, _ := seen.Version(caller, "g"); v != "aaaaaaaa" {
		t.Errorf("g: the session is believed to know what it did not read: %s", v)
	}
	if _, err := call(ctx, t, one, map[string]any{"patch": enveloped("*** Delete File: f\n")}); err != nil {
		t.Fatal(err)
	}
	if _, known := seen.Version(caller, "f"); known {
		t.Error("f is remembered after it is gone")
	}
}

func TestApplyPatchEndsWithItsCall(t *testing.T) {
	d := newDesk(map[string]string{"f": "a\n"})
	ctx, cancel := context.WithCancel(inSession(t))
	cancel()
	if _, err := call(ctx, t, tool.New(applyPatch{d, &Seen{}, nil}),
		map[string]any{"patch": enveloped("*** Delete File: f\n")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.fault = errors.New("a fault of the disk")
	if _, err := call(inSession(t), t, tool.New(applyPatch{d, &Seen{}, nil}),
		map[string]any{"patch": enveloped("*** Delete File: f\n")}); !errors.Is(err, d.fault) {
		t.Error(err)
	}
}
