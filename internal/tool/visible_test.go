package tool

import "testing"

func TestVisibleShowsWhatHides(t *testing.T) {
	for text, want := range map[string]string{
		"rm\u202e x\x1b[2K\u200b": "rm<U+202E> x<U+001B>[2K<U+200B>",
		"a\u3164\u2800\u00a0b":    "a<U+3164><U+2800><U+00A0>b", // they look like spaces
		"a\ufe0f\U000e0101b":      "a<U+FE0F><U+E0101>b",        // they are not seen at all
		"größe 名前\n\t\u2028":      "größe 名前\n\t<U+2028>",
	} {
		if got := Visible(text); got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
	}
}
