//go:build !unix

package egress

// isTemporary reports whether an error of Accept may go away soon.
func isTemporary(error) bool { return false }
