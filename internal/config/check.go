package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// A Checker is a section that finds values in it that are valid alone, but not together. The struct of all sections is
// a Checker too: it finds contradictions between sections.
type Checker interface {
	// Check reports each problem to add, with the path of a setting within the section.
	Check(add Add)
}

// A Warner is a section that finds values that an operator should correct, although the program starts with them.
type Warner interface {
	// Warn reports each of them to add, with the path of a setting within the section.
	Warn(add Add)
}

// Add takes a problem with the setting at a path; "" is the section itself.
type Add func(path, format string, args ...any)

// In returns an Add for paths within path.
func (add Add) In(path string) Add {
	return func(within, format string, args ...any) {
		switch {
		case within == "":
			within = path
		case within[0] == '[':
			within = path + within
		default:
			within = path + "." + within
		}
		add(within, format, args...)
	}
}

// check finds values that are valid alone, but not together.
func (l *Loaded[T]) check() (problems Problems) {
	var add Add = func(path, format string, args ...any) {
		problems = append(problems, l.Problem(path, format, args...))
	}
	root := reflect.ValueOf(&l.Config)
	for _, f := range fields(root.Type().Elem()) {
		if section, ok := root.Elem().Field(f.index).Addr().Interface().(Checker); ok {
			section.Check(add.In(f.name))
		}
	}
	if all, ok := root.Interface().(Checker); ok {
		all.Check(add)
	}
	return problems
}

// Collect returns the problems that visit finds in a section, in the order of the file.
func (l *Loaded[T]) Collect(section string, visit func(Add)) (problems Problems) {
	var add Add = func(path, format string, args ...any) {
		problems = append(problems, l.Problem(path, format, args...))
	}
	visit(add.In(section))
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	return problems
}

// Warnings returns the warnings of the sections, in the order of the file.
func (l *Loaded[T]) Warnings() (problems Problems) {
	var add Add = func(path, format string, args ...any) {
		p := l.Problem(path, format, args...)
		p.Warning = true
		problems = append(problems, p)
	}
	root := reflect.ValueOf(&l.Config).Elem()
	for _, f := range fields(root.Type()) {
		if section, ok := root.Field(f.index).Addr().Interface().(Warner); ok {
			section.Warn(add.In(f.name))
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Key, b.Key)) })
	return problems
}

// Texts calls visit for each text in the settings that was declared to have a form, with its path.
// This includes the keys of maps.
func (l *Loaded[T]) Texts(form string, visit func(path, text string)) {
	visitTexts(reflect.ValueOf(l.Config), field{}, "", form, visit)
}

func visitTexts(v reflect.Value, f field, path, form string, visit func(path, text string)) {
	switch kindOf(v.Type()) {
	case isSection:
		for _, inner := range fields(v.Type()) {
			visitTexts(inner.in(v), inner, join(path, inner.name), form, visit)
		}
	case isList:
		for i := range v.Len() {
			visitTexts(v.Index(i), field{form: f.form}, Indexed(path, i), form, visit)
		}
	case isMap:
		for _, key := range sortedKeys(v) {
			at := Under(path, key.String())
			if f.keys == form {
				visit(at, key.String())
			}
			visitTexts(v.MapIndex(key), field{form: f.form}, at, form, visit)
		}
	case isText:
		if f.form == form && v.String() != "" {
			visit(path, v.String())
		}
	}
}
