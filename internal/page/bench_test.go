package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// large returns a page of about size bytes, made of the UTF-8 pages in testdata.
func large(t testing.TB, size int) string {
	t.Helper()
	var parts []string
	for _, name := range []string{"news", "blog", "docs", "qa", "wiki", "changelog", "government", "arabic"} {
		body, err := os.ReadFile(filepath.Join(pages, name+".html"))
		if err != nil {
			t.Fatal(err)
		}
		_, inner, _ := strings.Cut(string(body), "<body")
		_, inner, _ = strings.Cut(inner, ">")
		inner, _, _ = strings.Cut(inner, "</body>")
		parts = append(parts, "<div>"+inner+"</div>")
	}
	var b strings.Builder
	b.WriteString("<!doctype html><html lang=en><head><meta charset=utf-8><title>Large</title><style>.x{display:none}.a .b{color:red}</style></head><body>")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<section id=s%d>%s</section>", i, parts[i%len(parts)])
	}
	return b.String()
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100 << 10, 200 << 10, 1 << 20, 5 << 20} {
		source := []byte(large(b, size))
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(b.Context(), source, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(source)), "ns/byte")
		})
	}
}

// BenchmarkParse measures the parser alone, for comparison with BenchmarkRead.
func BenchmarkParse(b *testing.B) {
	source := large(b, 200<<10)
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := html.Parse(strings.NewReader(source)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNested(b *testing.B) {
	for _, depth := range []int{50, 100, 200, 400} {
		source := []byte(nested(depth))
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				if _, err := Read(b.Context(), source, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func nested(depth int) string {
	return strings.Repeat("<blockquote>", depth) + strings.Repeat("some text <br>", 2000) + strings.Repeat("</blockquote>", depth)
}
