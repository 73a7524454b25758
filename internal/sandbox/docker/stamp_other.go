//go:build !linux

package docker

import (
	"io/fs"
	"time"
)

// A stamp identifies a file as well as this system permits.
type stamp struct {
	mode    fs.FileMode
	changed time.Time
}

func stampOf(st fs.FileInfo) stamp { return stamp{st.Mode(), st.ModTime()} }

// ownerOf returns nobody: the engine on this system translates owners.
func ownerOf(fs.FileInfo) (uid, gid int) { return nobody, nobody }
