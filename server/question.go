package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// This file writes the questions about approvals and reads the answers.

// notShown names the fact that a person is not shown all of a call.
const notShown = "Not shown"

// argumentsShown returns the arguments for a person, and the parts that are hidden as secrets.
// A hidden part may be anything, and the person has to know.
func argumentsShown(s *scrub.Scrubber, raw json.RawMessage) (text, hidden string) {
	clean := s.JSON(raw)
	return tool.Visible(plainJSON(clean)), maskedParts(raw, clean)
}

// plainJSON writes JSON without the escapes that only a web page needs. A person does not
// understand a \u0026\u0026 b for a && b.
func plainJSON(raw []byte) string {
	plain, err := jsontext.AppendFormat(nil, raw)
	if err != nil {
		return string(raw)
	}
	return string(plain)
}

// maskedParts lists the arguments that differ from the shown ones, or returns "".
func maskedParts(raw, clean []byte) string {
	if bytes.Equal(raw, clean) {
		return ""
	}
	var before, after map[string]json.RawMessage
	parts := []string{}
	if json.Unmarshal(raw, &before) == nil && json.Unmarshal(clean, &after) == nil {
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if !bytes.Equal(before[name], after[name]) {
				parts = append(parts, tool.Visible(name))
			}
		}
	}
	return "parts of " + cmp.Or(strings.Join(parts, ", "), "the arguments") +
		", which look like secrets and may be anything"
}

// dialog returns the question for a client's dialog. id is the ID of the stored question: only
// a stored question can become a rule.
func dialog(q approvals.Call, id string) map[string]any {
	choices := []string{approvals.ChoiceAllow, approvals.ChoiceDeny}
	message := q.Show().Text()
	if id != "" && !q.Once {
		choices = []string{approvals.ChoiceAllow, approvals.ChoiceSession, approvals.ChoiceAlways, approvals.ChoiceDeny}
		message += scopeText()
	}
	return map[string]any{"message": message, "requestedSchema": decisionForm(choices)}
}

// pageDialog returns the question that sends the person to a page.
func pageDialog(q approvals.Call, id, page string) map[string]any {
	shown := q.Show()
	return map[string]any{
		"mode": mcp.ElicitationModeURL, "elicitationId": id, "url": page,
		"message": shown.Head() + "\n" + shown.Effect() + "\n\nThe page shows the details, and takes your decision.",
	}
}

// accepts reports whether a person has agreed to open a page.
func accepts(raw json.RawMessage) bool {
	var answer struct {
		Action string `json:"action"`
	}
	return json.Unmarshal(raw, &answer) == nil && answer.Action == string(mcp.ElicitationResponseActionAccept)
}

// alwaysFor is how long a rule from a dialog counts.
const alwaysFor = 30 * 24 * time.Hour

// scopeText explains the wider answers before one is given.
func scopeText() string {
	return fmt.Sprintf("\n\n%s: this call, once.\n%s: calls with exactly these arguments, until this session ends.\n"+
		"%s: calls with exactly these arguments, of this agent, in this profile and workspace, until %s.",
		approvals.ChoiceAllow, approvals.ChoiceSession, approvals.ChoiceAlways,
		time.Now().Add(alwaysFor).UTC().Format(time.DateOnly))
}

func decisionForm(choices []string) map[string]any {
	titles := make([]string, len(choices))
	for i, choice := range choices {
		titles[i] = map[string]string{
			approvals.ChoiceAllow: "Allow once", approvals.ChoiceSession: "Allow in this session",
			approvals.ChoiceAlways: "Allow always", approvals.ChoiceDeny: "Deny",
		}[choice]
	}
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"decision": map[string]any{"type": "string", "enum": choices, "enumNames": titles, "title": "Decision"},
			"reason":   map[string]any{"type": "string", "title": "Reason, which the agent will read"},
		},
		"required": []string{"decision"},
	}
}

// decisionIn reads a person's answer at the client. answered is false if the
// person gave none; an answer that is not understood is a denial.
func decisionIn(raw json.RawMessage) (d approvals.Decision, answered bool) {
	var answer struct {
		Action  string `json:"action"`
		Content struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		} `json:"content"`
	}
	d.Channel = "elicitation"
	if json.Unmarshal(raw, &answer) != nil {
		return d, false
	}
	d.Reason = answer.Content.Reason
	if answer.Action != "accept" {
		return d, answer.Action == "decline"
	}
	d.Allow, d.Scope, _ = approvals.ParseChoice(answer.Content.Decision) // an unknown word is a denial
	return d, true
}
