package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// large is a page of about so many bytes, made of the bodies of those in
// testdata that have one in UTF-8.
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

// BenchmarkPeer is a converter that other programs use, on what Read reads: it
// neither looks for what is hidden nor for the main part.
func BenchmarkPeer(b *testing.B) {
	pages := map[string]string{"200KB": large(b, 200<<10)}
	for _, depth := range []int{50, 100, 200} {
		pages[fmt.Sprintf("depth%d", depth)] = nested(depth)
	}
	for name, source := range pages {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
				if _, err := c.ConvertString(source); err != nil {
					b.Fatal(err)
				}
			}
		})
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
