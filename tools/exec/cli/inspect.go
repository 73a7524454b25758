package cli

import "context"

// Inspect says what keeps a program from being started, without starting it.
func Inspect(ctx context.Context, p Program) error {
	r := New(Options{Programs: []Program{p}})
	_, err := r.locate(ctx, r.programs[0])
	return err
}
