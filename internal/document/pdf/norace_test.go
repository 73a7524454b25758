//go:build !race

package pdf

const raceDetector = false

// corpusPages is how many pages of a file of the corpus are read.
const corpusPages = 8
