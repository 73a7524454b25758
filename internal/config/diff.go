package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Diff returns the keys of the settings with different values, in the order of
// Settings. A list that is absent differs from one that is empty.
func (r *Reader[T]) Diff(before, after T) []string {
	var changed []string
	for _, s := range r.differing(&before, &after) {
		changed = append(changed, s.Key)
	}
	return changed
}

func (r *Reader[T]) differing(before, after *T) []Setting {
	return slices.DeleteFunc(r.Settings(), func(s Setting) bool {
		return reflect.DeepEqual(s.of(before).Interface(), s.of(after).Interface())
	})
}

// hold sets the settings of next that need a restart to their values in running, and returns the keys of the settings
// that differ.
func hold[T any](running, next *Loaded[T]) (waiting []string) {
	for _, s := range next.reader.differing(&running.Config, &next.Config) {
		if s.Restart {
			s.of(&next.Config).Set(s.of(&running.Config))
			next.Source[s.Key] = running.Source[s.Key]
			waiting = append(waiting, s.Key)
		}
	}
	return waiting
}

// Sorted returns the names in a table, in their order.
func Sorted[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }

// sortedKeys returns the keys of a map in their order.
func sortedKeys(table reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(table.MapKeys()), func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
}
