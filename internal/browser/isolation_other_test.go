//go:build !linux

package browser

const fewArg = "few"

// few fails: only Linux has namespaces.
func few([]string) int { return 1 }
