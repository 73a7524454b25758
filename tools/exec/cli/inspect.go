package cli

import (
	"context"
	"errors"
	"fmt"
)

// Inspect returns the reason why a program cannot be started, without starting it.
func Inspect(ctx context.Context, p Program) error {
	_, err := New(Options{}).locate(ctx, Compile([]Program{p})[0])
	var at misplaced
	if errors.As(err, &at) {
		return fmt.Errorf("%s does not run: %w: %s", p.Name, at, at.dir)
	}
	return err
}
