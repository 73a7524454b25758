package fs

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"hash"
	"io"
)

// VersionedWhole is the size up to which a version tells of all the bytes of a
// file. Reading more than that to name a version would cost more than it is
// worth, so larger files are told apart by their stamps.
const VersionedWhole = 16 << 20

// Version is the short name of what is in a file: eight characters that differ
// when the content does. A file larger than [VersionedWhole] is not read, and
// its version changes with its stamp.
func Version(r io.ReaderAt, size int64, stamp string) (string, error) {
	h := sha256.New()
	if size > VersionedWhole {
		fmt.Fprintf(h, "stamp %d %s", size, stamp)
		return tag(h), nil
	}
	if _, err := io.Copy(h, io.NewSectionReader(r, 0, size)); err != nil {
		return "", fmt.Errorf("reading for the version: %w", err)
	}
	return tag(h), nil
}

// VersionOf is the [Version] of a file that holds content. Larger content than
// [VersionedWhole] has none before it is written and has a stamp.
func VersionOf(content []byte) string {
	h := sha256.New()
	h.Write(content)
	return tag(h)
}

// tag is the first 40 bits of the hash, in letters that are hard to mistake.
func tag(h hash.Hash) string {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").EncodeToString(h.Sum(nil)[:5])
}
