package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
)

func TestWhereTheStoreIs(t *testing.T) {
	dir := t.TempDir()
	sources := config.Sources{
		Env: func(name string) (string, bool) {
			value, set := map[string]string{
				"URL": "postgres://a:opensesame@host/db\n", "DIR": dir, "WORD": "opensesame", "NONE": "",
			}[name]
			return value, set
		},
		Vault: func(name string) (string, error) {
			if name == "store" {
				return "postgresql://a:opensesame@host/db", nil
			}
			return "", errors.New("no such thing in the vault")
		},
	}
	for _, test := range []struct{ given, want, wrong string }{
		{"", "", ""},
		{"sub/dir", filepath.Join(dir, "sub", "dir"), ""},
		{"~/x", filepath.Join(dir, "home", "x"), ""},
		{"postgres://host/db", "postgres://host/db", ""},
		{"postgresql://a@host:5432/db?sslmode=verify-full", "postgresql://a@host:5432/db?sslmode=verify-full", ""},
		{"postgres:///db?host=/run/postgresql", "postgres:///db?host=/run/postgresql", ""},
		{"secret:store", "postgresql://a:opensesame@host/db", ""},
		{"env:URL", "postgres://a:opensesame@host/db", ""},
		{"env:DIR", dir, ""},
		{"env:WORD", "", "neither a postgres:// URL nor the whole path"},
		{"env:NONE", "", "it is empty"},
		{"env:GONE", "", "the environment has no such variable"},
		{"secret:gone", "", "no such thing in the vault"},
		{"postgres://a:opensesame@host/db", "", "a URL with a password cannot stand here"},
		{"postgres://host/db?password=opensesame", "", "a URL with a password cannot stand here"},
		{"postgres://host/db?sslpassword=opensesame", "", "a URL with a password cannot stand here"},
		{"postgres://host/%zz", "", "something else"},
		{"host=a password=opensesame", "", "something else"},
		{"mysql://a:opensesame@host/db", "", "something else"},
		{"secret:", "", "something else"},
		{"secret:a b", "", "something else"},
		{"env:opensesame-1", "", "something else"},
		{"a\nb", "", "something else"},
	} {
		check := func(how string, got string, err error) {
			t.Helper()
			switch {
			case err == nil && test.wrong == "":
				if got != test.want {
					t.Errorf("%s %q: %q, want %q", how, test.given, got, test.want)
				}
			case err == nil || test.wrong == "":
				t.Errorf("%s %q: %v", how, test.given, err)
			case !strings.Contains(err.Error(), test.wrong) && test.wrong != "something else", strings.Contains(err.Error(), "opensesame"):
				t.Errorf("%s %q: %v", how, test.given, err)
			}
		}
		t.Chdir(dir)
		l, err := app.SettingsReader().Load(config.LoadOptions{
			Getenv: func(name string) string {
				return map[string]string{"HOME": filepath.Join(dir, "home"), "USERPROFILE": filepath.Join(dir, "home")}[name]
			},
			Overrides: map[string]string{"store.dsn": test.given},
		})
		place := ""
		if err == nil {
			place, err = l.Config.Store.Place(sources)
		} else if test.wrong != "something else" && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("the setting %q: %v", test.given, err)
			continue
		}
		check("the setting", place, err)
		if test.given == "" {
			continue
		}
		s, err := config.StorePlace(test.given, dir, filepath.Join(dir, "home"))
		if err == nil {
			place, err = s.Place(sources)
		}
		check("the argument", place, err)
	}
	if _, err := config.StorePlace("", dir, dir); err == nil {
		t.Error("nothing is a place")
	}
}
