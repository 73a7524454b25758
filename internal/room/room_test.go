package room_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

func TestCheck(t *testing.T) {
	if err := room.Check([]*room.Room{newRoom()}); err != nil {
		t.Error(err)
	}
	wrong := newRoom()
	wrong.Verbs = append(wrong.Verbs, wrong.Verbs[0], room.Do(room.Verb{Name: "x", Title: "X", Risk: tool.Reads,
		Args: []string{"y"}}, func(context.Context, struct{}) (r tool.Result, err error) { return r, err }))
	err := room.Check([]*room.Room{wrong})
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
