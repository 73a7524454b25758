package vault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

// fakeKeyring puts one into the place of the system's.
func fakeKeyring(t *testing.T) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "nowhere"))
	keyring.MockInit()
}

func TestVariableHasPrecedence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	one, two := hexKey(), hexKey()
	v := at(dir, Keyring, envKey, one)
	set(t, v, "a", "value")
	if _, err := os.Stat(filepath.Join(dir, keyName)); err == nil {
		t.Error("the key was written down")
	}
	holds(t, at(dir, File, envKey, one), "a", "value")
	holds(t, at(dir, File, envKey, two, envNext, one), "a", "value") // in the middle of a change
	for name, c := range map[string]struct {
		v    *Vault
		want []string
	}{
		"another": {at(dir, File, envKey, two), []string{"wrong key", "the variable " + envKey,
			"set the variable to the right key, or unset it"}},
		"unset": {at(dir, File), []string{"wrong key", "the file " + filepath.Join(dir, keyName), "from a backup",
			"vault.key_from"}},
		"no key": {at(dir, File, envKey, "hunter2hunter2"), []string{envKey, "not a key", "openssl rand -base64 32"}},
		"none":   {at(dir, Env), []string{"wrong key", "the variable " + envKey}},
	} {
		_, getting := c.v.Get("a")
		_, _, setting := c.v.Set(t.Context(), "b", []byte("other"))
		_, checking := c.v.Check()
		for _, err := range []error{getting, setting, checking} {
			says(t, err, c.want...)
			if strings.Contains(fmt.Sprint(err), "hunter2") || strings.Contains(fmt.Sprint(err), two) {
				t.Errorf("%s: the error contains the key: %v", name, err)
			}
		}
		if _, err := c.v.List(); err != nil {
			t.Errorf("%s: listing needs no key: %v", name, err)
		}
	}
	_, _, err := at(filepath.Join(dir, "new"), Env).Set(t.Context(), "a", []byte("value"))
	says(t, err, envKey+" is not set", "openssl rand")
	holds(t, v, "a", "value")
}

func TestMissingKeyIsNotReplaced(t *testing.T) {
	v := fresh(t)
	set(t, v, "a", "value")
	path := filepath.Join(v.config.Dir, keyName)
	good := read(t, path)
	for name, c := range map[string]struct {
		spoil func() error
		want  string
	}{
		"gone":    {func() error { return os.Remove(path) }, "wrong key"},
		"empty":   {func() error { return os.WriteFile(path, nil, 0o600) }, "is empty"},
		"damaged": {func() error { return os.WriteFile(path, good[:20], 0o600) }, "is damaged"},
		"another": {func() error { return os.WriteFile(path, []byte(hexKey()), 0o600) }, "wrong key"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		broken, _ := os.ReadFile(path)
		_, getting := v.Get("a")
		_, _, setting := v.Set(t.Context(), "a", []byte("new"))
		_, rotating := v.Rotate(t.Context(), "")
		for _, err := range []error{getting, setting, rotating} {
			says(t, err, c.want, path)
		}
		if now, _ := os.ReadFile(path); string(now) != string(broken) {
			t.Errorf("%s: the key was changed", name)
		}
		write(t, path, good)
		holds(t, v, "a", "value")
	}
	// Nothing is lost where nothing was kept: an emptied vault begins anew.
	if err := v.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	set(t, v, "b", "value")
	holds(t, v, "b", "value")
}

// TestExistingKeyIsUsed restores a vault from a backup: its key is found in the same place.
func TestExistingKeyIsUsed(t *testing.T) {
	v := fresh(t)
	set(t, v, "a", "old")
	backup := read(t, v.path())
	if err := os.Remove(v.path()); err != nil {
		t.Fatal(err)
	}
	set(t, v, "b", "new")
	holds(t, v, "b", "new")
	write(t, v.path(), backup)
	holds(t, v, "a", "old")
}

func TestKeyFilePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	v := fresh(t)
	set(t, v, "a", "value")
	for _, name := range []string{keyName, fileName} {
		path := filepath.Join(v.config.Dir, name)
		for _, mode := range []os.FileMode{0o640, 0o604} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, getting := v.Get("a")
			_, _, setting := v.Set(t.Context(), "b", []byte("x"))
			_, checking := v.Check()
			for _, err := range []error{getting, setting, checking} {
				says(t, err, path, "chmod 600")
			}
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(v.config.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, _, setting := v.Set(t.Context(), "b", []byte("x"))
	_, checking := v.Check()
	for _, err := range []error{setting, checking} {
		says(t, err, v.config.Dir, "chmod 700")
	}
}

func TestRotation(t *testing.T) {
	v := fresh(t)
	_, err := v.Rotate(t.Context(), "")
	says(t, err, "the vault is empty")
	if _, err := os.Stat(v.config.Dir); err == nil {
		t.Error("a vault was made")
	}
	set(t, v, "a", "one", "b", "two")
	before, key := read(t, v.path()), read(t, filepath.Join(v.config.Dir, keyName))
	list, err := v.List()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r, err := v.Rotate(t.Context(), ""); err != nil || r.Secrets != 2 || r.KeyStore != File {
			t.Fatalf("%+v, %v", r, err)
		}
		holds(t, v, "a", "one", "b", "two")
	}
	after, err := v.List()
	if err != nil || fmt.Sprint(after) != fmt.Sprint(list) {
		t.Errorf("the list is %v, %v; it was %v", after, err, list)
	}
	if now := read(t, filepath.Join(v.config.Dir, keyName)); len(now) != len(key) || string(now) == string(key) {
		t.Error("the old key is still there")
	}
	write(t, v.path(), before) // an old copy cannot be opened
	_, err = v.Get("a")
	says(t, err, "wrong key")
}

func TestRotationOfTheVariable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	one, two := hexKey(), hexKey()
	v := at(dir, File, envKey, one)
	set(t, v, "a", "value")
	_, err := v.Rotate(t.Context(), "")
	says(t, err, "set "+envNext, "openssl rand")
	_, err = at(dir, File, envKey, one, envNext, "nonsense").Rotate(t.Context(), "")
	says(t, err, envNext, "not a key")
	_, err = at(dir, File, envKey, one, envNext, one).Rotate(t.Context(), "")
	says(t, err, "hold the same key", "set "+envNext+" to another")
	both := at(dir, File, envKey, one, envNext, two)
	if _, err := both.Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	holds(t, both, "a", "value")
	_, err = both.Rotate(t.Context(), "")
	says(t, err, "already sealed with the key in "+envNext+"", "move it to "+envKey)
	holds(t, at(dir, File, envKey, two), "a", "value")
	_, err = v.Get("a")
	says(t, err, "wrong key")
	if r, err := both.Check(); err != nil || r.OldKeys != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRotationMovesKey moves the key between places, and checks that the old place is empty.
func TestRotationMovesKey(t *testing.T) {
	fakeKeyring(t)
	dir := filepath.Join(t.TempDir(), "vault")
	variable := hexKey()
	set(t, at(dir, File), "a", "value")
	for _, step := range []struct {
		from KeyStore
		to   *Vault
	}{
		{File, at(dir, Keyring)},
		{"", at(dir, Keyring)},
		{Keyring, at(dir, File)},
		{File, at(dir, File, envKey, variable)},
		{Env, at(dir, Keyring, envKey, variable)}, // the variable is set until it is done
		{Keyring, at(dir, Env, envKey, variable)},
		{Env, at(dir, "", envKey, variable)},
		{"", at(dir, "")},
	} {
		old, err := step.to.load()
		if err != nil {
			t.Fatal(err)
		}
		done, err := step.to.Rotate(t.Context(), step.from)
		if err != nil || done.Secrets != 1 {
			t.Fatalf("from %q: %+v, %v", step.from, done, err)
		}
		if step.from == Env {
			step.to = at(dir, step.to.config.Key)
		}
		holds(t, step.to, "a", "value")
		r, err := step.to.Check()
		if err != nil || !r.Exists || r.Secrets != 1 || r.OldKeys != 0 || r.Key != done.Key ||
			r.KeyStore != done.KeyStore {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := (systemKeyring{}).find(old.Key); !errors.Is(err, errNoKey) {
			t.Errorf("the old key is still in the keyring: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, keyName)); (err == nil) != (r.KeyStore == File) {
			t.Errorf("the key is in %s, and its file: %v", r.KeyStore, err)
		}
	}
	_, err := at(dir, File).Rotate(t.Context(), Keyring)
	says(t, err, "wrong key", "not in the system keyring", "--from")
	holds(t, at(dir, File), "a", "value")
}

func TestSystemKeyring(t *testing.T) {
	fakeKeyring(t)
	v := at(filepath.Join(t.TempDir(), "vault"), Keyring)
	set(t, v, "a", "value")
	holds(t, v, "a", "value")
	if _, err := os.Stat(filepath.Join(v.config.Dir, keyName)); err == nil {
		t.Error("the key was written down too")
	}
	d, err := v.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := keyring.Set(ringService, d.Key, "hunter2hunter2"); err != nil {
		t.Fatal(err)
	}
	_, err = v.Get("a")
	says(t, err, "the system keyring", "not a key")
	keyring.MockInitWithError(errors.New("no such bus"))
	_, getting := v.Get("a")
	_, _, setting := v.Set(t.Context(), "a", []byte("x"))
	_, checking := v.Check()
	_, moving := at(v.config.Dir, File).Rotate(t.Context(), Keyring)
	for _, err := range []error{getting, setting, checking, moving} {
		says(t, err, "the system keyring: no such bus", "unlock it, or store the key elsewhere")
	}
	_, _, making := at(filepath.Join(t.TempDir(), "vault"), Keyring).Set(t.Context(), "a", []byte("x"))
	says(t, making, "writing to the system keyring: no such bus")
}

// TestOldKeysAreRemoved checks that an old key which cannot be removed is reported, and removed later.
func TestOldKeysAreRemoved(t *testing.T) {
	fakeKeyring(t)
	dir := filepath.Join(t.TempDir(), "vault")
	set(t, at(dir, Keyring), "a", "value")
	d, err := at(dir, Keyring).load()
	if err != nil {
		t.Fatal(err)
	}
	v := at(dir, File)
	if _, err := v.Rotate(t.Context(), Keyring); err != nil {
		t.Fatal(err)
	}
	now, err := v.load()
	if err != nil {
		t.Fatal(err)
	}
	now.Retired = []oldKey{{d.Key, Keyring}} // as if the program had died before it removed the key
	if err := v.store(now); err != nil {
		t.Fatal(err)
	}
	keyring.MockInitWithError(errors.New("no such bus"))
	set(t, v, "b", "other")
	if r, err := v.Check(); err != nil || r.OldKeys != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = v.Rotate(t.Context(), "")
	says(t, err, "an old key could not be removed", "no such bus", "tries again")
	holds(t, v, "a", "value", "b", "other")
	keyring.MockInit()
	if err := v.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if r, err := v.Check(); err != nil || r.OldKeys != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if lines := strings.Count(string(read(t, filepath.Join(dir, keyName))), "\n"); lines != 1 {
		t.Errorf("the file has %d keys", lines)
	}
	holds(t, v, "a", "value")
}

func TestKeyringWithoutSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the keyring is part of the system here")
	}
	if _, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())); err == nil {
		t.Skip("there is a session here")
	}
	fakeKeyring(t)
	v := at(filepath.Join(t.TempDir(), "vault"), Keyring)
	set(t, v, "a", "value")
	for _, address := range []string{"", "autolaunch:"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		_, getting := v.Get("a")
		_, _, making := at(filepath.Join(t.TempDir(), "vault"), Keyring).Set(t.Context(), "a", []byte("x"))
		for _, err := range []error{getting, making, (systemKeyring{}).remove("0123456789abcdef")} {
			says(t, err, "there is no session bus", "unlock it, or store the key elsewhere")
		}
	}
}

func TestCheckWithoutVault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	for name, c := range map[string]struct {
		v    *Vault
		want string
	}{
		"none":         {at(dir, ""), ""},
		"variable":     {at(dir, File, envKey, hexKey()), ""},
		"not set":      {at(dir, Env), ""},
		"bad variable": {at(dir, File, envKey, "nonsense"), "not a key"},
	} {
		r, err := c.v.Check()
		if r.Exists || r.Secrets != 0 || (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("checking has made a vault")
	}
}
