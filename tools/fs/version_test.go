package fs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	version := func(content, stamp string) string {
		t.Helper()
		v, err := Version(strings.NewReader(content), int64(len(content)), stamp)
		if err != nil || len(v) != 8 || v != strings.ToLower(v) {
			t.Fatalf("%q, %v", v, err)
		}
		return v
	}
	a := version("a", "1")
	if a != version("a", "2") || a == version("b", "1") || a == version("", "1") {
		t.Error("the version of a small file does not tell what is in it")
	}
	if a != VersionOf([]byte("a")) {
		t.Error("the same content has two versions")
	}
	large := func(stamp string) string {
		t.Helper()
		v, err := Version(nil, MaxHashed+1, stamp)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if one, again := large("1"), large("1"); one != again || one == large("2") {
		t.Error("the version of a large file does not follow its stamp")
	}
	whole := bytes.Repeat([]byte("x"), MaxHashed)
	if v, err := Version(bytes.NewReader(whole), MaxHashed, ""); err != nil || v != VersionOf(whole) {
		t.Errorf("%q, %v", v, err)
	}
	if _, err := Version(broken{}, 5, ""); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a broken disk: %v", err)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrNoProgress }

func TestVersionFromASum(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("text")))
	for _, given := range []string{VersionOf([]byte("text")), sum, "sha256:" + sum, strings.ToUpper(sum)} {
		if got := versionFrom(given); got != VersionOf([]byte("text")) {
			t.Errorf("%q is %q", given, got)
		}
	}
	for _, given := range []string{"", "abcdefgh", sum[:62], "sha256:", sum + "00"} {
		if got := versionFrom(given); got != given {
			t.Errorf("%q became %q", given, got)
		}
	}
}
