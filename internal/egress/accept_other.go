//go:build !unix

package egress

// passing tells errors of accepting that are over in a moment.
func passing(error) bool { return false }
