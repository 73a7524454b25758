package embeddings

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// topical are vectors about some topics, as those of texts are.
func topical(random *rand.Rand, count, dimensions, topics int) [][]float32 {
	centres := make([][]float64, topics)
	for i := range centres {
		for range dimensions {
			centres[i] = append(centres[i], random.NormFloat64())
		}
	}
	list := make([][]float32, count)
	for i := range list {
		centre := centres[random.IntN(topics)]
		for _, x := range centre {
			list[i] = append(list[i], float32(x+1.5*random.NormFloat64()))
		}
	}
	return list
}

func cosine(a, b []float32) float64 {
	sum, as, bs := 0.0, 0.0, 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
		as += float64(a[i]) * float64(a[i])
		bs += float64(b[i]) * float64(b[i])
	}
	return sum / math.Sqrt(as*bs)
}

func packedCosine(query, v []float32) float64 {
	q, worth := quantize(query, queryLevels)
	numbers, other := unpack(pack(v))
	return float64(dot(q, numbers)) * float64(worth) * float64(other)
}

// TestQuantizedVectorsKeepTheOrder compares the ten nearest by whole vectors with those
// by bytes.
func TestQuantizedVectorsKeepTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, dimensions := range []int{64, 768} {
		list := topical(random, 1000, dimensions, 40)
		same, far := 0, 0.0
		const queries = 10
		for _, query := range topical(random, queries, dimensions, 40) {
			nearest := func(cos func(a, b []float32) float64) []int {
				order := make([]int, len(list))
				near := make([]float64, len(list))
				for i := range list {
					order[i], near[i] = i, cos(query, list[i])
				}
				slices.SortFunc(order, func(a, b int) int { return cmp.Compare(near[b], near[a]) })
				return order[:10]
			}
			bytes := nearest(packedCosine)
			for _, i := range nearest(cosine) {
				if slices.Contains(bytes, i) {
					same++
				}
			}
			for _, v := range list[:100] {
				far = max(far, math.Abs(cosine(query, v)-packedCosine(query, v)))
			}
		}
		t.Logf("%d dimensions: %.1f %% of the nearest are the same, and cosines differ by %.4f at most", dimensions,
			float64(same)/queries*10, far)
		if float64(same) < 0.96*queries*10 || far > 0.01 {
			t.Error("bytes say something else than numbers")
		}
	}
}

func FuzzVector(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		numbers, _ := unpack(b)
		query := make([]int32, len(numbers))
		want := int32(0)
		for i := range query {
			query[i] = int32(i%2000) - 1000
			want += query[i] * int32(int8(numbers[i]))
		}
		if got := dot(query, numbers); got != want {
			t.Errorf("the product is %d, not %d", got, want)
		}
		v := make([]float32, len(b))
		for i, x := range b {
			v[i] = float32(int8(x)) / 3
		}
		if !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
			return
		}
		if cos := packedCosine(v, v); math.Abs(cos-1) > 0.01 {
			t.Errorf("a vector is %f of itself", cos)
		}
	})
}

// TestBoundsOfMatches has a few pieces that are near among many that are not, and
// many that are near.
func TestBoundsOfMatches(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	query := make([]float32, 256)
	for i := range query {
		query[i] = float32(random.NormFloat64())
	}
	piece := func(like float64) []byte {
		v := make([]float32, len(query))
		for i := range v {
			v[i] = float32(like*float64(query[i]) + random.NormFloat64())
		}
		return pack(v)
	}
	for _, c := range []struct {
		name      string
		near, all int
	}{{"none", 0, 500}, {"one", 1, 500}, {"some", 60, 500}, {"nearly half", 230, 500}, {"one of ten", 1, 10},
		{"four of ten", 4, 10}, {"one alone", 1, 1}} {
		s := newCache("s")
		for i := range c.all {
			like := 0.0
			if i < c.near {
				like = 1.2
			}
			s.add(Part{Document: string(rune('a' + i)), Version: 1, Vector: piece(like)})
		}
		cmp := comparison{limit: 1000}
		cmp.vector, cmp.scale = quantize(query, queryLevels)
		cmp.add(s)
		_, least := cmp.bounds()
		found := 0
		for _, one := range cmp.best() {
			if float64(one.cosine) >= least {
				found++
			}
		}
		if found < c.near || found > c.near+c.all/100+1 {
			t.Errorf("%s: %d of %d are near, and %d are found", c.name, c.near, c.all, found)
		}
	}
}

// TestBestMatchesAreKept compares with sorting everything.
func TestBestMatchesAreKept(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	c := comparison{limit: 7}
	var all []match
	for i := range 500 {
		s := match{doc: &document{id: string(rune('a' + i))}, cosine: float32(random.IntN(100)) / 100}
		all = append(all, s)
		if s.cosine > c.least {
			c.keep(s)
		}
	}
	slices.SortFunc(all, match.compare)
	for i, s := range c.best() {
		if s.cosine != all[i].cosine {
			t.Errorf("at %d there is %v, not %v", i, s, all[i])
		}
	}
}
