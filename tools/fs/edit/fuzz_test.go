package edit

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

func FuzzLadder(f *testing.F) {
	for _, s := range []struct {
		content, old, new string
		all               bool
	}{
		{"a\r\nb\r\nc", "a\nb", "x\ny", false},
		{"  a \n\tb\n", "a\nb\n", "a\nc\n", false},
		{"\t\tif x {\n\t\t\ty(“z”)\n", "if x {\n\ty(\"z\")\n", "if x {\n\tw(\"z\")\n", false},
		{"\xff\xfea\x00\r\x00\n\x00b\x00", "a\nb", "c", false},
		{"\xef\xbb\xbfbom\n", "bom", "mob", false},
		{"caf\xe9\n", "caf", "€", false},
		{"aaa", "aa", "b", true},
		{"    a\n        b\n", "\ta\n\t\tb\n", "\ta\n\t\t\tc\n", true},
		{"\xd6\xd0\xce\xc4\xb1\xe0\xc2\xeb", "文", "字", false},
		{"a\n\n\nb\n", "a\n \n", "", false},
	} {
		f.Add([]byte(s.content), s.old, s.new, s.all)
	}
	f.Fuzz(func(t *testing.T, content []byte, old, new string, all bool) {
		got, err := Apply(t.Context(), string(content), []Edit{{Old: old, New: new, All: all}}, Hiding{})
		if err != nil {
			var known *tool.Error
			if !errors.As(err, &known) && strings.ToValidUTF8(new, "") == new {
				t.Fatalf("not for the model: %v", err)
			}
			return
		}
		got.Diff(2, 1<<20)
		checkOutside(t, content, got)
		if all || strings.Contains(strings.ReplaceAll(new, "\r\n", "\n"), "\r") {
			return // places may have joined, and a lone \r belongs to what follows
		}
		s := Step{left: true, right: true, fold: true}
		for _, span := range got.Spans {
			if there := got.After[span.From:span.To]; s.form(there) != s.form(new) {
				t.Fatalf("%q is in the place of %q, and not %q", there, got.Before[span.Start:span.End], new)
			}
		}
	})
}

// checkOutside looks whether the bytes in front of the first span and behind
// the last are those that were there.
func checkOutside(t *testing.T, content []byte, got Outcome) {
	t.Helper()
	checkSpans(t, got.Before, got.After, got.Spans)
	doc, err := textfile.Decode(content, "")
	if err != nil {
		t.Fatal(err)
	}
	encode := doc.Encode
	if !doc.Lossless {
		encode = func(text string) ([]byte, error) { return []byte(text), nil }
	}
	first, last := got.Spans[0], got.Spans[len(got.Spans)-1]
	head, err := encode(got.Before[:first.Start])
	tail, err2 := encode(got.Before[last.End:])
	mark, err3 := encode("")
	if err = errors.Join(err, err2, err3); err != nil {
		return // the cut is within a character
	}
	tail = tail[len(mark):]
	if !bytes.HasPrefix(content, head) || !strings.HasPrefix(got.Content, string(head)) ||
		!bytes.HasSuffix(content, tail) || !strings.HasSuffix(got.Content, string(tail)) {
		t.Fatalf("%q became %q", content, got.Content)
	}
}

func FuzzCandidates(f *testing.F) {
	f.Add(program, "\treturn \"hallo\"")
	f.Add("a\r\nb", "a\nc")
	f.Add("\xff\n\xfe", "\xfe\n")
	f.Fuzz(func(t *testing.T, content, wanted string) {
		for _, c := range Candidates(content, wanted, 2) {
			if c.First < 1 || c.Last < c.First || c.Last > len(SplitLines(content)) || c.Alike > 99 ||
				!strings.Contains(content, c.Text) {
				t.Errorf("%+v", c)
			}
			if text := c.String(); len(text) > 4000 {
				t.Errorf("%d bytes", len(text))
			}
		}
	})
}
