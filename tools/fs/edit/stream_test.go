package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStream(t *testing.T) {
	filler := strings.Repeat("some line\r\n", 300_000) // more than one buffer
	for name, c := range map[string]struct {
		content string
		edit    Edit
		want    string
		n       int
	}{
		"in the middle":    {filler + "here\r\n" + filler, Edit{Old: "here", New: "there"}, filler + "there\r\n" + filler, 1},
		"at the beginning": {"here\r\n" + filler, Edit{Old: "here", New: ""}, "\r\n" + filler, 1},
		"at the end":       {filler + "here", Edit{Old: "here", New: "x\ny"}, filler + "x\r\ny", 1},
		"across buffers":   {filler[:1<<20-3] + "@here@" + filler, Edit{Old: "@here@", New: "x"}, filler[:1<<20-3] + "x" + filler, 1},
		"all of them": {"ab" + filler + "ab" + filler + "ab", Edit{Old: "ab", New: "c", All: true},
			"c" + filler + "c" + filler + "c", 3},
		"all, overlapping":  {"aaa", Edit{Old: "aa", New: "b", All: true}, "ba", 1},
		"CRLF stays":        {"a\r\nb\r\n", Edit{Old: "b", New: "x\ny"}, "a\r\nx\r\ny\r\n", 1},
		"longer than a MiB": {filler + "end", Edit{Old: filler[:2<<20] + filler[2<<20:] + "end", New: "x"}, "x", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, got, err := Stream(t.Context(), strings.NewReader(c.content), int64(len(c.content)), c.edit)
			if err != nil {
				t.Fatal(err)
			}
			after, err := io.ReadAll(r)
			if err != nil || string(after) != c.want || got.Replaced != c.n {
				t.Errorf("%d places, %d bytes, want %d: %v", got.Replaced, len(after), len(c.want), err)
			}
		})
	}
}

func TestStreamShowsThePlace(t *testing.T) {
	content := strings.Repeat("line\n", 1_000_000) + "here\n" + strings.Repeat("line\n", 1_000_000)
	_, got, err := Stream(t.Context(), strings.NewReader(content), int64(len(content)), Edit{Old: "here", New: "x\ny"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("@@ -1000000,3 +1000000,4 @@\n line\n-here\n+x\n+y\n line\n", got.Diff(1, 2000)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStreamRefuses(t *testing.T) {
	content := strings.Repeat("here or there\n", 30)
	for name, c := range map[string]struct {
		edit Edit
		want string
	}{
		"not there": {Edit{Old: "nowhere", New: "x"}, "only exact text"},
		"several":   {Edit{Old: "or", New: "x"}, "occurs 30 times, in lines 1, 2, 3,"},
		"identical": {Edit{Old: "or", New: "or"}, "identical"},
		"empty":     {Edit{New: "or"}, "old_string is empty"},
		"anchors":   {Edit{At: "1#ab", New: "or"}, "at works in files of up to 16 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Stream(t.Context(), strings.NewReader(content), int64(len(content)), c.edit); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	short := strings.NewReader("short")
	if _, _, err := Stream(t.Context(), short, 100, Edit{Old: "x", New: "y"}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a text that shrank: %v", err)
	}
}

// TestStreamEqualsApply compares both on texts where the places are at all
// distances from each other.
func TestStreamEqualsApply(t *testing.T) {
	for n := range 60 {
		content := []byte(strings.Repeat(strings.Repeat("x", n)+"needle\n", 40_000/(n+7)))
		e := Edit{Old: "needle", New: "N", All: true}
		want, err := Apply(t.Context(), string(content), []Edit{e})
		if err != nil {
			t.Fatal(err)
		}
		r, got, err := Stream(t.Context(), bytes.NewReader(content), int64(len(content)), e)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := io.ReadAll(r); err != nil || string(after) != want.Content || got.Replaced != want.Replaced {
			t.Fatalf("%d: %d places, want %d: %v", n, got.Replaced, want.Replaced, err)
		}
	}
}

func BenchmarkApply5MB(b *testing.B) {
	content := string(fiveMB())
	for name, e := range map[string]Edit{
		"exact":       {Old: "line 100000 of", New: "the line of"},
		"indentation": {Old: "  line 100000 of some forty characters.....\n  line 100001 of some forty characters.....\n", New: "  x\n"},
		"punctuation": {Old: "line 100000 of some forty characters‒…...", New: "x"},
		"missing":     {Old: "lime 100000 of some fourty characters", New: "x"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out, err := Apply(b.Context(), content, []Edit{e}); err == nil {
					out.Diff(3, 2000)
				}
			}
		})
	}
}

func fiveMB() []byte {
	var text bytes.Buffer
	for i := range 125_000 {
		fmt.Fprintf(&text, "line %d of some forty characters.....\n", i)
	}
	return text.Bytes()
}
