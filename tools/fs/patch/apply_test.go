package patch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// apply applies a patch to one file. Its first line may be left out.
func apply(t testing.TB, before, patch string) (Result, error) {
	t.Helper()
	if strings.HasPrefix(patch, "*") {
		patch = "*** Begin Patch\n" + patch + "\n*** End Patch"
	}
	files, err := Parse(patch)
	if err != nil {
		t.Fatal(err)
	}
	return Apply([]byte(before), files[0], nil)
}

const update = "*** Update File: f\n"

func TestApply(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, test := range map[string]struct{ before, patch, want, notes string }{
		"numbered":                {ten, "@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n", "1\n2\nx\n4\n5\n6\n7\n8\n9\n10\n", ""},
		"two hunks":               {ten, "@@ -1,2 +1,3 @@\n 1\n+x\n 2\n@@ -9,2 +10 @@\n 9\n-10\n", "1\nx\n2\n3\n4\n5\n6\n7\n8\n9\n", ""},
		"at another line":         {ten, "@@ -2,2 +2 @@\n 5\n-6\n@@ -6 +6,2 @@\n 9\n+x\n", "1\n2\n3\n4\n5\n7\n8\n9\nx\n10\n", "hunk 1: at line 5, not 2|hunk 2: at line 9, not 6"},
		"the stated one of two":   {"a\nb\na\nb\n", "@@ -3,2 +3,2 @@\n a\n-b\n+c\n", "a\nb\na\nc\n", ""},
		"no context":              {ten, "@@ -3,0 +4,2 @@\n+x\n+y\n@@ -8 +9,0 @@\n-8\n", "1\n2\n3\nx\ny\n4\n5\n6\n7\n9\n10\n", ""},
		"at the top":              {"a\n", "@@ -0,0 +1 @@\n+x\n", "x\na\n", ""},
		"no end before":           {"a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n", ""},
		"no end after":            {"a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b", ""},
		"no end kept":             {"a\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n", "c\nb", ""},
		"no end, not said":        {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc", ""},
		"no end, lines follow":    {"a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc", ""},
		"CRLF, the patch too":     {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", "a\r\nc\r\n", ""},
		"CRLF, not the patch":     {"a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n", "a\r\nc\r\nd\r\n", "hunk 1: matched ignoring line endings"},
		"CRLF, no context":        {"a\r\nb\r\n", "@@ -1,0 +2 @@\n+c\n", "a\r\nc\r\nb\r\n", ""},
		"CRLF becomes LF":         {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\nb\r\n", ""},
		"mixed endings":           {"a\r\nb\nc\r\n", "@@ -1,3 +1,3 @@\n-a\n+x\n-b\n+y\n c\n", "x\r\ny\nc\r\n", "hunk 1: matched ignoring line endings"},
		"trailing blanks":         {"a  \nb\t\nc\n", update + " a\n-b\n+x", "a  \nx\nc\n", "hunk 1: matched ignoring blanks at line ends"},
		"indentation":             {"if x:\n        a\n        b\n", update + "     a\n-    b\n+    c\n+      d\n+\n", "if x:\n        a\n        c\n          d\n\n", "hunk 1: matched ignoring indentation"},
		"tabs":                    {"f {\n\tif x {\n\t\ta\n\t}\n}\n", update + "     if x {\n-        a\n+        for {\n+            b\n+        }\n     }", "f {\n\tif x {\n\t\tfor {\n\t\t\tb\n\t\t}\n\t}\n}\n", "hunk 1: matched ignoring indentation"},
		"quotes and dashes":       {"say “a” – b\nnext\n", update + " say \"a\" - b\n-next\n+last", "say “a” – b\nlast\n", "hunk 1: matched ignoring the style of quotes, dashes and spaces"},
		"quotes stay":             {"say “a” – b\nnext\n", update + "-say \"a\" - b\n+say \"a\" - c", "say “a” – c\nnext\n", "hunk 1: matched ignoring the style of quotes, dashes and spaces"},
		"quotes, indented":        {"\tsay “a” – b\n", update + "-    say \"a\" - b\n+    say \"a\" - c", "\tsay “a” – c\n", "hunk 1: matched ignoring indentation and ignoring the style of quotes, dashes and spaces"},
		"anchor":                  {"def f():\n  x\n  y\ndef g():\n  x\n  y\n", update + "@@ def g():\n   x\n-  y\n+  z", "def f():\n  x\n  y\ndef g():\n  x\n  z\n", ""},
		"anchor repeated below":   {"def f():\n  x\n", update + "@@ def f():\n def f():\n-  x\n+  z", "def f():\n  z\n", ""},
		"part of an anchor":       {"def f(a):\n  x\ndef g(b):\n  x\n", update + "@@ def g\n-  x\n+  z", "def f(a):\n  x\ndef g(b):\n  z\n", ""},
		"anchors":                 {"class A:\n def f:\n  x\nclass B:\n def f:\n  x\n", update + "@@ class B:\n@@  def f:\n-  x\n+  z", "class A:\n def f:\n  x\nclass B:\n def f:\n  z\n", ""},
		"an anchor that is wrong": {"a\nb\n", update + "@@ nowhere\n-b\n+c", "a\nc\n", `hunk 1: the line "nowhere" of its @@ was not found`},
		"end of file":             {"x\ny\nx\n", update + "-x\n+z\n*** End of File", "x\ny\nz\n", ""},
		"end of file, no end":     {"x\ny\nx", update + "-x\n+z\n*** End of File", "x\ny\nz", ""},
		"end of file, elsewhere":  {"x\ny\nz\n", update + "-x\n+w\n*** End of File", "w\ny\nz\n", ""},
		"only lines to add":       {"a\nb", update + "+c", "a\nb\nc", "hunk 1: added at the end of the file"},
		"lines to add below":      {"a\nb\n", update + "@@ a\n+c", "a\nc\nb\n", ""},
		"into an empty file":      {"", update + "+c", "c\n", ""},
		"in another order":        {ten, update + "@@\n-8\n+x\n@@\n-2\n+y", "1\ny\n3\n4\n5\n6\n7\nx\n9\n10\n", "hunk 2: above the hunk before it"},
		"below the hunk before":   {"a\nx\nb\nx\n", update + "@@\n a\n-x\n+y\n@@\n-x\n+z", "a\ny\nb\nz\n", ""},
		"both say the same line":  {"a\na\n", "@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+c\n", "b\nc\n", "hunk 2: at line 2, not 1"},
		"the one that is left":    {"x\nm\nx\n", update + "@@ m\n-x\n+1\n@@\n-x\n+2", "2\nm\n1\n", "hunk 2: above the hunk before it"},
		"the one below":           {"x\na\nx\n", update + "-a\n+b\n@@\n-x\n+y", "x\nb\ny\n", ""},
		"moved like the first":    {"n\nn\nA\nx\ny\nx\ny\n", "@@ -1 +1 @@\n-A\n+B\n@@ -4,2 +4,2 @@\n x\n-y\n+z\n", "n\nn\nB\nx\ny\nx\nz\n", "hunk 1: at line 3, not 1|hunk 2: at line 6, not 4"},
		"no end, no context":      {"a\nb", "@@ -2,0 +3 @@\n+c\n", "a\nb\nc\n", ""},
		"a blank line for looks":  {"a\nb\nc\n", update + "-a\n+x\n\n@@\n-c\n+z\n", "x\nb\nz\n", ""},
		"to nothing":              {"a\n", update + "-a", "", ""},
		"$& is no variable":       {"a\n", update + "-a\n+$& \\1 %s", "$& \\1 %s\n", ""},
		"invalid bytes stay":      {"\xff\x81\x00ü\xfa\nb\n\x00\n", "@@ -2 +2 @@\n-b\n+c\n", "\xff\x81\x00ü\xfa\nc\n\x00\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := apply(t, test.before, test.patch)
			if err != nil {
				t.Fatal(err)
			}
			if string(res.Content) != test.want {
				t.Errorf("%q, want %q", res.Content, test.want)
			}
			if notes := strings.Join(res.Notes, "|"); notes != test.notes {
				t.Errorf("notes %q, want %q", notes, test.notes)
			}
		})
	}
}

func TestApplyKeepsEncodings(t *testing.T) {
	asian := map[string]string{
		textfile.ShiftJIS: "これは日本語のテストです", textfile.EUCJP: "これは日本語のテストです",
		textfile.GB18030: "这是一个中文的测试文本", textfile.Big5: "這是一個中文的測試文字",
		textfile.EUCKR: "이것은 한국어 시험 문장입니다 그리고 다시 한 번",
	}
	for _, encoding := range textfile.Encodings() {
		doc, err := textfile.New(encoding)
		if err != nil {
			t.Fatal(err)
		}
		before, want := "one é\r\ntwo\r\n", "one é\r\nä\r\n"
		switch encoding {
		case textfile.Windows1252:
			before, want = "one “é”\r\ntwo\r\n", "one “é”\r\n€\r\n"
		}
		if text := asian[encoding]; text != "" {
			before, want = "one "+text+"\r\ntwo\r\n", "one "+text+"\r\n"+text+"\r\n"
		}
		data, err := doc.Encode(before)
		if err != nil {
			t.Fatal(encoding, err)
		}
		line := strings.Split(strings.TrimSpace(want), "\r\n")[1]
		res, err := apply(t, string(data), update+"-two\n+"+line)
		if err != nil {
			t.Errorf("%s: %v", encoding, err)
			continue
		}
		wanted, err := doc.Encode(want)
		if err != nil {
			t.Fatal(encoding, err)
		}
		if string(res.Content) != string(wanted) {
			t.Errorf("%s: %q, want %q", encoding, res.Content, wanted)
		}
		if res.Before != before || res.After != want {
			t.Errorf("%s: as text %q and %q", encoding, res.Before, res.After)
		}
	}
	_, err := apply(t, "caf\xe9\nx\n", update+"-x\n+漢")
	if err == nil || !strings.Contains(err.Error(), `no character '漢'`) {
		t.Errorf("a character that Latin-1 does not have: %v", err)
	}
}

func TestApplyRefuses(t *testing.T) {
	long := strings.Repeat("x\n", 30)
	for name, test := range map[string]struct {
		before, patch, want string
		mismatch            bool
	}{
		"not there":               {"alpha\nbeta\ngamma\n", update + " alpha\n-betta\n+x", "hunk 1 does not match; send the patch for the lines as they are. Not in the file:\nalpha\nbetta\nnearest: lines 1-2", true},
		"nothing like it":         {"zzz\n", update + "-alpha\n+x", "read the file", true},
		"the second":              {"a\nb\n", update + "@@\n-a\n+x\n@@\n-c\n+y", "hunk 2 does not match", true},
		"ambiguous":               {"a\nx\na\nx\n", update + " a\n-x\n+y", "fits at lines 1, 3; add lines around it", true},
		"ambiguous, numbered":     {"a\nx\na\nx\n", "@@ -2,2 +2,2 @@\n a\n-x\n+y\n", "fits at lines 1, 3; correct its line number", true},
		"ambiguous, anchored":     {"f\n x\nf\n x\n", update + "@@ f\n- x\n+ y", "fits at lines 2, 4", true},
		"ambiguous addition":      {"f\n x\nf\n x\n", update + "@@ f\n+ y", "fits at lines 1, 3", true},
		"ambiguous when looser":   {"a \nb\na\t\n", update + "-a\n+x", "fits at lines 1, 3", true},
		"very ambiguous":          {long, update + "-x\n+y", "18, 19, 20 and more", true},
		"applied already":         {"a\nnew\nb\n", update + " a\n-old\n+new\n b", "hunk 1 does not match: its old lines are not in the file, but its new lines are already at line 1; leave this hunk out", true},
		"an anchor without lines": {"a\n", update + "@@ b\n+c", `"b" of its @@ is not in the file`, true},
		"after the end":           {"a\n", "@@ -5,0 +6 @@\n+c\n", "adds lines after line 5, and the file has 1", true},
		"the end is elsewhere":    {"a\nb\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+c\n", "does not match", true},
		"overlapping":             {"a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n@@ -2,0 +3 @@\n+y\n", "overlaps", false},
		"deleted, has more":       {"a\nb\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "1 lines that the patch does not remove", true},
		"deleted, differs":        {"b\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "does not match", true},
		"too large":               {strings.Repeat("x", MaxFileBytes+1), update + "-a\n+b", "change it with a command", false},
		"too many lines":          {strings.Repeat("\n", maxFileLines+1), update + "-a\n+b", "change it with a command", false},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := apply(t, test.before, test.patch)
			var e *tool.Error
			if !errors.As(err, &e) {
				t.Fatalf("%q, %v", res.Content, err)
			}
			if !strings.Contains(e.Error(), test.want) || (e.Kind == tool.Conflict) != test.mismatch {
				t.Errorf("%v, want %q", e, test.want)
			}
		})
	}
}

func TestApplyOther(t *testing.T) {
	for name, test := range map[string]struct{ before, patch, want string }{
		"add":             {"", "*** Add File: f\n+a\n+b", "a\nb\n"},
		"add nothing":     {"", "*** Add File: f", ""},
		"add with a diff": {"", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\r\n+b\n\\ No newline at end of file\n", "a\r\nb"},
		"delete":          {"a\n", "*** Delete File: f", ""},
		"delete by lines": {"a\nb", "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n", ""},
		"move":            {"a\r\nb", update + "*** Move to: g", "a\r\nb"},
		"move and change": {"a\nb", update + "*** Move to: g\n-a\n+c", "c\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := apply(t, test.before, test.patch)
			if err != nil {
				t.Fatal(err)
			}
			if string(res.Content) != test.want {
				t.Errorf("%q, want %q", res.Content, test.want)
			}
		})
	}
}

// TestApplyGivesUp gives the search what it finds hardest.
func TestApplyGivesUp(t *testing.T) {
	var hunks strings.Builder
	same := strings.Repeat(" same\n", 50)
	for i := range 400 {
		fmt.Fprintf(&hunks, "@@\n%s-end %d\n%s+x\n", same, i, same)
	}
	file := strings.Repeat(strings.Repeat("same\n", 49)+"end 0\nend 1\nend 2\n", 5_000)
	for name, patch := range map[string]string{
		"lines":   hunks.String(),
		"anchors": strings.Repeat("@@ part of a line that is nowhere\n-same\n+x\n", 5000),
	} {
		_, err := apply(t, file, update+patch)
		var e *tool.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %.60s", name, err)
	}
	a := newApplier(file, File{Hunks: []Hunk{{Lines: lines("-same\n+x")}}}, scrub.Secrets{})
	a.steps = 10
	if err := a.add(1, a.file.Hunks[0]); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("it went on: %v", err)
	}
}

func BenchmarkApply5MB(b *testing.B) {
	var file, hunks strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&file, "line %d of a file that is quite long\n", i)
	}
	for i := 1000; i < 150_000; i += 1500 {
		fmt.Fprintf(&hunks, "@@\n line %d of a file that is quite long\n-line %d of a file that is quite long\n+changed\n", i, i+1)
	}
	files, err := Parse("*** Begin Patch\n*** Update File: f\n" + hunks.String() + "*** End Patch")
	if err != nil {
		b.Fatal(err)
	}
	before := []byte(file.String())
	b.SetBytes(int64(len(before)))
	for b.Loop() {
		if _, err := Apply(before, files[0], nil); err != nil {
			b.Fatal(err)
		}
	}
}
