package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
)

func TestPairsToJSON(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  string // JSON, or a part of the error
	}{
		{nil, `{}`},
		{[]string{"a=1", "b=x=y", "c="}, `{"a":"1","b":"x=y","c":""}`},
		{[]string{"n:=1", "o:={\"k\": [true]}"}, `{"n":1,"o":{"k":[true]}}`},
		{[]string{"l=a", "l=b", "l:=3"}, `{"l":["a","b",3]}`},
		{[]string{"at=12:=30"}, `{"at":"12:=30"}`},
		{[]string{`q="`}, `{"q":"\""}`},
		{[]string{"word"}, `"word" is not an argument`},
		{[]string{"=x"}, `"=x" is not an argument`},
		{[]string{":=1"}, `":=1" is not an argument`},
		{[]string{"n:=one"}, `n: "one" is not JSON; for a text write n=one`},
		{[]string{"n:="}, `n: "" is not JSON`},
	} {
		got, err := pairsToJSON(c.pairs)
		if err != nil {
			var usage app.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %q", c.pairs, err, c.want)
			}
		} else if string(got) != c.want {
			t.Errorf("%q: %s, want %s", c.pairs, got, c.want)
		}
	}
}

func TestResultsAreReadable(t *testing.T) {
	picture := tool.Text("a picture").Add(
		tool.Part{Data: []byte{1, 2, 3}, MIME: "image/png"},
		tool.Part{URI: "file:///x", Name: "x"},
		tool.Part{Text: "ends with a line\n"})
	for _, c := range []struct {
		res      tool.Result
		out, err string
	}{
		{picture,
			"a picture\n[image/png, 3 bytes; --output json prints them in base64]\n[link to x file:///x]\nends with a line\n", ""},
		{tool.Text("one").With(map[string]any{"n": 1}), "one\n", ""},
		{tool.Result{Parts: []tool.Part{{Text: "<<<end>>>", URI: "mcp://x/y"}}}, "<<<end>>>\n[link to mcp://x/y]\n", ""},
		{tool.Failure(tool.Errorf(tool.Busy, "later")), "", "busy: later\n"},
		{tool.Result{}, "", ""},
	} {
		var out, err strings.Builder
		a := New(app.Env{Out: &out, Err: &err})
		if failed := a.printResult(&out, c.res); failed != nil {
			t.Fatal(failed)
		}
		if out.String() != c.out || err.String() != c.err {
			t.Errorf("%+v prints %q and %q, want %q and %q", c.res, &out, &err, c.out, c.err)
		}
	}
}

// TestWeightsAreThoseOfTheList compares the sizes of tools with what the server sends. It
// leaves out tools that nothing is set up for.
func TestWeightsAreThoseOfTheList(t *testing.T) {
	var out, log strings.Builder
	a := New(app.Env{Out: &out, Err: &log, Getenv: func(string) string { return "" }, Data: t.TempDir()})
	h, err := a.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	v, err := a.Examine()
	if err != nil {
		t.Fatal(err)
	}
	sum := weigh(v)
	list := h.Server.ToolsList(server.Access{Caller: tool.Caller{Profile: sum.Profile, Workspace: t.TempDir()}})
	var sent struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(list, &sent); err != nil || len(sent.Tools) == 0 {
		t.Fatalf("%d tools, %v", len(sent.Tools), err)
	}
	sizes := map[string]int{}
	for _, w := range sum.Tools {
		sizes[w.Name] = w.Bytes
	}
	for _, one := range sent.Tools {
		var named struct{ Name string }
		if err := json.Unmarshal(one, &named); err != nil || sizes[named.Name] != len(one) {
			t.Errorf("%s: counted %d bytes, the server sends %d, %v", named.Name, sizes[named.Name], len(one), err)
		}
	}
}
