package config

import (
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Files returns the absolute paths of the settings file, also if it does not exist
// yet, of the place where one is looked for by default, and of the files and
// directories with secrets or rules that the settings name. A user who can change one of
// them can change what the server allows.
func (l *Loaded) Files() []string {
	usual, _ := LoadOptions{Getenv: func(name string) string {
		if name == EnvConfig {
			return ""
		}
		return l.options.Getenv(name)
	}}.file(runtime.GOOS)
	c := &l.Config
	all := []string{l.place, usual, c.Server.TLSKey, c.Server.TLSCert}
	for _, agent := range c.Agents {
		all = append(all, agent.Files)
	}
	secretFiles(reflect.ValueOf(c).Elem(), func(path string) { all = append(all, path) })
	var files []string
	for _, path := range all {
		if path == "" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil && !slices.Contains(files, abs) {
			files = append(files, abs)
		}
	}
	return files
}

// secretFiles calls add for each file that a Secret names.
func secretFiles(v reflect.Value, add func(path string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			secretFiles(v.Field(i), add)
		}
	case reflect.Slice:
		for i := range v.Len() {
			secretFiles(v.Index(i), add)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			secretFiles(it.Value(), add)
		}
	case reflect.String:
		if path, is := strings.CutPrefix(v.String(), "file:"); is && v.Type() == reflect.TypeFor[Secret]() {
			add(path)
		}
	}
}
