package today

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// nine is the beginning of the day of all tests.
func nine() time.Time { return time.Date(2026, 1, 31, 9, 0, 0, 0, time.Local) }

// A call makes the record of a call.
func call(tool, about string, more ...func(*audit.Row)) audit.Row {
	r := audit.Row{Chain: "chain", Record: audit.Record{
		Phase: audit.Done, Tool: tool, About: about, Outcome: "ok", User: "ann", Session: "s1", Transport: "stdio",
		ArgsDigest: tool + about,
	}}
	for _, change := range more {
		change(&r)
	}
	return r
}

func outcome(name, why string) func(*audit.Row) {
	return func(r *audit.Row) { r.Outcome, r.Error = name, name+": "+why }
}

func end(text string) func(*audit.Row) { return func(r *audit.Row) { r.End = text } }

func approval(text string) func(*audit.Row) { return func(r *audit.Row) { r.Approval = text } }

func at(minute int) func(*audit.Row) {
	return func(r *audit.Row) { r.Time = nine().Add(time.Duration(minute) * time.Minute) }
}

func phase(p audit.Phase) func(*audit.Row) {
	return func(r *audit.Row) {
		if r.Phase = p; p == audit.Intent {
			r.Outcome = ""
		}
	}
}

func named(id string) func(*audit.Row) { return func(r *audit.Row) { r.Call = id } }

// show returns the timeline of calls, without the headings. Calls without a time come one second after the other.
func show(log dayLog) string {
	for i := range log.rows {
		if r := &log.rows[i]; r.Time.IsZero() {
			r.Time = nine().Add(time.Duration(i) * time.Second)
		}
		if r := &log.rows[i]; r.Call == "" {
			r.Call = fmt.Sprintf("CALL%d", i)
		}
	}
	text := log.day(Query{Day: nine()}).forPeople(Query{Day: nine()})
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

func TestTimelineInWords(t *testing.T) {
	for _, tt := range []struct {
		name string
		rows []audit.Row
		want string
	}{
		{"one read", []audit.Row{call("read_file", "a.go")}, "09:00  read a.go"},
		{"reads are folded", []audit.Row{call("read_file", "a.go"), call("search", "x"), call("read_file", "b.go"),
			call("read_file", "a.go")}, "09:00  read 3 files, searched for x: a.go, x, b.go"},
		{"reads of another hour are another event", []audit.Row{call("read_file", "a.go", at(0)),
			call("read_file", "b.go", at(59))}, "09:00  read a.go\n09:59  read b.go"},
		{"a read that fails", []audit.Row{call("read_file", "a.go", outcome("not_found", "no file"))},
			"09:00  read a.go, failed: no file"},
		{"a read of several that fails", []audit.Row{call("read_file", "a.go"), call("read_file", "b.go",
			outcome("not_found", "no file"))}, "09:00  read 2 files (1 time without success): a.go, b.go"},
		{"commands", []audit.Row{call("exec", "make", end("exit code 0")), call("exec", "make", end("exit code 0")),
			call("exec", "ls", end("exit code 2"))}, "09:00  ran make (2 times)\n09:00  ran ls, failed: exit code 2"},
		{"a denied command", []audit.Row{call("exec", "rm x", func(r *audit.Row) { r.Outcome = "asked" },
			approval("question abcd")), call("exec", "rm x", outcome("refused", "a person denied this"), approval("denied cli:ann"))},
			"09:00  refused: exec rm x: a person denied it (cli:ann)"},
		{"an allowed command", []audit.Row{call("exec", "rm x", approval("write files outside, chat session"))},
			"09:00  ran rm x: a person allowed it (chat session)"},
		{"a rule", []audit.Row{call("exec", "rm x", approval("rule r1"))}, "09:00  ran rm x: allowed by rule r1"},
		{"an open question", []audit.Row{call("exec", "rm x", func(r *audit.Row) { r.Outcome = "asked" },
			approval("question abcd"))}, "09:00  asked: exec rm x: a person was asked and has not answered"},
		{"a refusal", []audit.Row{call("exec", "rm -rf /", outcome("refused", "removes too much; name the files"))},
			"09:00  refused: exec rm -rf /: removes too much"},
		{"an intent with its outcome", []audit.Row{call("exec", "make", named("A"), phase(audit.Intent)),
			call("exec", "make", named("A"))}, "09:00  ran make"},
		{"a killed server", []audit.Row{call("exec", "make", phase(audit.Intent), func(r *audit.Row) { r.Chain = "ended" })},
			"09:00  lost: ran make: the server ended during the call"},
		{"a running call", []audit.Row{call("exec", "make", phase(audit.Intent))},
			"since 09:00  exec make, of ann; to stop it: mcp-tools pause --session s1\n09:00  running make"},
		{"a command in the background", []audit.Row{call("exec", "make", end("runs in the background as p_1"))},
			"since 09:00  exec make, of ann; to stop it: mcp-tools pause --session s1\n" +
				"09:00  running make: runs in the background as p_1"},
		{"a command in the background of a server that has ended", []audit.Row{call("exec", "make",
			end("runs in the background as p_1"), func(r *audit.Row) { r.Chain = "ended" })},
			"09:00  lost: ran make: it ended with its server"},
		{"a command in the background that has ended", []audit.Row{
			call("exec", "make", named("A"), end("runs in the background as p_1")),
			call("exec", "make", named("B"), end("exit code 2"), func(r *audit.Row) {
				r.Kind, r.Parent, r.Duration = "command", "A", 61_000
			})}, "09:00  ran make, failed: exit code 2 after 1m1s"},
		{"pages", []audit.Row{call("web_fetch", "https://a.example/1"), call("web_fetch", "https://a.example/2")},
			"09:00  read 2 pages: https://a.example/1, https://a.example/2"},
		{"a tool of an operator", []audit.Row{call("deploy_%d", "x"), call("deploy_%d", "y")},
			"09:00  called deploy_%d: x\n09:00  called deploy_%d: y"},
		{"a tool without a subject", []audit.Row{call("deploy", ""), call("deploy", "")}, "09:00  called deploy 2 times"},
		{"a model", []audit.Row{call("m%s", "", func(r *audit.Row) { r.Kind = "model" }),
			call("m%s", "", func(r *audit.Row) { r.Kind = "model" })}, "09:00  asked the language model m%s 2 times"},
		{"hostile text", []audit.Row{call("exec", "ls \x1b[2J\u202e<script>\nx")},
			"09:00  ran ls <U+001B>[2J<U+202E><script> x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(dayLog{rows: tt.rows, open: map[string]bool{"chain": true}}); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestChangesOfFilesStandAtTheirCalls(t *testing.T) {
	file := func(name string, before, after bool) history.FileRecord {
		f := history.FileRecord{Root: "/ws", Name: history.Text(name), Shown: history.Text(name)}
		if before {
			f.Before = &history.Content{Digest: "b", Kept: true}
		}
		if after {
			f.After = &history.Content{Digest: "a"}
		}
		return f
	}
	log := dayLog{
		rows: []audit.Row{call("write_file", "a", named("A")), call("edit", "b", named("B")), call("edit", "a", named("C")),
			call("exec", "rm c", named("D"))},
		changes: map[string][]history.LoggedChange{
			"A": {{Record: history.Record{ID: "id1", Files: []history.FileRecord{file("a", false, true)}}}},
			"B": {{Record: history.Record{ID: "id2", Files: []history.FileRecord{file("b", true, true)}}, Undone: "id9", UndoneBy: "root"}},
			"C": {{Record: history.Record{ID: "id3", Files: []history.FileRecord{file("a", true, true)}}}},
			"D": {{Record: history.Record{ID: "id4", Files: []history.FileRecord{file("c", true, false)}}}},
		},
	}
	want := `09:00  changed 2 files
created and changed a  undo the last id3
changed b  undone by root with id9
09:00  ran rm c
removed c  undo id4`
	if got := show(log); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := log.day(Query{Day: nine()}).Sessions[0].Heading(); s !=
		"ann, session s1 over stdio, 09:00: 4 calls, 3 files changed, 1 command" {
		t.Errorf("heading %q", s)
	}
}

func TestQuerySelectsAgentsAndSessions(t *testing.T) {
	log := dayLog{rows: []audit.Row{
		call("read_file", "a", at(0), func(r *audit.Row) { r.Agent = "builder" }),
		call("read_file", "b", at(1), func(r *audit.Row) { r.Session = "s2" }),
	}}
	for q, want := range map[Query]int{{}: 2, {Agent: "builder"}: 1, {Session: "s2"}: 1, {Agent: "none"}: 0,
		{Agent: "builder", Session: "s2"}: 0} {
		if got := len(log.day(q).Sessions); got != want {
			t.Errorf("%+v: %d sessions, want %d", q, got, want)
		}
	}
}

func TestParseDay(t *testing.T) {
	now := nine()
	for day, want := range map[string]string{"": "2026-01-31", "today": "2026-01-31", "yesterday": "2026-01-30",
		"2025-12-24": "2025-12-24", "24.12.2025": ""} {
		got, err := ParseDay(day, now)
		if err == nil != (want != "") || err == nil && got.Format(time.DateOnly) != want {
			t.Errorf("%q: %v, %v", day, got, err)
		}
	}
}
