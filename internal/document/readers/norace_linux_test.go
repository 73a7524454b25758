//go:build !race

package readers_test

const raceDetector = false
