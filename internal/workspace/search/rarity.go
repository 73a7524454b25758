package search

// byteShares says how often a byte is met in source code and documents, of 10,000.
// Where the guess is wrong a search is slower, nothing else.
var byteShares = [128]uint16{
	1, 1, 1, 1, 1, 1, 1, 1, 1, 211, 279, 1, 1, 20, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1649, 9, 146, 16, 4, 8, 8, 54, 99, 99, 22, 11, 217, 47, 133, 100,
	230, 77, 56, 42, 39, 29, 33, 22, 34, 25, 102, 11, 40, 76, 42, 2,
	2, 45, 20, 38, 28, 51, 25, 14, 14, 38, 4, 7, 29, 24, 33, 33,
	31, 4, 38, 54, 53, 16, 14, 11, 7, 10, 3, 25, 21, 24, 2, 71,
	20, 350, 84, 205, 185, 596, 150, 103, 128, 335, 14, 41, 235, 128, 352, 325,
	149, 10, 377, 353, 463, 151, 50, 50, 128, 67, 9, 50, 11, 50, 2, 1,
}

// byteShare is how many of all bytes are b.
func byteShare(b byte) float64 {
	if b >= 128 {
		return 0.003
	}
	return float64(byteShares[b]) / 10_000
}
