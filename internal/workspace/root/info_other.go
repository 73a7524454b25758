//go:build !linux && !darwin

package root

import "io/fs"

func infoOf(info fs.FileInfo) Info {
	return Info{Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime(), Links: 1, UID: -1, GID: -1}
}
