package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// questionsData are the questions that wait for a person, and the last decisions.
type questionsData struct {
	Calls   []questionData
	Asked   []asked
	Held    []room.Difference // tools of other MCP servers that wait
	Decided []approvals.Question
}

// questionData is a call that needs an approval, with earlier calls of its session.
type questionData struct {
	approvals.Question
	Before []audit.Row
	Whole  bool // the page is about this question alone
	// Arguments are the names of the arguments, for a rule.
	Arguments []approvals.Detail
}

// An editField is an argument that a person can change in a form.
type editField struct {
	Name, Value string
	Text        bool // a text; anything else is JSON
	Long        bool // of several lines
}

// editMark and editMore are the names of the fields of a form with changed arguments.
const (
	editMark = "edit."
	editMore = "more arguments"
)

// Edits returns the arguments as fields.
func (d questionData) Edits() (fields []editField) {
	for name, value := range argumentsOf(d.Question) {
		f := editField{Name: name}
		if f.Text = json.Unmarshal(value, &f.Value) == nil && value[0] == '"'; !f.Text {
			f.Value = string(value)
		}
		f.Long = len(f.Value) > 60 || strings.Contains(f.Value, "\n")
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b editField) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// argumentsOf returns the arguments of a question as they are shown.
func argumentsOf(q approvals.Question) map[string]json.RawMessage {
	args := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(q.Shown), &args) // one that is no object has no fields
	return args
}

// addEdits adds the arguments that a person has changed in the form of a question. Unchanged arguments are left out:
// their secrets are masked here.
func (r *Request) addEdits(args map[string]any, form url.Values) error {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(form)), func(name string) bool { return strings.HasPrefix(name, editMark) }) {
		return nil
	}
	result, _, err := r.Call("approvals", "show", map[string]any{"id": form.Get("arg.id")})
	if err != nil {
		return err
	}
	q, _ := result.Data.(approvals.Question)
	shown, change := argumentsOf(q), map[string]json.RawMessage{}
	for name := range form {
		argument, ok := strings.CutPrefix(name, editMark)
		if !ok {
			continue
		}
		typed := strings.ReplaceAll(form.Get(name), "\r\n", "\n") // as browsers send line breaks
		before, isText := "", false
		if old := shown[argument]; len(old) > 0 && old[0] == '"' {
			isText = json.Unmarshal(old, &before) == nil
		}
		switch {
		case argument == editMore:
			if strings.TrimSpace(typed) != "" && json.Unmarshal([]byte(typed), &change) != nil {
				return tool.Errorf(tool.Invalid, "the other arguments are no JSON object").Try(`write them like {"cwd": "docs"}`)
			}
		case isText && strings.ReplaceAll(before, "\r\n", "\n") == typed, strings.TrimSpace(typed) == string(shown[argument]):
		case isText:
			change[argument], err = json.Marshal(typed)
		case strings.TrimSpace(typed) == "":
			change[argument] = json.RawMessage("null")
		case json.Valid([]byte(typed)):
			change[argument] = json.RawMessage(typed)
		default:
			return tool.Errorf(tool.Invalid, "%s is no valid JSON", argument).Try("write a text in double quotes")
		}
	}
	if err == nil && len(change) == 0 {
		return tool.Errorf(tool.Invalid, "no argument was changed").Try("change one, or allow the call as it is")
	}
	encoded, err := json.Marshal(change)
	args["args"] = string(encoded)
	return err
}

// asked is a question of an agent for its user, as the verb questions list returns it.
type asked struct {
	ID      string   `json:"id"`
	Agent   string   `json:"agent"`
	User    string   `json:"user"`
	Session string   `json:"session"`
	Task    string   `json:"task"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
	Asked   int64    `json:"asked"`
}

// At returns when the question was asked.
func (a asked) At() time.Time { return time.UnixMilli(a.Asked) }

func showQuestions(r *Request) (any, error) {
	var d questionsData
	result, _, err := r.Call("approvals", "list", nil)
	if err != nil {
		return nil, err
	}
	open, err := items[approvals.Question](result)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		d.Calls = append(d.Calls, r.question(q))
	}
	if result, _, err = r.Call("approvals", "history", nil); err == nil {
		d.Decided, err = items[approvals.Question](result)
	}
	if err != nil {
		return nil, err
	}
	if d.Held, err = r.heldTools(); err != nil {
		return nil, err
	}
	if _, _, err := r.verb("questions", "list"); err != nil {
		return d, nil // not for people with the right to decide about some callers only
	}
	if result, _, err = r.Call("questions", "list", nil); err == nil {
		d.Asked, err = items[asked](result)
	}
	return d, err
}

// heldTools returns the tools of other MCP servers that wait for the person.
func (r *Request) heldTools() ([]room.Difference, error) {
	if _, _, err := r.verb("bridge", "held"); err != nil {
		return nil, nil // there are no such servers, or the person decides about some callers
	}
	result, _, err := r.Call("bridge", "held", nil)
	if err != nil {
		return nil, err
	}
	all, err := items[room.Difference](result)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(one room.Difference) bool { return one.Refused }), nil
}

// heldAge is how long the number of tools that are held back is not counted again, unless something changes.
const heldAge = 10 * time.Second

// A heldCount is the number of tools that are held back. Every page shows it.
type heldCount struct {
	mu    sync.Mutex
	at    time.Time
	count int
}

// forget makes the next page count again.
func (h *heldCount) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Time{}
}

// heldCount returns how many tools of other MCP servers wait for the person.
func (r *Request) heldCount() int {
	if _, _, err := r.verb("bridge", "held"); err != nil {
		return 0
	}
	h := &r.console.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) > heldAge {
		all, err := r.heldTools()
		if err != nil {
			return 0 // the page of the questions shows the error
		}
		h.at, h.count = time.Now(), len(all)
	}
	return h.count
}

// exact returns a list of one name as JSON in ASCII: browsers change line breaks in forms, and pages write out
// characters that cannot be seen.
func exact(name string) (string, error) {
	encoded, err := json.Marshal([]string{name})
	var b strings.Builder
	for _, c := range string(encoded) {
		if c < 0x7f {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String(), err
}

const (
	// maxHeld limits the tools whose differences a page shows, and maxHeldText the length of a difference.
	maxHeld     = 20
	maxHeldText = 64 << 10
)

// A heldTool is a tool of another MCP server that is held back.
type heldTool struct {
	room.Difference
	Whole bool // Lines are the whole difference. A difference that is not shown cannot be allowed.
}

// held returns the differences for a page. Long lines become several, so that nothing of them is hidden.
func held(all []room.Difference) (list []heldTool) {
	for _, d := range all[:min(len(all), maxHeld)] {
		one := heldTool{Difference: d, Whole: true}
		one.Lines = nil
		size := 0
		for _, line := range d.Lines {
			if size += len(line); size > maxHeldText {
				one.Whole = false
				break
			}
			for len(line) > maxDiffLine {
				first := cut(line, maxDiffLine)
				one.Lines, line = append(one.Lines, first), line[:1]+line[len(first):]
			}
			one.Lines = append(one.Lines, line)
		}
		list = append(list, one)
	}
	return list
}

// showQuestion shows one question, perhaps an answered one.
func showQuestion(r *Request) (any, error) {
	id := r.PathValue("id")
	if _, _, err := r.verb("questions", "list"); err == nil {
		result, _, err := r.Call("questions", "list", nil)
		if err != nil {
			return nil, err
		}
		all, err := items[asked](result)
		if err != nil {
			return nil, err
		}
		for _, q := range all {
			if q.ID == id {
				return questionsData{Asked: []asked{q}}, nil
			}
		}
	}
	result, _, err := r.Call("approvals", "show", map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	q, ok := result.Data.(approvals.Question)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no question")
	}
	d := r.question(q)
	d.Whole = true
	for _, detail := range q.Show().Details {
		if detail.Argument {
			d.Arguments = append(d.Arguments, detail)
		}
	}
	return questionsData{Calls: []questionData{d}}, nil
}

const (
	// beforeAge and maxBefore limit the calls that are shown before a question.
	beforeAge = 30 * time.Minute
	maxBefore = 4
	// beforePatience is how long reading them may take: the question counts.
	beforePatience = 2 * time.Second
)

// question adds the earlier calls of the session of a question.
func (r *Request) question(q approvals.Question) questionData {
	d := questionData{Question: q}
	if !r.Who.Operates() || r.Store().Missing() {
		return d // the audit log is for people with the right to see all
	}
	ctx, cancel := context.WithTimeout(r.Context(), beforePatience)
	defer cancel()
	before := func(row *audit.Row) bool {
		return row.Session == q.Session && row.Phase != audit.Intent && row.Call != q.Call.Call && row.Kind == "" &&
			row.Time.Before(q.Asked)
	}
	rows, err := audit.NewDB(r.Store()).TailSince(ctx, maxBefore, q.Asked.Add(-beforeAge), before)
	if err == nil { // otherwise the question is shown without
		d.Before = rows
	}
	return d
}

// items returns the items of a list that a verb returns.
func items[T any](result tool.Result) (list []T, err error) {
	table, ok := result.Data.(room.Table)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no list")
	}
	if list, ok := table.Items.([]T); ok {
		return list, nil
	}
	encoded, err := json.Marshal(table.Items)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(encoded, &list)
}
