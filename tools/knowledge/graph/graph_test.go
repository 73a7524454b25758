package graph

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace": "ada-lovelace", "  O'Brien, Pat ": "obrien-pat", "José Ñandú": "jose-nandu", "C++": "cplusplus", "C": "c",
		"C#": "csharp", ".NET": "net", "東京 タワー": "東京-タワー", "한국": "한국", "---": "", "": "", "a_b/c.d": "a-b-c-d", "हिन्दी": "हिन्दी",
		strings.Repeat("x", 500): strings.Repeat("x", maxSlug), "# one": "one",
	} {
		if got := Slug(name); got != want {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestTypeName(t *testing.T) {
	for text, want := range map[string]string{
		"worksOn": "works_on", "WORKS ON": "works_on", "works-on": "works_on", " 2 x": "x", "Établi": "etabli", "類": "", "": "", "a__b": "a_b",
	} {
		if got := TypeName(text); got != want {
			t.Errorf("TypeName(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCleanLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\r\n\tc": "a b c", "a\u202eb\u200b\x00c": "abc", "\xff": "", "न\u200dम": "न\u200dम",
	} {
		if got := CleanLine(text); got != want {
			t.Errorf("CleanLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSimilar(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"ada-lovelace", "lovelace-ada", true}, {"ada-lovelace", "a-lovelace", true}, {"ada-lovelace", "ada-lovelase", true},
		{"post-gres", "postgres", true}, {"kubernetes", "kuberentes", true}, {"ann", "anna", false}, {"bob", "rob", false},
		{"release-1", "release-2", false}, {"sprint-2024-11", "sprint-2024-12", false}, {"ada-lovelace", "bob-lovelace", false},
		{"anthropic", "anthropologie", false},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := Similar(pair[0], pair[1]); got != test.want {
				t.Errorf("Similar(%q, %q) = %v", pair[0], pair[1], got)
			}
		}
	}
}

func TestMerge(t *testing.T) {
	base := Entity{
		Slug: "ada", Name: "Ada", Type: "person", Description: "old", Confidence: 0.8, Valid: Always(),
		Properties: map[string]string{"born": "1815", "x": "y"}, Aliases: []string{"Countess"},
	}
	for name, test := range map[string]struct {
		report Entity
		want   func(*Entity)
		kept   []string
	}{
		"nothing new": {Entity{Name: "ADA", Confidence: 0.5}, func(*Entity) {}, nil},
		"less certain": {
			Entity{Name: "Ada", Type: "place", Description: "new", Confidence: 0.5, Properties: map[string]string{"born": "1816", "died": "1852"}},
			func(e *Entity) { e.Properties = map[string]string{"born": "1815", "x": "y", "died": "1852"} },
			[]string{"type", "description", "born"},
		},
		"more certain": {
			Entity{
				Name: "Ada King", Type: "mathematician", Description: "new", Confidence: 0.9, Valid: Span{1, 2},
				Properties: map[string]string{"born": "", "x": "z"}, Aliases: []string{"countess", "A. King"},
			},
			func(e *Entity) {
				e.Type, e.Description, e.Confidence, e.Valid = "mathematician", "new", 0.9, Span{1, 2}
				e.Properties, e.Aliases = map[string]string{"x": "z"}, []string{"Countess", "Ada King", "A. King"}
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := base
			test.want(&want)
			got, kept := base.Merge(test.report)
			if diff := cmp.Diff(want, got); diff != "" || !cmp.Equal(test.kept, kept) {
				t.Errorf("kept %v; -want +got:\n%s", kept, diff)
			}
			if again, _ := got.Merge(test.report); !cmp.Equal(got, again) {
				t.Errorf("merging the same report again made %v of %v", again, got)
			}
		})
	}
	if base.Properties["born"] != "1815" || len(base.Properties) != 2 {
		t.Errorf("Merge changed its receiver: %v", base)
	}
}

func TestResolveCompletesOwnWithShared(t *testing.T) {
	own := Entity{
		Owner: tool.Owner{Agent: "a", User: "u"}, Slug: "x", Name: "X",
		Properties: map[string]string{"a": "own"}, Aliases: []string{"Eks"},
	}
	shared := Entity{
		Owner: own.Owner.Shared(), Slug: "x", Name: "X", Description: "all",
		Properties: map[string]string{"a": "all", "b": "all"}, Aliases: []string{"eks", "Ix"},
	}
	want := Entity{
		Owner: own.Owner, Slug: "x", Name: "X", Description: "all",
		Properties: map[string]string{"a": "own", "b": "all"}, Aliases: []string{"Eks", "Ix"},
	}
	for _, rows := range [][]Entity{{own, shared}, {shared, own}} {
		if diff := cmp.Diff(map[string]Entity{"x": want}, Resolve(rows)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"Ada Lovelace", "C++ #1", "İstanbul ﬁ ǅ", "한국\u0301", "\xff\x00", "a’b'c", "ᾳΣς"} {
		f.Add(seed, "b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		slug := Slug(CleanLine(a))
		if !utf8.ValidString(slug) || len(slug) > maxSlug || strings.ContainsAny(slug, " \x00\n") {
			t.Errorf("Slug(%q) = %q", a, slug)
		}
		if again := Slug(slug); again != slug {
			t.Errorf("Slug(%q) = %q, and the slug of that is %q", a, slug, again)
		}
		if line := CleanLine(a); CleanLine(line) != line || strings.ContainsAny(line, "\n\r\x00") {
			t.Errorf("CleanLine(%q) = %q", a, line)
		}
		if name := TypeName(a); TypeName(name) != name || len(name) > maxType {
			t.Errorf("TypeName(%q) = %q", a, name)
		}
		if other := Slug(CleanLine(b)); Similar(slug, other) != Similar(other, slug) {
			t.Errorf("Similar(%q, %q) depends on the order", slug, other)
		}
	})
}
