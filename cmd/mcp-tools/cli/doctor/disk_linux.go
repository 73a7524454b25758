package doctor

import "golang.org/x/sys/unix"

// networkOf returns the type of a network file system, "" for a local one.
func networkOf(s *unix.Statfs_t) string {
	switch uint32(s.Type) { // magic numbers have 32 bits; the field has more on some systems
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "smb"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "afs"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	case unix.V9FS_MAGIC:
		return "9p"
	}
	return ""
}
