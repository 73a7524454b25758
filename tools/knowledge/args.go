package knowledge

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Limits of one entity or relation, in bytes.
const (
	maxDescription   = 4000
	maxPropertyName  = 64
	maxPropertyBytes = 8 << 10 // of all properties
)

// commonArgs are the parameters that entities and relations share.
type commonArgs struct {
	Properties map[string]any `json:"properties,omitempty" jsonschema:"facts by name; null removes one" values:"plain" alias:"attributes,metadata"`
	Confidence float64        `json:"confidence,omitempty" jsonschema:"how certain it is" min:"0" max:"1" alias:"certainty"`
	ValidFrom  string         `json:"valid_from,omitempty" jsonschema:"true since this date" alias:"validFrom,start,since" maxlen:"64"`
	ValidTo    string         `json:"valid_to,omitempty" jsonschema:"true until this date" alias:"validTo,end,until" maxlen:"64"`
}

type entityArgs struct {
	Name         string   `json:"name" jsonschema:"name of the entity" alias:"entity,title,label" maxlen:"200"`
	Type         string   `json:"type,omitempty" jsonschema:"such as person or project" alias:"entity_type,entityType,kind" maxlen:"200"`
	Aliases      []string `json:"aliases,omitempty" jsonschema:"other names of it" alias:"also,alias" maxlen:"200" maxitems:"50"`
	Description  string   `json:"description,omitempty" jsonschema:"what is known" alias:"summary" maxlen:"4000"`
	Observations []string `json:"observations,omitempty" jsonschema:"more description" maxlen:"4000" maxitems:"50" hidden:"true"`
	Origin       string   `json:"origin,omitempty" jsonschema:"source of this knowledge" alias:"source,provenance" maxlen:"400"`
	ExternalID   string   `json:"external_id,omitempty" jsonschema:"another name of it" hidden:"true" maxlen:"200"`
	commonArgs
}

type relationArgs struct {
	keyArgs
	Origin string `json:"origin,omitempty" jsonschema:"source of this knowledge" alias:"provenance" maxlen:"400"`
	commonArgs
}

// keyArgs identify a relation.
type keyArgs struct {
	Source string `json:"source" jsonschema:"an entity name" alias:"from,subject,source_entity,source_entity_id" maxlen:"200"`
	Type   string `json:"type" jsonschema:"such as works_on" alias:"relation_type,relationType,relation,predicate" maxlen:"200"`
	Target string `json:"target" jsonschema:"an entity name" alias:"to,object,target_entity,target_entity_id" maxlen:"200"`
}

// reports are the entities and relations that a call reports.
type reports struct {
	entities  []graph.Entity
	relations []graph.Relation
	notes     []string // about types that look misspelt
}

func (r *reports) addEntity(where string, a entityArgs) error {
	e := graph.Entity{
		Name: graph.CleanLine(a.Name), Confidence: a.Confidence,
		Provenance:  graph.Provenance{Source: graph.CleanLine(a.Origin)},
		Description: strings.TrimSpace(graph.CleanLine(a.Description + " " + strings.Join(a.Observations, " "))),
	}
	if err := checkName(where, e.Name); err != nil {
		return err
	}
	if len(e.Description) > maxDescription {
		return tool.Errorf(tool.TooLarge, "%s: the description has %d bytes, the maximum is %d",
			where, len(e.Description), maxDescription).Try("shorten it, and store the details with memory_store")
	}
	for _, alias := range append(a.Aliases, a.ExternalID) {
		if alias = graph.CleanLine(alias); alias != "" {
			e.Aliases = append(e.Aliases, alias)
		}
	}
	var err error
	if e.Type, err = r.typeName(a.Type, graph.EntityTypes()); err != nil {
		return err
	}
	e.Properties, e.Valid, err = a.commonArgs.parse(where)
	r.entities = append(r.entities, e)
	return err
}

func (r *reports) addRelation(where string, a relationArgs) error {
	key, err := r.key(where, a.keyArgs)
	if err != nil {
		return err
	}
	relation := graph.Relation{
		Source: key.Source, Type: key.Type, Target: key.Target, Confidence: a.Confidence,
		Provenance: graph.Provenance{Source: graph.CleanLine(a.Origin)},
	}
	relation.Properties, relation.Valid, err = a.commonArgs.parse(where)
	r.relations = append(r.relations, relation)
	return err
}

// key returns the key of a relation, with names as the model wrote them.
func (r *reports) key(where string, a keyArgs) (graph.Key, error) {
	k := graph.Key{Source: graph.CleanLine(a.Source), Target: graph.CleanLine(a.Target)}
	for _, name := range []string{k.Source, k.Target} {
		if err := checkName(where, name); err != nil {
			return k, err
		}
	}
	var err error
	if k.Type, err = r.typeName(a.Type, graph.RelationTypes()); err == nil && k.Type == "" {
		err = invalidType(a.Type, graph.RelationTypes())
	}
	return k, err
}

func checkName(where, name string) error {
	if graph.Slug(name) == "" {
		return tool.Errorf(tool.Invalid, "%s: the name %q has no letters or digits", where, name).
			Try("use a name with letters or digits")
	}
	return nil
}

// typeName returns a type in lower_snake_case. It accepts any type, and adds a note about a
// type that looks misspelt.
func (r *reports) typeName(given string, suggested []string) (string, error) {
	name := graph.TypeName(given)
	if name == "" && strings.TrimSpace(given) != "" {
		return "", invalidType(given, suggested)
	}
	if name == "" || slices.Contains(suggested, name) {
		return name, nil
	}
	for _, known := range suggested {
		note := fmt.Sprintf("%s was stored as a new type; did you mean %s?", name, known)
		if graph.Similar(name, known) && !slices.Contains(r.notes, note) {
			r.notes = append(r.notes, note)
		}
	}
	return name, nil
}

func invalidType(given string, suggested []string) error {
	return tool.Errorf(tool.Invalid, "%q is not a valid type", text.Clip(given, 80)).
		Try("use lower_snake_case, such as %s", strings.Join(suggested[:5], ", "))
}

// parse returns the properties as texts, and the time span of the report.
func (a commonArgs) parse(where string) (properties map[string]string, valid graph.Span, err error) {
	if len(a.Properties) > graph.MaxProperties {
		return nil, valid, tool.Errorf(tool.TooLarge, "%s has %d properties, the maximum is %d",
			where, len(a.Properties), graph.MaxProperties).Try("leave out the less important ones")
	}
	size := 0
	for name, value := range a.Properties {
		name, err := graph.CleanLine(name), error(nil)
		written := ""
		switch v := value.(type) {
		case nil:
		case string:
			written = graph.CleanLine(v)
		default:
			var raw []byte
			raw, err = json.Marshal(v)
			written = graph.CleanLine(string(raw))
		}
		if err != nil {
			return nil, valid, err
		}
		if size += len(name) + len(written); name == "" || len(name) > maxPropertyName || size > maxPropertyBytes {
			return nil, valid, tool.Errorf(tool.TooLarge,
				"%s: a property name must have 1 to %d bytes, and all properties together at most %d",
				where, maxPropertyName, maxPropertyBytes).Try("shorten them or leave some out")
		}
		if properties == nil {
			properties = map[string]string{}
		}
		properties[name] = written
	}
	valid, err = parseSpan(a.ValidFrom, a.ValidTo)
	return properties, valid, err
}

// parsePeriod reads a year, a month, a day or a time, and returns when it begins and when it ends.
func parsePeriod(given string) (from, to time.Time, err error) {
	given = strings.TrimSpace(given)
	for layout, length := range map[string][3]int{"2006": {1, 0, 0}, "2006-01": {0, 1, 0}, time.DateOnly: {0, 0, 1}} {
		if at, err := time.Parse(layout, given); err == nil {
			return at, at.AddDate(length[0], length[1], length[2]), nil
		}
	}
	if at, ok := clock.Parse(given, time.UTC); ok {
		return at.UTC(), at.UTC().Add(time.Millisecond), nil
	}
	return from, to, tool.Errorf(tool.Invalid, "cannot read %q as a date or time", text.Clip(given, 80)).
		Try("write it like 2026, 2026-01, 2026-01-31 or 2026-01-31T09:00:00Z")
}

// parseSpan reads the first and the last date of a span; either may be empty. Without both it returns the zero Span.
func parseSpan(first, last string) (graph.Span, error) {
	if first == "" && last == "" {
		return graph.Span{}, nil
	}
	s := graph.Always()
	if first != "" {
		begin, _, err := parsePeriod(first)
		if err != nil {
			return s, err
		}
		s.From = begin.UnixMilli()
	}
	if last != "" {
		_, end, err := parsePeriod(last)
		if err != nil {
			return s, err
		}
		s.To = end.UnixMilli()
	}
	if s.From >= s.To {
		return s, tool.Errorf(tool.Invalid, "valid_to %q is before valid_from %q", last, first).Try("exchange them")
	}
	return s, nil
}

// formatSpan writes a span like parseSpan reads it, or "" if it has no bounds.
func formatSpan(s graph.Span) string {
	formatted := ""
	if s.From != math.MinInt64 {
		formatted = "from " + formatTime(time.UnixMilli(s.From).UTC())
	}
	if s.To != math.MaxInt64 {
		formatted += " to " + formatTime(time.UnixMilli(s.To-1).UTC())
	}
	return strings.TrimSpace(formatted)
}

func formatTime(at time.Time) string {
	day := at.Truncate(24 * time.Hour)
	if at.Equal(day) || at.Equal(day.Add(24*time.Hour-time.Millisecond)) {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339)
}
