package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A Secret is a reference to a secret: secret:NAME in the vault, env:NAME for an
// environment variable, file:PATH for a file that contains only the secret,
// command:PROGRAM ARGUMENTS for a program that prints it.
type Secret string

const secretPattern = `secret:[A-Za-z0-9][A-Za-z0-9._@-]{0,63}|env:[A-Za-z_][A-Za-z0-9_]*|file:[\s\S]+|` +
	`command:[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*`

const secretWords = "secret:NAME, env:NAME, file:PATH or command:PROGRAM ARGUMENTS"

// secretTimeout is how long a program may take to print a secret. It may ask a person.
const secretTimeout = time.Minute

// longestSecret is the max size of a file with a secret.
const longestSecret = 64 << 10

// Sources resolve references to secrets in the environment and the vault.
type Sources struct {
	Env   func(name string) (value string, set bool)
	Vault func(name string) (value string, err error)
}

// Fetch returns the secret. A line break at the end of a file is removed; a missing
// or empty secret is an error.
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
	case "command":
		value, err = runSecret(name)
	default:
		// The text may be a secret, so the error does not repeat it.
		return "", errors.New("not a reference to a secret; write " + secretWords)
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
	return withoutLineEnd(text), nil
}

func withoutLineEnd(text []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// runSecret returns the output of a program. It is started without a shell.
func runSecret(command string) (string, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return "", errors.New("it names no program")
	}
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	text, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		first, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return "", fmt.Errorf("the program failed (%w): %s", err, printable(brief(first)))
	}
	if err != nil {
		return "", err
	}
	if len(text) > longestSecret {
		return "", fmt.Errorf("the program printed more than %d bytes", longestSecret)
	}
	return withoutLineEnd(text), nil
}
