package tool

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Signature describes the tool as a declaration in TypeScript: it takes two thirds of the
// tokens of its schema.
func (t Tool) Signature() string {
	doc := strings.Join(strings.Fields(t.Spec.Doc), " ")
	if t.foreign {
		return fmt.Sprintf("// %s\n%s(%s)", doc, t.Spec.Name, t.foreignType())
	}
	return fmt.Sprintf("// %s\n%s(%s)", doc, t.Spec.Name, t.form().schema.typeScript())
}

// typeScript writes the schema as a type.
func (s *schema) typeScript() string {
	switch {
	case s == nil || s.kind == kindAny && s.enum == nil:
		return "any"
	case s.enum != nil:
		quoted := make([]string, len(s.enum))
		for i, value := range s.enum {
			quoted[i] = `"` + value + `"`
		}
		return strings.Join(quoted, "|")
	case s.kind == kindArray:
		items := s.items.typeScript()
		if strings.Contains(items, "|") {
			items = "(" + items + ")"
		}
		return items + "[]"
	case s.kind == kindObject && s.names == nil:
		return "{[key: string]: " + s.items.typeScript() + "}"
	case s.kind == kindObject:
		return s.members()
	}
	return string(s.kind)
}

func (s *schema) members() string {
	var b strings.Builder
	b.WriteByte('{')
	comma := ""
	for _, f := range s.fields {
		if f.hidden {
			continue
		}
		optional := "?"
		if f.required {
			optional = ""
		}
		b.WriteString(comma + f.name + optional + ": " + f.schema.typeScript() + f.schema.comment())
		comma = ", "
	}
	b.WriteByte('}')
	return b.String()
}

// comment returns the description with the default and the bounds.
func (s *schema) comment() string {
	about := s.doc
	if s.fallback != nil {
		if value, err := json.Marshal(s.fallback); err == nil {
			about += ", default " + string(value)
		}
	}
	if s.max != nil {
		about += fmt.Sprintf(", at most %v", *s.max)
	}
	if about == "" {
		return ""
	}
	return " /* " + strings.TrimPrefix(about, ", ") + " */"
}

// ParameterText returns the names and descriptions of the parameters, for a search for tools.
func (t Tool) ParameterText() string {
	var b strings.Builder
	if t.foreign {
		for _, m := range t.readForeign().members() {
			fmt.Fprintln(&b, m.name, m.schema.Description)
		}
		return b.String()
	}
	if t.form().schema != nil {
		for _, f := range t.form().schema.fields {
			fmt.Fprintln(&b, f.name, f.schema.doc)
		}
	}
	return b.String()
}
