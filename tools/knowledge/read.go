package knowledge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Bounds of what is written down of one thing, in bytes.
const (
	mostText  = 4000
	mostKey   = 64
	mostProps = 8 << 10 // of all properties
)

// common is what entities and relations have in common. How they are given has
// a schema that is not listed: one line of words says the same for less.
type common struct {
	Properties map[string]any `json:"properties,omitempty" jsonschema:"facts; null removes one" alias:"attributes,metadata"`
	Confidence float64        `json:"confidence,omitempty" jsonschema:"how sure" min:"0" max:"1" alias:"certainty"`
	ValidFrom  string         `json:"valid_from,omitempty" jsonschema:"true since" alias:"validFrom,start,since" maxlen:"64"`
	ValidTo    string         `json:"valid_to,omitempty" jsonschema:"true until" alias:"validTo,end,until" maxlen:"64"`
}

type entityArgs struct {
	Name         string   `json:"name" jsonschema:"what it is called" alias:"entity,title,label" maxlen:"200"`
	Type         string   `json:"type,omitempty" jsonschema:"what it is" alias:"entity_type,entityType,kind" maxlen:"200"`
	Aliases      []string `json:"aliases,omitempty" jsonschema:"other names" alias:"also,alias" maxlen:"200" maxitems:"50"`
	Description  string   `json:"description,omitempty" jsonschema:"about it" alias:"summary" maxlen:"4000"`
	Observations []string `json:"observations,omitempty" jsonschema:"about it" maxlen:"4000" maxitems:"50"`
	Origin       string   `json:"origin,omitempty" jsonschema:"where it is known from" alias:"source,provenance" maxlen:"400"`
	common
}

type relationArgs struct {
	Source string `json:"source" jsonschema:"entity" alias:"from,subject,source_entity,source_entity_id" maxlen:"200"`
	Type   string `json:"type" jsonschema:"relation" alias:"relation_type,relationType,relation,predicate" maxlen:"200"`
	Target string `json:"target" jsonschema:"entity" alias:"to,object,target_entity,target_entity_id" maxlen:"200"`
	Origin string `json:"origin,omitempty" jsonschema:"where it is known from" alias:"provenance" maxlen:"400"`
	common
}

// reading collects what was reported, until the first mistake.
type reading struct {
	ctx       context.Context
	entities  []graph.Entity
	relations []graph.Relation
	notes     []string
	err       error
}

// read binds one object of a list as the arguments of a call are bound.
func read[A any](r *reading, name string, object map[string]any, use func(A) error) {
	if r.err != nil {
		return
	}
	raw, err := json.Marshal(object)
	if err == nil {
		var call tool.Call
		call, err = tool.New(reader[A]{name, use}).Bind(raw, tool.DefaultLimits())
		if err == nil {
			_, err = call.Run(r.ctx)
		}
	}
	r.err = err
}

type reader[A any] struct {
	name string
	use  func(A) error
}

func (r reader[A]) Spec() tool.Spec { return tool.Spec{Name: r.name} }

func (r reader[A]) Do(_ context.Context, args A) (tool.Result, error) {
	return tool.Result{}, r.use(args)
}

func (r *reading) entity(i int, object map[string]any) {
	name := fmt.Sprintf("entities[%d]", i)
	read(r, name, object, func(a entityArgs) error {
		e := graph.Entity{
			Name: graph.Line(a.Name), Confidence: a.Confidence, Trace: graph.Trace{Source: graph.Line(a.Origin)},
			Description: strings.TrimSpace(graph.Line(a.Description + " " + strings.Join(a.Observations, " "))),
		}
		if graph.Slug(e.Name) == "" {
			return tool.Errorf(tool.Invalid, "%s: %q is no name", name, a.Name).Try("give it one with letters or digits")
		}
		if len(e.Description) > mostText {
			return tool.Errorf(tool.TooLarge, "%s: its description has %d bytes, the most is %d", name, len(e.Description), mostText).
				Try("keep to what matters, and put the rest into memory")
		}
		for _, alias := range a.Aliases {
			e.Aliases = append(e.Aliases, graph.Line(alias))
		}
		var err error
		if e.Type, err = r.typeName(a.Type, graph.EntityTypes()); err != nil {
			return err
		}
		e.Properties, e.Valid, err = a.common.read(name)
		r.entities = append(r.entities, e)
		return err
	})
}

func (r *reading) relation(i int, object map[string]any) {
	name := fmt.Sprintf("relations[%d]", i)
	read(r, name, object, func(a relationArgs) error {
		e := graph.Relation{
			Source: graph.Line(a.Source), Target: graph.Line(a.Target), Confidence: a.Confidence,
			Trace: graph.Trace{Source: graph.Line(a.Origin)},
		}
		for _, end := range []string{e.Source, e.Target} {
			if graph.Slug(end) == "" {
				return tool.Errorf(tool.Invalid, "%s: %q is no name", name, end).Try("name an entity at both ends")
			}
		}
		var err error
		if e.Type, err = r.typeName(a.Type, graph.RelationTypes()); err != nil {
			return err
		}
		if e.Type == "" {
			return badType(a.Type, graph.RelationTypes())
		}
		e.Properties, e.Valid, err = a.common.read(name)
		r.relations = append(r.relations, e)
		return err
	})
}

// typeName takes any type, and wonders about those that look like slips.
func (r *reading) typeName(text string, known []string) (string, error) {
	name := graph.TypeName(text)
	if name == "" && strings.TrimSpace(text) != "" {
		return "", badType(text, known)
	}
	if name == "" || slices.Contains(known, name) {
		return name, nil
	}
	for _, one := range known {
		note := fmt.Sprintf("type %s is taken as new; did you mean %s?", name, one)
		if graph.Near(name, one) && !slices.Contains(r.notes, note) {
			r.notes = append(r.notes, note)
		}
	}
	return name, nil
}

func badType(text string, known []string) error {
	return tool.Errorf(tool.Invalid, "%q is no type", graph.Cut(text, 80)).
		Try("write lower_snake_case, such as %s", strings.Join(known[:min(len(known), 5)], ", "))
}

// read makes properties text, and reads the span.
func (c common) read(name string) (properties map[string]string, valid graph.Span, err error) {
	if len(c.Properties) > graph.MostProperties {
		return nil, valid, tool.Errorf(tool.TooLarge, "%s: there are %d properties, the most is %d", name, len(c.Properties), graph.MostProperties).
			Try("keep to what matters")
	}
	size := 0
	for key, value := range c.Properties {
		key = graph.Line(key)
		text := ""
		switch v := value.(type) {
		case nil:
		case string:
			text = graph.Line(v)
		default:
			raw, err := json.Marshal(v)
			if err != nil {
				return nil, valid, err
			}
			text = graph.Line(string(raw))
		}
		if size += len(key) + len(text); key == "" || len(key) > mostKey || size > mostProps {
			return nil, valid, tool.Errorf(tool.TooLarge, "%s: names of properties have 1 to %d bytes, and all together %d at most", name, mostKey, mostProps).
				Try("keep to what matters")
		}
		if properties == nil {
			properties = map[string]string{}
		}
		properties[key] = text
	}
	valid, err = span(c.ValidFrom, c.ValidTo)
	return properties, valid, err
}
