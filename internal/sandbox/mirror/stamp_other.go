//go:build !linux

package mirror

import "io/fs"

func stampOf(info fs.FileInfo) stamp {
	return stamp{mode: info.Mode(), size: info.Size(), time: info.ModTime().UnixNano()}
}

func ownerOf(fs.FileInfo) (uid, gid int) { return -1, -1 }
