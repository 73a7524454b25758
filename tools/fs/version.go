package fs

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// MaxHashed is the maximum size of a file whose version depends on all bytes. Reading larger files would take too
// long, so their versions depend on the size and the stamp.
const MaxHashed = 16 << 20

// Version returns the version of a file: eight characters that change with the content. A file larger than [MaxHashed]
// is not read; its version changes with its stamp.
func Version(r io.ReaderAt, size int64, stamp string) (string, error) {
	h := sha256.New()
	if size > MaxHashed {
		fmt.Fprintf(h, "stamp %d %s", size, stamp)
	} else if _, err := io.Copy(h, io.NewSectionReader(r, 0, size)); err != nil {
		return "", fmt.Errorf("reading for the version: %w", err)
	}
	return encodeVersion(h.Sum(nil)), nil
}

// VersionOf returns the [Version] of a file with a content of at most [MaxHashed] bytes.
func VersionOf(content []byte) string {
	sum := sha256.Sum256(content)
	return encodeVersion(sum[:])
}

// versionOfString is VersionOf without a copy of the content.
func versionOfString(content string) string {
	h := sha256.New()
	_, _ = io.Copy(h, strings.NewReader(content)) // reading a string does not fail
	return encodeVersion(h.Sum(nil))
}

// versionAfter returns the version of a file after a write of so many bytes: the version of the content. It is "" if
// the file does not have that content, because its source stores another form.
func versionAfter(written int, done workspace.Changed, ofContent func() string) (string, error) {
	switch {
	case done.Size > MaxHashed:
		return Version(nil, done.Size, done.Stamp) // reads nothing
	case done.Size != int64(written):
		return "", nil
	}
	return ofContent(), nil
}

// encodeVersion returns the first 40 bits of a hash in letters that are hard to confuse.
func encodeVersion(sum []byte) string {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").EncodeToString(sum[:5])
}

// versionFrom returns the version that a caller expects. Other systems name it by the
// SHA-256 of the content, in hexadecimal.
func versionFrom(expected string) string {
	sum, err := hex.DecodeString(strings.TrimPrefix(expected, "sha256:"))
	if err != nil || len(sum) != sha256.Size {
		return expected
	}
	return encodeVersion(sum)
}
