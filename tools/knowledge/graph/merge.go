package graph

import (
	"maps"
	"slices"
)

// Bounds of what one entity or relation can hold.
const (
	MostAliases    = 50
	MostProperties = 50
)

// Merge adds to e what a later report says of the same thing, and names what of
// the report was left out because e was more certain. A report counts for as
// much as it is sure of itself: what it contradicts stays, unless the report is
// at least as certain; what e does not know yet is taken from any report. In a
// report a property of "" means that there is none, and spans and texts that
// are not given are zero.
func (e Entity) Merge(report Entity) (merged Entity, kept []string) {
	merged = e
	surer := report.Confidence >= e.Confidence
	take := func(what string, have *string, say string) {
		switch {
		case say == "" || say == *have:
		case surer || *have == "":
			*have = say
		default:
			kept = append(kept, what)
		}
	}
	take("type", &merged.Type, report.Type)
	take("description", &merged.Description, report.Description)
	merged.Aliases = Names(e.Name, slices.Concat(e.Aliases, []string{report.Name}, report.Aliases))
	merged.Properties, kept = mergeProperties(e.Properties, report.Properties, surer, kept)
	merged.Valid, kept = mergeSpan(e.Valid, report.Valid, surer, kept)
	merged.Confidence = max(e.Confidence, report.Confidence)
	if report.Trace.Source != "" && (surer || e.Trace.Source == "") {
		merged.Trace.Source = report.Trace.Source
	}
	return merged, kept
}

// Merge adds to r what a later report says of the same relation: see
// [Entity.Merge].
func (r Relation) Merge(report Relation) (merged Relation, kept []string) {
	merged = r
	surer := report.Confidence >= r.Confidence
	merged.Properties, kept = mergeProperties(r.Properties, report.Properties, surer, kept)
	merged.Valid, kept = mergeSpan(r.Valid, report.Valid, surer, kept)
	merged.Confidence = max(r.Confidence, report.Confidence)
	if report.Trace.Source != "" && (surer || r.Trace.Source == "") {
		merged.Trace.Source = report.Trace.Source
	}
	return merged, kept
}

func mergeProperties(have, say map[string]string, surer bool, kept []string) (map[string]string, []string) {
	merged := maps.Clone(have)
	for _, key := range slices.Sorted(maps.Keys(say)) {
		old, known := have[key]
		switch {
		case old == say[key]:
		case known && !surer:
			kept = append(kept, key)
		case say[key] == "":
			delete(merged, key)
		case !known && len(merged) >= MostProperties:
			kept = append(kept, key)
		default:
			if merged == nil {
				merged = map[string]string{}
			}
			merged[key] = say[key]
		}
	}
	if len(merged) == 0 {
		merged = nil
	}
	return merged, kept
}

func mergeSpan(have, say Span, surer bool, kept []string) (Span, []string) {
	switch {
	case say == Span{} || say == Always() || say == have:
		return have, kept
	case surer || have == Always():
		return say, kept
	}
	return have, append(kept, "validity")
}

// Names are the aliases of an entity among some names: each once, none of them
// its name, and at most [MostAliases].
func Names(name string, all []string) []string {
	var list []string
	known := []string{Slug(name)}
	for _, one := range all {
		s := Slug(one)
		if s == "" || slices.Contains(known, s) || len(list) == MostAliases {
			continue
		}
		known = append(known, s)
		list = append(list, one)
	}
	return list
}

// Over lays one's own entity over the shared one of the same slug: what one
// knows oneself comes first, and the rest is what everybody knows.
func (e Entity) Over(shared Entity) Entity {
	e.Aliases = Names(e.Name, slices.Concat(e.Aliases, []string{shared.Name}, shared.Aliases))
	if e.Description == "" {
		e.Description = shared.Description
	}
	both := maps.Clone(shared.Properties)
	if both == nil {
		both = e.Properties
	} else {
		maps.Copy(both, e.Properties)
	}
	e.Properties = both
	return e
}

// Seen are entities as one who sees them all does, by slug: the own ones, laid
// over the shared ones.
func Seen(rows []Entity) map[string]Entity {
	seen := make(map[string]Entity, len(rows))
	for _, e := range rows {
		have, twice := seen[e.Slug]
		switch {
		case !twice:
		case have.Shared():
			e = e.Over(have)
		default:
			e = have.Over(e)
		}
		seen[e.Slug] = e
	}
	return seen
}
