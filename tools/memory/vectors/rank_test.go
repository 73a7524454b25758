package vectors_test

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
)

// chance is an encoder that knows nothing: of each text it says something else.
type chance struct{}

func (chance) Query(_ context.Context, text string) ([]float32, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v, nil
}

func (c chance) Texts(ctx context.Context, texts []string) (list [][]float32, err error) {
	for _, text := range texts {
		v, err := c.Query(ctx, text)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// TestWeakEmbeddingsDoNotHurtTheRanking ranks the collection of testdata/rank by
// words alone, together with an encoder that knows hardly more than words, and
// with one that knows nothing.
func TestWeakEmbeddingsDoNotHurtTheRanking(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir, filepath.Join(dir, "search"), embedtest.New(t))
	ctx := as(t, "a", "ada")
	for _, d := range documents(t) {
		w.remember(t, ctx, d[0], "# "+d[1]+"\n\n"+d[2])
	}
	stop := w.work(t)
	w.settled(t)
	stop()
	guess := newWorldWith(t, dir, filepath.Join(dir, "chance"), chance{}, "chance")
	guess.work(t)
	guess.settled(t)
	words := newWorldWith(t, dir, filepath.Join(dir, "words"), nil, "")
	asked := questions(t)
	alone := words.quality(t, ctx, asked)
	weak, none := w.quality(t, ctx, asked), guess.quality(t, ctx, asked)
	t.Logf("nDCG@10: words %.3f, with a weak encoder %.3f, with one that knows nothing %.3f", alone, weak, none)
	if alone < 0.85 || weak < alone-0.02 || none < alone-0.02 {
		t.Error("the encoder spoils what words find")
	}
}

// quality is the mean nDCG of the first ten.
func (w *world) quality(t *testing.T, ctx context.Context, asked map[string]map[string]float64) float64 {
	t.Helper()
	sum := 0.0
	for text, gain := range asked {
		got := []float64{}
		for _, h := range w.find(t, ctx, memory.Query{Text: text, Limit: 10}).Hits {
			got = append(got, gain[strings.TrimSuffix(strings.TrimPrefix(h.Path, "memory/"), ".md")])
		}
		ideal := []float64{}
		for _, g := range gain {
			ideal = append(ideal, g)
		}
		slices.Sort(ideal)
		slices.Reverse(ideal)
		sum += gains(got) / gains(ideal)
	}
	return sum / float64(len(asked))
}

func gains(list []float64) (total float64) {
	for i, gain := range list[:min(len(list), 10)] {
		total += (math.Exp2(gain) - 1) / math.Log2(float64(i)+2)
	}
	return total
}

const rankDir = "../../../testdata/rank"

// documents are id, title and text of each.
func documents(t *testing.T) (list [][3]string) {
	t.Helper()
	for _, part := range []string{"notes", "docs", "talk", "code", "languages"} {
		text, err := os.ReadFile(filepath.Join(rankDir, part+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for entry := range strings.SplitSeq("\n"+string(text), "\n== ") {
			if head, body, ok := strings.Cut(entry, "\n"); ok {
				names := strings.Split(head, "|")
				list = append(list, [3]string{strings.TrimSpace(names[0]), strings.TrimSpace(names[1]), body})
			}
		}
	}
	return list
}

func questions(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rankDir, "queries.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]float64{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) < 3 || strings.HasPrefix(line, "#") {
			continue
		}
		gain := map[string]float64{}
		for judged := range strings.FieldsSeq(columns[2]) {
			id, value, _ := strings.Cut(judged, "=")
			if gain[id], err = strconv.ParseFloat(value, 64); err != nil {
				t.Fatal(err)
			}
		}
		all[strings.TrimSpace(columns[1])] = gain
	}
	return all
}
