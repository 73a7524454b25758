package tool

// A Param is a parameter of a tool, for those who build the arguments by other means
// than JSON, such as a command line.
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

// FormError returns what is wrong with the declaration of the arguments.
func (t Tool) FormError() error { return t.form().err }
