package meaning

import (
	"encoding/binary"
	"math"
)

// A vector is kept as numbers of one byte, and what each is worth, so that all
// together have the length 1: a quarter of the room, and the order of what is
// near stays the same. The worth comes first, in four bytes.
const head = 4

const (
	finest      = 127
	finestQuery = 1023 // of a query, which is not kept: finer costs nothing
)

// pack makes the bytes of a vector that has a direction.
func pack(v []float32) []byte {
	numbers, worth := quantise(v, finest)
	b := make([]byte, head, head+len(v))
	binary.LittleEndian.PutUint32(b, math.Float32bits(worth))
	for _, n := range numbers {
		b = append(b, byte(int8(n)))
	}
	return b
}

// unpack is the inverse of pack, without copying.
func unpack(b []byte) (numbers []byte, worth float32) {
	if len(b) <= head {
		return nil, 0
	}
	return b[head:], math.Float32frombits(binary.LittleEndian.Uint32(b))
}

// quantise writes a vector in whole numbers, the largest of which is finest.
func quantise(v []float32, finest float64) (numbers []int32, worth float32) {
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
		n := math.RoundToEven(float64(x) / largest * finest)
		numbers[i] = int32(n)
		sum += n * n
	}
	return numbers, float32(1 / math.Sqrt(sum))
}

// dot multiplies a query by a vector of as many numbers.
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
