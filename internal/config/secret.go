package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Secret says where a secret is, never what it is: env:NAME for a variable of
// the environment, file:PATH for a file that holds nothing else.
type Secret string

const secretPattern = `env:[A-Za-z_][A-Za-z0-9_]*|file:[\s\S]+`

// longestSecret bounds what is read from a file that may be the wrong one.
const longestSecret = 64 << 10

// Resolve fetches the secret. The environment is asked through lookup, such as
// os.LookupEnv. A line break at the end of a file is not part of the secret; a
// secret that is missing or empty is an error.
func (s Secret) Resolve(lookup func(name string) (string, bool)) (string, error) {
	if !strings.HasPrefix(string(s), "env:") && !strings.HasPrefix(string(s), "file:") {
		return "", errors.New("not a reference to a secret; write env:NAME or file:PATH") // and it may be one: not quoted
	}
	value, err := s.fetch(lookup)
	if err == nil && value == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("the secret %q: %w", string(s), err)
	}
	return value, nil
}

func (s Secret) fetch(lookup func(name string) (string, bool)) (string, error) {
	if name, ok := strings.CutPrefix(string(s), "env:"); ok {
		value, set := lookup(name)
		if !set {
			return "", errors.New("the environment has no such variable")
		}
		return value, nil
	}
	file, err := os.Open(strings.TrimPrefix(string(s), "file:"))
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
