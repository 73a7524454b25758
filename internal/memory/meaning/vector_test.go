package meaning

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkDot(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	rows := make([][]byte, 20000)
	v := func() []float32 {
		v := make([]float32, 768)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	for i := range rows {
		rows[i], _ = unpack(pack(v()))
	}
	q, _ := quantise(v(), finestQuery)
	b.ResetTimer()
	for b.Loop() {
		for _, r := range rows {
			dot(q, r)
		}
	}
}
