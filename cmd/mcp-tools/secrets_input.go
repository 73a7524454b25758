package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// secretValue gets the secret to keep: from a file if one is named, from a
// person if there is one at the terminal, else from stdin. A line break at the
// end is not part of it.
func (a *app) secretValue(ctx context.Context, name, file string) ([]byte, error) {
	var value []byte
	var err error
	switch {
	case file != "":
		value, err = fileSecret(file)
	case terminal(a.in):
		value, err = a.typedSecret(ctx, name)
	default:
		value, err = readSecret(a.in)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the secret: %w", err)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r")), nil
}

func fileSecret(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSecret(file)
}

// readSecret reads a secret and a line break, and of what is too long enough
// to notice.
func readSecret(r io.Reader) ([]byte, error) {
	value := make([]byte, vault.Longest+3) // at once: no copies are left behind
	n, err := io.ReadFull(r, value)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return value[:n], err
}

// typedSecret asks a person, and shows nothing of the answer.
func (a *app) typedSecret(ctx context.Context, name string) (value []byte, err error) {
	show, err := hideTyping(a.in)
	if err != nil {
		return nil, fmt.Errorf("this terminal shows what is typed (%w); use a pipe or --from-file", err)
	}
	defer func() { err = errors.Join(err, show()) }()
	if _, err := fmt.Fprintf(a.err, "The secret %s (what you type is not shown): ", name); err != nil {
		return nil, err
	}
	line, err := person{bufio.NewReader(a.in), a.err}.line(ctx)
	if err != nil {
		return nil, err
	}
	if len(line) > longestTyped {
		return nil, fmt.Errorf("a terminal passes on no more than %d bytes of a line; use a pipe or --from-file", longestTyped)
	}
	return []byte(line), nil
}
