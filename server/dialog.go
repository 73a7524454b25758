package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/tool"
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

// questionText says what is asked, so that whoever reads it sees all of it and
// can tell our words from the agent's.
func questionText(q Petition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s (%s)? %s", q.Title, q.Tool, whatItDoes(q))
	b.WriteString("\n\n" + argumentLines(q.Shown))
	for _, name := range slices.Sorted(maps.Keys(q.Facts)) {
		fmt.Fprintf(&b, "\n%s: %s", flat(name), flat(q.Facts[name]))
	}
	fmt.Fprintf(&b, "\nAgent: %s\nProfile: %s", flat(q.Caller.Principal()), q.Profile)
	return b.String()
}

// whatItDoes is why a person is asked.
func whatItDoes(q Petition) string {
	if q.Why != "" {
		return "Why it asks: " + flat(q.Why) + "."
	}
	switch q.Risk {
	case tool.Reads:
		return "It only reads."
	case tool.Writes:
		return "It changes something that can be taken back."
	case tool.Destroys:
		return "It removes or overwrites something for good."
	}
	return "It runs code, or acts in your name."
}

// argumentLines are the arguments, each on a line of its own. A text of several
// lines, or a long one, stands below its name in lines that begin with a bar, so
// that none can pass for a line of ours.
func argumentLines(shown string) string {
	d := jsontext.NewDecoder(strings.NewReader(shown))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return "Arguments: " + flat(shown)
	}
	lines := []string{"Arguments:"}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return "Arguments: " + flat(shown)
		}
		key := flat(name.String())
		value, err := d.ReadValue()
		if err != nil {
			return "Arguments: " + flat(shown)
		}
		lines = append(lines, argument(key, value)...)
	}
	return strings.Join(lines, "\n")
}

func argument(name string, value jsontext.Value) []string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return []string{"  " + name + ": " + flat(string(value))}
	}
	if len(text) <= shortArgument && !strings.Contains(text, "\n") && name != "command" {
		return []string{"  " + name + ": " + flat(text)}
	}
	lines := []string{"  " + name + ":"}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, "  | "+flat(line))
	}
	return lines
}

// shortArgument is what has room on a line with its name.
const shortArgument = 100

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
