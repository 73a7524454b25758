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

// maxBody is the maximum size of a request body.
const maxBody = 64 << 10

// answerBody is the body of POST /approvals/{id}.
type answerBody struct {
	Decision string `json:"decision"` // allow, allow_session, allow_always or deny
	Reason   string `json:"reason"`
	Expires  string `json:"expires"` // RFC 3339, for allow_always
	Like
	Preview bool `json:"preview"` // return the rule without deciding
}

// The choices of an approver, in every channel.
const (
	ChoiceAllow   = "allow"
	ChoiceSession = "allow_session"
	ChoiceAlways  = "allow_always"
	ChoiceDeny    = "deny"
)

// Serve answers GET /approvals, GET /approvals/{id} and POST /approvals/{id}
// for an approver that is already authenticated.
func (s *Store) Serve(w http.ResponseWriter, r *http.Request, who Approver) {
	if err := s.MarkAttended(r.Context()); err != nil {
		reply(w, http.StatusServiceUnavailable, fault("the approvals cannot be read now"))
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
	if err := jsonv2.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), &body,
		jsonv2.RejectUnknownMembers(true)); err != nil {
		reply(w, http.StatusBadRequest, fault("the body is invalid: "+err.Error()))
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
		reply(w, http.StatusBadRequest, fault("only allow_session and allow_always make a rule to preview"))
	default:
		decision, err := s.Answer(r.Context(), id, a, who)
		respond(w, map[string]any{"id": id, "decision": decision}, err)
	}
}

func (b answerBody) answer() (a Answer, err error) {
	a = Answer{Reason: b.Reason, Like: b.Like}
	if b.Expires != "" {
		if a.Until, err = time.Parse(time.RFC3339, b.Expires); err != nil {
			return a, fmt.Errorf("expires is %q, it must be a time such as 2026-01-31T09:00:00Z", b.Expires)
		}
	}
	a.Allow, a.Scope, err = ParseChoice(b.Decision)
	switch {
	case err != nil:
	case a.Scope != Always && !a.Until.IsZero():
		err = errors.New("expires is only for allow_always")
	case a.Allow && a.Scope == Once && len(a.Like.Match)+len(a.Like.Any) > 0:
		err = errors.New("match and any are only for allow_session and allow_always")
	}
	return a, err
}

// ParseChoice returns the meaning of a choice.
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

// respond sends v, or err with its status.
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
	default: // the cause is not for clients
		reply(w, http.StatusInternalServerError, fault("the approvals cannot be read or written now"))
	}
}

func fault(text string) any { return map[string]string{"error": text} }

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has disconnected
	}
}
