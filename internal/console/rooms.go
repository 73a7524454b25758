package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// roomData is the page of a room: its list, and its actions.
type roomData struct {
	Room  *room.Room
	Verbs []room.Verb // that the person may call
	List  *note       // the result of list, or of the first verb that only reads and needs no argument
	Of    room.Verb   // the verb of List
	Owner url.Values  // the agent and the user that the list is about, as arguments; nil for a list of all
}

// verbData is the page of a verb: its form, and the result if it only reads.
type verbData struct {
	Room   *room.Room
	Verb   room.Verb
	Fields []formField
	Result *note
	More   []rowLink // other verbs about the same thing
	Owner  url.Values
}

// A formField is a parameter of a verb as a field of a form.
type formField struct {
	tool.Param
	Long  bool // a text of several lines
	Value string
}

// A rowLink leads to a verb with its first argument.
type rowLink struct{ Title, To, Name string }

func showRooms(r *Request) (any, error) {
	var all []roomData
	for _, one := range r.console.API.Rooms {
		if verbs := r.verbs(one); len(verbs) > 0 {
			all = append(all, roomData{Room: one, Verbs: verbs})
		}
	}
	return all, nil
}

// verbs returns the verbs of a room that the person may call with a form. Answers to differences have their buttons
// beside these.
func (r *Request) verbs(of *room.Room) (list []room.Verb) {
	for _, v := range of.Verbs {
		answers := slices.ContainsFunc(v.Params(), func(p tool.Param) bool { return p.Name == "seen" })
		if v.Allows(r.Who) && !answers {
			list = append(list, v)
		}
	}
	return list
}

func (r *Request) room(name string) (*room.Room, []room.Verb, error) {
	for _, one := range r.console.API.Rooms {
		if one.Name == name {
			if verbs := r.verbs(one); len(verbs) > 0 {
				return one, verbs, nil
			}
		}
	}
	return nil, nil, tool.Errorf(tool.NotFound, "there is no page %q", name)
}

// owner returns the agent and the user in the arguments of an owned verb, or in the settings if it has none.
func (r *Request) owner(v room.Verb) url.Values {
	if !v.Owned {
		return nil
	}
	query := r.URL.Query()
	if query.Has("arg.agent") || query.Has("arg.user") {
		return url.Values{"arg.agent": {query.Get("arg.agent")}, "arg.user": {query.Get("arg.user")}}
	}
	return url.Values{"arg.agent": {r.console.Owner.Agent}, "arg.user": {r.console.Owner.User}}
}

func showRoom(r *Request) (any, error) {
	of, verbs, err := r.room(r.PathValue("room"))
	if err != nil {
		return nil, err
	}
	d := roomData{Room: of, Verbs: verbs}
	at := slices.IndexFunc(verbs, func(v room.Verb) bool { return v.Name == "list" && needsNothing(v) })
	if at < 0 {
		at = slices.IndexFunc(verbs, func(v room.Verb) bool { return v.Name == "status" && needsNothing(v) })
	}
	if at >= 0 {
		d.Of = verbs[at]
		d.Owner = r.owner(d.Of)
		result, _, err := r.call(of, d.Of, formArgs(d.Of, d.Owner), false)
		if err != nil {
			d.List = &note{Failed: true, Text: r.console.Scrub(message(err))}
		} else {
			d.List = noteOf(result, false)
		}
	}
	return d, nil
}

func needsNothing(v room.Verb) bool {
	return v.Risk == tool.Reads && !v.Streams && !slices.ContainsFunc(v.Params(), func(p tool.Param) bool { return p.Required })
}

// Row returns the links of a row of the list: the verbs whose first argument is its first cell.
func (d roomData) Row(cells []string) []rowLink {
	if len(cells) == 0 || d.List == nil || len(d.List.Rows) == 0 {
		return nil
	}
	return linksTo(d.Room, d.Verbs, d.List.Rows[0][0], cells[0], "", d.Owner)
}

// linksTo returns links to the verbs that take a thing as their first argument. head is the
// name of the column that has it.
func linksTo(of *room.Room, verbs []room.Verb, head, value, but string, owner url.Values) (links []rowLink) {
	for _, v := range verbs {
		if len(v.Args) == 0 || v.Name == but || strings.Contains(v.Name, " ") {
			continue
		}
		arg := strings.TrimSuffix(v.Args[0], "...")
		if strings.EqualFold(head, arg) || head == "ID" && arg == "job" || head == "NAME" && arg+"s" == of.Name {
			links = append(links, rowLink{v.Title, verbPath(of, v) + "?" + "arg." + arg + "=" + escape(value) + ownerOf(v, owner) + runs(v), v.Name})
		}
	}
	return links
}

// others returns links to the other verbs about the thing that is the first argument of a verb.
func (r *Request) others(of *room.Room, v room.Verb, args map[string]any, owner url.Values) []rowLink {
	if len(v.Args) == 0 {
		return nil
	}
	arg := strings.TrimSuffix(v.Args[0], "...")
	value, _ := args[arg].(string)
	if value == "" {
		return nil
	}
	return linksTo(of, r.verbs(of), strings.ToUpper(arg), value, v.Name, owner)
}

// ownerOf is the part of a link with the owner.
func ownerOf(v room.Verb, owner url.Values) string {
	if !v.Owned || owner == nil {
		return ""
	}
	return "&" + owner.Encode()
}

// runs is the end of a link that shows the result at once, of a verb that only reads.
func runs(v room.Verb) string {
	if v.Risk == tool.Reads && !v.Streams {
		return "&run=1"
	}
	return ""
}

func verbPath(of *room.Room, v room.Verb) string {
	return "rooms/" + of.Name + "/" + strings.ReplaceAll(v.Name, " ", "/")
}

// fillIn puts the present text of a thing into the form that corrects it.
func (r *Request) fillIn(d verbData, query url.Values) error {
	shows, ok := d.Room.Verb("show")
	if !ok || len(d.Verb.Files) != 1 || d.Verb.Risk != tool.Writes || !shows.Allows(r.Who) {
		return nil
	}
	args := formArgs(shows, query)
	if len(shows.Args) == 0 || args[shows.Args[0]] == nil {
		return nil
	}
	result, _, err := r.call(d.Room, shows, args, false)
	text, ok := result.Data.(room.Corrected)
	if err != nil || !ok {
		return err
	}
	for i := range d.Fields {
		if d.Fields[i].Name == d.Verb.Files[0] {
			d.Fields[i].Value = text.Correct()
		}
	}
	return nil
}

func showVerb(r *Request) (any, error) {
	name := strings.ReplaceAll(r.PathValue("verb"), "/", " ")
	of, v, err := r.verb(r.PathValue("room"), name)
	if err != nil {
		return nil, err
	}
	d := verbData{Room: of, Verb: v}
	query := r.URL.Query()
	d.Owner = r.owner(v)
	maps.Copy(query, d.Owner)
	for _, p := range v.Params() {
		if v.Streams && p.Kind == "boolean" && p.Name == "follow" {
			continue // the page shows the others
		}
		d.Fields = append(d.Fields, formField{p, slices.Contains(v.Files, p.Name) || p.Kind == "array" || p.Kind == "object" ||
			p.Name == "text" || p.Name == "content", strings.Join(query["arg."+p.Name], "\n")})
	}
	d.More = r.others(of, v, formArgs(v, query), d.Owner)
	if v.Risk != tool.Reads || query.Get("run") == "" {
		return d, r.fillIn(d, query)
	}
	args := formArgs(v, query)
	delete(args, "follow")
	result, question, err := r.act(of, v, args, true)
	if err != nil {
		d.Result = &note{Failed: true, Text: r.console.Scrub(message(err))}
	} else if question == "" {
		d.Result = noteOf(result, false)
	}
	return d, nil
}
