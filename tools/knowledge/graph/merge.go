package graph

import (
	"maps"
	"slices"
)

// Limits of one entity or relation.
const (
	MaxAliases    = 50
	MaxProperties = 50
)

// Merge adds a later report about the same entity to e. It returns the names of the fields
// whose value in e stayed because it is more certain. Where both have a value, the value of the
// more certain one counts; the report wins if both are equally certain. Any report fills a
// field that e lacks. In a report an empty property removes that property, and a zero span or
// text means "not given".
func (e Entity) Merge(report Entity) (merged Entity, kept []string) {
	merged = e
	certain := report.Confidence >= e.Confidence
	mergeText := func(field string, have *string, reported string) {
		switch {
		case reported == "" || reported == *have:
		case certain || *have == "":
			*have = reported
		default:
			kept = append(kept, field)
		}
	}
	mergeText("type", &merged.Type, report.Type)
	mergeText("description", &merged.Description, report.Description)
	merged.Aliases = UniqueAliases(e.Name, slices.Concat(e.Aliases, []string{report.Name}, report.Aliases))
	merged.Properties, kept = mergeProperties(e.Properties, report.Properties, certain, kept)
	merged.Valid, kept = mergeSpan(e.Valid, report.Valid, certain, kept)
	merged.Confidence = max(e.Confidence, report.Confidence)
	if report.Provenance.Source != "" && (certain || e.Provenance.Source == "") {
		merged.Provenance.Source = report.Provenance.Source
	}
	return merged, kept
}

// Merge adds a later report about the same relation to r, by the rules of [Entity.Merge].
func (r Relation) Merge(report Relation) (merged Relation, kept []string) {
	merged = r
	certain := report.Confidence >= r.Confidence
	merged.Properties, kept = mergeProperties(r.Properties, report.Properties, certain, kept)
	merged.Valid, kept = mergeSpan(r.Valid, report.Valid, certain, kept)
	merged.Confidence = max(r.Confidence, report.Confidence)
	if report.Provenance.Source != "" && (certain || r.Provenance.Source == "") {
		merged.Provenance.Source = report.Provenance.Source
	}
	return merged, kept
}

func mergeProperties(have, reported map[string]string, certain bool, kept []string) (map[string]string, []string) {
	merged := maps.Clone(have)
	for _, key := range slices.Sorted(maps.Keys(reported)) {
		old, known := have[key]
		switch {
		case old == reported[key]:
		case known && !certain:
			kept = append(kept, key)
		case reported[key] == "":
			delete(merged, key)
		case !known && len(merged) >= MaxProperties:
			kept = append(kept, key)
		default:
			if merged == nil {
				merged = map[string]string{}
			}
			merged[key] = reported[key]
		}
	}
	if len(merged) == 0 {
		merged = nil
	}
	return merged, kept
}

func mergeSpan(have, reported Span, certain bool, kept []string) (Span, []string) {
	switch {
	case reported == Span{} || reported == Always() || reported == have:
		return have, kept
	case certain || have == Always():
		return reported, kept
	}
	return have, append(kept, "validity")
}

// UniqueAliases returns each of some names once, without the entity's own name, and at most [MaxAliases].
func UniqueAliases(name string, all []string) []string {
	var list []string
	known := []string{Slug(name)}
	for _, alias := range all {
		s := Slug(alias)
		if s == "" || slices.Contains(known, s) || len(list) == MaxAliases {
			continue
		}
		known = append(known, s)
		list = append(list, alias)
	}
	return list
}

// Over returns a user's own entity. The shared entity of the same slug fills the fields that it
// lacks.
func (e Entity) Over(shared Entity) Entity {
	e.Aliases = UniqueAliases(e.Name, slices.Concat(e.Aliases, []string{shared.Name}, shared.Aliases))
	if e.Description == "" {
		e.Description = shared.Description
	}
	if len(shared.Properties) > 0 {
		properties := maps.Clone(shared.Properties)
		maps.Copy(properties, e.Properties)
		e.Properties = properties
	}
	return e
}

// Resolve returns rows of a user and shared rows by slug, with [Entity.Over] applied where there are both.
func Resolve(rows []Entity) map[string]Entity {
	bySlug := make(map[string]Entity, len(rows))
	for _, e := range rows {
		other, twice := bySlug[e.Slug]
		switch {
		case !twice:
		case other.Shared():
			e = e.Over(other)
		default:
			e = other.Over(e)
		}
		bySlug[e.Slug] = e
	}
	return bySlug
}
