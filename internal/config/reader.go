package config

import (
	"reflect"
	"slices"
)

// A Reader reads settings into a T: a struct with a field for each section, whose type declares the
// settings of the section by its fields and their tags (see field.go). Sections come from the packages
// that use them. The type of a section, and T itself, may be Documented and a Checker.
type Reader[T any] struct {
	settings []Setting
	texts    texts
}

// NewReader returns a Reader.
func NewReader[T any]() *Reader[T] {
	root := reflect.TypeFor[T]()
	ts := textsOf(root)
	return &Reader[T]{ts.appendSettings(make([]Setting, 0, 160), root, Setting{}), ts}
}

// Settings returns all settings in the order of the reference.
func (r *Reader[T]) Settings() []Setting { return slices.Clone(r.settings) }
