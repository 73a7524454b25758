//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// diskOf returns the facts about the disk of dir.
func diskOf(dir string) (disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return disk{}, err
	}
	return disk{free: s.Bavail * uint64(s.Bsize), network: networkOf(&s)}, nil
}
