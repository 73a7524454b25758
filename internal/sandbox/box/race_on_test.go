//go:build race

package box_test

// factor is how much more memory the race detector takes.
const factor = 6
