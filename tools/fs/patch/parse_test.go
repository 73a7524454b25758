package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func lines(text string) []Line {
	var all []Line
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, Line{Kind: Kind(line[0]), Text: line[1:]})
	}
	return all
}

func noEnd(all []Line, at ...int) []Line {
	for _, i := range at {
		all[i].NoEnd = true
	}
	return all
}

func TestParse(t *testing.T) {
	update := func(path string, hunks ...Hunk) File { return File{Path: path, Hunks: hunks} }
	for name, test := range map[string]struct {
		patch string
		want  []File
	}{
		"envelope": {
			"*** Begin Patch\n*** Add File: docs/new.md\n+# New\n+\n+text\n*** Update File: a.py\n@@ class A:\n@@     def f(self):\n-        return 1\n+        return 2\n*** Delete File: old.txt\n*** Update File: b.py\n*** Move to: c.py\n-x\n+y\n*** End of File\n*** End Patch\n",
			[]File{
				{Path: "docs/new.md", Op: Add, Hunks: []Hunk{{Lines: lines("+# New\n+\n+text")}}},
				update("a.py", Hunk{Anchors: []string{"class A:", "    def f(self):"}, Lines: lines("-        return 1\n+        return 2")}),
				{Path: "old.txt", Op: Delete},
				{Path: "b.py", MoveTo: "c.py", Hunks: []Hunk{{AtEnd: true, Lines: lines("-x\n+y")}}},
			},
		},
		"envelope in a here-document": {
			"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\nEOF\n",
			[]File{update("a", Hunk{Lines: lines("-x\n+y")})},
		},
		"envelope in a fence": {
			"Here it is:\n```\n*** Begin Patch\n*** Update File: a\n@@ -3,1 +3,1 @@ func f()\n-x\n+y\n*** End Patch\n```",
			[]File{update("a", Hunk{Numbered: true, Start: 3, Lines: lines("-x\n+y")})},
		},
		"envelope with lost blanks": {
			"*** Begin Patch\n*** Add File: n\n+a\n\n+b\n\n*** Update File: a\n\n@@ ... @@\n-x\n+y\n\n@@ g @@\n z\n\n+w\n\n\n*** End Patch",
			[]File{
				{Path: "n", Op: Add, Hunks: []Hunk{{Lines: lines("+a\n+\n+b")}}},
				update("a", Hunk{Lines: lines("-x\n+y\n "), loose: 1}, Hunk{Anchors: []string{"g"}, Lines: lines(" z\n \n+w\n \n "), loose: 2}),
			},
		},
		"envelope sent with CRLF": {
			"*** Begin Patch\r\n*** Update File: a\r\n-x\r\n+y\r\n*** End Patch\r\n",
			[]File{update("a", Hunk{Lines: lines("-x\n+y")})},
		},
		"envelope, a file without lines, a move without hunks": {
			"*** Begin Patch\n*** Add File: e\n*** Update File: a\n*** Move to: b\n*** End Patch",
			[]File{{Path: "e", Op: Add}, {Path: "a", MoveTo: "b"}},
		},
		"diff": {
			"--- a/x.go\t2026-01-01 00:00:00\n+++ b/x.go\t2026-01-01 00:00:01\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9,2 @@ func f() {\n-d\n+e\n+f\n\\ No newline at end of file\n",
			[]File{update("x.go", Hunk{Numbered: true, Start: 1, Lines: lines(" a\n-b\n+c")},
				Hunk{Numbered: true, Start: 9, Lines: noEnd(lines("-d\n+e\n+f"), 2)})},
		},
		"diff of several files": {
			"Index: x\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n--- g\n",
			[]File{
				update("x", Hunk{Numbered: true, Start: 1, Lines: lines("-a\n+b")}),
				{Path: "new", Op: Add, Hunks: []Hunk{{Numbered: true, Lines: lines("+n")}}},
				{Path: "gone", Op: Delete, Hunks: []Hunk{{Numbered: true, Start: 1, Lines: lines("--- g")}}},
			},
		},
		"git": {
			"From 1234 Mon\nSubject: x\n\n- an item\n---\n a | 2 +-\n\ndiff --git a/s.sh b/s.sh\nold mode 100644\nnew mode 100755\ndiff --git a/my file b/my file\nnew file mode 100644\nindex 000..e69\ndiff --git a/o b/n\nsimilarity index 90%\nrename from o\nrename to n\nindex 1..2 100644\n--- a/o\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/e b/e\ndeleted file mode 100644\nindex e69..000\n-- \n2.43.0\n",
			[]File{
				{Path: "s.sh", Mode: 0o755}, {Path: "my file", Op: Add, Mode: 0o644},
				{Path: "o", MoveTo: "n", Hunks: []Hunk{{Numbered: true, Start: 1, Lines: lines("-a\n+b")}}},
				{Path: "e", Op: Delete},
			},
		},
		"quoted names": {
			"diff --git \"a/t\\303\\244b\\t.txt\" \"b/t\\303\\244b\\t.txt\"\nnew mode 100644\n--- \"a/q\\\"\\\\.txt\"\n+++ \"b/q\\\"\\\\.txt\"\n@@ -1 +1 @@\n-a\n+b\n",
			[]File{{Path: `q"\.txt`, Mode: 0o644, Hunks: []Hunk{{Numbered: true, Start: 1, Lines: lines("-a\n+b")}}}},
		},
		"quoted name in the first line only": {
			"diff --git \"a/t\\303\\244b\" \"b/t\\303\\244b\"\nnew mode 100755\n", []File{{Path: "täb", Mode: 0o755}},
		},
		"diff without names": {
			"@@ -1,1 +1,1 @@\n-a\n+b\n", []File{update("", Hunk{Numbered: true, Start: 1, Lines: lines("-a\n+b")})},
		},
		"diff without numbers": {
			"```diff\n--- a/x\n+++ b/x\n@@ ... @@\n a\n-b\n+c\n\n@@ def f():\n-d\n+e\n```\n",
			[]File{update("x", Hunk{Lines: lines(" a\n-b\n+c\n "), loose: 1}, Hunk{Anchors: []string{"def f():"}, Lines: lines("-d\n+e")})},
		},
		"diff with a lost blank": {
			"--- x\n+++ x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", []File{update("x", Hunk{Numbered: true, Start: 1, Lines: lines(" a\n \n-b\n+c")})},
		},
		"diff of a file with CRLF": {
			"--- x\n+++ x\n@@ -1 +1 @@\n-a\r\n+b\r\n", []File{update("x", Hunk{Numbered: true, Start: 1, Lines: lines("-a\r\n+b\r")})},
		},
		"diff of patches": {
			"--- x\n+++ x\n@@ -1,3 +1,3 @@\n *** Begin Patch\n---- a\n++++ b\n @@ -1 +1 @@\n",
			[]File{update("x", Hunk{Numbered: true, Start: 1, Lines: lines(" *** Begin Patch\n---- a\n++++ b\n @@ -1 +1 @@")})},
		},
		"mnemonic prefixes": {
			"--- i/x\n+++ w/x\n@@ -1 +1 @@\n-a\n+b\n", []File{update("x", Hunk{Numbered: true, Start: 1, Lines: lines("-a\n+b")})},
		},
		"no prefixes": {
			"--- x.orig\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", []File{update("x", Hunk{Numbered: true, Start: 1, Lines: lines("-a\n+b")})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(test.patch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Hunk{}),
				cmpopts.IgnoreFields(Hunk{}, "At")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	const diff = "--- a/x\n+++ b/x\n"
	for name, test := range map[string]struct{ patch, want string }{
		"nothing":                  {"", "neither"},
		"prose":                    {"please change a to b", "neither"},
		"a cut envelope":           {"*** Begin Patch\n*** Update File: a\n-x\n+y\n", "cut off"},
		"no beginning":             {"*** Update File: a\n-x\n+y\n*** End Patch", "does not begin"},
		"an empty envelope":        {"*** Begin Patch\n*** End Patch", "changes no file"},
		"two envelopes":            {"*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Begin Patch\n*** Delete File: b\n*** End Patch", "text follows"},
		"a diff after an envelope": {"*** Begin Patch\n*** Delete File: a\n*** End Patch\n" + diff + "@@ -1 +1 @@\n-a\n+b", "text follows"},
		"a line without its sign":  {"*** Begin Patch\n*** Update File: a\n@@\n-x\ny\n*** End Patch", "line 5"},
		"an added line without +":  {"*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3"},
		"no path":                  {"*** Begin Patch\n*** Delete File: \n*** End Patch", "does not name a file"},
		"no target":                {"*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch", "the file to move to"},
		"nothing to do":            {"*** Begin Patch\n*** Update File: a\n*** End Patch", "does not say what"},
		"an unknown marker":        {"*** Begin Patch\n*** Rename File: a\n*** End Patch", "line 2"},
		"an empty hunk":            {"*** Begin Patch\n*** Update File: a\n@@ f\n*** End Patch", "has no lines"},
		"an end of nothing":        {"*** Begin Patch\n*** Update File: a\n*** End of File\n*** End Patch", "follows no lines"},
		"a file twice":             {"*** Begin Patch\n*** Delete File: a\n*** Add File: ./a\n+x\n*** End Patch", `"a" is in the patch twice`},
		"a move onto another":      {"*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Delete File: x/../b\n*** End Patch", `"b" is in the patch twice`},
		"too few lines":            {diff + "@@ -1,3 +1,3 @@\n a\n-b\n+c\n", `announces 3 old and 3 new lines but has 2 and 2; if none is missing its header should be "@@ -1,2 +1,2 @@"`},
		"too many lines":           {diff + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n+d\n", "has 2 and 3"},
		"too many after a blank":   {diff + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n+d\n", "has 3 and 4"},
		"too many on one side":     {diff + "@@ -1,1 +1,2 @@\n-a\n-b\n+c\n", "has 2 and 1"},
		"a line that strayed":      {diff + "@@ -1 +1 @@\n-b\n+c\nstray\n+d\n", "line 7"},
		"a stray without numbers":  {diff + "@@\n-b\nstray\n+d\n", "line 5"},
		"a bad header":             {diff + "@@ -1,x +1 @@\n-b\n+d\n", "line 3"},
		"a merge":                  {"diff --git a/x b/x\n@@@ -1,2 -1,2 +1,3 @@@\n a\n", "line 2"},
		"a hunk of no file":        {diff + "@@ -1 +1 @@\n-b\n+d\nIndex: z\n@@ -1 +1 @@\n-b\n+d\n", "line 7"},
		"a binary file":            {"diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", "binary"},
		"a binary patch":           {"diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 0\n", "binary"},
		"a copy":                   {"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", "copies"},
		"a link":                   {"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n", "not a regular file"},
		"half a rename":            {"diff --git a/x b/y\nrename from x\n", "both names"},
		"no change":                {"diff --git a/x b/x\nindex 1..2\n", "does not say what"},
		"no name":                  {"diff --git a/x b/y\nold mode 100644\nnew mode 100755\n", "is not clear"},
		"both nowhere":             {"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both names"},
		"one without a name":       {"@@ -1 +1 @@\n-a\n+b\n" + diff + "@@ -1 +1 @@\n-a\n+b\n", "no name"},
		"bad quotes":               {"--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "quoted"},
		"after the end":            {diff + "@@ -1 +1,2 @@\n-a\n+b\n\\ No newline at end of file\n+c\n", "after the end"},
		"a new file with context":  {"--- /dev/null\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n", "do not begin with +"},
		"too long":                 {strings.Repeat("x", MaxBytes+1), "the maximum is"},
		"too many files":           {"*** Begin Patch\n" + strings.Repeat("*** Delete File: a\n", MaxFiles+1) + "*** End Patch", "the maximum is"},
		"too many hunks":           {"*** Begin Patch\n*** Update File: a\n" + strings.Repeat("@@\n+x\n", maxHunks+1) + "*** End Patch", "the maximum is"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Parse(test.patch)
			if err == nil {
				t.Fatalf("accepted: %+v", files)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@ f\n x\n-y\n+z\n*** End of File\n*** End Patch\n")
	f.Add("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("--- \"a/\\303\\244\"\n+++ b/x\n@@\n-b\n+c\n")
	f.Fuzz(func(t *testing.T, patch string) {
		files, err := Parse(patch)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		for _, file := range files {
			if file.Path == "" && len(files) > 1 || file.Mode&^0o777 != 0 {
				t.Errorf("%+v", file)
			}
			for _, h := range file.Hunks {
				if len(h.Lines) == 0 || h.loose > len(h.Lines) || h.Start < 0 {
					t.Errorf("%+v", h)
				}
			}
		}
	})
}
