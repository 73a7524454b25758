package skills

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// An Encoder turns texts into vectors that are similar if the texts mean the same. It is the endpoint for embeddings.
type Encoder interface {
	Query(ctx context.Context, text string) ([]float32, error)
	Texts(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	patience     = 800 * time.Millisecond // that a search waits for vectors
	encodeTime   = time.Minute            // for the vectors of new skills, in the background
	maxVectors   = 64 << 20               // bytes of vectors in memory
	maxByMeaning = 5                      // skills that are found by meaning alone
	// of the way from unrelated texts to the same meaning, that a match is nearer
	minMargin     = 0.1
	minStatistics = 8    // number of skills for a meaningful median of the cosines of unrelated texts
	fusionOffset  = 60.0 // how little the first ranks differ
)

// byMeaning returns the skills that are nearest to a query in meaning, the nearest first. It returns none without an
// endpoint, or while that does not answer in time.
func (l *Library) byMeaning(ctx context.Context, v *view, query string) []string {
	if l.o.Encoder == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	texts := map[string]string{} // by slug
	var missing []string
	for slug, i := range v.items {
		if i.problem != "" {
			continue
		}
		texts[slug] = l.o.Scrub(i.meta.Name + "\n" + i.meta.Description)
		if _, ok := l.vectors.Get(texts[slug]); !ok {
			missing = append(missing, texts[slug])
		}
	}
	if len(missing) > 0 && !l.encode(ctx, missing) {
		return nil
	}
	asked, err := l.o.Encoder.Query(ctx, l.o.Scrub(query))
	if err != nil {
		return nil
	}
	type match struct {
		slug   string
		cosine float64
	}
	var all []match
	for slug, text := range texts {
		if vector, ok := l.vectors.Get(text); ok {
			all = append(all, match{slug, cosine(asked, vector)})
		}
	}
	slices.SortStableFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.slug, b.slug))
	})
	unrelated := 0.0
	if len(all) >= minStatistics {
		unrelated = max(all[len(all)/2].cosine, 0)
	}
	var found []string
	for _, m := range all[:min(len(all), maxByMeaning)] {
		if m.cosine >= unrelated+minMargin*(1-unrelated) {
			found = append(found, m.slug)
		}
	}
	return found
}

// encode makes the vectors of texts, and reports whether it has them before ctx ends. Otherwise it goes on in the
// background for the next search. One call at a time does so.
func (l *Library) encode(ctx context.Context, texts []string) bool {
	if !l.encoding.TryLock() {
		return false
	}
	done := make(chan bool, 1)
	go func() {
		defer l.encoding.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), encodeTime)
		defer cancel()
		vectors, err := l.o.Encoder.Texts(ctx, texts)
		for i, vector := range vectors {
			if len(vector) > 0 {
				l.vectors.Put(texts[i], vector)
			}
		}
		done <- err == nil
	}()
	select {
	case ok := <-done:
		return ok
	case <-ctx.Done():
		return false
	}
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	product, as, bs := 0.0, 0.0, 0.0
	for i := range a {
		product += float64(a[i]) * float64(b[i])
		as += float64(a[i]) * float64(a[i])
		bs += float64(b[i]) * float64(b[i])
	}
	if as == 0 || bs == 0 {
		return 0
	}
	return product / math.Sqrt(as*bs)
}

// fuse joins two lists of skills by their ranks.
func fuse(byWords, byMeaning []string) []string {
	score := map[string]float64{}
	all := slices.Clone(byWords)
	for _, list := range [][]string{byWords, byMeaning} {
		for rank, slug := range list {
			score[slug] += 1 / (fusionOffset + float64(rank))
			if !slices.Contains(all, slug) {
				all = append(all, slug)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	return all
}
