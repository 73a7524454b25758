//go:build !linux

package docker

import "errors"

// mounts are for servers that are root next to an engine: on Linux.
type mounts struct {
	dir  string
	self owner
}

func (mounts) shifted(string, user, bool, string, string) (string, error) {
	return "", errors.New("owners can be exchanged on Linux only")
}

func (mounts) straight(string, string, string) (string, error) {
	return "", errors.New("links can be ignored on Linux only")
}

func (mounts) clear(string) {}
func (mounts) close()       {}
func (mounts) sweep()       {}
