package index

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	api "github.com/blevesearch/bleve_index_api"

	"github.com/mcp-tools/mcp-tools/internal/golden"
)

// A collection is one file of testdata/rank.
type collection struct {
	documents []Document
	questions []question
}

type question struct {
	part, text string
	gain       map[string]float64 // count ID
}

const rankDir = "../testdata/rank"

func readCollection(t *testing.T) collection {
	t.Helper()
	var c collection
	for _, part := range []string{"notes", "docs", "talk", "code", "languages"} {
		text, err := os.ReadFile(filepath.Join(rankDir, part+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for entry := range strings.SplitSeq("\n"+string(text), "\n== ") {
			head, body, ok := strings.Cut(entry, "\n")
			if !ok {
				continue
			}
			names := strings.Split(head, "|")
			d := Document{Scope: "rank", Kind: part, Body: body}
			d.ID, d.Title = strings.TrimSpace(names[0]), strings.TrimSpace(names[1])
			for tag := range strings.SplitSeq(names[2], ",") {
				if tag = strings.TrimSpace(tag); tag != "" {
					d.Tags = append(d.Tags, tag)
				}
			}
			c.documents = append(c.documents, d)
		}
	}
	c.questions = readQuestions(t)
	if len(c.documents) < 120 || len(c.questions) < 40 {
		t.Fatalf("%d documents and %d questions", len(c.documents), len(c.questions))
	}
	return c
}

func readQuestions(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rankDir, "queries.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "|")
		q := question{gain: map[string]float64{}}
		q.part, q.text = strings.TrimSpace(columns[0]), strings.TrimSpace(columns[1])
		for judged := range strings.FieldsSeq(columns[2]) {
			id, gain, _ := strings.Cut(judged, "=")
			if q.gain[id], err = strconv.ParseFloat(gain, 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, q)
	}
	return all
}

// ndcg rates the first ten hits from 0 to 1.
func (q question) ndcg(found []string) float64 {
	sum := func(gains []float64) (total float64) {
		for i, gain := range gains[:min(len(gains), 10)] {
			total += (math.Exp2(gain) - 1) / math.Log2(float64(i)+2)
		}
		return total
	}
	var got, ideal []float64
	for _, id := range found {
		got = append(got, q.gain[id])
	}
	for _, gain := range q.gain {
		ideal = append(ideal, gain)
	}
	slices.Sort(ideal)
	slices.Reverse(ideal)
	return sum(got) / sum(ideal)
}

// A ranker answers a query with IDs, the best first.
type ranker struct {
	name string
	rank func(text string) []string
}

func TestGoldenRanking(t *testing.T) {
	c := readCollection(t)
	x := opened(t)
	apply(t, x, Batch{Put: c.documents})
	rankers := []ranker{
		{"index", func(text string) []string {
			return ids(search(t, x, Query{Text: text, Scopes: []string{"rank"}}))
		}},
		plainRanker(c),
		bleveRanker(t, c, "Bleve's bm25", api.BM25Scoring),
		bleveRanker(t, c, "Bleve's tf-idf", api.TFIDFScoring),
	}
	got := summary(c, rankers)
	golden.Check(t, filepath.Join(rankDir, "summary.md"), got)
}

// plainRanker applies the formula to words in lower case, without stemming.
func plainRanker(c collection) ranker {
	n := naive{k1: 1.2, b: 0.75}
	for _, d := range c.documents {
		freq, length := map[string]float64{}, 0.0
		for _, w := range plainWords(d.Title + " " + strings.Join(d.Tags, " ") + " " + d.Body) {
			freq[w]++
			length++
		}
		n.add(d.ID, freq, length)
	}
	return ranker{"formula, plain words", func(text string) []string {
		var words []word
		for _, w := range plainWords(text) {
			words = append(words, word{alternatives: []string{w}, times: 1})
		}
		var found []string
		for _, hit := range n.search(words) {
			found = append(found, hit.id)
		}
		return found[:min(len(found), 10)]
	}}
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !wordRune(r) })
}

func bleveRanker(t *testing.T, c collection, name, scoring string) ranker {
	t.Helper()
	m := bleve.NewIndexMapping()
	m.ScoringModel = scoring
	m.DefaultAnalyzer = en.AnalyzerName
	theirs, err := bleve.New(filepath.Join(t.TempDir(), "bleve"), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	b := theirs.NewBatch()
	for _, d := range c.documents {
		text := map[string]string{"text": d.Title + " " + strings.Join(d.Tags, " ") + " " + d.Body}
		if err := b.Index(d.ID, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := theirs.Batch(b); err != nil {
		t.Fatal(err)
	}
	return ranker{name, func(text string) []string {
		q := bleve.NewMatchQuery(text)
		q.SetField("text")
		r := bleve.NewSearchRequestOptions(q, 10, 0, false)
		r.SortBy([]string{"-_score", "_id"})
		answer, err := theirs.Search(r)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, hit := range answer.Hits {
			found = append(found, hit.ID)
		}
		return found
	}}
}

// summary is the part for reviewers.
func summary(c collection, rankers []ranker) []byte {
	var out, misses bytes.Buffer
	sums := map[string][]float64{}
	count := map[string]float64{}
	for _, q := range c.questions {
		for i, r := range rankers {
			found := r.rank(q.text)
			score := q.ndcg(found)
			for _, part := range []string{q.part, "all"} {
				if sums[part] == nil {
					sums[part] = make([]float64, len(rankers))
				}
				sums[part][i] += score
				if i == 0 {
					count[part]++
				}
			}
			if i == 0 && score < 0.999 {
				fmt.Fprintf(&misses, "- %.2f %s: %s: %s\n", score, q.part, q.text, strings.Join(found[:min(len(found), 3)], ", "))
			}
		}
	}
	fmt.Fprintf(&out, "# How well the index ranks\n\nnDCG@10 over %d documents and %d questions, all documents in one scope. Written by make golden.\n\n", len(c.documents), len(c.questions))
	out.WriteString("| part | questions |")
	for _, r := range rankers {
		out.WriteString(" " + r.name + " |")
	}
	out.WriteString("\n|---|---|" + strings.Repeat("---|", len(rankers)) + "\n")
	for _, part := range []string{"notes", "docs", "talk", "code", "languages", "all"} {
		fmt.Fprintf(&out, "| %s | %.0f |", part, count[part])
		for _, sum := range sums[part] {
			fmt.Fprintf(&out, " %.3f |", sum/count[part])
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "\n## Questions that are not answered as well as can be\n\nWith nDCG@10 and the first three that are found.\n\n%s", misses.Bytes())
	return out.Bytes()
}
