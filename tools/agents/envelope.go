package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// An envelope is a subagent as programs see it.
type envelope struct {
	ID      string `json:"task_id"`
	Label   string `json:"label"`
	Agent   string `json:"agent,omitempty"` // that it works as, if it is another one
	Session string `json:"session"`
	Status  string `json:"status"` // queued, running, done, failed or cancelled
	Turns   int    `json:"turns"`
	Tokens  int    `json:"tokens"`
	Cost    int64  `json:"cost_micros,omitempty"` // millionths of a dollar
	Seconds int    `json:"seconds"`
	Summary string `json:"summary,omitempty"`
	Kind    string `json:"output_kind,omitempty"` // text or json
	Schema  any    `json:"output_schema,omitempty"`
	Output  any    `json:"output,omitempty"`
	Changes string `json:"changes,omitempty"` // in its working tree
	Error   string `json:"error,omitempty"`
}

const (
	// maxSummary is the length of a summary, in bytes.
	maxSummary = 160
	// maxTold is how much of an output the inbox has, in bytes.
	maxTold = 4000
)

func envelopeOf(j jobs.Job, t task, p progress) envelope {
	one := envelope{
		ID: j.ID, Label: t.Label, Agent: target(t), Session: t.key(j.ID), Status: string(j.State),
		Turns: p.Turns, Tokens: p.Tokens, Cost: int64(p.Cost), Seconds: int(took(j).Seconds()), Error: j.Reason, Changes: p.Changes,
	}
	if j.Result == "" {
		return one
	}
	one.Summary, one.Kind, one.Output = text.Clip(strings.Join(strings.Fields(j.Result), " "), maxSummary), "text",
		j.Result
	if t.Schema != nil && j.State == jobs.Done {
		one.Kind, one.Schema, one.Output = "json", t.Schema, json.RawMessage(j.Result)
	}
	return one
}

// took returns how long a job has taken until now or until its end.
func took(j jobs.Job) time.Duration {
	end := j.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return max(end.Sub(j.Created), 0).Round(100 * time.Millisecond)
}

// status returns the word of the state in texts.
func status(state jobs.State) string {
	if state == jobs.Done {
		return "completed"
	}
	return string(state)
}

// report returns the end of a subagent in words, with its whole output.
func report(k kept) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Subagent '%s' %s", k.Label, status(k.State))
	if k.State == jobs.Done {
		fmt.Fprintf(&b, " in %s", text.Plural(k.Turns, "turn"))
	}
	fmt.Fprintf(&b, " (id=%s, took %s).", k.ID, took(k.Job))
	if k.Reason != "" {
		fmt.Fprintf(&b, " Reason: %s.", strings.TrimSuffix(k.Reason, "."))
	}
	if k.Result != "" && k.State != jobs.Done {
		b.WriteString(" Output so far:")
	}
	if k.Result != "" {
		b.WriteString("\n\n" + k.Result)
	}
	if k.Changes != "" {
		b.WriteString("\n\n" + k.Changes)
		if strings.Contains(k.Changes, " on the branch ") {
			fmt.Fprintf(&b, "\n[spawn with action merge or drop and id %s]", k.ID)
		}
	}
	return b.String()
}

// notice returns the end of a subagent for an inbox, and its envelope.
func notice(k kept) (string, envelope) {
	one := envelopeOf(k.Job, k.task, k.progress)
	words := report(k)
	if len(words) > maxTold {
		words = fmt.Sprintf("%s\n[cut; spawn with action wait and id %s returns all of it]", text.Clip(words, maxTold),
			k.ID)
		one.Output, one.Schema, one.Changes = nil, nil, ""
	}
	return words, one
}
