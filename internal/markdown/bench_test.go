package markdown

import (
	"os"
	"strings"
	"testing"
)

func document(b *testing.B) string {
	b.Helper()
	var all strings.Builder
	for _, file := range []string{"testdata/guide.md", "testdata/long.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		all.Write(text)
	}
	text := strings.Repeat(all.String(), 50)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	b.ResetTimer()
	return text
}

func BenchmarkChunks(b *testing.B) {
	text := document(b)
	n := 0
	for b.Loop() {
		n = len(Chunks(text, Options{}))
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

func BenchmarkPlain(b *testing.B) {
	text := document(b)
	for b.Loop() {
		Plain(text)
	}
}

func BenchmarkHeadings(b *testing.B) {
	text := document(b)
	for b.Loop() {
		Headings(text)
	}
}

func BenchmarkFrontMatter(b *testing.B) {
	text := "---\nname: deploy\ndescription: >\n  How we deploy,\n  and when.\ntags: [ops, release]\nversion: 1.10\nmetadata:\n  owner: ann\n  tools:\n    - exec\n    - read_file\n---\nbody\n"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := FrontMatter(text); err != nil {
			b.Fatal(err)
		}
	}
}
