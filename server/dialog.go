package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The decisions that a person can choose from at the client.
const (
	sayAllow   = "allow"
	saySession = "allow_session"
	sayAlways  = "allow_always"
	sayDeny    = "deny"
)

// dialog is the question as a client shows it.
func (p *passage) dialog(ctx context.Context, petition Petition) map[string]any {
	choices := []string{sayAllow, sayDeny}
	text := questionText(petition)
	if p.question != "" && !petition.Once {
		choices = []string{sayAllow, saySession, sayAlways, sayDeny}
		text += p.reach(ctx, petition)
	}
	return map[string]any{"message": text, "requestedSchema": decisionForm(choices)}
}

func questionText(q Petition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s (%s)? It %s.", q.Title, q.Tool, q.Risk)
	if q.Why != "" {
		b.WriteString(" " + flat(q.Why))
	}
	fmt.Fprintf(&b, "\n\nAgent: %s\nProfile: %s\nArguments: %s", flat(q.Caller.Principal()), q.Profile, q.Shown)
	for _, name := range slices.Sorted(maps.Keys(q.Facts)) {
		fmt.Fprintf(&b, "\n%s: %s", flat(name), flat(q.Facts[name]))
	}
	return b.String()
}

// alwaysFor is how long a rule from a dialog counts.
const alwaysFor = 30 * 24 * time.Hour

// reach says what the wider answers would mean: before they are given.
func (p *passage) reach(ctx context.Context, q Petition) string {
	n, all := p.server.Desk.Past(ctx, q)
	times := fmt.Sprintf("%d times", n)
	if !all {
		times = "at least " + times
	}
	return fmt.Sprintf("\n\n%s: this call, once.\n%s: calls with exactly these arguments, until this session ends.\n"+
		"%s: calls with exactly these arguments, of this agent, in this profile and workspace, until %s; so far such a call was made %s.",
		sayAllow, saySession, sayAlways, time.Now().Add(alwaysFor).UTC().Format(time.DateOnly), times)
}

func decisionForm(choices []string) map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"decision": map[string]any{"type": "string", "enum": choices, "title": "Decision"},
			"reason":   map[string]any{"type": "string", "title": "Reason, which the agent will read"},
		},
		"required": []string{"decision"},
	}
}

// wordIn reads a person's answer at the client. said is false when there is
// none: what is not understood is a no.
func wordIn(raw json.RawMessage) (w Word, said bool) {
	var answer struct {
		Action  string `json:"action"`
		Content struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		} `json:"content"`
	}
	w.Channel = "elicitation"
	if json.Unmarshal(raw, &answer) != nil {
		return w, false
	}
	w.Reason = answer.Content.Reason
	if answer.Action != "accept" {
		return w, answer.Action == "decline"
	}
	w.Allow = true
	switch answer.Content.Decision {
	case sayAllow:
		w.Scope = Once
	case saySession:
		w.Scope = ForSession
	case sayAlways:
		w.Scope = AlwaysScope
	default:
		w.Allow = false
	}
	return w, true
}
