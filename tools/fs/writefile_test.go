package fs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// writableFiles keeps files in memory.
type writableFiles struct {
	workspace.Files
	files   map[string]string
	modes   map[string]iofs.FileMode
	changes int
	fault   error // of the next change
}

func (d *writableFiles) Change(_ context.Context, paths []string,
	plan func([]*workspace.File) ([]workspace.Change, error)) (workspace.Receipt, error) {
	files := make([]*workspace.File, len(paths))
	for i, path := range paths {
		content, exists := d.files[path]
		files[i] = &workspace.File{Name: path, Exists: exists, Size: int64(len(content)), Stamp: "s",
			ReaderAt: strings.NewReader(content), Mode: d.modes[path]}
	}
	changes, err := plan(files)
	if err == nil {
		err = d.fault
	}
	if err != nil {
		return workspace.Receipt{}, err
	}
	d.changes++
	r := workspace.Receipt{ID: fmt.Sprintf("call%d", d.changes)}
	after := map[string]string{}
	for _, c := range changes {
		if !slices.Contains(paths, c.Path) {
			return workspace.Receipt{}, fmt.Errorf("%q was not asked for", c.Path)
		}
		if !c.Remove {
			content, err := io.ReadAll(c.Content)
			if err != nil {
				return workspace.Receipt{}, err
			}
			after[c.Path] = string(content)
		}
	}
	for _, c := range changes {
		delete(d.files, c.Path)
		content, stays := after[c.Path]
		if stays {
			d.files[c.Path] = content
		}
		if c.Mode != 0 {
			d.modes[c.Path] = c.Mode
		}
		r.Files = append(r.Files, workspace.Changed{Name: c.Path, Removed: !stays, Size: int64(len(content)),
			Stamp: "t"})
	}
	return r, nil
}

func newDesk(files map[string]string) *writableFiles {
	return &writableFiles{files: files, modes: map[string]iofs.FileMode{}}
}

// call runs a tool with arguments as a client sends them.
func call(ctx context.Context, t testing.TB, one tool.Tool, args map[string]any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := one.Bind(raw, tool.DefaultLimits())
	if err != nil {
		return "", err
	}
	res, err := bound.Run(ctx)
	return res.Text(), err
}

func TestWriteFile(t *testing.T) {
	utf16, err := mustNew(t, textfile.UTF16LE).Encode("old\r\n")
	if err != nil {
		t.Fatal(err)
	}
	secret := "token [REDACTED]\n"
	for name, test := range map[string]struct {
		before string // "" for no file
		args   map[string]any
		after  string
		want   string // part of the answer
		kind   tool.Kind
	}{
		"create":   {"", map[string]any{"content": "a\n"}, "a\n", "created f: 2 bytes, version " + VersionOf([]byte("a\n")) + "; to undo it use undo call1", ""},
		"one byte": {"", map[string]any{"content": "a"}, "a", "1 byte,", ""},
		"replace":  {"old", map[string]any{"content": "new\n"}, "new\n", "replaced f: 4 bytes, was 3 B, version", ""},
		"same": {"old", map[string]any{"content": "old"}, "old",
			"unchanged: f has this content already, version " + VersionOf([]byte("old")), ""},
		"empty":                {"old", map[string]any{"content": ""}, "", "replaced f: 0 bytes", ""},
		"CRLF lost":            {"a\r\nb\r\n", map[string]any{"content": "a\nb\n"}, "a\nb\n", "changed from CRLF to LF", ""},
		"append":               {"a\n", map[string]any{"content": "b", "append": true}, "a\nb", "appended 1 byte to f: 3 bytes", ""},
		"append to a line":     {"a", map[string]any{"content": "b", "append": true}, "ab", "continues that line", ""},
		"append to nothing":    {"", map[string]any{"content": "b", "append": true}, "b", "created f", ""},
		"create only":          {"", map[string]any{"content": "b", "create_only": true}, "b", "created f", ""},
		"create only, is":      {"x", map[string]any{"content": "b", "create_only": true}, "x", "exists already (1 B)", tool.Conflict},
		"version":              {"x", map[string]any{"content": "b", "if_version": VersionOf([]byte("x"))}, "b", "replaced", ""},
		"other version":        {"x", map[string]any{"content": "b", "if_version": "aaaaaaaa"}, "x", "has version " + VersionOf([]byte("x")) + ", not aaaaaaaa; read it again", tool.Conflict},
		"version of nothing":   {"", map[string]any{"content": "b", "if_version": "aaaaaaaa"}, "", "does not exist any longer", tool.Conflict},
		"append, version":      {"x", map[string]any{"content": "b", "append": true, "if_version": "aaaaaaaa"}, "x", "has version", tool.Conflict},
		"UTF-16 stays":         {string(utf16), map[string]any{"content": "é\r\n"}, "\xff\xfe\xe9\x00\r\x00\n\x00", "written as utf-16le", ""},
		"UTF-16, appended to":  {string(utf16), map[string]any{"content": "é", "append": true}, string(utf16) + "\xe9\x00", "written as utf-16le", ""},
		"BOM stays":            {"\xef\xbb\xbfold", map[string]any{"content": "new"}, "\xef\xbb\xbfnew", "written as utf-8-bom", ""},
		"BOM only once":        {"\xef\xbb\xbfold", map[string]any{"content": "\ufeffnew"}, "\xef\xbb\xbfnew", "replaced", ""},
		"Latin-1 stays":        {"caf\xe9\n", map[string]any{"content": "na\u00efve\n"}, "na\xefve\n", "written as latin-1", ""},
		"Latin-1 cannot":       {"caf\xe9\n", map[string]any{"content": "漢\n"}, "caf\xe9\n", "latin-1 has no character '漢' (U+6F22), and f is in latin-1; use another character, or set encoding", tool.Invalid},
		"Latin-1 given up":     {"caf\xe9\n", map[string]any{"content": "漢\n", "encoding": "utf-8"}, "漢\n", "replaced", ""},
		"in another encoding":  {"", map[string]any{"content": "é", "encoding": "Latin1"}, "\xe9", "written as latin-1", ""},
		"no such encoding":     {"", map[string]any{"content": "中", "encoding": "klingon"}, "", "no such encoding", tool.Invalid},
		"base64":               {"", map[string]any{"content": " AAH/\n", "encoding": "base64"}, "\x00\x01\xff", "created f: 3 bytes", ""},
		"base64, appended":     {"\x00", map[string]any{"content": "/w==", "encoding": "base64", "append": true}, "\x00\xff", "appended 1 byte", ""},
		"no base64":            {"", map[string]any{"content": "%%", "encoding": "base64"}, "", "is not base64", tool.Invalid},
		"over a binary file":   {"\x7fELF\x02\x01\x01\x00\x00\xff", map[string]any{"content": "é"}, "é", "replaced", ""},
		"a mask":               {"password: hunter22\n", map[string]any{"content": secret}, "password: hunter22\n", `has the mask "[REDACTED]" where the file has a secret`, tool.Invalid},
		"a mask in a new file": {"", map[string]any{"content": secret}, secret, "created", ""},
		"a mask, appended":     {secret, map[string]any{"content": secret, "append": true}, secret + secret, "appended", ""},
		"a mask in base64":     {"password: hunter22\n", map[string]any{"content": "W1JFREFDVEVEXQ==", "encoding": "base64"}, "password: hunter22\n", "has the mask", tool.Invalid},
		"a mask that was":      {secret, map[string]any{"content": "see " + secret}, "see " + secret, "replaced", ""},
		"$& is no variable":    {"", map[string]any{"content": "$& %s \\1"}, "$& %s \\1", "created", ""},
		"too much":             {"", map[string]any{"content": strings.Repeat("x", 4<<20+1)}, "", "the maximum is 4194304", tool.Invalid},
		"much":                 {"", map[string]any{"content": strings.Repeat("x", 4<<20)}, strings.Repeat("x", 4<<20), "created f: 4194304 bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(map[string]string{})
			if test.before != "" {
				d.files["f"] = test.before
			}
			test.args["path"] = "f"
			got, err := call(inSession(t), t, tool.New(writeFile{d, &Seen{}, nil}), test.args)
			if err != nil {
				if got = err.Error(); tool.AsError(err).Kind != test.kind {
					t.Errorf("%v", err)
				}
			} else if test.kind != "" {
				t.Errorf("no error")
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%s, want %q", got, test.want)
			}
			if d.files["f"] != test.after {
				t.Errorf("%.100q, want %.100q", d.files["f"], test.after)
			}
		})
	}
}

func mustNew(t *testing.T, encoding string) textfile.Doc {
	t.Helper()
	doc, err := textfile.New(encoding)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestWriteFileRefusesWhatWasNotSeen(t *testing.T) {
	ctx, seen := inSession(t), &Seen{}
	d := newDesk(map[string]string{"f": "one"})
	one := tool.New(writeFile{d, seen, nil})
	write := func(content string, more ...string) error {
		args := map[string]any{"path": "f", "content": content}
		for _, name := range more {
			args[name] = true
		}
		_, err := call(ctx, t, one, args)
		return err
	}
	seen.Note(tool.CallerFrom(ctx), "f", VersionOf([]byte("one")))
	if err := write("two"); err != nil {
		t.Fatal(err)
	}
	if err := write("three"); err != nil {
		t.Errorf("after writing it itself: %v", err)
	}
	d.files["f"] = "foreign"
	if err := write("four"); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("overwrote what it never saw: %v", err)
	}
	if err := write("!", "append"); err != nil || d.files["f"] != "foreign!" {
		t.Errorf("%q %v", d.files["f"], err)
	}
	if err := write("five"); err == nil {
		t.Error("adding to a file is not reading it")
	}
	if _, err := call(ctx, t, one, map[string]any{"path": "f", "content": "six", "if_version": VersionOf([]byte("foreign!"))}); err != nil {
		t.Errorf("it said which version it means: %v", err)
	}
	delete(d.files, "f")
	if err := write("seven"); err != nil {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestWriteFileAppendsToALargeFile must not read the file to find its version.
func TestWriteFileAppendsToALargeFile(t *testing.T) {
	f := &workspace.File{Name: "log", Exists: true, Size: 1 << 40, Stamp: "s", ReaderAt: repeated{"line\n"}}
	w := writer{args: writeFileArgs{Content: "é", Append: true}}
	change, err := w.plan(f)
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 7)
	if _, err := io.ReadFull(change.Content, head); err != nil || !bytes.Equal(head, []byte("line\nli")) {
		t.Errorf("%q %v", head, err)
	}
	want, err := Version(nil, 1<<40+2, "t")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.versionAfter(workspace.Changed{Size: 1<<40 + 2, Stamp: "t"}); got != want || err != nil {
		t.Errorf("version %q, want %q: %v", got, want, err)
	}
}

func TestWriteFileInAppendMode(t *testing.T) {
	d := &writableFiles{files: map[string]string{"log": "one\n"}}
	if _, err := (writeFile{d, &Seen{}, nil}).Do(t.Context(), writeFileArgs{Path: "log", Content: "two\n", Mode: "append"}); err != nil {
		t.Fatal(err)
	}
	if d.files["log"] != "one\ntwo\n" {
		t.Errorf("%q", d.files["log"])
	}
}

// TestStructuredContent has the result of write_file for programs.
func TestStructuredContent(t *testing.T) {
	d := newDesk(map[string]string{})
	res, err := writeFile{d, &Seen{}, nil}.Do(inSession(t), writeFileArgs{Path: "a.txt", Content: "one\ntwo\n"})
	if err != nil || res.Data != (written{true, "a.txt", 8, VersionOf([]byte("one\ntwo\n"))}) {
		t.Errorf("%+v, %v", res.Data, err)
	}
}
