package console

import (
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// roomData is the page of a room: its list, and what can be done.
type roomData struct {
	Room  *room.Room
	Verbs []room.Verb // that the person may call
	List  *note       // the result of list, or of the first verb that only reads and needs no argument
	Of    room.Verb   // the verb of List
}

// verbData is the page of a verb: its form, and the result if it only reads.
type verbData struct {
	Room   *room.Room
	Verb   room.Verb
	Fields []formField
	Result *note
	More   []rowLink // other verbs about the same thing
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

// verbs returns the verbs of a room that the person may call.
func (r *Request) verbs(of *room.Room) (list []room.Verb) {
	for _, v := range of.Verbs {
		if v.Allows(r.Who) {
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
		result, _, err := r.call(of, d.Of, nil, false)
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
	return linksTo(d.Room, d.Verbs, d.List.Rows[0][0], cells[0], "")
}

// linksTo returns links to the verbs that take a thing as their first argument. head is the
// name of the column that has it.
func linksTo(of *room.Room, verbs []room.Verb, head, value, but string) (links []rowLink) {
	for _, v := range verbs {
		if len(v.Args) == 0 || v.Name == but || strings.Contains(v.Name, " ") {
			continue
		}
		arg := strings.TrimSuffix(v.Args[0], "...")
		if strings.EqualFold(head, arg) || head == "ID" && arg == "job" || head == "NAME" && arg+"s" == of.Name {
			links = append(links, rowLink{v.Title, verbPath(of, v) + "?" + "arg." + arg + "=" + escape(value) + runs(v), v.Name})
		}
	}
	return links
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

func showVerb(r *Request) (any, error) {
	name := strings.ReplaceAll(r.PathValue("verb"), "/", " ")
	of, v, err := r.verb(r.PathValue("room"), name)
	if err != nil {
		return nil, err
	}
	d := verbData{Room: of, Verb: v}
	query := r.URL.Query()
	for _, p := range v.Params() {
		if v.Streams && p.Kind == "boolean" && p.Name == "follow" {
			continue // the page shows what there is
		}
		d.Fields = append(d.Fields, formField{p, slices.Contains(v.Files, p.Name) || p.Kind == "array" || p.Kind == "object" ||
			p.Name == "text" || p.Name == "content", strings.Join(query["arg."+p.Name], "\n")})
	}
	if len(v.Args) > 0 {
		arg := strings.TrimSuffix(v.Args[0], "...")
		if value := query.Get("arg." + arg); value != "" {
			d.More = linksTo(of, r.verbs(of), strings.ToUpper(arg), value, v.Name)
		}
	}
	if v.Risk != tool.Reads || query.Get("run") == "" {
		return d, nil
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
