package config

import (
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Store says where everything is kept that lasts.
type Store struct {
	DSN  string `yaml:"dsn" form:"store" flag:"store"`
	Sync string `yaml:"sync" default:"normal" enum:"normal,full"`
}

// storeForm accepts places of a store, but no password: settings are no place
// for one, and a command line even less.
func storeForm() form {
	return form{
		words: "a directory, a URL such as postgres://user@host/database without a password, or where such a URL is: secret:NAME, env:NAME or file:PATH",
		hide:  true, pattern: `[^\x00-\x1f\x7f]+`, check: checkStore, settle: settleStore,
	}
}

func storeReference(text string) bool {
	return regexp.MustCompile("^(?:" + secretPattern + ")$").MatchString(text)
}

func postgresURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

func checkStore(text string) error {
	for _, where := range []string{"secret:", "env:", "file:"} {
		if strings.HasPrefix(text, where) && !storeReference(text) {
			return errors.New("not a reference")
		}
	}
	if postgresURL(text) {
		return withoutPassword(text)
	}
	if strings.Contains(text, "://") || strings.Contains(text, "password=") { // it may be a DSN of another form
		return errors.New("not a directory")
	}
	return nil
}

func withoutPassword(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("not a URL")
	}
	_, has := u.User.Password()
	for name := range u.Query() {
		has = has || strings.Contains(strings.ToLower(name), "password")
	}
	if has {
		return errors.New("it has a password")
	}
	return nil
}

func settleStore(text string, at origin) (string, error) {
	switch {
	case storeReference(text):
		return settleSecret(text, at)
	case postgresURL(text):
		return text, nil
	}
	return settlePath(text, at)
}

// StorePlace reads a place of a store as the setting has it, from a command
// line: relative to dir, and home for what begins with a tilde.
func StorePlace(text, dir, home string) (Store, error) {
	if text == "" || strings.ContainsFunc(
		text, func(r rune) bool { return r < ' ' || r == 0x7f },
	) || checkStore(text) != nil {
		return Store{}, errors.New("what is accepted: " + storeForm().words) // and what was given may be a secret
	}
	place, err := settleStore(text, origin{dir, home})
	return Store{DSN: place}, err
}

// Place is where the store is: a directory, or a URL that may have a password.
// It is empty when nobody said.
func (s Store) Place(from Sources) (string, error) {
	if !storeReference(s.DSN) {
		return s.DSN, nil
	}
	place, err := Secret(s.DSN).Fetch(from)
	if err != nil {
		return "", err
	}
	if place = strings.TrimSpace(place); !postgresURL(place) && !filepath.IsAbs(place) {
		return "", errors.New(
			"store.dsn: what the secret holds is neither a postgres:// URL nor the whole path of a directory",
		)
	}
	return place, nil
}
