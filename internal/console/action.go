package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// do calls a verb with the fields of a form. Fields that begin with "arg." are the
// arguments; "back" is the page to return to.
func (c *Console) do(w http.ResponseWriter, r *Request) {
	name := strings.ReplaceAll(r.PathValue("verb"), "/", " ")
	home, v, err := r.verb(r.PathValue("room"), name)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	args := formArgs(v, r.PostForm)
	addMatches(args, r.PostForm)
	var result tool.Result
	var question string
	back := r.back(r.PostForm.Get("back"))
	left := false
	if err = r.addEdits(args, r.PostForm); err == nil && v.Visits {
		result, left, err = c.leave(w, r, home, v, args, back)
	} else if err == nil {
		result, question, err = r.act(home, v, args, r.PostForm.Get("confirm") == "yes")
	}
	c.held.forget()
	switch {
	case left:
	case err != nil:
		f := failure{Text: c.Scrub(message(err)), Back: strings.TrimPrefix(back, r.Base+"/")}
		if !v.Owned {
			f.More = r.others(home, v, args, nil)
		}
		c.write(w, room.Status(tool.AsError(err)), "failed", r.view(Page{}, f))
	case question != "":
		c.write(w, http.StatusOK, "confirm", r.view(Page{}, confirmation{
			Room: home, Verb: v, Question: question, Fields: fields(r.PostForm),
			BackPath: strings.TrimPrefix(back, r.Base+"/"),
		}))
	default:
		http.Redirect(w, r.Request, withNote(back, r.session.keep(noteOf(result, r.PostForm.Get("brief") != ""))), http.StatusSeeOther)
	}
}

// act calls a verb.
func (r *Request) act(home *room.Room, v room.Verb, args map[string]any, confirmed bool) (tool.Result, string, error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return tool.Result{}, "", err
	}
	var all []string
	result, question, err := r.console.API.Do(r.Context(), r.Who, home, v, encoded, confirmed, func(one tool.Result) error {
		all = append(all, one.Text())
		return nil
	})
	if v.Streams && err == nil {
		result = tool.Text(strings.Join(all, "\n"))
	}
	return result, question, err
}

// call calls a verb, and returns each result if it streams.
func (r *Request) call(home *room.Room, v room.Verb, args map[string]any, confirmed bool) (result tool.Result,
	each []tool.Result, err error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return result, nil, err
	}
	result, _, err = r.console.API.Do(r.Context(), r.Who, home, v, encoded, confirmed, func(one tool.Result) error {
		each = append(each, one)
		return nil
	})
	return result, each, err
}

// message returns the text of an error for a person.
func message(err error) string {
	known := tool.AsError(err)
	if known.Kind == tool.Internal {
		return err.Error()
	}
	return known.What + nextStep(known)
}

// A failure is the text in place of a page or after an action. Back is the page of the action beneath the base, ""
// for the first one. More are other actions for the same thing.
type failure struct {
	Text, Back string
	More       []rowLink
}

// noteOf returns a result for the next page. brief leaves out all but its first line, when the page shows the rest.
func noteOf(result tool.Result, brief bool) *note {
	n := &note{Failed: result.Failed, Text: cut(result.Text(), maxShown)}
	if brief {
		n.Text, _, _ = strings.Cut(n.Text, "\n")
	}
	if table, ok := result.Data.(room.Table); ok {
		n.Rows = table.Rows
	}
	if d, ok := result.Data.(room.Differing); ok && !brief {
		n.Diffs = d.Differences()
	}
	if n.Text == "" && n.Rows == nil {
		n.Text = "Done."
	}
	return n
}

// A confirmation is the page of a verb that asks.
type confirmation struct {
	Room     *room.Room
	Verb     room.Verb
	Question string
	Fields   []field
	BackPath string // beneath the base
}

// A field is one of a form that is sent again.
type field struct{ Name, Value string }

// fields returns the fields of a sent form, without the console's own.
func fields(form url.Values) (list []field) {
	for name, values := range form {
		for _, value := range values {
			if strings.HasPrefix(name, "arg.") || strings.HasPrefix(name, "exact.") || strings.HasPrefix(name, "match.") {
				list = append(list, field{name, value})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// formArgs returns the arguments of a verb that a form has.
func formArgs(v room.Verb, form url.Values) map[string]any {
	args := map[string]any{}
	for _, p := range v.Params() {
		if whole := form.Get("exact." + p.Name); json.Valid([]byte(whole)) {
			args[p.Name] = json.RawMessage(whole)
			continue
		}
		values := form["arg."+p.Name]
		if len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "" {
			continue
		}
		switch p.Kind {
		case "array":
			var list []string
			for _, value := range values {
				for one := range strings.SplitSeq(value, "\n") {
					if one = strings.TrimSpace(one); one != "" {
						list = append(list, one)
					}
				}
			}
			args[p.Name] = list
		case "string":
			args[p.Name] = strings.ReplaceAll(values[0], "\r\n", "\n") // as browsers send line breaks
		case "boolean":
			args[p.Name] = values[0] == "true"
		default:
			if json.Valid([]byte(values[0])) {
				args[p.Name] = json.RawMessage(values[0])
			} else {
				args[p.Name] = values[0] // the check of the arguments reports the mistake
			}
		}
	}
	return args
}

// addMatches adds the patterns of a rule. The form has one field for each argument.
func addMatches(args map[string]any, form url.Values) {
	var list []string
	for name := range form {
		if argument, ok := strings.CutPrefix(name, "match."); ok && form.Get(name) != "" {
			list = append(list, argument+"="+form.Get(name))
		}
	}
	if slices.Sort(list); list != nil {
		args["match"] = list
	}
}

// back returns the path of a page of the console, the first one for anything else.
func (r *Request) back(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(path, "/") || strings.Contains(path, "..") ||
		strings.ContainsAny(path, "\\\r\n") {
		path = ""
	}
	return r.Base + "/" + path
}

// withNote adds the id of a note to a path.
func withNote(path, id string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	q := u.Query()
	q.Set("note", id)
	u.RawQuery = q.Encode()
	return u.String()
}
