package room_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// notes is a noun: a list of texts.
type notes struct{ all []string }

type addArgs struct {
	Text string `json:"text" jsonschema:"the note"`
}

func (n *notes) add(_ context.Context, args addArgs) (tool.Result, error) {
	n.all = append(n.all, args.Text)
	return room.Said(map[string]string{"added": args.Text}, "Added %q.", args.Text), nil
}

func (n *notes) list(context.Context, struct{}) (tool.Result, error) {
	return room.Rows(n.all, "There are no notes.", []string{"NOTE"}, func(s string) []string { return []string{s} }), nil
}

func (n *notes) clear(context.Context, struct{}) (tool.Plan, error) {
	return tool.Plan{Ask: fmt.Sprintf("%d notes are removed for good.", len(n.all)),
		Run: func(context.Context) (tool.Result, error) { n.all = nil; return tool.Text("done"), nil }}, nil
}

// newRoom declares the verbs of notes. In the program a package has a function like it.
func newRoom() *room.Room {
	n := new(notes)
	return &room.Room{
		Name: "notes", Title: "Keep notes",
		Open: func(*room.Host) error { n.all = []string{"milk"}; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{Name: "list", Title: "List the notes", Risk: tool.Reads, Where: room.Approver}, n.list),
			room.Do(room.Verb{Name: "add", Title: "Add a note", Risk: tool.Writes, Args: []string{"text"},
				Where: room.Operator}, n.add),
			room.Prepare(room.Verb{Name: "clear", Title: "Remove all notes", Risk: tool.Destroys, Where: room.Operator},
				n.clear),
			room.Do(room.Verb{Name: "edit", Title: "Open an editor", Risk: tool.Writes}, n.list),
		},
	}
}

func Example() {
	r := newRoom()
	add, _ := r.Verb("add")
	ctx := room.As(context.Background(), room.Person{Name: "ann", Channel: "cli"})
	plan, err := r.Prepare(ctx, add, &room.Host{}, []byte(`{"text": "eggs"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := plan.Run(ctx)
	fmt.Println(result.Text(), err)
	// Output: Added "eggs". <nil>
}

func TestFaults(t *testing.T) {
	if err := room.Faults([]*room.Room{newRoom()}); err != nil {
		t.Error(err)
	}
	wrong := newRoom()
	wrong.Verbs = append(wrong.Verbs, wrong.Verbs[0], room.Do(room.Verb{Name: "x", Title: "X", Risk: tool.Reads,
		Args: []string{"y"}}, func(context.Context, struct{}) (r tool.Result, err error) { return r, err }))
	err := room.Faults([]*room.Room{wrong})
	for _, want := range []string{`two verbs "notes list"`, `notes x has no parameter "y"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no error %q in %v", want, err)
		}
	}
}

// server serves notes to a person, and returns the records of the audit log.
func server(t *testing.T, who room.Person, refuse bool) (string, *[]string) {
	t.Helper()
	var records []string
	api := room.API{
		Rooms: []*room.Room{newRoom()}, Host: &room.Host{Log: slog.New(slog.DiscardHandler)},
		Record: func(_ context.Context, c room.Called) error {
			if refuse {
				return fmt.Errorf("the disk is full")
			}
			records = append(records, fmt.Sprint(c.Who.Name, " ", c.Verb, " ", c.Done, " ", c.Err))
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /operator", func(w http.ResponseWriter, r *http.Request) { api.List(w, r, who) })
	mux.HandleFunc("POST /operator/{room}/{verb...}", func(w http.ResponseWriter, r *http.Request) {
		api.Call(w, r, who)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, &records
}

func post(t *testing.T, url, body, confirm string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Confirm", confirm)
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b strings.Builder
	if err := answer.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(b.String(), "\r\n\r\n")
	return answer.StatusCode, text
}

func TestAPI(t *testing.T) {
	operator := room.Person{Name: "ops"}
	partial := room.Person{Name: "ann", Agent: "helper"}
	for _, c := range []struct {
		name, path, body, confirm string
		who                       room.Person
		status                    int
		text, records             string
	}{
		{"a list", "notes/list", "{}", "", operator, 200, `["milk"]`, "[]"},
		{"a change", "notes/add", `{"text": "eggs"}`, "", operator, 200, `{"added":"eggs"}`,
			"[ops notes add false <nil> ops notes add true <nil>]"},
		{"a wrong argument", "notes/add", `{"txet": "eggs"}`, "", operator, 400, `text`, "[]"},
		{"no JSON", "notes/add", `}`, "", operator, 400, `JSON`, "[]"},
		{"unconfirmed", "notes/clear", `{}`, "", operator, 409, `1 notes are removed`, "[]"},
		{"confirmed", "notes/clear", `{}`, "yes", operator, 200, `done`,
			"[ops notes clear false <nil> ops notes clear true <nil>]"},
		{"a local verb", "notes/edit", `{}`, "", operator, 404, `there is no verb`, "[]"},
		{"an unknown verb", "notes/burn", `{}`, "", operator, 404, `there is no verb`, "[]"},
		{"an unknown room", "nots/list", `{}`, "", operator, 404, `there is no verb`, "[]"},
		{"a list for a token of one agent", "notes/list", `{}`, "", partial, 200, `["milk"]`, "[]"},
		{"a change for a token of one agent", "notes/add", `{"text": "x"}`, "", partial, 404, `there is no verb`, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, records := server(t, c.who, false)
			status, text := post(t, url+"/operator/"+c.path, c.body, c.confirm)
			if status != c.status || !strings.Contains(text, c.text) || fmt.Sprint(*records) != c.records {
				t.Errorf("got %d %s, %v", status, text, *records)
			}
		})
	}
}

// TestUnrecorded: nothing changes that the audit log does not have.
func TestUnrecorded(t *testing.T) {
	url, _ := server(t, room.Person{Name: "ops"}, true)
	if status, text := post(t, url+"/operator/notes/add", `{"text": "x"}`, ""); status != 503 {
		t.Errorf("got %d %s", status, text)
	}
	if _, text := post(t, url+"/operator/notes/list", `{}`, ""); strings.Contains(text, "x") {
		t.Errorf("the note was added: %s", text)
	}
}

// TestRemovalsAreConfirmed: a verb that destroys is confirmed also if it does not ask, and an error that is not
// written for callers is shown to the operator, masked.
func TestRemovalsAreConfirmed(t *testing.T) {
	drop := room.Do(room.Verb{Name: "drop", Title: "Drop a note", Risk: tool.Destroys, Where: room.Operator},
		func(context.Context, struct{}) (tool.Result, error) { return tool.Result{}, errors.New("no note 7") })
	api := room.API{
		Rooms: []*room.Room{{Name: "notes", Verbs: []room.Verb{drop}}},
		Host:  &room.Host{Log: slog.New(slog.DiscardHandler)}, Scrub: strings.ToUpper,
		Record: func(context.Context, room.Called) error { return nil },
	}
	for confirm, want := range map[string]string{"": "Drop a note.", "yes": "NO NOTE 7"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/operator/notes/drop", strings.NewReader("{}"))
		r.SetPathValue("room", "notes")
		r.SetPathValue("verb", "drop")
		r.Header.Set("X-Confirm", confirm)
		w := httptest.NewRecorder()
		api.Call(w, r, room.Person{Name: "ops"})
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("confirmed %q: %d %s", confirm, w.Code, w.Body)
		}
	}
}

// TestClientHangsUp: the end of a call is recorded even if nobody waits for it.
func TestClientHangsUp(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	drop := room.Do(room.Verb{Name: "drop", Title: "Drop", Risk: tool.Destroys, Where: room.Operator},
		func(context.Context, struct{}) (tool.Result, error) {
			hangUp()
			return tool.Text("done"), nil
		})
	var records []string
	api := room.API{
		Rooms: []*room.Room{{Name: "notes", Verbs: []room.Verb{drop}}},
		Host:  &room.Host{Log: slog.New(slog.DiscardHandler)},
		Record: func(ctx context.Context, c room.Called) error {
			records = append(records, fmt.Sprint(c.Verb, " ", c.Done, " ", ctx.Err()))
			return nil
		},
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/operator/notes/drop", strings.NewReader("{}"))
	r.SetPathValue("room", "notes")
	r.SetPathValue("verb", "drop")
	r.Header.Set("X-Confirm", "yes")
	api.Call(httptest.NewRecorder(), r, room.Person{Name: "ops"})
	if want := "[notes drop false <nil> notes drop true <nil>]"; fmt.Sprint(records) != want {
		t.Errorf("got %v, want %s", records, want)
	}
}

// TestErrorsHaveTheStatusOfTheirKind: a program decides by the status.
func TestErrorsHaveTheStatusOfTheirKind(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{tool.Errorf(tool.Invalid, "no"), 400},
		{fmt.Errorf("removing: %w", tool.Errorf(tool.NotFound, "no")), 404},
		{tool.Errorf(tool.Refused, "no"), 403},
		{tool.Errorf(tool.Conflict, "no"), 409},
		{tool.Errorf(tool.TooLarge, "no"), 413},
		{tool.Errorf(tool.Busy, "no"), 429},
		{tool.Errorf(tool.Unavailable, "no"), 503},
		{context.DeadlineExceeded, 504},
		{errors.New("no"), 500},
	} {
		fails := room.Do(room.Verb{Name: "fail", Title: "Fail", Risk: tool.Reads, Where: room.Operator},
			func(context.Context, struct{}) (tool.Result, error) { return tool.Result{}, c.err })
		if status, text := callVerb(t, fails); status != c.status || !strings.Contains(text, `{"error":"`) {
			t.Errorf("%v: %d %s, want %d", c.err, status, text, c.status)
		}
	}
}

// callVerb calls a verb over HTTP.
func callVerb(t *testing.T, v room.Verb) (int, string) {
	t.Helper()
	api := room.API{
		Rooms: []*room.Room{{Name: "notes", Verbs: []room.Verb{v}}},
		Host:  &room.Host{Log: slog.New(slog.DiscardHandler)}, Scrub: func(s string) string { return s },
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/operator/notes/"+v.Name, strings.NewReader("{}"))
	r.SetPathValue("room", "notes")
	r.SetPathValue("verb", v.Name)
	w := httptest.NewRecorder()
	api.Call(w, r, room.Person{Name: "ops"})
	return w.Code, w.Body.String()
}

// TestStream: each result is a line, what is for people only is not there, and the last line has the error.
func TestStream(t *testing.T) {
	tail := room.Do(room.Verb{Name: "tail", Title: "Tail", Risk: tool.Reads, Where: room.Operator, Streams: true},
		func(ctx context.Context, _ struct{}) (tool.Result, error) {
			return tool.Result{}, errors.Join(room.Emit(ctx, tool.Text("HEAD")), room.Emit(ctx, tool.Text("1").With(1)),
				room.Emit(ctx, tool.Text("2").With(2)), tool.Errorf(tool.NotFound, "no more"))
		})
	if status, text := callVerb(t, tail); status != 200 || text != "1\n2\n{\"error\":\"not_found: no more\"}\n" {
		t.Errorf("got %d %q", status, text)
	}
}

// TestStreamsBegin: an error before the first result has its status, unless the verb has run for a while.
func TestStreamsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[time.Duration]int{0: 404, time.Minute: 200} {
			tail := room.Do(room.Verb{Name: "tail", Title: "Tail", Risk: tool.Reads, Where: room.Operator, Streams: true},
				func(context.Context, struct{}) (tool.Result, error) {
					<-time.After(after)
					return tool.Result{}, tool.Errorf(tool.NotFound, "no more")
				})
			if status, text := callVerb(t, tail); status != want || !strings.Contains(text, "no more") {
				t.Errorf("after %s: %d %q", after, status, text)
			}
		}
	})
}

// TestStreamsEnd: the reason of the server to end a stream is its last line.
func TestStreamsEnd(t *testing.T) {
	tail := room.Do(room.Verb{Name: "tail", Title: "Tail", Risk: tool.Reads, Where: room.Operator, Streams: true},
		func(ctx context.Context, _ struct{}) (tool.Result, error) {
			_ = room.Emit(ctx, tool.Text("1").With(1))
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		})
	api := room.API{Rooms: []*room.Room{{Name: "notes", Verbs: []room.Verb{tail}}},
		Host: &room.Host{Log: slog.New(slog.DiscardHandler)},
		Hold: func(r *http.Request) (context.Context, context.CancelFunc) {
			ctx, end := context.WithCancelCause(r.Context())
			end(tool.Errorf(tool.Refused, "revoked"))
			return ctx, func() {}
		}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/operator/notes/tail", strings.NewReader("{}"))
	r.SetPathValue("room", "notes")
	r.SetPathValue("verb", "tail")
	w := httptest.NewRecorder()
	api.Call(w, r, room.Person{Name: "ops"})
	if got := w.Body.String(); got != "1\n{\"error\":\"refused: revoked\"}\n" {
		t.Errorf("got %q", got)
	}
}

// TestStreamsEndForClientsThatDoNotRead: a client cannot hold a verb by leaving results unread.
func TestStreamsEndForClientsThatDoNotRead(t *testing.T) {
	var failed error
	tail := room.Do(room.Verb{Name: "tail", Title: "Tail", Risk: tool.Reads, Where: room.Operator, Streams: true},
		func(ctx context.Context, _ struct{}) (tool.Result, error) {
			failed = room.Emit(ctx, tool.Text("1").With(1))
			return tool.Result{}, failed
		})
	api := room.API{Rooms: []*room.Room{{Name: "notes", Verbs: []room.Verb{tail}}},
		Host: &room.Host{Log: slog.New(slog.DiscardHandler)}, Scrub: func(s string) string { return s }}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/operator/notes/tail", strings.NewReader("{}"))
	r.SetPathValue("room", "notes")
	r.SetPathValue("verb", "tail")
	w := &unread{ResponseRecorder: httptest.NewRecorder()}
	if api.Call(w, r, room.Person{Name: "ops"}); !errors.Is(failed, os.ErrDeadlineExceeded) || w.forever {
		t.Errorf("the verb got %v, and a write without a deadline is %v", failed, w.forever)
	}
}

// unread is the response to a client that does not read: each write fails at its deadline.
type unread struct {
	*httptest.ResponseRecorder
	deadline time.Time
	forever  bool // there was a write without a deadline
}

func (u *unread) SetReadDeadline(time.Time) error    { return nil }
func (u *unread) SetWriteDeadline(d time.Time) error { u.deadline = d; return nil }

func (u *unread) Write([]byte) (int, error) {
	u.forever = u.forever || u.deadline.IsZero()
	return 0, os.ErrDeadlineExceeded
}

func TestFind(t *testing.T) {
	r := newRoom()
	check := room.Check{Name: "notes", Run: func(_ context.Context, f *room.Findings) {
		f.OK("%d notes", 1)
		f.Advise("buy more", "little milk")
	}}
	if got := fmt.Sprint(r.Find(t.Context(), check, &room.Host{})); got != "[{notes ok 1 notes } {notes warn little milk buy more}]" {
		t.Error(got)
	}
	closed := &room.Room{Open: func(*room.Host) error { return errors.New("no disk") }}
	if got := fmt.Sprint(closed.Find(t.Context(), check, &room.Host{})); got != "[{notes fail no disk }]" {
		t.Error(got)
	}
}

func TestListed(t *testing.T) {
	for who, want := range map[room.Person][]string{
		{Name: "ops"}:                  {`"list"`, `"add"`, `"clear"`},
		{Name: "ann", Agent: "helper"}: {`"list"`},
	} {
		url, _ := server(t, who, false)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/operator", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, text := do(t, r)
		for _, verb := range []string{`"list"`, `"add"`, `"clear"`, `"edit"`} {
			if got := strings.Contains(text, `"verb":`+verb); got != strings.Contains(strings.Join(want, " "), verb) {
				t.Errorf("%v: %s listed: %v", who, verb, got)
			}
		}
	}
}
