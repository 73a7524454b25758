package approvals

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxBody is the maximum size of a request body.
const maxBody = 64 << 10

// answerBody is the body of POST /approvals/{id}.
type answerBody struct {
	Decision string `json:"decision"` // allow, allow_session, allow_always or deny
	Reason   string `json:"reason"`
	Expires  string `json:"expires"` // RFC 3339, for allow_always
	Like
	Seen    string `json:"digest"`  // of the call that the approver has seen
	Preview bool   `json:"preview"` // return the rule without deciding
}

// The choices of an approver, in every channel.
const (
	ChoiceAllow   = "allow"
	ChoiceSession = "allow_session"
	ChoiceAlways  = "allow_always"
	ChoiceDeny    = "deny"
)

// Serve answers GET /approvals, GET /approvals/{id} and POST /approvals/{id}
// for an approver that is already authenticated. The verbs of the operator's API do
// the same; these paths are there without a setting.
func (s *Store) Serve(w http.ResponseWriter, r *http.Request, who Approver) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method == http.MethodPost &&
		(err != nil || kind != "application/json") {
		room.Reply(w, http.StatusUnsupportedMediaType, map[string]string{"error": "send Content-Type: application/json"})
		return
	}
	v, err := s.serve(w, r, who)
	if err == nil {
		room.Reply(w, http.StatusOK, v)
		return
	}
	known := (*tool.Error)(nil)
	if !errors.As(explain(err), &known) { // the cause is not for clients
		known = tool.Errorf(tool.Internal, "the approvals cannot be read or written now")
	}
	room.Fail(w, known)
}

func (s *Store) serve(w http.ResponseWriter, r *http.Request, who Approver) (any, error) {
	if err := s.MarkAttended(r.Context()); err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the approvals cannot be read now").Because(err)
	}
	id := r.PathValue("id")
	switch {
	case r.Method == http.MethodPost:
		return s.serveAnswer(w, r, id, who)
	case id == "":
		open, err := s.List(r.Context(), who)
		return map[string]any{"approvals": append([]Question{}, open...)}, err
	}
	return s.Get(r.Context(), id, who)
}

func (s *Store) serveAnswer(w http.ResponseWriter, r *http.Request, id string, who Approver) (any, error) {
	var body answerBody
	if err := jsonv2.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), &body,
		jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, room.Mistake("the body is invalid: %w", err)
	}
	a, err := body.answer()
	switch {
	case err != nil:
		return nil, room.Mistake("%w", err)
	case body.Preview && a.Allow && scopeOf(a) != Once:
		rule, err := s.Preview(r.Context(), id, a, who)
		return map[string]any{"rule": rule}, err
	case body.Preview:
		return nil, room.Mistake("only allow_session and allow_always make a rule to preview")
	}
	decision, err := s.Answer(r.Context(), id, a, who)
	return map[string]any{"id": id, "decision": decision}, err
}

func (b answerBody) answer() (a Answer, err error) {
	a = Answer{Reason: b.Reason, Like: b.Like, Seen: b.Seen}
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
