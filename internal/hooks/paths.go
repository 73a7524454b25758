package hooks

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// pathArguments are the arguments of tools that are paths of files.
func pathArguments() []string {
	return []string{"path", "paths", "source", "destination", "output", "files"}
}

// paths returns the files that a call names, relative to the workspace: as they are written, and without links.
func (s *Set) paths(ctx context.Context, args json.RawMessage) (all []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return nil
	}
	var named []string
	for name, raw := range members {
		switch {
		case slices.Contains(pathArguments(), name):
			var one string
			var several []string
			if json.Unmarshal(raw, &one) == nil {
				named = append(named, one)
			} else if json.Unmarshal(raw, &several) == nil {
				named = append(named, several...)
			}
		case name == "patch":
			var patch string
			if json.Unmarshal(raw, &patch) == nil {
				named = append(named, patched(patch)...)
			}
		}
	}
	dir, err := s.o.Dir(ctx)
	if err != nil {
		return named
	}
	for _, path := range named {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(dir, path)
		}
		for _, at := range []string{filepath.Clean(full), withoutLinks(full)} {
			if rel, err := filepath.Rel(dir, at); err == nil {
				all = append(all, filepath.ToSlash(rel))
			}
		}
	}
	return all
}

// withoutLinks resolves the links of the part of a path that exists.
func withoutLinks(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// patched returns the files that a patch names.
func patched(patch string) (all []string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "--- a/", "+++ b/", "--- ", "+++ "} {
			if path, ok := strings.CutPrefix(line, mark); ok {
				path, _, _ = strings.Cut(path, "\t")
				all = append(all, strings.TrimSpace(path))
				break
			}
		}
	}
	return all
}
