package tool

import "fmt"

// A Param is a parameter of a tool, for programs that build the arguments without JSON, such as
// a command line.
type Param struct {
	Name     string
	Doc      string
	Kind     string // string, integer, number, boolean, array or object, as in JSON Schema
	Enum     []string
	Required bool
}

// Params returns the parameters of the tool in the order of their struct.
func (t Tool) Params() []Param {
	form := t.form()
	if form.err != nil {
		return nil
	}
	var list []Param
	for _, f := range form.schema.fields {
		if f.hidden {
			continue
		}
		enum := f.schema.enum
		if f.schema.items != nil {
			enum = f.schema.items.enum
		}
		list = append(list, Param{f.name, f.schema.doc, string(f.schema.kind), enum, f.required})
	}
	return list
}

// checkForm returns the error in the declaration of the arguments of a tool for models, or nil.
func (t Tool) checkForm() error {
	form := t.form()
	if form.err != nil || form.schema == nil {
		return form.err
	}
	if n := len(form.schema.fieldNames()); n > maxFields {
		return fmt.Errorf("tool %q has %d parameters, the maximum is %d", t.Spec.Name, n, maxFields)
	}
	return nil
}

// FormError returns the error in the declaration of the arguments, or nil.
func (t Tool) FormError() error { return t.form().err }
