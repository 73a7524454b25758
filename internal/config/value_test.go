package config

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "250ms": 250 * time.Millisecond, "30s": 30 * time.Second, "5m": 5 * time.Minute,
		"5m5ms": 5*time.Minute + 5*time.Millisecond,
		"1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "36500d": 36500 * 24 * time.Hour,
		"24h": 24 * time.Hour,
	} {
		var d, back Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s is %v, %v", text, time.Duration(d), err)
		}
		if err := back.UnmarshalText([]byte(d.String())); err != nil || back != d {
			t.Errorf("%s is written %s, which is %v, %v", text, d, back, err)
		}
	}
	for _, text := range []string{"", " ", "1", "-1s", "1.5h", "1s1m", "1m 1s", "1w", "s", "+1s", "1s1s", "106752d",
		"999999999h999999999h", "९s", "1S", "0x1s"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %v", text, d)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "512B": 512, "100KiB": 102400, "5MiB": 5 << 20,
		"1GiB": 1 << 30, "8388607TiB": 8388607 << 40, "1536": 1536} {
		var s, back Size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want {
			t.Errorf("%s is %d, %v", text, int64(s), err)
		}
		if err := back.UnmarshalText([]byte(s.String())); err != nil || back != s {
			t.Errorf("%s is written %s, which is %v, %v", text, s, back, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5MiB", "5MB", "5 MiB", "5mib", "MiB", "0x10", "8388608TiB", "1_000",
		"1BB"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %d", text, s)
		}
	}
	if text := Size(math.MaxInt64).String(); text != "9223372036854775807B" {
		t.Errorf("the largest size is written %s", text)
	}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	value := strings.Repeat("s3", 8)
	for name, text := range map[string]string{"plain": value, "line": value + "\n", "dos": value + "\r\n",
		"two": value + "\n\n", "empty": "\n", "long": strings.Repeat("x", longestSecret+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from := Sources{
		Env: func(name string) (string, bool) {
			return map[string]string{"KEY": value, "EMPTY": ""}[name], name == "KEY" || name == "EMPTY"
		},
		Vault: func(name string) (string, error) {
			if name != "deploy" {
				return "", errors.New("no such thing in the vault")
			}
			return value, nil
		},
	}
	file := func(name string) Secret { return Secret("file:" + filepath.Join(dir, name)) }
	for _, test := range []struct {
		secret    Secret
		want, err string
	}{
		{"env:KEY", value, ""},
		{"secret:deploy", value, ""},
		{"secret:gone", "", `the secret "secret:gone": no such thing in the vault`},
		{file("plain"), value, ""},
		{file("line"), value, ""},
		{file("dos"), value, ""},
		{file("two"), value + "\n", ""},
		{Secret("command:cat " + filepath.Join(dir, "line")), value, ""},
		{Secret("command:cat " + filepath.Join(dir, "gone")), "", "No such file"},
		{"command:no-such-program x", "", "executable file not found"},
		{"env:GONE", "", `the secret "env:GONE": the environment has no such variable`},
		{"env:EMPTY", "", `the secret "env:EMPTY": it is empty`},
		{file("empty"), "", "it is empty"},
		{file("long"), "", "the file is longer than 65536 bytes"},
		{file("gone"), "", "no such file"},
		{Secret(value), "", "not a reference to a secret; write secret:NAME, env:NAME, file:PATH or command:PROGRAM ARGUMENTS"},
		{"", "", "not a reference to a secret"},
	} {
		got, err := test.secret.Fetch(from)
		if got != test.want || (err == nil) != (test.err == "") || err != nil &&
			!strings.Contains(err.Error(), test.err) {
			t.Errorf("%s is %q, %v", test.secret, got, err)
		}
		if err != nil && strings.Contains(err.Error(), value) {
			t.Errorf("the error contains the secret: %v", err)
		}
	}
}

func TestPlaces(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, goos, flag string
		env              []string
		data, file       string
		asked            bool
	}{
		{"usual", "linux", "", []string{"HOME", "/h"}, "/h/.local/share/mcp-tools", "/h/.config/mcp-tools/config.yaml",
			false},
		{"XDG", "linux", "", []string{"HOME", "/h", "XDG_DATA_HOME", "/d", "XDG_CONFIG_HOME", "/c"}, "/d/mcp-tools",
			"/c/mcp-tools/config.yaml", false},
		{"relative XDG", "linux", "", []string{"HOME", "/h", "XDG_DATA_HOME", "d", "XDG_CONFIG_HOME", "c"},
			"/h/.local/share/mcp-tools", "/h/.config/mcp-tools/config.yaml", false},
		{"mac", "darwin", "", []string{"HOME", "/h"}, "/h/Library/Application Support/mcp-tools",
			"/h/Library/Application Support/mcp-tools/config.yaml", false},
		{"windows", "windows", "", []string{"LocalAppData", "/l", "AppData", "/a"}, "/l/mcp-tools",
			"/a/mcp-tools/config.yaml", false},
		{"environment", "linux", "", []string{"HOME", "/h", EnvData, "/e", EnvConfig, "/e/c"}, "/e", "/e/c", true},
		{"flag", "linux", "f", []string{"HOME", "/h", EnvData, "/e", EnvConfig, "/e/c"}, cwd + "/f", "f", true},
		{"homeless", "linux", "", nil, "", "", false},
	} {
		getenv := FakeEnvironment(test.env...)
		data, err := dataDir(test.flag, getenv, test.goos)
		if data != test.data || (err != nil) != (test.data == "") {
			t.Errorf("%s: data in %q, %v", test.name, data, err)
		}
		if file, asked := (LoadOptions{Path: test.flag, Getenv: getenv}).file(test.goos); file != test.file ||
			asked != test.asked {
			t.Errorf("%s: the file is %q, asked for: %v", test.name, file, asked)
		}
	}
	if file, err := File("f", FakeEnvironment()); err != nil || file != cwd+"/f" {
		t.Errorf("the file of a flag is %q, %v", file, err)
	}
	if file, err := File("", FakeEnvironment()); err == nil {
		t.Errorf("the file is %q", file)
	}
}
