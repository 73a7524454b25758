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

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// fakeKeyring puts one into the place of the system's.
func fakeKeyring(t *testing.T) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "nowhere"))
	keyring.MockInit()
}

// kekOf returns the id of the key that wraps the data keys of a vault.
func kekOf(t *testing.T, v *Vault) (id string) {
	t.Helper()
	if err := v.with(t.Context(), false, func(s *store.Store) error {
		rows, err := keyRows(t.Context(), s)
		if err == nil {
			id = rows[0].KEK
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
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
		"another": {at(dir, File, envKey, two), []string{"not available here", "the variable " + envKey,
			"set the variable to the right key, or unset it"}},
		"unset": {at(dir, File), []string{"not available here", "the file " + filepath.Join(dir, keyName), "the backup that has it",
			"vault.key_from"}},
		"no key": {at(dir, File, envKey, "hunter2hunter2"), []string{envKey, "not a key", "openssl rand -base64 32"}},
		"none":   {at(dir, Env), []string{"not available here", "the variable " + envKey}},
	} {
		_, getting := c.v.Get(t.Context(), "a")
		_, _, setting := c.v.Set(t.Context(), "b", []byte("other"))
		_, checking := c.v.Check(t.Context())
		for _, err := range []error{getting, setting, checking} {
			says(t, err, c.want...)
			if strings.Contains(fmt.Sprint(err), "hunter2") || strings.Contains(fmt.Sprint(err), two) {
				t.Errorf("%s: the error contains the key: %v", name, err)
			}
		}
		if _, err := c.v.List(t.Context()); err != nil {
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
		"gone":    {func() error { return os.Remove(path) }, "not available here"},
		"empty":   {func() error { return os.WriteFile(path, nil, 0o600) }, "is empty"},
		"damaged": {func() error { return os.WriteFile(path, good[:20], 0o600) }, "is damaged"},
		"another": {func() error { return os.WriteFile(path, []byte(hexKey()), 0o600) }, "not available here"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		broken, _ := os.ReadFile(path)
		v = at(v.config.Dir, File)
		_, getting := v.Get(t.Context(), "a")
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
}

func TestKeyFilePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	v := fresh(t)
	set(t, v, "a", "value")
	for _, name := range []string{keyName} {
		path := filepath.Join(v.config.Dir, name)
		for _, mode := range []os.FileMode{0o640, 0o604} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			v = at(v.config.Dir, File)
			_, getting := v.Get(t.Context(), "a")
			_, _, setting := v.Set(t.Context(), "b", []byte("x"))
			_, checking := v.Check(t.Context())
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
	_, checking := v.Check(t.Context())
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
	key := read(t, filepath.Join(v.config.Dir, keyName))
	list, err := v.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r, err := v.Rotate(t.Context(), ""); err != nil || r.Secrets != 2 || r.KeyStore != File {
			t.Fatalf("%+v, %v", r, err)
		}
		holds(t, v, "a", "one", "b", "two")
	}
	after, err := v.List(t.Context())
	if err != nil || fmt.Sprint(after) != fmt.Sprint(list) {
		t.Errorf("the list is %v, %v; it was %v", after, err, list)
	}
	if now := read(t, filepath.Join(v.config.Dir, keyName)); len(now) != len(key) || string(now) == string(key) {
		t.Error("the old key is still there")
	}
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
	_, err = v.Get(t.Context(), "a")
	says(t, err, "not available here")
	if r, err := both.Check(t.Context()); err != nil || r.OldKeys != 0 {
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
		old := kekOf(t, step.to)
		done, err := step.to.Rotate(t.Context(), step.from)
		if err != nil || done.Secrets != 1 {
			t.Fatalf("from %q: %+v, %v", step.from, done, err)
		}
		if step.from == Env {
			step.to = at(dir, step.to.config.Key)
		}
		holds(t, step.to, "a", "value")
		r, err := step.to.Check(t.Context())
		if err != nil || !r.Exists || r.Secrets != 1 || r.OldKeys != 0 || r.Key != done.Key ||
			r.KeyStore != done.KeyStore {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := (systemKeyring{}).find(old); !errors.Is(err, errNoKey) {
			t.Errorf("the old key is still in the keyring: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, keyName)); (err == nil) != (r.KeyStore == File) {
			t.Errorf("the key is in %s, and its file: %v", r.KeyStore, err)
		}
	}
	_, err := at(dir, File).Rotate(t.Context(), Keyring)
	says(t, err, "not available here", "not in the system keyring", "--from")
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
	if err := keyring.Set(ringService, kekOf(t, v), "hunter2hunter2"); err != nil {
		t.Fatal(err)
	}
	v = at(v.config.Dir, Keyring)
	_, err := v.Get(t.Context(), "a")
	says(t, err, "the system keyring", "not a key")
	v = at(v.config.Dir, Keyring)
	keyring.MockInitWithError(errors.New("no such bus"))
	_, getting := v.Get(t.Context(), "a")
	_, _, setting := v.Set(t.Context(), "a", []byte("x"))
	_, checking := v.Check(t.Context())
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
	old := kekOf(t, at(dir, Keyring))
	v := at(dir, File)
	if _, err := v.Rotate(t.Context(), Keyring); err != nil {
		t.Fatal(err)
	}
	// as if the program had died before it removed the key
	change(t, v, "INSERT INTO vault_old_key (id, place) VALUES ($1, 'keyring')", old)
	keyring.MockInitWithError(errors.New("no such bus"))
	set(t, v, "b", "other")
	if r, err := v.Check(t.Context()); err != nil || r.OldKeys != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err := v.Rotate(t.Context(), "")
	says(t, err, "an old key could not be removed", "no such bus", "tries again")
	holds(t, v, "a", "value", "b", "other")
	keyring.MockInit()
	set(t, v, "b", "changed")
	if err := v.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if r, err := v.Check(t.Context()); err != nil || r.OldKeys != 0 {
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
		v = at(v.config.Dir, Keyring)
		_, getting := v.Get(t.Context(), "a")
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
		r, err := c.v.Check(t.Context())
		if r.Exists || r.Secrets != 0 || (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("checking has made a vault")
	}
}
