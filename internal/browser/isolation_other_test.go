//go:build !linux

package browser

const fewArg = "few"

// few has nothing to take away: there are namespaces on Linux only.
func few([]string) int { return 1 }
