package room

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

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
	// Hold returns the context of a stream in answer to a request, whose cause is an error
	// for the client, and its release. nil: the stream ends with the request.
	Hold func(*http.Request) (context.Context, context.CancelFunc)
}

// A Called verb is the record of a call in the audit log.
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

const (
	// quiet is how long a stream without a result waits before it begins. An error until
	// then has its status.
	quiet = time.Second
	// writeLimit is how long a client may leave a result of a stream unread.
	writeLimit = 30 * time.Second
)

// A listed verb describes itself to a program.
type listed struct {
	Room    string          `json:"room"`
	Verb    string          `json:"verb"`
	Title   string          `json:"title"`
	Doc     string          `json:"doc,omitempty"`
	Risk    string          `json:"risk"`
	Schema  json.RawMessage `json:"schema"`
	Partial bool            `json:"approver,omitempty"` // also for tokens that decide some approvals
	Streams bool            `json:"streams,omitempty"`  // it answers with a line of JSON for each result
}

// List serves the list of the verbs that a person may call.
func (a API) List(w http.ResponseWriter, _ *http.Request, who Person) {
	all := []listed{}
	for _, r := range a.Rooms {
		for _, v := range r.Verbs {
			if v.Allows(who) {
				all = append(all, listed{r.Name, v.Name, v.Title, v.Doc, v.Risk.String(), v.Schema(), v.Where == Approver,
					v.Streams})
			}
		}
	}
	Reply(w, http.StatusOK, map[string]any{"verbs": all})
}

// Allows reports whether a person may call the verb from elsewhere than the command line.
func (v Verb) Allows(who Person) bool {
	return v.Where == Approver || who.Operates() && (v.Where == Operator || v.Where == Console && who.Channel == ConsoleChannel)
}

// Call serves a call of the verb in the path. The answer is the same for an unknown verb and
// for a verb that the person may not call.
func (a API) Call(w http.ResponseWriter, r *http.Request, who Person) {
	name := strings.ReplaceAll(r.PathValue("verb"), "/", " ")
	for _, room := range a.Rooms {
		if room.Name != r.PathValue("room") {
			continue
		}
		if v, ok := room.Verb(name); ok && v.Allows(who) {
			a.call(w, r, who, room, v)
			return
		}
	}
	Fail(w, tool.Errorf(tool.NotFound, "there is no verb %q of %q", name, r.PathValue("room")).
		Try("GET /operator lists them"))
}

func (a API) call(w http.ResponseWriter, r *http.Request, who Person, room *Room, v Verb) {
	args, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		Fail(w, tool.Errorf(tool.TooLarge, "the arguments have more than %d bytes", maxBody))
		return
	}
	// An operator may wait: the deadlines of short answers would end the call.
	control := http.NewResponseController(w)
	_ = errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{}))
	done := Called{Who: who, Verb: room.Name + " " + v.Name, Risk: v.Risk, Args: v.recorded(args)}
	ctx := As(r.Context(), who)
	plan, err := a.prepare(ctx, room, v, args)
	if err != nil {
		a.fail(w, done, err)
		return
	}
	if plan.Ask != "" && r.Header.Get(confirmHeader) != "yes" {
		Reply(w, http.StatusConflict, map[string]string{"confirm": plan.Ask})
		return
	}
	if v.Streams {
		if a.Hold != nil {
			held, release := a.Hold(r)
			defer release()
			ctx = As(held, who)
		}
		a.stream(ctx, w, plan, done)
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
	Reply(w, http.StatusOK, result.Data)
}

// prepare returns the plan of a call. The plan asks if the verb removes something.
func (a API) prepare(ctx context.Context, room *Room, v Verb, args []byte) (tool.Plan, error) {
	plan, err := room.Prepare(ctx, v, a.Host, args)
	if plan.Ask == "" && v.Risk == tool.Destroys {
		plan.Ask = v.Title + "."
	}
	return plan, err
}

// Do calls a verb for a program in this process that shows the result to a person. The results
// of a verb that streams are passed to each; for other verbs each may be nil. If the verb asks
// for a confirmation and confirmed is false, Do returns the question and does nothing.
func (a API) Do(ctx context.Context, who Person, room *Room, v Verb, args []byte, confirmed bool,
	each func(tool.Result) error) (result tool.Result, question string, err error) {
	done := Called{Who: who, Verb: room.Name + " " + v.Name, Risk: v.Risk, Args: v.recorded(args)}
	if !v.Allows(who) {
		return result, "", tool.Errorf(tool.NotFound, "there is no verb %q of %q", v.Name, room.Name)
	}
	ctx = As(ctx, who)
	plan, err := a.prepare(ctx, room, v, args)
	if err != nil {
		return result, "", a.known(done, err)
	}
	if plan.Ask != "" && !confirmed {
		return result, plan.Ask, nil
	}
	if v.Streams {
		ctx = Streaming(ctx, each)
	}
	if result, err = a.run(ctx, plan, done); err != nil {
		err = a.known(done, err)
	}
	return result, "", err
}

// stream answers with a line of JSON for each result. The last line has the error, if
// there is one.
func (a API) stream(ctx context.Context, w http.ResponseWriter, plan tool.Plan, c Called) {
	out := &lines{w: w, control: http.NewResponseController(w)}
	begin := time.AfterFunc(quiet, func() { _ = out.write(nil) }) // a lost client ends ctx
	_, err := a.run(Streaming(ctx, func(r tool.Result) error {
		if r.Data == nil {
			return nil
		}
		return out.write(r.Data)
	}), plan, c)
	begin.Stop()
	var ended *tool.Error
	if errors.As(context.Cause(ctx), &ended) {
		err = ended // the server ended the stream
	} else if ctx.Err() != nil {
		return // the client has disconnected
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	out.ended = true
	_ = out.control.SetWriteDeadline(time.Now().Add(writeLimit)) // else the line fits into a buffer
	switch {
	case err == nil:
		out.begin()
	case out.begun:
		_ = json.NewEncoder(w).Encode(map[string]string{"error": a.known(c, err).Error()}) // else the client has disconnected
	default:
		a.fail(w, c, err)
	}
}

// lines are the results of a stream. It begins with the first one.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu           sync.Mutex
	begun, ended bool
}

// begin writes the header. The caller holds mu.
func (l *lines) begin() {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.Header().Set("Cache-Control", "no-store")
		l.w.WriteHeader(http.StatusOK)
	}
}

// write sends a result; nil begins the stream without one.
func (l *lines) write(data any) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(writeLimit))
	l.begin()
	if data != nil {
		err = json.NewEncoder(l.w).Encode(data)
	}
	if err = errors.Join(err, l.control.Flush()); err == nil {
		// HTTP/2 ends a stream when its deadline passes, written to or not.
		_ = l.control.SetWriteDeadline(time.Time{})
	}
	return err
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
	// Also if the client has hung up: this ends the context of the request.
	if lost := a.Record(context.WithoutCancel(ctx), c); lost != nil {
		a.Host.Log.Error("the end of an operator's call is not in the audit log", "verb", c.Verb, "err", lost)
	}
	return result, err
}

// fail answers with an error.
func (a API) fail(w http.ResponseWriter, c Called, err error) { Fail(w, a.known(c, err)) }

// known returns an error for the caller. One that was not written for callers is logged
// as well: it may be a fault of the program.
func (a API) known(c Called, err error) *tool.Error {
	known := tool.AsError(err)
	if known.Kind == tool.Internal {
		a.Host.Log.Warn("a call of an operator failed", "verb", c.Verb, "err", err)
		known = tool.Errorf(tool.Internal, "%s", a.Scrub(err.Error()))
	}
	return known
}

// statuses are the statuses of HTTP by the kind of an error.
var statuses = map[tool.Kind]int{
	tool.Invalid: http.StatusBadRequest, tool.TooLarge: http.StatusRequestEntityTooLarge,
	tool.NotFound: http.StatusNotFound, tool.Refused: http.StatusForbidden, tool.Conflict: http.StatusConflict,
	tool.Busy: http.StatusTooManyRequests, tool.Unavailable: http.StatusServiceUnavailable,
	tool.Cancelled: http.StatusServiceUnavailable, tool.Timeout: http.StatusGatewayTimeout,
}

// Fail answers a request with an error, under the status of its kind.
func Fail(w http.ResponseWriter, err *tool.Error) {
	Reply(w, Status(err), map[string]string{"error": err.Error()})
}

// Status returns the status of HTTP for an error.
func Status(err *tool.Error) int {
	status, ok := statuses[err.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	return status
}

// Reply answers a request with JSON.
func Reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // else the client has disconnected
}
