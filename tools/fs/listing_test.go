package fs

import (
	"context"
	"encoding/json"
	iofs "io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// fixedFiles answers every question with what it was given, and keeps the question.
type fixedFiles struct {
	workspace.Files
	listing workspace.Listing
	found   search.Found
	asked   any
}

func (s *fixedFiles) List(_ context.Context, q workspace.ListQuery) (workspace.Listing, error) {
	s.asked = q
	return s.listing, nil
}
func (s *fixedFiles) Glob(_ context.Context, q workspace.GlobQuery) (workspace.Listing, error) {
	s.asked = q
	return s.listing, nil
}
func (s *fixedFiles) Search(_ context.Context, q search.Query) (search.Found, error) {
	s.asked = q
	return s.found, nil
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestListFiles(t *testing.T) {
	s := &fixedFiles{listing: workspace.Listing{Dir: "src", More: 7, Unlisted: []string{"a", "b", "c", "d", "e", "f"},
		Entries: []workspace.Entry{
			{Name: "cmd", Mode: iofs.ModeDir},
			{Name: "cmd/main.go", Size: 999, Modified: noon},
			{Name: "big", Size: 3_456_789, Modified: noon},
			{Name: "link", Mode: iofs.ModeSymlink, Target: "cmd"},
			{Name: "pipe", Mode: iofs.ModeNamedPipe},
		}}}
	res, err := listFiles{s}.Do(t.Context(), listFilesArgs{Path: "src", Depth: 2, Limit: 5, Git: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[src: 12 entries]
cmd/
cmd/main.go  999 B  2026-01-02 12:00
big  3.5 MB  2026-01-02 12:00
link -> cmd
pipe  (not a regular file)
[7 more; raise limit, or use a pattern or a subdirectory]
[could not read a, b, c, d, e and 1 more]`
	if diff := cmp.Diff(want, res.Text()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(workspace.ListQuery{Path: "src", Depth: 2, Limit: 5, Hidden: true}, s.asked); diff != "" {
		t.Error(diff)
	}
	s.listing = workspace.Listing{Dir: ".", More: 7}
	const deep = "[.: 7 entries]\n[7 more; set gitignore to true to leave out ignored files; or raise limit, or use a pattern or a subdirectory]"
	if res, err = (listFiles{s}).Do(t.Context(), listFilesArgs{Depth: 2}); err != nil || res.Text() != deep {
		t.Error(res.Text(), err)
	}
}

func TestGlob(t *testing.T) {
	for name, test := range map[string]struct {
		args    globArgs
		listing workspace.Listing
		want    string
	}{
		"some":          {globArgs{Sort: "name"}, workspace.Listing{Entries: []workspace.Entry{{Name: "a.go"}, {Name: "b.go"}}}, "a.go\nb.go"},
		"more":          {globArgs{Sort: "newest"}, workspace.Listing{Entries: []workspace.Entry{{Name: "a.go"}}, More: 2}, "a.go\n[1 of 3 files, newest first; raise limit, or narrow the pattern]"},
		"none here":     {globArgs{Pattern: "*.go"}, workspace.Listing{Dir: "."}, `no file below . matches "*.go"; to search all directories use "**/*.go"`},
		"none anywhere": {globArgs{Pattern: "**/*.go"}, workspace.Listing{Dir: "."}, `no file below . matches "**/*.go"; to include hidden and ignored files set all to true`},
		"none at all":   {globArgs{Pattern: "**/*.go", All: true}, workspace.Listing{Dir: "src"}, `no file below src matches "**/*.go"`},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := globFiles{&fixedFiles{listing: test.listing}}.Do(t.Context(), test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.Text()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	lines := []search.Line{{Number: 1, Text: "before"}, {Number: 2, Text: "a match", Match: true},
		{Number: 9, Text: "early"}, {Number: 10, Text: "and x", Match: true, Column: 4000, Cut: 5000}}
	for name, test := range map[string]struct {
		args  searchArgs
		found search.Found
		want  string
	}{
		"lines": {
			searchArgs{Mode: "content", Context: 1},
			search.Found{Matches: 3, Files: []search.FileMatches{{Name: "a.go", Lines: lines},
				{Name: "b.bin", Binary: true}, {Name: "c",
					Lines: []search.Line{{Number: 5, Text: "x", Match: true, Cut: 7}}}}},
			"a.go\n1-before\n2:a match\n--\n9-early\n10:and x [from column 4000; 5000 bytes of this line not shown]\n\nb.bin\n(a binary file that matches)\n\nc\n5:x [7 bytes of this line not shown]\n[3 matching lines in 3 files]",
		},
		"a page": {
			searchArgs{Mode: "content", Offset: 20, Limit: 1},
			search.Found{More: true, Unread: 1, Files: []search.FileMatches{{Name: "a", Lines: lines[1:2]}}},
			"a\n2:a match\n[1 matching line from offset 20; for more use offset 21, or narrow the pattern, path or glob]\n[1 file could not be read]",
		},
		"names":      {searchArgs{Mode: "files"}, search.Found{Files: []search.FileMatches{{Name: "a"}, {Name: "b"}}}, "a\nb\n[2 files]"},
		"more names": {searchArgs{Mode: "files"}, search.Found{More: true, Files: []search.FileMatches{{Name: "a"}}}, "a\n[1 file from offset 0; for more use offset 1]"},
		"counts":     {searchArgs{Mode: "count"}, search.Found{Files: []search.FileMatches{{Name: "a", Matches: 12}}}, "a: 12\n[1 file]"},
		"none":       {searchArgs{Mode: "content", Pattern: "f(x)", Case: true}, search.Found{Searched: 3}, `no line matches "f(x)" in 3 files (binary files are not searched); to find more try case: false, literal: true, all: true (hidden and ignored files)`},
		"no wider":   {searchArgs{Mode: "content", Pattern: "x", Literal: true, All: true}, search.Found{Searched: 1}, `no line matches "x" in 1 file (binary files are not searched)`},
		"no file":    {searchArgs{Pattern: "x", Path: "p", Glob: []string{"*.nope"}}, search.Found{}, `no file to search in "p" matches glob and type; to include hidden and ignored files set all to true`},
		"empty":      {searchArgs{Pattern: "x", All: true}, search.Found{}, `no file to search in "."`},
		"unreadable": {searchArgs{Pattern: "x", All: true, Case: false, Literal: true}, search.Found{Unread: 1}, "no file was searched\n[1 file could not be read]"},
		"too large": {searchArgs{Pattern: "x", All: true, Case: false, Literal: true, Multiline: true},
			search.Found{Unread: 1, Failed: []search.UnreadError{{Name: "a.log", Why: "is larger than that"}}}, "no file was searched\n[1 file could not be read: a.log is larger than that]"},
		"past all": {searchArgs{Mode: "content", Offset: 50}, search.Found{}, "[no matches after offset 50]"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := searchFiles{files: &fixedFiles{found: test.found}, seen: new(Seen)}.Do(t.Context(), test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.Text()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSearchAsks(t *testing.T) {
	s := &fixedFiles{}
	args := searchArgs{Pattern: "x", Path: "p", Glob: []string{"*.go"}, Type: []string{"go"}, Mode: "count",
		Context: 2, Word: true, Multiline: true, Literal: true, All: true, Limit: 3, Offset: 4}
	if _, err := (searchFiles{files: s, seen: new(Seen)}).Do(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	want := search.Query{
		Pattern: "x", Path: "p", Globs: []string{"*.go"}, Types: []string{"go"}, Mode: search.Count, Context: 2,
		Literal: true, IgnoreCase: true,
		Word: true, Multiline: true, Hidden: true, Ignored: true, Limit: 3, Offset: 4,
	}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Error(diff)
	}
}

func TestGlobOrders(t *testing.T) {
	for sort, newest := range map[string]bool{"": true, "newest": true, "mtime": true, "Name": false, "path": false} {
		s := &fixedFiles{}
		if _, err := (globFiles{s}).Do(t.Context(), globArgs{Pattern: "*", Sort: sort}); err != nil ||
			s.asked.(workspace.GlobQuery).Newest != newest {
			t.Errorf("%q: %+v, %v", sort, s.asked, err)
		}
	}
	if _, err := (globFiles{&fixedFiles{}}).Do(t.Context(), globArgs{Pattern: "*", Sort: "size"}); err == nil ||
		err.Error() != `invalid: cannot sort by "size"; sort by newest or name` {
		t.Error(err)
	}
}

// TestSearchByOtherNames has arguments as models know them from other tools.
func TestSearchByOtherNames(t *testing.T) {
	for args, want := range map[string]search.Query{
		`{"pattern":"x","output_mode":"files_with_matches","head_limit":5}`: {Mode: search.Names, Limit: 5},
		`{"pattern":"x","output_mode":"Count"}`:                             {Mode: search.Count, Limit: 100},
		`{"pattern":"x","-C":3,"-F":true}`:                                  {Mode: search.Content, Limit: 100, Context: 3, Literal: true},
		`{"pattern":"x","-A":2,"-B":4,"-i":true,"-n":true}`:                 {Mode: search.Content, Limit: 100, Context: 4, IgnoreCase: true},
		`{"regex":"x","-A":2,"file_pattern":"*.go"}`:                        {Mode: search.Content, Limit: 100, Context: 2, Globs: []string{"*.go"}},
		`{"Query":"x","SearchPath":"p","Includes":["*.go"]}`:                {Mode: search.Content, Limit: 100, Path: "p", Globs: []string{"*.go"}},
	} {
		s := &fixedFiles{}
		c, err := tool.New(searchFiles{files: s, seen: new(Seen)}).Bind(json.RawMessage(args), tool.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		want.Pattern, want.Path = "x", dirOrWorkspace(want.Path)
		if diff := cmp.Diff(want, s.asked); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
	if _, err := (searchFiles{files: &fixedFiles{}, seen: new(Seen)}).Do(t.Context(), searchArgs{Pattern: "x", Mode: "tree"}); err == nil ||
		err.Error() != `invalid: there is no mode "tree"; use content, files or count` {
		t.Error(err)
	}
}

func TestListRecursively(t *testing.T) {
	s := &fixedFiles{}
	if _, err := (listFiles{s}).Do(t.Context(), listFilesArgs{Recursive: true}); err != nil {
		t.Fatal(err)
	}
	if q := s.asked.(workspace.ListQuery); q.Depth != maxListDepth {
		t.Errorf("%+v", q)
	}
}
