//go:build !race

package pdf

const raceDetector = false
