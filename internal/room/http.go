package room

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An API serves the verbs of rooms over HTTP, each at /operator/ROOM/VERB. A request
// is a POST with the arguments as a JSON object. GET /operator lists the verbs.
type API struct {
	Rooms []*Room
	Host  *Host
	// Record writes a verb that changes something, and its error, to the audit log.
	// It is called before the verb runs, with done false, and after it.
	Record func(r *http.Request, who Person, verb string, done bool, err error) error
}

// maxBody is the maximum size of the arguments.
const maxBody = 1 << 20

// confirmHeader confirms a verb that asks.
const confirmHeader = "X-Confirm"

// A listed verb describes itself to a program.
type listed struct {
	Room    string          `json:"room"`
	Verb    string          `json:"verb"`
	Title   string          `json:"title"`
	Doc     string          `json:"doc,omitempty"`
	Risk    string          `json:"risk"`
	Schema  json.RawMessage `json:"schema"`
	Partial bool            `json:"approver,omitempty"` // also for tokens that decide some approvals
}

// List serves the list of the verbs that a person may call.
func (a API) List(w http.ResponseWriter, _ *http.Request, who Person) {
	all := []listed{}
	for _, r := range a.Rooms {
		for _, v := range r.Verbs {
			if v.allows(who) {
				all = append(all, listed{r.Name, v.Name, v.Title, v.Doc, v.Risk.String(), v.Schema(), v.Where == Approver})
			}
		}
	}
	reply(w, http.StatusOK, map[string]any{"verbs": all})
}

// allows reports whether a person may call the verb over HTTP.
func (v Verb) allows(who Person) bool {
	return v.Where == Approver || v.Where == Operator && who.Agent == "" && who.User == ""
}

// Call serves a call of the verb that the path names. Verbs that do not exist and
// those that the person may not call are answered alike.
func (a API) Call(w http.ResponseWriter, r *http.Request, who Person) {
	name := strings.ReplaceAll(r.PathValue("verb"), "/", " ")
	for _, room := range a.Rooms {
		if room.Name != r.PathValue("room") {
			continue
		}
		if v, ok := room.Verb(name); ok && v.allows(who) {
			a.call(w, r, who, room, v)
			return
		}
	}
	fail(w, tool.Errorf(tool.NotFound, "there is no verb %q of %q", name, r.PathValue("room")).
		Try("GET /operator lists them"))
}

func (a API) call(w http.ResponseWriter, r *http.Request, who Person, room *Room, v Verb) {
	args, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, tool.Errorf(tool.TooLarge, "the arguments have more than %d bytes", maxBody))
		return
	}
	ctx := As(r.Context(), who)
	plan, err := room.Prepare(ctx, v, a.Host, args)
	if err != nil {
		a.fail(w, room, v, err)
		return
	}
	if plan.Ask != "" && r.Header.Get(confirmHeader) != "yes" {
		reply(w, http.StatusConflict, map[string]string{"confirm": plan.Ask})
		return
	}
	name := room.Name + " " + v.Name
	if v.Risk != tool.Reads {
		if err := a.Record(r, who, name, false, nil); err != nil {
			fail(w, tool.Errorf(tool.Unavailable, "the audit log cannot be written, so nothing was done"))
			return
		}
	}
	result, err := plan.Run(ctx)
	if v.Risk != tool.Reads {
		// Also if the client has hung up, which ends the context of the request.
		if lost := a.Record(r.WithContext(context.WithoutCancel(r.Context())), who, name, true, err); lost != nil {
			a.Host.Log.Error("the end of an operator's call is not in the audit log", "verb", name, "err", lost)
		}
	}
	if err != nil {
		a.fail(w, room, v, err)
		return
	}
	if result.Data == nil {
		result.Data = map[string]string{"text": result.Text()}
	}
	reply(w, http.StatusOK, result.Data)
}

// fail logs an error that is not for clients.
func (a API) fail(w http.ResponseWriter, r *Room, v Verb, err error) {
	if !errors.As(err, new(*tool.Error)) {
		a.Host.Log.Error("a call of an operator failed", "verb", r.Name+" "+v.Name, "err", err)
	}
	fail(w, tool.AsError(err))
}

func fail(w http.ResponseWriter, err *tool.Error) {
	status := http.StatusInternalServerError
	switch err.Kind {
	case tool.Invalid, tool.TooLarge:
		status = http.StatusBadRequest
	case tool.NotFound:
		status = http.StatusNotFound
	case tool.Refused:
		status = http.StatusForbidden
	case tool.Conflict:
		status = http.StatusConflict
	case tool.Busy, tool.Unavailable, tool.Timeout:
		status = http.StatusServiceUnavailable
	}
	reply(w, status, map[string]string{"error": err.Error()})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // else the client has disconnected
}
