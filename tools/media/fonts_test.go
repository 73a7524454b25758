package media

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

func TestOneOfEachScript(t *testing.T) {
	for text, want := range map[string]string{
		"Größe “x” – 1 €":           "“",
		"日本語 見出し 中文":                "日し",
		"한국어 текст ελληνικά עברית":  "한тεע",
		"🎉🎈 emoji":                  "🎉",
		strings.Repeat("中国人民", 100): "中",
	} {
		if got := string(oneOfEach(text)); got != want {
			t.Errorf("%.40s: got %s, want %s", text, got, want)
		}
	}
}

// TestFontsLacking asks for a letter that every machine has, and for one of an extension of Unicode that few fonts have.
func TestFontsLacking(t *testing.T) {
	needtest.Program(t, "fc-list")
	s := newStudio(Options{Programs: runner()})
	if got := s.fontsLacking(t.Context(), "plain text"); got != "" {
		t.Error(got)
	}
	if got := s.fontsLacking(t.Context(), "text \U00031350"); !strings.Contains(got, "\U00031350") {
		t.Errorf("got %q", got)
	}
}
