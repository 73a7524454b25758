package embeddings

import (
	"encoding/binary"
	"math"
)

// A stored vector has the length 1. It is a scale in four bytes, and numbers of one byte that
// are multiplied by it: a quarter of the size of float32, with the same order of neighbours.
const scaleSize = 4

const (
	storedLevels = 127
	queryLevels  = 1023 // of a query; queries are not stored
)

// pack encodes a vector that is not zero.
func pack(v []float32) []byte {
	numbers, scale := quantize(v, storedLevels)
	b := make([]byte, scaleSize, scaleSize+len(v))
	binary.LittleEndian.PutUint32(b, math.Float32bits(scale))
	for _, n := range numbers {
		b = append(b, byte(int8(n)))
	}
	return b
}

// unpack is the inverse of pack. It does not copy.
func unpack(b []byte) (numbers []byte, scale float32) {
	if len(b) <= scaleSize {
		return nil, 0
	}
	return b[scaleSize:], math.Float32frombits(binary.LittleEndian.Uint32(b))
}

// quantize returns a vector as whole numbers of at most levels, with the scale that makes its length 1.
func quantize(v []float32, levels float64) (numbers []int32, scale float32) {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
	}
	numbers = make([]int32, len(v))
	if largest == 0 {
		return numbers, 0
	}
	sum := 0.0
	for i, x := range v {
		n := math.RoundToEven(float64(x) / largest * levels)
		numbers[i] = int32(n)
		sum += n * n
	}
	return numbers, float32(1 / math.Sqrt(sum))
}

// dot returns the product of a query and a vector of as many numbers.
func dot(query []int32, numbers []byte) int32 {
	var a, b, c, d int32
	for len(query) >= 8 && len(numbers) >= 8 {
		q, n := query[:8:8], numbers[:8:8]
		a += q[0]*int32(int8(n[0])) + q[4]*int32(int8(n[4]))
		b += q[1]*int32(int8(n[1])) + q[5]*int32(int8(n[5]))
		c += q[2]*int32(int8(n[2])) + q[6]*int32(int8(n[6]))
		d += q[3]*int32(int8(n[3])) + q[7]*int32(int8(n[7]))
		query, numbers = query[8:], numbers[8:]
	}
	for i, n := range numbers {
		a += query[i] * int32(int8(n))
	}
	return a + b + c + d
}
