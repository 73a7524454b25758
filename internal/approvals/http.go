package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxBody bounds an answer that comes over HTTP.
const maxBody = 64 << 10

// answerBody is what POST /approvals/{id} takes.
type answerBody struct {
	Decision string `json:"decision"` // allow, allow_session, allow_always or deny
	Reason   string `json:"reason"`
	Expires  string `json:"expires"` // a moment (RFC 3339), for allow_always
	Like
	Preview bool `json:"preview"` // show the rule that would be made, and decide nothing
}

// The words for decisions, in every channel.
const (
	ChoiceAllow   = "allow"
	ChoiceSession = "allow_session"
	ChoiceAlways  = "allow_always"
	ChoiceDeny    = "deny"
)

// Serve answers GET /approvals, GET /approvals/{id} and POST /approvals/{id}
// for an approver whom somebody else has let in.
func (s *Store) Serve(w http.ResponseWriter, r *http.Request, who Approver) {
	if err := s.MarkAttended(r.Context()); err != nil {
		reply(w, http.StatusServiceUnavailable, fault("the approvals cannot be read at the moment"))
		return
	}
	id := r.PathValue("id")
	switch {
	case r.Method == http.MethodPost:
		s.serveAnswer(w, r, id, who)
	case id == "":
		open, err := s.List(r.Context(), who)
		respond(w, map[string]any{"approvals": append([]Question{}, open...)}, err)
	default:
		q, err := s.Get(r.Context(), id, who)
		respond(w, q, err)
	}
}

func (s *Store) serveAnswer(w http.ResponseWriter, r *http.Request, id string, who Approver) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		reply(w, http.StatusUnsupportedMediaType, fault("send Content-Type: application/json"))
		return
	}
	var body answerBody
	if err := jsonv2.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), &body, jsonv2.RejectUnknownMembers(true)); err != nil {
		reply(w, http.StatusBadRequest, fault("the body is no answer: "+err.Error()))
		return
	}
	a, err := body.answer()
	switch {
	case err != nil:
		reply(w, http.StatusBadRequest, fault(err.Error()))
	case body.Preview && a.Allow && scopeOf(a) != Once:
		rule, err := s.Preview(r.Context(), id, a, who)
		respond(w, map[string]any{"rule": rule}, err)
	case body.Preview:
		reply(w, http.StatusBadRequest, fault("only allow_session and allow_always make a rule that could be shown"))
	default:
		decision, err := s.Answer(r.Context(), id, a, who)
		respond(w, map[string]any{"id": id, "decision": decision}, err)
	}
}

func (b answerBody) answer() (a Answer, err error) {
	a = Answer{Reason: b.Reason, Like: b.Like}
	if b.Expires != "" {
		if a.Until, err = time.Parse(time.RFC3339, b.Expires); err != nil {
			return a, fmt.Errorf("expires is %q, it must be a moment such as 2026-01-31T09:00:00Z", b.Expires)
		}
	}
	a.Allow, a.Scope, err = ParseChoice(b.Decision)
	switch {
	case err != nil:
	case a.Scope != Always && !a.Until.IsZero():
		err = errors.New("only what is allowed always expires")
	case a.Allow && a.Scope == Once && len(a.Like.Match)+len(a.Like.Any) > 0:
		err = errors.New("match and any say what a rule allows; only allow_session and allow_always make one")
	}
	return a, err
}

// ParseChoice reads one of the words for decisions.
func ParseChoice(word string) (allow bool, scope Scope, err error) {
	switch word {
	case ChoiceAllow:
		return true, Once, nil
	case ChoiceSession:
		return true, Session, nil
	case ChoiceAlways:
		return true, Always, nil
	case ChoiceDeny:
		return false, "", nil
	}
	return false, "", fmt.Errorf("decision is %q, it must be allow, allow_session, allow_always or deny", word)
}

// respond sends v, or what is wrong with the status that says so.
func respond(w http.ResponseWriter, v any, err error) {
	switch {
	case err == nil:
		reply(w, http.StatusOK, v)
	case errors.Is(err, ErrUnknown):
		reply(w, http.StatusNotFound, fault(ErrUnknown.Error()))
	case errors.Is(err, ErrAnswered), errors.Is(err, ErrExpired):
		reply(w, http.StatusConflict, fault(err.Error()))
	case errors.As(err, new(RuleError)):
		reply(w, http.StatusBadRequest, fault(err.Error()))
	default: // what is wrong here is for whoever sits at this machine
		reply(w, http.StatusInternalServerError, fault("the approvals cannot be read or written at the moment"))
	}
}

func fault(text string) any { return map[string]string{"error": text} }

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has gone; there is nobody to tell
	}
}
