//go:build !linux

package browser

const limitNamespacesArg = "few"

// limitNamespaces fails: only Linux has namespaces.
func limitNamespaces([]string) int { return 1 }
