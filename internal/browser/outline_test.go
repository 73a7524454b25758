package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func static(s string) *node { return &node{role: "StaticText", name: s} }

func TestOutline(t *testing.T) {
	root := &node{role: "RootWebArea", children: []*node{
		{role: "heading", level: 2, children: []*node{static("Things  to\n do")}},
		{role: "paragraph", children: []*node{static("See"),
			{role: "link", name: "this", ref: "e1", url: "https://a.example/x?y"}, static(", or not [e9]")}},
		{role: "generic", children: []*node{{role: "generic", children: []*node{static("one")}},
			{role: "generic", children: []*node{static("two")}}}},
		{role: "list", children: []*node{
			{role: "listitem", children: []*node{{role: "ListMarker", name: "•"}, static("plain")}},
			{role: "listitem", children: []*node{static("with"),
				{role: "list", children: []*node{{role: "listitem", children: []*node{static("deep")}}}}}},
		}},
		{role: "dialog", name: `A "dialog"`, ref: "e2",
			children: []*node{{role: "button", name: "OK", ref: "e3", states: []string{"focused"}}}},
		{role: "navigation"},
		{role: "table", ref: "e4", children: []*node{{role: "row",
			children: []*node{{role: "cell", children: []*node{static("a|b")}},
				{role: "cell", children: []*node{static("c")}}}}}},
		{role: "combobox", name: "Pick", value: "B", ref: "e5",
			children: []*node{{role: "MenuListPopup",
				children: []*node{{role: "option", name: "A"}, {role: "option", name: "B"}}}}},
		{role: "link", ref: "e6", url: "javascript:" + strings.Repeat("x", 100),
			children: []*node{{role: "image", name: "logo"}}},
		{role: "link", name: "away", ref: "e7", url: "https://b.example/"},
	}}
	want := `## Things to do
See [e1] link "this" -> /x?y, or not (e9)
one
two
- plain
- with
 - deep
[e2] dialog "A 'dialog'":
 [e3] button "OK" (focused)
[e4] table:
 a/b | c
[e5] combobox "Pick" = "B" of A | B
[e6] link -> javascript:xxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
[e7] link "away" -> https://b.example/`
	if got := strings.Join(partOf(root, "https://a.example/"), "\n"); got != want {
		t.Errorf("the outline is:\n%s\nwant:\n%s", got, want)
	}
}

// TestOrder checks that dialogs and the main part come first, that navigation is folded,
// and that lines of preformatted text stay.
func TestOrder(t *testing.T) {
	link := func(ref string) *node {
		return &node{role: "link", name: "to " + ref, ref: ref, url: "https://a.example/"}
	}
	root := &node{role: "RootWebArea", children: []*node{
		{role: "navigation", name: "Top", ref: "e1", children: []*node{link("e2"), link("e3"), link("e4"), link("e5")}},
		{role: "navigation", ref: "e6", children: []*node{link("e7"), {role: "searchbox", name: "Search", ref: "e8"},
			link("e9"), link("e10"), link("e11")}},
		{role: "main", children: []*node{{role: "heading", level: 1, children: []*node{static("News")}},
			{role: "Pre", children: []*node{static("if a:\n    b\n"), {role: "code", children: []*node{static("[e1] c\n")}}}}}},
		{role: "dialog", name: "Cookies", ref: "e12", children: []*node{{role: "button", name: "OK", ref: "e13"}}},
	}}
	want := `[e12] dialog "Cookies":
 [e13] button "OK"
main:
 # News
 if a:
     b
 (e1) c
rest of the page:
[e1] navigation "Top": 4 links
[e6] navigation:
 [e7] link "to e7"
 [e8] searchbox "Search"
 [e9] link "to e9"
 [e10] link "to e10"
 [e11] link "to e11"`
	if got := strings.Join(outlineOf(root), "\n"); got != want {
		t.Errorf("the outline is:\n%s\nwant:\n%s", got, want)
	}
	want = `[e2] link "to e2" -> /
[e3] link "to e3" -> /
[e4] link "to e4" -> /
[e5] link "to e5" -> /`
	if got := strings.Join(partOf(root.children[0], "https://a.example/"), "\n"); got != want {
		t.Errorf("the navigation is:\n%s\nwant:\n%s", got, want)
	}
}

func TestDeepAndWidePages(t *testing.T) {
	deep := &node{role: "generic"}
	at := deep
	for range 20_000 {
		next := &node{role: "list", name: "x"}
		at.children = []*node{next, static("y")}
		at = next
	}
	if lines := outlineOf(deep); len(lines) > 2*maxDepth+10 {
		t.Errorf("a deep page has %d lines", len(lines))
	}
	wide := &node{role: "paragraph"}
	for range 100_000 {
		wide.children = append(wide.children, static("word"))
	}
	if lines := outlineOf(wide); len(lines) != 1 || len(lines[0]) > 2*maxText {
		t.Errorf("a wide page has %d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}

func TestChanges(t *testing.T) {
	added, gone := lines{"a", "b", "b", "c"}.changes(lines{"b", "a", "d", "e"})
	if fmt.Sprint(added) != "[b c]" || gone != 2 {
		t.Errorf("new lines are %q, %d were removed", added, gone)
	}
	before := lines{`[e1] textbox "A" (focused, required)`, `[e2] button "B"`, `[e3] link "C" (focused)`}
	added, gone = lines{`[e1] textbox "A" (required)`, `[e2] button "B" (focused)`, `[e3] link "C"`}.changes(before)
	if fmt.Sprint(added) != `[[e2] button "B" (focused)]` || gone != 1 {
		t.Errorf("after the focus has moved new lines are %q, %d were removed", added, gone)
	}
}

// FuzzWindows checks that successive windows contain each character once.
func FuzzWindows(f *testing.F) {
	f.Add("one\ntwo\n\nthree", 4)
	f.Add("漢字漢字\nå", 1)
	f.Add(strings.Repeat("x", 50), 7)
	f.Fuzz(func(t *testing.T, all string, most int) {
		if most < 1 || most > 1000 || len(all) > 1000 || !utf8.ValidString(all) {
			return
		}
		l := lines(strings.Split(all, "\n"))
		var read strings.Builder
		for offset := 0; ; {
			shown, next := l.window(offset, most)
			if n := utf8.RuneCountInString(shown); n > most {
				t.Fatalf("%d characters are shown, asked for were %d", n, most)
			}
			read.WriteString(shown)
			if next == 0 {
				break
			}
			if next <= offset {
				t.Fatalf("after %d comes %d", offset, next)
			}
			offset = next
		}
		if got := strings.ReplaceAll(read.String(), "\n", ""); got != strings.ReplaceAll(all, "\n", "") {
			t.Errorf("read is %q of %q", got, all)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("[e1] link \"x\"", 10)
	f.Add("[[e1]e2]\x00\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 0 || most > 1000 {
			return
		}
		got := text(s, most)
		if looksLikeRef.MatchString(got) || strings.ContainsAny(got, "\n\r\t\u202e") || len(got) > most+3 {
			t.Errorf("%q of at most %d is shown as %q", s, most, got)
		}
	})
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		"Enter": "Enter 0", "return": "Enter 0", "Esc": "Escape 0", "Control+a": "a 2", "ctrl+Shift+T": "T 10",
		"ArrowDown": "ArrowDown 0", "down": "ArrowDown 0",
		"a": "a 0", "A": "A 0", "é": "é 0", "+": "+ 0", "Control++": "+ 2", "Space": "  0", " ": "  0", "F5": "F5 0",
		"Cmd+c": "c 4", "Ą": "Ą 0", "Ă": "Ă 0", "F12": "F12 0", "PageUp": "PageUp 0", "Alt+F4": "F4 1", "shift+a": "A 8",
		"": "", "Foo": "", "Foo+a": "", "ab": "", "\x00": "", "Control+": "", "Control": "",
	} {
		k, modifiers, err := parseKey(text)
		got := fmt.Sprintf("%s %d", k.Key, modifiers)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestNamedKeys checks that every name has its key.
func TestNamedKeys(t *testing.T) {
	for name := range namedKeys {
		want := map[string]string{"return": "enter", "esc": "escape", "del": "delete", "space": " "}[name]
		got := strings.ToLower(keyNamed(name).Key)
		if want == "" && got != name && got != "arrow"+name || want != "" && got != want {
			t.Errorf("%q is %q", name, got)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("Control+Shift+a")
	f.Add("++")
	f.Fuzz(func(t *testing.T, text string) {
		if k, _, err := parseKey(text); err == nil && k.Key == "" {
			t.Errorf("%q is no key, and taken for one", text)
		}
	})
}

func FuzzFileNames(f *testing.F) {
	for _, name := range []string{"../../etc/passwd", "CON.txt", "com1", "a.tar.gz", "\u202egpj.exe", ".env",
		"file.bin", strings.Repeat("x", 59) + ".y.thirteen-letters", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, suggested string) {
		name := safeFileName(suggested)
		first, _, _ := strings.Cut(strings.ToLower(name), ".")
		if name == "" || len(name) > 80 || strings.ContainsAny(name, `/\: `) || strings.HasPrefix(name, ".") ||
			strings.HasSuffix(name, ".") || reservedNames.MatchString(first) {
			t.Errorf("%q is called %q", suggested, name)
		}
	})
}

// TestConnection checks that responses reach their calls, also between events and damaged
// messages.
func TestConnection(t *testing.T) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromConn, toConn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	l := newConnection(ours, toConn, func(_ target.SessionID, method string, _ jsonv2.Value) { events <- method })
	go l.listen()
	go func() {
		in := bufio.NewReader(fromConn)
		for range 3 {
			if _, err := in.ReadBytes(0); err != nil {
				return
			}
		}
		fmt.Fprint(theirs, "\x00{}\x00[1\x00{\"method\":\"A.b\",\"params\":{}}\x00{\"id\":99,\"result\":{}}\x00")
		fmt.Fprint(theirs, `{"id":2,"result":{"product":"P"}}`, "\x00", `{"id":1,"result":{"x":"`)
		for range 40 {
			theirs.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
		fmt.Fprint(theirs, `"}}`, "\x00", `{"id":3,"error":{"code":-1,"message":"no"}}`, "\x00")
		io.Copy(io.Discard, fromConn)
	}()
	whole := endpoint{l, ""}
	var answers []func() (jsonv2.Value, error)
	for range 3 {
		answer, err := l.sendAsync(t.Context(), "", browser.GetVersion.Method, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	if _, err := answers[0](); tool.AsError(err).Kind != tool.TooLarge {
		t.Errorf("an answer that is too long: %v", err)
	}
	if got, err := answers[1](); err != nil || string(got) != `{"product":"P"}` {
		t.Errorf("an answer: %s, %v", got, err)
	}
	if _, err := answers[2](); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("an error: %v", err)
	}
	if method := <-events; method != "" && method != "A.b" {
		t.Errorf("the event is %q", method)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, whole, browser.GetVersion, cdp.Empty{}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	theirs.Close()
	if err := run(t.Context(), whole, browser.GetVersion, cdp.Empty{}); !errors.Is(err, errBrowserEnded) {
		t.Errorf("a browser that has ended: %v", err)
	}
	if len(l.pending) != 0 {
		t.Errorf("%d answers are waited for", len(l.pending))
	}
	_ = l.pipe.Close()
	fromConn.Close()
}
