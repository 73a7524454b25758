package config

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Files returns the absolute paths of the settings file, also if it does not exist yet, of the default settings file,
// and of the files and directories with secrets or rules that the settings name. A user with the right to change one
// of them can change the policy of the server.
func (l *Loaded[T]) Files() []string {
	usual, _ := LoadOptions{Getenv: func(name string) string {
		if name == EnvConfig {
			return ""
		}
		return l.options.Getenv(name)
	}}.file(runtime.GOOS)
	all := []string{l.place, usual}
	l.Texts(ownPath, func(_, path string) { all = append(all, path) })
	l.Texts("secret", func(_, text string) {
		if path, is := strings.CutPrefix(text, "file:"); is {
			all = append(all, path)
		}
	})
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
