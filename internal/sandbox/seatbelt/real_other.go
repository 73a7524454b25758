//go:build !darwin

package seatbelt

import "path/filepath"

// real returns a path without links, if it exists. Only tests use it.
func real(path string) string {
	if clean, err := filepath.EvalSymlinks(path); err == nil {
		return clean
	}
	return path
}
