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
	// Record writes a verb that changes something to the audit log: before it runs, and
	// with Done and Err after it.
	Record func(context.Context, Called) error
	Scrub  func(string) string // of errors
}

// A Called verb is what the audit log knows of a call.
type Called struct {
	Who  Person
	Verb string
	Risk tool.Risk
	Args []byte // as they were sent
	Done bool
	Err  error
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
	done := Called{Who: who, Verb: room.Name + " " + v.Name, Risk: v.Risk, Args: args}
	ctx := As(r.Context(), who)
	plan, err := room.Prepare(ctx, v, a.Host, args)
	if err != nil {
		a.fail(w, done, err)
		return
	}
	if plan.Ask == "" && v.Risk == tool.Destroys {
		plan.Ask = v.Title + "."
	}
	if plan.Ask != "" && r.Header.Get(confirmHeader) != "yes" {
		reply(w, http.StatusConflict, map[string]string{"confirm": plan.Ask})
		return
	}
	result, err := a.run(ctx, plan, done)
	if err != nil {
		a.fail(w, done, err)
		return
	}
	if result.Data == nil {
		result.Data = map[string]string{"text": result.Text()}
	}
	reply(w, http.StatusOK, result.Data)
}

// run runs a plan, and records it if it changes something.
func (a API) run(ctx context.Context, plan tool.Plan, c Called) (tool.Result, error) {
	if c.Risk == tool.Reads {
		return plan.Run(ctx)
	}
	if err := a.Record(ctx, c); err != nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "the audit log cannot be written, so nothing was done")
	}
	result, err := plan.Run(ctx)
	c.Done, c.Err = true, err
	// Also if the client has hung up, which ends the context of the request.
	if lost := a.Record(context.WithoutCancel(ctx), c); lost != nil {
		a.Host.Log.Error("the end of an operator's call is not in the audit log", "verb", c.Verb, "err", lost)
	}
	return result, err
}

// fail answers with an error. One that was not written for the caller is logged as well:
// it may be a fault of the program.
func (a API) fail(w http.ResponseWriter, c Called, err error) {
	known := (*tool.Error)(nil)
	if !errors.As(err, &known) {
		a.Host.Log.Warn("a call of an operator failed", "verb", c.Verb, "err", err)
		known = tool.Errorf(tool.Internal, "%s", a.Scrub(err.Error()))
	}
	fail(w, known)
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
