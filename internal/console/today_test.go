package console

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/today"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// A dayFixture is a console with the calls of a day.
type dayFixture struct {
	*fixture
	log     *audit.Log
	history *history.Store
	undone  []string
}

func newDay(t testing.TB, more ...*room.Room) *dayFixture {
	d := &dayFixture{}
	d.fixture = newFixture(t, append(more, today.Room(today.Setup{
		Scrub: func() (func(string) string, error) {
			return func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED]") }, nil
		},
		Undo: func(_ context.Context, _ *store.Store, r history.Record, _ *history.Shared) (workspace.Receipt, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.undone = append(d.undone, r.ID)
			return workspace.Receipt{ID: "redo"}, nil
		},
	}))...)
	var err error
	if d.log, err = audit.Open(audit.Options{DB: audit.NewDB(d.store), Dir: d.dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.log.Close(); err != nil {
			t.Error(err)
		}
	})
	d.history = history.New(filepath.Join(d.dir, "files"), history.Limits{}, slog.New(slog.DiscardHandler))
	return d
}

// call records a call of today, with the change of a file unless after is empty, and waits until the store has it.
func (d *dayFixture) call(r audit.Record, file, before, after string) {
	d.Helper()
	if r.Phase == "" {
		r.Phase, r.Outcome = audit.Done, firstOf(r.Outcome, "ok")
	}
	if after != "" {
		if err := os.WriteFile(filepath.Join(d.dir, file), []byte(after), 0o600); err != nil {
			d.Fatal(err)
		}
		digest, err := d.history.Digest(d.Context(), strings.NewReader(after), int64(len(after)))
		if err != nil {
			d.Fatal(err)
		}
		f := history.FileRecord{Root: history.Text(d.dir), Name: history.Text(file), Shown: history.Text(file),
			After: &history.Content{Digest: digest, Size: int64(len(after))}}
		olds := []io.Reader{nil}
		if before != "" {
			f.Before, olds = &history.Content{}, []io.Reader{strings.NewReader(before)}
		}
		record := history.Record{Time: time.Now(), Tool: r.Tool, Call: r.Call, By: r.Agent + "/" + r.User,
			Files: []history.FileRecord{f}}
		if err := d.history.Add(d.Context(), record, olds); err != nil {
			d.Fatal(err)
		}
	}
	if err := d.log.Append(d.Context(), r); err != nil {
		d.Fatal(err)
	}
}

// hasUndone returns the changes that were undone.
func (d *dayFixture) hasUndone() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.undone)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// page loads the timeline when the store has all calls.
func (d *dayFixture) page(c *client, path, want string) answer {
	d.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := c.get(path)
		if strings.Contains(got.text, want) {
			return got
		}
		if time.Now().After(deadline) {
			d.Fatalf("%s has no %q:\n%s", path, want, got.text)
		}
	}
}

// date returns a path with the day on which the fixture was made: it may be midnight.
func date(path string, more ...string) string {
	return path + "?" + url.Values{"day": {time.Now().Format(time.DateOnly)}}.Encode() + strings.Join(more, "")
}

const hostileText = "<script>alert(1)</script>\u202e\x1b[2J\"><img src=x onerror=alert(1)>"

func TestTodayPage(t *testing.T) {
	d := newDay(t)
	c := d.openLink()
	if got := c.get("today"); got.status != http.StatusOK || !strings.Contains(got.text, "No calls") {
		t.Errorf("an empty day: %d\n%s", got.status, got.text)
	}
	path := date("today")
	d.call(audit.Record{Call: "A", Tool: "edit", About: "a.txt", Agent: "builder", User: "ann", Session: "s1"},
		"a.txt", "one\ntwo\n", "one\nTWO hunter2\n<b>three</b>\n")
	d.call(audit.Record{Call: "B", Tool: "exec", About: hostileText, Agent: "builder", User: "ann", Session: "s1",
		End: "exit code 1"}, "", "", "")
	d.call(audit.Record{Call: "C", Tool: "exec", About: "rm -rf /", Outcome: "refused", Error: "refused: " + hostileText,
		Agent: hostileText, User: hostileText, Session: hostileText}, "", "", "")
	d.call(audit.Record{Phase: audit.Intent, Call: "D", Tool: "exec", About: "make", User: "ann", Session: "s2"}, "", "", "")
	d.call(audit.Record{Kind: "operator", Tool: "pauses pause", User: "ann"}, "", "", "") // it has no id
	page := d.page(c, path, "operator: pauses pause")
	for _, want := range []string{
		"edited a.txt", `<span class="added">+2</span>`, `<span class="removed">-1</span>`, "- two", "TWO [REDACTED]",
		"&lt;b&gt;three&lt;/b&gt;", "exit code 1", "refused", "Running now", "&lt;U&#43;202E&gt;", "Stop, and pause the session",
	} {
		if !strings.Contains(page.text, want) {
			t.Errorf("the page has no %q:\n%s", want, page.text)
		}
	}
	for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\x1b", "hunter2"} {
		if strings.Contains(page.text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for query, want := range map[string]string{
		"&agent=builder": "edited a.txt", "&session=s2": "make", "&kind=files": "edited a.txt",
		"&agent=none": "No calls of this selection", "&plain=1": "With differences",
		"&agent=" + url.QueryEscape(hostileText): "rm -rf /",
	} {
		if got := c.get(date("today", query)); !strings.Contains(got.text, want) || query == "&session=s2" &&
			strings.Contains(got.text, "edited a.txt") {
			t.Errorf("%s: %d\n%s", query, got.status, got.text)
		}
	}
	for query, status := range map[string]int{"?day=never": 400, "?kind=none": 400, "?day=" + url.QueryEscape(hostileText): 400} {
		if got := c.get("today" + query); got.status != status || strings.Contains(got.text, "<script>alert") {
			t.Errorf("%s: %d\n%s", query, got.status, got.text)
		}
	}
}

func TestUndoOnThePage(t *testing.T) {
	d := newDay(t)
	c := d.openLink()
	path := date("today")
	d.call(audit.Record{Call: "A", Tool: "write_file", About: "a.txt"}, "a.txt", "", "one\n")
	d.page(c, path, "wrote a.txt")
	past, ok, err := d.history.Find(t.Context(), "A")
	if err != nil || !ok {
		t.Fatal(err)
	}
	form := url.Values{"arg.change": {"A"}, "back": {path}}
	if got := c.do("activity/undo", form); !strings.Contains(got.text, "Yes, do it") || d.hasUndone() != nil {
		t.Errorf("not confirmed: undone %v\n%s", d.hasUndone(), got.text)
	}
	form.Set("confirm", "yes")
	if got := c.do("activity/undo", form); !strings.Contains(got.text, "Undone: ") || !slices.Equal(d.hasUndone(), []string{past.ID}) {
		t.Errorf("confirmed: undone %v, want %s\n%s", d.hasUndone(), past.ID, got.text)
	}
	if got := c.get("changes/A"); got.status != http.StatusOK || !strings.Contains(got.text, "+ one") {
		t.Errorf("the change: %d\n%s", got.status, got.text)
	}
	if got := c.get("changes/none"); got.status != http.StatusNotFound {
		t.Errorf("a change that does not exist: %d", got.status)
	}
}

// TestHostileTextsOfADay has payloads in every field of the calls and changes of a day.
func TestHostileTextsOfADay(t *testing.T) {
	d := newDay(t)
	c := d.openLink()
	for i, p := range payloads() {
		name := strings.Map(func(r rune) rune {
			if r == '/' || r == 0 {
				return -1
			}
			return r
		}, cut(strings.ToValidUTF8(p, "?"), 60))
		end := []string{"ok", p, "refused", "failed"}[i%4]
		d.call(audit.Record{Call: fmt.Sprint("c", i), Tool: []string{"write_file", "exec", p, "web_fetch"}[i%4], About: p, Agent: cut(p, 300),
			User: cut(p, 300), Session: fmt.Sprint("s", i%3, cut(p, 200)), Error: p, End: p, Approval: p, Outcome: end}, name, p, p+"\nmore\n"+p)
		d.call(audit.Record{Call: fmt.Sprint("d", i), Tool: "exec", Phase: audit.Intent, About: p, Agent: p, User: p, Session: p}, "", "", "")
		d.call(audit.Record{Call: fmt.Sprint("e", i), Kind: []string{"operator", p, "job", "subagent"}[i%4], Tool: p, About: p, Agent: p, User: p,
			Session: p, Profile: p, Transport: p}, "", "", "")
	}
	d.page(c, date("today"), "earlier events")
	for _, query := range []string{"", "&plain=1", "&session=" + url.QueryEscape(payloads()[3]), "&agent=" + url.QueryEscape(payloads()[5]),
		"&kind=" + url.QueryEscape(payloads()[6])} {
		got := c.get(date("today", query))
		if got.status >= 500 {
			t.Errorf("%.80s got %d: %.2000s", query, got.status, got.text)
		}
		inspect(t, "today "+query, got.text, strings.TrimPrefix(c.base, d.server.URL), c.csrf)
		for _, change := range regexp.MustCompile(`/changes/(\w+)"`).FindAllStringSubmatch(got.text, 12) {
			one := c.get("changes/" + change[1])
			inspect(t, "a change", one.text, strings.TrimPrefix(c.base, d.server.URL), c.csrf)
		}
	}
}

func TestPicturesOnThePage(t *testing.T) {
	d := newDay(t)
	c := d.openLink()
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)
	svg := `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><text>hunter2</text></svg>`
	path := date("today")
	d.call(audit.Record{Call: "A", Tool: "create_image"}, "a.png", "", png)
	d.call(audit.Record{Call: "B", Tool: "create_image"}, "b.svg", "", svg)
	d.call(audit.Record{Call: "C", Tool: "write_file", About: "c.png"}, "c.png", "", "<html>no picture</html>")
	page := d.page(c, path, "wrote c.png")
	clean := strings.ReplaceAll(svg, "hunter2", "[REDACTED]")
	for _, want := range []string{
		"data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png)),
		"data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(clean)),
	} {
		if !strings.Contains(html.UnescapeString(page.text), want) {
			t.Errorf("the page has no %q:\n%s", want, page.text)
		}
	}
	if n := strings.Count(page.text, "<img"); n != 2 {
		t.Errorf("%d pictures", n)
	}
}

func TestStopAJob(t *testing.T) {
	d := newDay(t)
	c := d.openLink()
	queue := &jobs.Queue{Store: d.store, Kind: "subagent"}
	began, ended := make(chan struct{}), make(chan error, 1)
	queue.Do = func(ctx context.Context, _ *jobs.Held) (string, error) {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	}
	var id string
	err := d.store.Update(t.Context(), func(tx *store.Tx) (err error) {
		id, _, err = queue.Enqueue(tx, jobs.New{Owner: "agent:main", Agent: "main", Payload: `{"Label":"<i>count</i>"}`})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	queue.Start()
	defer queue.Close()
	hang := time.After(time.Minute)
	select {
	case <-began:
	case <-hang:
		t.Fatal("the job does not begin")
	}
	page := c.get("today")
	if !strings.Contains(page.text, "subagent &lt;i&gt;count") || !strings.Contains(page.text, id) {
		t.Errorf("the page is\n%s", page.text)
	}
	c.do("activity/stop", url.Values{"arg.job": {id}})
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "an operator has stopped it") {
			t.Errorf("the job ended with %v", err)
		}
	case <-hang:
		t.Fatal("the job does not end")
	}
}

// TestTodayIsAnnounced checks that an open page learns of a new call.
func TestTodayIsAnnounced(t *testing.T) {
	d := newDay(t)
	c := d.openLink()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", c.base+"/events?of=today", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream := http.Client{Jar: c.http.Jar}
	response, err := stream.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "retry:") { // it follows from now on
			d.call(audit.Record{Call: "A", Tool: "exec", About: "make"}, "", "", "")
		}
		if lines.Text() == "event: changed" {
			return
		}
	}
	t.Errorf("the stream ended without an event: %v", lines.Err())
}

func TestDiffRows(t *testing.T) {
	for lines, want := range map[string]string{
		"@@ -1 +1 @@| a|-b|+B| c": "hunk same(a a) change(b B) same(c c)",
		"-a|-b|+A":                "change(a A) change(b )",
		"-a|+A|+B":                "change(a A) change( B)",
		"+A|-b":                   "change( A) change(b )",
		`-a|\ No newline at end of file|+A|\ No newline at end of file`: "change(a A)",
		" |-|+": "same( ) change( )",
		"":      "same( )",
	} {
		var got []string
		for _, row := range diffRows(strings.Split(lines, "|")) {
			one := row.Kind
			if one != "hunk" {
				one += fmt.Sprintf("(%s %s)", row.Old, row.New)
			}
			got = append(got, one)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", lines, strings.Join(got, " "), want)
		}
	}
}

func TestOneSided(t *testing.T) {
	for lines, want := range map[string]bool{
		"@@ -0,0 +1,2 @@|+a|+b": true, "@@ -1,2 +0,0 @@|-a|-b": true, "@@ -1 +1,2 @@| a|+b": false, "-a|+b": false, "": false,
	} {
		if got := oneSided(strings.Split(lines, "|")); got != want {
			t.Errorf("%q: %v", lines, got)
		}
	}
}

// BenchmarkTodayPage renders the timeline of a day with 10,000 calls of 20 sessions.
func BenchmarkTodayPage(b *testing.B) {
	const calls = 10_000
	d := newDay(b)
	tools := []string{"read_file", "read_file", "search", "edit", "exec", "exec", "web_fetch", "write_file", "read_file", "memory_search"}
	for i := range calls {
		file, before, after := "", "", ""
		if i%50 == 3 {
			file, before, after = fmt.Sprintf("file%d.txt", i), "one\ntwo\nthree\n", fmt.Sprintf("one\n%d\nthree\n", i)
		}
		about := fmt.Sprintf("dir/file%d.go", i%300)
		if i%10 == 4 { // else 10,000 calls of a few seconds are a few events
			about = fmt.Sprintf("go test ./dir%d", i)
		}
		d.call(audit.Record{Call: fmt.Sprint("CALL", i), Tool: tools[i%len(tools)], About: about,
			User: "ann", Session: fmt.Sprint("s", i*20/calls)}, file, before, after)
	}
	c := d.openLink()
	path := date("today")
	d.page(c, path, "s19")
	for name, path := range map[string]string{"plain": path + "&plain=1", "diffs": path} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got := c.get(path); got.status != http.StatusOK {
					b.Fatal(got.status)
				}
			}
		})
	}
}
