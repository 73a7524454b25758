package vault

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	commandTimeout = 30 * time.Second
	maxWrapped     = 64 << 10
)

// A keyCommand is a program of the operator that wraps and unwraps data keys, for example with a KMS. It
// is started without a shell, with the arguments of the settings and then wrap or unwrap. It reads the
// base64 of a key from stdin, and prints the base64 of the result.
type keyCommand struct{ argv []string }

func (c keyCommand) String() string { return "the program of vault.key_command" }

func (c keyCommand) wrap(ctx context.Context, _ string, _ func(string) error, keys ...*key) (string, [][]byte, error) {
	var all [][]byte
	for _, k := range keys {
		wrapped, err := c.run(ctx, "wrap", k[:])
		if err == nil && bytes.Contains(wrapped, k[:]) {
			err = fmt.Errorf("%s returned the key as it was; it must encrypt the key", c)
		}
		if err != nil {
			return "", nil, err
		}
		all = append(all, wrapped)
	}
	return string(Command), all, nil
}

func (c keyCommand) unwrap(ctx context.Context, r keyRow) (*key, error) {
	if r.Place != Command {
		return nil, locked(r, c)
	}
	raw, err := c.run(ctx, "unwrap", r.Wrapped)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	defer clear(raw)
	if len(raw) != keySize {
		return nil, fmt.Errorf("%w: %s returned %d bytes for a key, not %d", ErrLocked, c, len(raw), keySize)
	}
	return (*key)(bytes.Clone(raw)), nil
}

// run passes data to the program, and returns its answer.
func (c keyCommand) run(ctx context.Context, what string, data []byte) ([]byte, error) {
	if len(c.argv) == 0 {
		return nil, errors.New("vault.key_command names no program")
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var out, said bounded
	out.left, said.left = 2*maxWrapped, 1<<10
	cmd := exec.CommandContext(ctx, c.argv[0], append(c.argv[1:len(c.argv):len(c.argv)], what)...)
	cmd.Stdin = strings.NewReader(base64.StdEncoding.EncodeToString(data) + "\n")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	err := cmd.Run()
	defer clear(out.text)
	switch {
	case out.left < 0:
		return nil, fmt.Errorf("%s %s printed more than %d bytes", c, what, 2*maxWrapped)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s %s did not answer within %s", c, what, commandTimeout)
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(string(said.text)), "\n")
		return nil, fmt.Errorf("%s %s failed: %w: %q", c, what, err, first)
	}
	text := bytes.TrimSpace(out.text)
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(raw, text)
	if err != nil || n == 0 || n > maxWrapped {
		clear(raw)
		return nil, fmt.Errorf("%s %s did not print base64", c, what)
	}
	return raw[:n], nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	text []byte
	left int // -1 if there were more
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left >= 0 {
		n := min(len(p), b.left)
		b.text, b.left = append(b.text, p[:n]...), b.left-n
		if n < len(p) {
			b.left = -1
		}
	}
	if b.left < 0 {
		return 0, io.ErrShortWrite // the program ends because nobody reads
	}
	return len(p), nil
}
