package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Secret says where a secret is, never what it is: secret:NAME for one in the
// vault, env:NAME for a variable of the environment, file:PATH for a file that
// holds nothing else.
type Secret string

const secretPattern = `secret:[A-Za-z0-9][A-Za-z0-9._@-]{0,63}|env:[A-Za-z_][A-Za-z0-9_]*|file:[\s\S]+`

// longestSecret bounds what is read from a file that may be the wrong one.
const longestSecret = 64 << 10

// Sources are where secrets are found that are in no file of their own.
type Sources struct {
	Env   func(name string) (value string, set bool)
	Vault func(name string) (value string, err error)
}

// Fetch finds the secret. A line break at the end of a file is not part of it;
// a secret that is missing or empty is an error.
func (s Secret) Fetch(from Sources) (string, error) {
	where, name, _ := strings.Cut(string(s), ":")
	var value string
	var err error
	switch where {
	case "secret":
		value, err = from.Vault(name)
	case "env":
		var set bool
		if value, set = from.Env(name); !set {
			err = errors.New("the environment has no such variable")
		}
	case "file":
		value, err = readSecret(name)
	default:
		return "", errors.New("not a reference to a secret; write secret:NAME, env:NAME or file:PATH") // and it may be one: not quoted
	}
	if err == nil && value == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("the secret %q: %w", string(s), err)
	}
	return value, nil
}

func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestSecret+1))
	if err != nil {
		return "", err
	}
	if len(text) > longestSecret {
		return "", fmt.Errorf("the file is longer than %d bytes; is it the right one?", longestSecret)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}
