//go:build !race

package box_test

const factor = 1
