package fs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// An editor is the tool over a real workspace.
type editor struct {
	t     testing.TB
	ctx   context.Context
	dir   string
	files workspace.Files
	seen  *fs.Seen
}

func newEditor(t testing.TB) editor {
	t.Helper()
	ws, ctx, dir := workspacetest.New(t)
	return editor{t, ctx, dir, ws, &fs.Seen{}}
}

// edit calls the tool. Digits and letters that differ from run to run are
// replaced in its answer.
func (e editor) edit(args map[string]any) (string, error) {
	e.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		e.t.Fatal(err)
	}
	call, err := fs.EditFile(e.files, e.seen).Bind(raw, tool.DefaultLimits())
	if err != nil {
		return "", err
	}
	result, err := call.Run(e.ctx)
	return regexp.MustCompile(`(version|use undo) [a-z2-7]{8}`).ReplaceAllString(result.Text(), "$1 X"), err
}

func (e editor) put(name, content string) {
	e.t.Helper()
	put(e.t, filepath.Join(e.dir, name), content)
}

func (e editor) get(name string) string {
	e.t.Helper()
	content, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(content)
}

func encoded(t testing.TB, encoding, content string) string {
	t.Helper()
	doc, err := textfile.New(encoding)
	if err != nil {
		t.Fatal(err)
	}
	data, err := doc.Encode(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEdit has the cases that editors get wrong.
func TestEdit(t *testing.T) {
	latin := encoded(t, textfile.Latin1, "un café\nla crème brûlée\n")
	wide := func(content string) string { return encoded(t, textfile.UTF16LE, content) }
	for name, c := range map[string]struct {
		before   string
		old, new string
		want     string // the file; "" when the edit is refused
		reply    string // part of it, or of the error
	}{
		"CRLF, one line": {"a\r\nb\r\nc\r\n", "b", "x", "a\r\nx\r\nc\r\n",
			"edited f.txt: 1 replacement\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\nversion X; to undo it use undo X"},
		"CRLF, several lines": {"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n",
			"1 replacement (matched ignoring line endings)"},
		"mixed endings": {"a\r\nb\nc\r\nd\n", "b\nc\n", "B\nC\n", "a\r\nB\nC\r\nd\n", "ignoring line endings"},
		"BOM":           {"\xef\xbb\xbfa\nb\n", "a", "x", "\xef\xbb\xbfx\nb\n", "1 replacement\n"},
		"Latin-1": {latin, "crème", "glace à la crème",
			strings.Replace(latin, "cr\xe8me", "glace \xe0 la cr\xe8me", 1), "+la glace à la crème"},
		"not in Latin-1":   {latin, "crème", "€ 5", "", "latin-1, which has no character '€'"},
		"UTF-16":           {wide("eins\r\nzwei\r\n"), "zwei", "drei", wide("eins\r\ndrei\r\n"), "-zwei\n+drei\n"},
		"no final newline": {"a\nb", "b", "c", "a\nc", "+c\n\\ No newline at end of file\n"},
		"duplicate": {"a\nb\na\n", "a", "x", "",
			"invalid: old_string occurs 2 times, in lines 1, 3; add lines"},
		"not found": {"alpha\nbeta gamma\n", "beta gama", "x", "", "The most similar text:\nline 2, "},
		"whitespace drift": {"func f() {\n\treturn 1 \n}\n", "func f() {\n    return 1\n}",
			"func f() {\n    return 2\n}", "func f() {\n\treturn 2\n}\n", "(matched ignoring indentation)"},
		"$& is literal":      {"a b c\n", "b", `$& $1 \1 %d`, "a $& $1 \\1 %d c\n", "1 replacement\n"},
		"empty old":          {"a\n", "", "x", "", "invalid: old_string is empty, but the file is not"},
		"empty old and file": {"", "", "x\n", "x\n", "+x\n"},
		"same text":          {"a\n", "a", "a", "", "invalid: old_string and new_string are identical"},
		"quotes": {"say “hi”\n", `say "hi"`, `say "ho"`, "say “ho”\n",
			"(matched ignoring the style of quotes, dashes and spaces)"},
		"a mask is no text": {"key: abc\n", "key: [REDACTED]", "x", "", "stands for a hidden secret"},
		"no new masks":      {"password: hunter22\n", "hunter22", "[REDACTED]", "", "where the file has a secret"},
		"old masks": {"about [REDACTED]\n", "about [REDACTED]", "on [REDACTED]", "on [REDACTED]\n",
			"1 replacement\n"},
		"no text at all": {"%PDF-1.7\nobj\n", "obj", "x", "", `"f.txt" is not text: PDF document`},
		"a stray zero":   {"a\x00b\n", "b", "c", "a\x00c\n", "1 replacement"},
		"removed":        {"a\nb\nc\n", "b\n", "", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEditor(t)
			e.put("f.txt", c.before)
			reply, err := e.edit(map[string]any{"path": "f.txt", "old_string": c.old, "new_string": c.new})
			want := c.want
			if err != nil {
				reply = err.Error()
				if want != "" {
					t.Fatal(err)
				}
				want = c.before
			}
			if !strings.Contains(reply, c.reply) {
				t.Errorf("it says %q", reply)
			}
			if diff := cmp.Diff(want, e.get("f.txt")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEditArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args  string
		want  string
		reply string
	}{
		"other names": {`{"file_path":"f.txt","oldText":"one","newText":"1"}`, "1\ntwo\nthree\n", "1 replacement\n"},
		"all": {`{"path":"f.txt","old_string":"t","new_string":"T","replace_all":true}`, "one\nTwo\nThree\n",
			"2 replacements\n"},
		"several":      {`{"path":"f.txt","edits":[{"old_string":"one","new_string":"1"},{"old_string":"two","new_string":"2"}]}`, "1\n2\nthree\n", "2 replacements\n"},
		"several fail": {`{"path":"f.txt","edits":[{"old_string":"one","new_string":"1"},{"old_string":"zwei","new_string":"2"}]}`, "", "edits[1]: old_string is not in the file; none of the 2 edits was made"},
		"in a string": {`{"path":"f.txt","edits":"[{\"oldText\":\"one\",\"newText\":\"1\"}]"}`, "1\ntwo\nthree\n",
			"1 replacement\n"},
		"a wrong name": {`{"path":"f.txt","edits":[{"old_string":"one","new_strin":"1","with":"2"}]}`, "",
			`there is no argument "edits[0].new_strin" (did you mean "new_string"?)`},
		"short names": {`{"path":"f.txt","old":"one","new":"1"}`, "1\ntwo\nthree\n", "1 replacement\n"},
		"one lacks new": {`{"path":"f.txt","edits":[{"old_string":"one","new_string":"1"},{"old_string":"two"}]}`, "",
			"edits[1]: new_string is missing"},
		"large of many": {`{"path":"f.txt","edits":[{"old_string":"one","new_string":"` + strings.Repeat("x", 1<<20) +
			`"}]}`, strings.Repeat("x", 1<<20) + "\ntwo\nthree\n", "1 replacement\n"},
		"in lines": {`{"path":"f.txt","at":"2#` + textfile.Anchor([]byte("two")) + `","new_string":"2a\n2b"}`,
			"one\n2a\n2b\nthree\n", "1 replacement\n"},
		"other lines": {`{"path":"f.txt","at":"2#` + textfile.Anchor([]byte("one")) + `","new_string":"x"}`, "",
			"conflict: line 2 does not have the anchor"},
		"dry run": {`{"path":"f.txt","old_string":"one","new_string":"1","dry_run":true}`, "one\ntwo\nthree\n",
			"would edit f.txt: 1 replacement\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\nnothing was written"},
		"dry, no file": {`{"path":"g.txt","old_string":"one","new_string":"1","dry_run":true}`, "",
			`not_found: no file "g.txt"`},
		"no file": {`{"path":"g.txt","old_string":"one","new_string":"1"}`, "",
			`not_found: no file "g.txt"; call glob to find it`},
		"no new text": {`{"path":"f.txt","old_string":"one"}`, "", "invalid: new_string is missing"},
		"nothing":     {`{"path":"f.txt"}`, "", "invalid: there is nothing to replace"},
		"one beside":  {`{"path":"f.txt","old_string":"a","new_string":"b","edits":[{"old_string":"one","new_string":"1"}]}`, "", "put all of them into edits"},
		"not this one": {`{"path":"f.txt","old_string":"one","new_string":"1","if_version":"aaaaaaaa"}`, "",
			`conflict: "f.txt" has version `},
		"outside": {`{"path":"../f.txt","old_string":"one","new_string":"1"}`, "", "refused: "},
		"too many": {`{"path":"f.txt","edits":[` + strings.Repeat(`{"old_string":"a","new_string":"b"},`, 100) +
			`{"old_string":"a","new_string":"b"}]}`, "", "the maximum is 100"},
		"a large text": {`{"path":"f.txt","old_string":"one","new_string":"` + strings.Repeat("x", 1<<20) + `"}`,
			strings.Repeat("x", 1<<20) + "\ntwo\nthree\n", "1 replacement\n"},
		"one too large": {`{"path":"f.txt","old_string":"one","new_string":"` + strings.Repeat("x", 1<<20+1) + `"}`, "",
			"the maximum is 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEditor(t)
			e.put("f.txt", "one\ntwo\nthree\n")
			var args map[string]any
			if err := json.Unmarshal([]byte(c.args), &args); err != nil {
				t.Fatal(err)
			}
			reply, err := e.edit(args)
			want := c.want
			if err != nil {
				reply, want = err.Error(), "one\ntwo\nthree\n"
			}
			if !strings.Contains(reply, c.reply) || (err != nil) != (c.want == "") {
				t.Errorf("it says %.300q", reply)
			}
			if len(reply) > 4000 {
				t.Errorf("it says %d bytes", len(reply))
			}
			if e.get("f.txt") != want {
				t.Errorf("the file is %.100q", e.get("f.txt"))
			}
		})
	}
}

func TestEditCreates(t *testing.T) {
	e := newEditor(t)
	reply, err := e.edit(map[string]any{"path": "sub/new.txt", "old_string": "", "new_string": "text\n"})
	if err != nil || !strings.HasPrefix(reply, "created sub/new.txt: 5 bytes\nversion X; to undo it use undo X") {
		t.Errorf("%q, %v", reply, err)
	}
	if got := e.get("sub/new.txt"); got != "text\n" {
		t.Errorf("it holds %q", got)
	}
}

func TestEditKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes and links of this sort")
	}
	e := newEditor(t)
	e.put("run.sh", "#!/bin/sh\necho one\n")
	name := filepath.Join(e.dir, "run.sh")
	if err := os.Chmod(name, 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", filepath.Join(e.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.edit(map[string]any{"path": "link", "old_string": "one", "new_string": "two"}); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(e.dir, "link")); err != nil || target != "run.sh" {
		t.Errorf("the link is %q, %v", target, err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Perm() != 0o751 || e.get("run.sh") != "#!/bin/sh\necho two\n" {
		t.Errorf("%v %v %q", err, info.Mode(), e.get("run.sh"))
	}
}

func TestEditStaleFiles(t *testing.T) {
	e := newEditor(t)
	caller := tool.CallerFrom(e.ctx)
	e.put("f.txt", "one\ntwo\n")
	e.seen.Note(caller, "f.txt", fs.VersionOf([]byte("one\ntwo\n")))
	if reply, err := e.edit(map[string]any{"path": "f.txt", "old_string": "one", "new_string": "1"}); err != nil ||
		strings.Contains(reply, "had changed") {
		t.Fatalf("%q, %v", reply, err)
	}
	if v, ok := e.seen.Version(caller, "f.txt"); !ok || v != fs.VersionOf([]byte("1\ntwo\n")) {
		t.Errorf("the session knows version %q", v)
	}
	e.put("f.txt", "1\nother\n")
	stale, _ := e.seen.Version(caller, "f.txt")
	_, err := e.edit(map[string]any{"path": "f.txt", "old_string": "1", "new_string": "2", "if_version": stale})
	if tool.AsError(err).Kind != tool.Conflict || !strings.Contains(err.Error(), fs.VersionOf([]byte("1\nother\n"))) {
		t.Errorf("got %v", err)
	}
	reply, err := e.edit(map[string]any{"path": "f.txt", "old_string": "1", "new_string": "2"})
	if err != nil || !strings.Contains(reply, "\nthe file had changed since you read it") {
		t.Errorf("%q, %v", reply, err)
	}
	if v, _ := e.seen.Version(caller, "f.txt"); v != stale {
		t.Errorf("the session is believed to know version %q", v)
	}
}

func TestEditsAtOnce(t *testing.T) {
	const n = 50
	e := newEditor(t)
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "line <%d>\n", i)
	}
	e.put("f.txt", content.String())
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, err := e.edit(map[string]any{"path": "f.txt", "old_string": fmt.Sprintf("<%d>", i),
				"new_string": fmt.Sprintf("(%d)", i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if want := strings.NewReplacer("<", "(", ">", ")").Replace(content.String()); e.get("f.txt") != want {
		t.Errorf("the file is %q", e.get("f.txt"))
	}
}

// TestEditHugeFile refuses at once, without reading the file.
func TestEditHugeFile(t *testing.T) {
	e := newEditor(t)
	e.put("huge.log", "the first line\n")
	if err := os.Truncate(filepath.Join(e.dir, "huge.log"), 8<<30); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := e.edit(map[string]any{"path": "huge.log", "old_string": "first", "new_string": "second"})
	if tool.AsError(err).Kind != tool.TooLarge || !strings.Contains(err.Error(), "the maximum for edit is") ||
		time.Since(start) > time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func BenchmarkEdit5MB(b *testing.B) {
	e := newEditor(b)
	var content strings.Builder
	for i := range 125_000 {
		fmt.Fprintf(&content, "line %d of some forty characters.....\n", i)
	}
	e.put("f.txt", content.String())
	b.ReportAllocs()
	words := []string{"of some", "with many"}
	for i := 0; b.Loop(); i++ {
		_, err := e.edit(map[string]any{"path": "f.txt", "old_string": "line 60000 " + words[i&1],
			"new_string": "line 60000 " + words[1-i&1]})
		if err != nil {
			b.Fatal(err)
		}
	}
}
