//go:build !windows

package vault

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// kms writes a program that stands for the client of a KMS: it turns the digits of the base64 around.
func kms(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kms")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{path, "--key", "of our team"}
}

const rotates = `echo "$*" >>"$0.log"
[ "$2" = "of our team" ] || exit 3
case $3 in
wrap) printf 'wrapped:'; base64 -d;;
unwrap) base64 -d | tail -c 32;;
esac | tr 'A-Ma-mN-Zn-z\000-\100\200-\377' 'N-Zn-zA-Ma-m\000-\100\200-\377' | base64 -w 0
`

func TestKeyCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	commanded := func(argv ...string) *Vault {
		c := at(dir, Command).config
		c.Command = argv
		return New(c)
	}
	set(t, at(dir, File), "a", "one")
	argv := kms(t, rotates)
	v := commanded(argv...)
	_, err := v.Get(t.Context(), "a")
	says(t, err, "not available here", "not in the program of vault.key_command")
	if _, err := v.Rotate(t.Context(), File); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, keyName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old key is still there: %v", err)
	}
	holds(t, v, "a", "one")
	v = commanded(argv...)
	set(t, v, "b", "two")
	if _, err := v.Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	holds(t, commanded(argv...), "a", "one", "b", "two")
	_, err = at(dir, File).Get(t.Context(), "a")
	says(t, err, "not available here", "the key of vault.key_command", "vault.key_from")

	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"none":      {nil, "names no program"},
		"missing":   {[]string{filepath.Join(dir, "gone")}, "no such file"},
		"fails":     {kms(t, "echo 'no such key in this region' >&2; exit 7"), "no such key in this region"},
		"no base64": {kms(t, "echo '***'"), "did not print base64"},
		"nothing":   {kms(t, ""), "did not print base64"},
		"endless":   {kms(t, "exec yes"), "printed more than"},
		"short":     {kms(t, "echo aGVsbG8="), "5 bytes"},
		"another":   {kms(t, "head -c 32 /dev/urandom | base64"), "was changed or damaged"},
	} {
		v := commanded(c.argv...)
		_, err := v.Get(t.Context(), "a")
		says(t, err, c.want)
		if !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := v.List(t.Context()); err != nil || len(list) != 2 {
			t.Errorf("%s: listing needs no key: %v, %v", name, list, err)
		}
	}
	c := at(filepath.Join(t.TempDir(), "vault"), Command).config
	c.Command = kms(t, "cat")
	_, _, err = New(c).Set(t.Context(), "a", []byte("x"))
	says(t, err, "returned the key as it was")
}

// TestKeyFileOfOperator rotates with a file that the program only reads, such as a mounted secret.
func TestKeyFileOfOperator(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kek")
	one, two := hexKey(), hexKey()
	dir := filepath.Join(t.TempDir(), "vault")
	given := func() *Vault {
		c := at(dir, File).config
		c.KeyFile = path
		return New(c)
	}
	_, _, err := given().Set(t.Context(), "a", []byte("value"))
	says(t, err, path, "does not exist", "openssl rand")
	write(t, path, []byte(one+"\n"))
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	set(t, given(), "a", "value")
	_, err = given().Rotate(t.Context(), "")
	says(t, err, "add the next key", path)
	write(t, path, []byte(one+"\n"+two+"\n"))
	if _, err := given().Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if text := string(read(t, path)); text != one+"\n"+two+"\n" {
		t.Errorf("the file was changed: %q", text)
	}
	write(t, path, []byte(two+"\n"))
	holds(t, given(), "a", "value")
	if _, err := os.Stat(filepath.Join(dir, keyName)); err == nil {
		t.Error("the program has made a key of its own")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = given().Get(t.Context(), "a")
	says(t, err, path, "chmod 640")
}
