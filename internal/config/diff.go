package config

import (
	"maps"
	"reflect"
	"slices"
)

// Diff returns the keys of the settings with different values, in the order of
// Settings. A list that is absent differs from one that is empty.
func Diff(before, after Config) []string {
	var changed []string
	for _, s := range differing(&before, &after) {
		changed = append(changed, s.Key)
	}
	return changed
}

func differing(before, after *Config) []Setting {
	return slices.DeleteFunc(Settings(), func(s Setting) bool {
		return reflect.DeepEqual(s.of(before).Interface(), s.of(after).Interface())
	})
}

// hold sets the settings of next that need a restart to their values in running,
// and returns the keys of those that differ.
func hold(running, next *Loaded) (waiting []string) {
	for _, s := range differing(&running.Config, &next.Config) {
		if s.Restart {
			s.of(&next.Config).Set(s.of(&running.Config))
			next.Source[s.Key] = running.Source[s.Key]
			waiting = append(waiting, s.Key)
		}
	}
	return waiting
}

func sorted[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }
