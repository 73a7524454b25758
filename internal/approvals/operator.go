package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Past counts earlier calls in the audit log: calls with the very same arguments, and calls
// of the tool. With an error the numbers are lower bounds.
type Past func(ctx context.Context, c Call) (equal, ofTool int, err error)

// Ended returns the names of the sessions in the store of a host that have ended, also if their process was killed.
type Ended func(ctx context.Context, h *room.Host) (map[string]bool, error)

// Room returns the verbs for people to decide about calls.
func Room(past Past, ended Ended) *room.Room {
	o := &operator{past: past, ended: ended}
	const example = "  mcp-tools approvals "
	return &room.Room{
		Name: "approvals", Title: "Decide about calls that need an approval",
		Doc: `approvals lists calls that wait for an approval, on all servers with the same
store, and approves or denies them. If the client can ask a person too, the first
decision counts. Calls that are not decided in time (approvals.timeout) are
refused.`,
		Open: func(h *room.Host) error { o.Store, o.host = New(Options{DB: h.Store}), h; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the calls that wait for an approval", Risk: tool.Reads, Where: room.Approver,
				Example: example + "list\n" + example + "list --output json",
			}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show the details of a call", Args: []string{"id"}, Risk: tool.Reads,
				Where: room.Approver, Example: example + "show abcd2345efgh", Complete: o.waiting,
			}, o.show),
			room.Prepare(room.Verb{
				Name: "allow", Title: "Approve a call", Doc: allowDoc, Args: []string{"id"}, Risk: tool.Runs,
				Where: room.Approver, Complete: o.waiting,
				Example: example + "allow abcd2345efgh\n" + example + "allow abcd2345efgh --session --yes\n" +
					example + "allow abcd2345efgh --always --expires 30d --match path='src/**' --any content",
			}, o.allow),
			room.Do(room.Verb{
				Name: "edit", Title: "Change the arguments of a call before it is allowed", Args: []string{"id"},
				Risk: tool.Writes, Where: room.Approver, Complete: o.waiting,
				Doc: `edit changes arguments of a call that waits for an approval. The server that asked
checks them, and the call is shown as it is now: approve or deny it with allow and
deny. Arguments that are not named stay as they are; null removes one. The agent
reads in the result that a person has changed its call.`,
				Example: example + `edit abcd2345efgh --args '{"command": "rm -r build/tmp"}'`,
			}, o.edit),
			room.Do(room.Verb{
				Name: "deny", Title: "Deny a call", Args: []string{"id"}, Risk: tool.Writes, Where: room.Approver,
				Doc: `deny refuses a call. The agent gets the reason. A call that was approved but has
not started yet is refused too.`,
				Example: example + "deny abcd2345efgh --reason 'use the staging database'", Complete: o.waiting,
			}, o.deny),
			room.Do(room.Verb{
				Name: "history", Title: "List the decisions of the last day", Risk: tool.Reads, Where: room.Approver,
				Doc:     "history lists the last 100 decisions of a day at most. The audit log has all of them.",
				Example: example + "history\n" + example + "history --output json",
			}, o.history),
			room.Do(room.Verb{
				Name: "rules", Title: "List the rules that approve calls for a session, or always", Risk: tool.Reads,
				Where: room.Operator, Example: example + "rules\n" + example + "rules --output json",
			}, o.rules),
			room.Do(room.Verb{
				Name: "forget", Title: "Remove a rule that approves calls", Args: []string{"rule"}, Risk: tool.Destroys,
				Where: room.Operator, Example: example + "forget abcd2345efgh",
			}, o.forget),
		},
	}
}

// operator has the verbs of a store of approvals.
type operator struct {
	*Store
	host  *room.Host
	past  Past
	ended Ended
}

// approver returns the caller of a verb.
func approver(ctx context.Context) Approver {
	who := room.By(ctx)
	return Approver{Agent: who.Agent, User: who.User, Name: who.Name, Channel: who.Channel}
}

// explain returns an error of the store for the caller of a verb.
func explain(err error) error {
	switch {
	case errors.As(err, new(RuleError)):
		return tool.Errorf(tool.Invalid, "%w", err)
	case errors.Is(err, ErrUnknown):
		return tool.Errorf(tool.NotFound, "%w", err)
	case errors.Is(err, ErrAnswered), errors.Is(err, ErrExpired), errors.Is(err, ErrEdited):
		return tool.Errorf(tool.Conflict, "%w", err)
	}
	return err
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	open, err := o.List(ctx, approver(ctx))
	if err == nil {
		err = o.attended(ctx)
	}
	if err != nil {
		return tool.Result{}, err
	}
	none := fmt.Sprintf("No call waits for an approval on servers with the store %s.\n"+
		"Calls of clients that cannot ask a person only wait while an operator watches: 30 seconds after this\n"+
		"command, or while mcp-tools approvals watch runs (unless the setting approvals.wait differs).",
		o.DB.Location())
	head := []string{"ID", "TOOL", "RISK", "CALLER", "PROFILE", "LEFT", "ARGUMENTS"}
	return room.Rows(open, none, head, func(q Question) []string {
		left := time.Until(q.Expires).Round(time.Second).String()
		return []string{q.ID, q.Tool, q.Risk, callerOf(q.Principal), q.Profile, left, terminal.Short(q.Shown, 60)}
	}), nil
}

func (o *operator) history(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, err := o.History(ctx, approver(ctx))
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"ID", "TOOL", "CALLER", "DECISION", "BY", "AT", "WHAT"}
	return room.Rows(list, "There was no decision in the last day.", head, func(q Question) []string {
		return []string{q.ID, q.Tool, callerOf(q.Principal), q.Decision.Choice(), q.Decision.who(),
			q.Decision.At.Local().Format(time.DateTime), terminal.Short(terminal.OneLine(q.Show().Head()), 80)}
	}), nil
}

// waiting lists the IDs of calls that wait for an approval.
func (o *operator) waiting(ctx context.Context) (ids []string, err error) {
	open, err := o.List(ctx, approver(ctx))
	for _, q := range open {
		ids = append(ids, q.ID+"\t"+q.Tool+" "+terminal.Short(terminal.OneLine(q.Shown), 60))
	}
	return ids, err
}

// attended notes that a person looks at the questions. Looking creates no store.
func (o *operator) attended(ctx context.Context) error {
	if o.DB.Missing() {
		return nil
	}
	return o.MarkAttended(ctx)
}

type idArgs struct {
	ID string `json:"id" jsonschema:"the call, as in list"`
}

func (o *operator) show(ctx context.Context, args idArgs) (tool.Result, error) {
	q, err := o.Get(ctx, args.ID, approver(ctx))
	if err := cmp.Or(err, o.attended(ctx)); err != nil {
		return tool.Result{}, explain(err)
	}
	return tool.Text(q.Sheet() + q.Details()).With(q), nil
}

const allowDoc = `allow approves one call. With --session, equal calls need no approval until the
session or its server ends; with --always, until the rule expires. Equal calls are
calls of the same caller with exactly the same arguments. --match and --any
include more calls: --match path='src/*' for arguments that match a pattern (*
matches within a directory, ** across directories), --any content for an argument
with any value.

Before a rule is made, it is shown with the number of such calls in the past, and
you are asked to confirm it; --yes confirms it, and is required if there is no
terminal.`

type allowArgs struct {
	ID      string   `json:"id" jsonschema:"the call, as in list"`
	Session bool     `json:"session,omitempty" jsonschema:"approve equal calls for the rest of the session"`
	Always  bool     `json:"always,omitempty" jsonschema:"approve equal calls from now on"`
	Expires string   `json:"expires,omitempty" jsonschema:"when the rule of --always expires: a date, a time, or a duration such as 30d (default 30d, max 1 year)"`
	Match   []string `json:"match,omitempty" jsonschema:"NAME=PATTERN: an argument that must match a pattern instead of being equal"`
	Digest  string   `json:"digest,omitempty" jsonschema:"digest of the call as in show: refuses the approval if a person has changed the arguments since"`
	Any     []string `json:"any,omitempty" jsonschema:"NAME of an argument that may have any value"`
}

// answer returns the answer that the arguments describe.
func (a allowArgs) answer(now time.Time) (answer Answer, err error) {
	answer = Answer{Allow: true, Scope: Once, Like: Like{Any: a.Any}, Seen: a.Digest}
	switch {
	case a.Session && a.Always:
		return answer, room.Mistake("--session and --always exclude each other")
	case a.Session:
		answer.Scope = Session
	case a.Always:
		answer.Scope = Always
	case a.Expires != "" || a.Match != nil || a.Any != nil:
		return answer, room.Mistake("--expires, --match and --any describe a rule; add --session or --always")
	}
	if a.Expires != "" {
		if !a.Always {
			return answer, room.Mistake("--expires needs --always; with --session a rule ends with the session")
		}
		if answer.Until, err = clock.Until(now, a.Expires); err != nil {
			return answer, room.Mistake("--expires is %q, %w", a.Expires, err)
		}
	}
	for _, pair := range a.Match {
		name, pattern, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return answer, room.Mistake("--match is %q, it must be NAME=PATTERN", pair)
		}
		if answer.Like.Match == nil {
			answer.Like.Match = make(map[string]string)
		}
		answer.Like.Match[name] = pattern
	}
	return answer, nil
}

func (o *operator) allow(ctx context.Context, args allowArgs) (tool.Plan, error) {
	answer, err := args.answer(time.Now())
	if err != nil {
		return tool.Plan{}, err
	}
	plan := tool.Plan{Run: func(ctx context.Context) (tool.Result, error) { return o.decide(ctx, args.ID, answer) }}
	if answer.Scope != Once {
		if plan.Ask, err = o.ruleText(ctx, args.ID, answer); err != nil {
			return tool.Plan{}, explain(err)
		}
	}
	return plan, nil
}

// ruleText describes the rule that an answer would make.
func (o *operator) ruleText(ctx context.Context, id string, answer Answer) (string, error) {
	rule, err := o.Preview(ctx, id, answer, approver(ctx))
	if err != nil {
		return "", err
	}
	q, err := o.Get(ctx, id, approver(ctx))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	equal, ofTool, err := o.past(ctx, q.Call)
	least := ""
	if err != nil {
		least = "at least "
	}
	text := fmt.Sprintf("%sPast calls: %s%d with exactly these arguments", rule.Sheet(), least, equal)
	if rule.Digest == "" {
		text += fmt.Sprintf(", %d of the tool; how many match is unknown", ofTool)
	}
	return text + "\n", nil
}

type editArgs struct {
	ID   string `json:"id" jsonschema:"the call, as in list"`
	Args string `json:"args" jsonschema:"the arguments that are different, as a JSON object; null removes one"`
}

// editPatience is how long edit waits for the server that asked.
const editPatience = 20 * time.Second

func (o *operator) edit(ctx context.Context, args editArgs) (tool.Result, error) {
	waiting, cancel := context.WithTimeout(ctx, editPatience)
	defer cancel()
	q, err := o.Edit(waiting, args.ID, json.RawMessage(args.Args), approver(ctx))
	if err := cmp.Or(err, o.attended(ctx)); err != nil {
		return tool.Result{}, explain(err)
	}
	return room.Said(q, "The call was changed. It runs only if it is allowed now.\n\n%s", q.Sheet()), nil
}

type denyArgs struct {
	ID     string `json:"id" jsonschema:"the call, as in list"`
	Reason string `json:"reason,omitempty" jsonschema:"reason, or advice, for the agent"`
}

func (o *operator) deny(ctx context.Context, args denyArgs) (tool.Result, error) {
	return o.decide(ctx, args.ID, Answer{Reason: args.Reason})
}

// A decided call is the result of allow and deny.
type decided struct {
	ID       string   `json:"id"`
	Decision Decision `json:"decision"`
}

func (o *operator) decide(ctx context.Context, id string, answer Answer) (tool.Result, error) {
	d, err := o.Answer(ctx, id, answer, approver(ctx))
	if err := cmp.Or(err, o.attended(ctx)); err != nil {
		return tool.Result{}, explain(err)
	}
	return room.Said(decided{id, d}, "%s: %s.", id, d.Text()), nil
}

// Text describes the decision, and how to take it back.
func (d Decision) Text() string {
	text := "denied"
	if d.Allow {
		text = "allowed"
	}
	if d.Ended {
		text += ", but the server that asked has ended, so nothing will run"
	} else if d.Silent {
		text += ", but the server that asked has not answered since; if it has ended, nothing will run"
	}
	if d.Rule != "" {
		text += ", and equal calls too; mcp-tools approvals forget " + d.Rule + " removes the rule"
	}
	return text
}

func (o *operator) rules(ctx context.Context, _ struct{}) (tool.Result, error) {
	rules, err := o.Rules(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	ended, err := o.ended(ctx, o.host)
	if err != nil {
		return tool.Result{}, err
	}
	rules = slices.DeleteFunc(rules, func(r Rule) bool { return r.Scope == Session && ended[r.Session] }) // they allow nothing
	const none = "There are no rules; mcp-tools approvals allow ID --always makes one."
	head := []string{"RULE", "SCOPE", "TOOL", "CALLER", "PROFILE", "EXPIRES", "BY", "ALLOWS"}
	return room.Rows(rules, none, head, func(r Rule) []string {
		return []string{
			r.ID, string(r.Scope), r.Tool, callerOf(r.Principal), r.Profile, terminal.Date(r.Expires), orDash(r.By),
			terminal.Short(r.likeText(), 80),
		}
	}), nil
}

type forgetArgs struct {
	Rule string `json:"rule" jsonschema:"the rule, as in rules"`
}

func (o *operator) forget(ctx context.Context, args forgetArgs) (tool.Result, error) {
	rule, err := o.Forget(ctx, args.Rule)
	if errors.Is(err, ErrUnknown) {
		err = tool.Errorf(tool.NotFound, "there is no rule %q", args.Rule).Try("mcp-tools approvals rules lists them")
	}
	return room.Said(rule, "Rule %s was removed; calls of %s need an approval again.", rule.ID, rule.Tool), err
}
