//go:build !linux

package docker

import "errors"

// mounts are needed by servers that run as root on Linux only.
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
