package console

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/text/width"

	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file draws the knowledge of an agent: an entity in the middle, and its neighbours around it.

// graphData is the page of the knowledge graph.
type graphData struct {
	Agent, User, Name, Type string
	Depth                   int
	Names                   []entity // the most certain ones, to choose from
	Center                  *entity
	Nodes                   []node
	Edges                   []edge
	ViewBox                 string // of the picture
	More                    bool
}

// An entity and a relation, as the verbs of the room knowledge return them.
type entity struct {
	Slug        string  `json:"slug"`
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Description string  `json:"description"`
	Confidence  float64 `json:"confidence"`
	Source      string  `json:"source"`
}

type relation struct {
	From string `json:"from"`
	Type string `json:"type"`
	To   string `json:"to"`
}

// A node is an entity with its place in the picture; an edge is a relation between two.
type node struct {
	entity
	X, Y, R  float64
	Class    string // of its type, for its colour
	Distance int    // relations between it and the entity in the middle
	angle    float64

	TextX, TextY float64 // of the label
	Anchor       string  // the side of the label at TextX: start, middle or end
}

type edge struct {
	From, To     node
	Type         string
	Label        string  // "" if there is no room for it
	X, Y         float64 // of the label
	FromX, FromY float64
	ToX, ToY     float64
}

const (
	graphSize   = 760
	graphMargin = 90.0 // for the names
	graphNodes  = 60   // that a picture has at most
	graphNames  = 300
	graphLabels = 25 // edges that have labels at most
	// graphColours is how many colours console.css has for types of entities.
	graphColours = 6
)

// With returns the address of the page with another entity in the middle.
func (d graphData) With(name string) string {
	return fmt.Sprintf("graph?name=%s&agent=%s&user=%s&depth=%d", escape(name), escape(d.Agent), escape(d.User), d.Depth)
}

func showGraph(r *Request) (any, error) {
	q := r.URL.Query()
	d := graphData{Agent: q.Get("agent"), User: q.Get("user"), Name: strings.TrimSpace(q.Get("name")), Depth: 2}
	if q.Get("depth") == "1" || q.Get("depth") == "3" {
		d.Depth = int(q.Get("depth")[0] - '0')
	}
	if !q.Has("agent") && !q.Has("user") { // the latest caller
		rows, _, err := r.console.recent.read(r, periods()[1].Length)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			if row.Kind == "" && row.Agent+row.User != "" {
				d.Agent, d.User = row.Agent, row.User
				break
			}
		}
	}
	args := map[string]any{"agent": d.Agent, "user": d.User, "limit": graphNames}
	result, _, err := r.Call("knowledge", "list", args)
	if err != nil {
		return nil, err
	}
	if d.Names, err = items[entity](result); err != nil {
		return nil, err
	}
	if d.Name == "" && len(d.Names) > 0 {
		d.Name = d.Names[0].Name
	}
	if d.Name == "" {
		return d, nil
	}
	args["name"], args["depth"], args["limit"] = d.Name, d.Depth, graphNodes
	result, _, err = r.Call("knowledge", "show", args)
	if known := tool.AsError(err); err != nil && known.Kind == tool.NotFound {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	var found struct {
		Entities  []entity   `json:"entities"`
		Relations []relation `json:"relations"`
		More      bool       `json:"more"`
	}
	encoded, err := json.Marshal(result.Data)
	if err == nil {
		err = json.Unmarshal(encoded, &found)
	}
	if err != nil || len(found.Entities) == 0 {
		return d, err
	}
	d.More = found.More || len(found.Entities) > graphNodes
	d.Center = middleOf(found.Entities, found.Relations, q.Get("name") == "")
	d.place(found.Entities, found.Relations)
	return d, nil
}

// middleOf returns the entity for the middle: the one that was asked for, or the one with the most relations if none was.
func middleOf(entities []entity, relations []relation, any bool) *entity {
	count, best := map[string]int{}, 0
	for _, r := range relations {
		count[r.From]++
		count[r.To]++
	}
	for i, e := range entities[:min(len(entities), graphNodes)] {
		if any && count[e.Slug] > count[entities[best].Slug] {
			best = i
		}
	}
	return &entities[best]
}

// place gives each entity its place: on rings by their distance from the middle, and on a ring near the entity that
// leads to it.
func (d *graphData) place(entities []entity, relations []relation) {
	byID, next, types := map[string]*node{}, map[string][]string{}, []string{}
	for _, e := range entities[:min(len(entities), graphNodes)] {
		if !slices.Contains(types, e.Type) {
			types = append(types, e.Type)
		}
		class := fmt.Sprintf("kind-%d", slices.Index(types, e.Type)%graphColours+1)
		byID[e.Slug] = &node{entity: e, Distance: -1, R: 7, Class: class}
	}
	for _, r := range relations {
		if byID[r.From] != nil && byID[r.To] != nil && r.From != r.To {
			next[r.From], next[r.To] = append(next[r.From], r.To), append(next[r.To], r.From)
		}
	}
	middle := byID[d.Center.Slug]
	if middle == nil {
		return
	}
	middle.Distance, middle.R = 0, 12
	var rings [][]*node
	for ring := []*node{middle}; len(ring) > 0; {
		rings = append(rings, ring)
		var outer []*node
		for _, n := range ring {
			for _, slug := range next[n.Slug] {
				if other := byID[slug]; other.Distance < 0 {
					other.Distance, other.angle = n.Distance+1, n.angle
					outer = append(outer, other)
				}
			}
		}
		for i, n := range outer { // they are in the order of the angles of the ring within
			n.angle = 2*math.Pi*float64(i)/float64(len(outer)) - math.Pi/2
		}
		ring = outer
	}
	const center = graphSize / 2.0
	top, bottom := center, center
	step := (center - graphMargin) / float64(max(len(rings)-1, 1))
	for _, ring := range rings {
		for i, n := range ring {
			radius := step * float64(n.Distance)
			if len(ring) > 12 && i%2 == 1 { // so that names beside each other have room
				radius -= step / 3
			}
			n.X, n.Y = round(center+radius*math.Cos(n.angle)), round(center+radius*math.Sin(n.angle))
			d.Nodes = append(d.Nodes, *n)
			top, bottom = min(top, n.Y), max(bottom, n.Y)
		}
	}
	for _, r := range relations {
		from, to := byID[r.From], byID[r.To]
		if from == nil || to == nil || from.Distance < 0 || to.Distance < 0 {
			continue
		}
		e := edge{From: *from, To: *to, Type: r.Type}
		// The line ends at the rim of the circles, so that its arrow can be seen.
		if length := math.Hypot(to.X-from.X, to.Y-from.Y); length > 0 {
			dx, dy := (to.X-from.X)/length, (to.Y-from.Y)/length
			e.FromX, e.FromY = round(from.X+dx*from.R), round(from.Y+dy*from.R)
			e.ToX, e.ToY = round(to.X-dx*(to.R+5)), round(to.Y-dy*(to.R+5))
		}
		d.Edges = append(d.Edges, e)
	}
	taken := make([]rect, 0, 2*len(d.Nodes)+2*len(relations))
	for _, n := range d.Nodes {
		taken = append(taken, rect{n.X - n.R, n.Y - n.R, n.X + n.R, n.Y + n.R})
	}
	for _, e := range d.Edges {
		taken = append(taken, rect{e.ToX - 5, e.ToY - 5, e.ToX + 5, e.ToY + 5}) // its arrow
	}
	frame := rect{0, top - graphMargin/2, graphSize, bottom + graphMargin/2}
	for i := range d.Nodes {
		at := d.Nodes[i].placeLabel(taken)
		taken = append(taken, at)
		frame.left, frame.right = min(frame.left, at.left), max(frame.right, at.right)
	}
	d.ViewBox = fmt.Sprintf("%.0f %.0f %.0f %.0f", frame.left, frame.top, frame.right-frame.left, frame.bottom-frame.top)
	if len(d.Edges) > graphLabels {
		return
	}
	for i := range d.Edges {
		taken = d.Edges[i].placeLabel(taken)
	}
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

// A rect is a place in the picture.
type rect struct{ left, top, right, bottom float64 }

func (r rect) meets(all []rect) bool {
	return slices.ContainsFunc(all, func(o rect) bool {
		return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
	})
}

// textAt returns about the place of a text of some size whose base line is at y.
func textAt(text, anchor string, x, y, size float64) rect {
	wide := 0.0
	for _, r := range text {
		wide += .6 * size
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			wide += .4 * size
		}
	}
	switch anchor {
	case "end":
		x -= wide
	case "middle":
		x -= wide / 2
	}
	return rect{x, y - size, x + wide, y + size/4}
}

// Label returns the text beside a node.
func (n *node) Label() string { return terminal.Short(terminal.OneLine(n.Name), 22) }

// placeLabel puts the label of a node where it covers nothing: outside the rings if it can, else on another side.
func (n *node) placeLabel(taken []rect) rect {
	type place struct {
		x, y   float64
		anchor string
	}
	const center, size = graphSize / 2.0, 15.0
	left, right := place{n.X - n.R - 4, n.Y + 4, "end"}, place{n.X + n.R + 4, n.Y + 4, "start"}
	corners := []place{
		{n.X + n.R, n.Y + n.R + 14, "start"}, {n.X - n.R, n.Y + n.R + 14, "end"}, {n.X + n.R, n.Y - n.R - 3, "start"}, {n.X - n.R, n.Y - n.R - 3, "end"},
	}
	above, below := place{n.X, n.Y - n.R - 6, "middle"}, place{n.X, n.Y + n.R + 16, "middle"}
	var places []place
	switch {
	case n.Distance == 0 || math.Abs(n.X-center) < 20 && n.Y >= center:
		places = []place{below, above, right, left}
	case math.Abs(n.X-center) < 20:
		places = []place{above, below, right, left}
	case n.X < center:
		places = []place{left, above, below, right}
	default:
		places = []place{right, below, above, left}
	}
	places = append(places, corners...)
	at := func(p place) rect { return textAt(n.Label(), p.anchor, p.x, p.y, size) }
	free := max(slices.IndexFunc(places, func(p place) bool { return !at(p).meets(taken) }), 0)
	n.TextX, n.TextY, n.Anchor = round(places[free].x), round(places[free].y), places[free].anchor
	return at(places[free])
}

// placeLabel puts the label of an edge on its line, as near to the middle as it covers nothing, and adds its place to
// those that are taken. The page also lists the relations, so that a label without room can be left out.
func (e *edge) placeLabel(taken []rect) []rect {
	text := terminal.Short(terminal.OneLine(e.Type), 18)
	for _, part := range []float64{.5, .42, .58, .34, .66, .26, .74} {
		x, y := round(e.FromX+(e.ToX-e.FromX)*part), round(e.FromY+(e.ToY-e.FromY)*part)
		if at := textAt(text, "middle", x, y, 12); !at.meets(taken) {
			e.Label, e.X, e.Y = text, x, y
			return append(taken, at)
		}
	}
	return taken
}
