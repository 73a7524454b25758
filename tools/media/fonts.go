package media

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode"
)

// maxScripts is the maximum number of scripts of a document for which fonts are looked up.
const maxScripts = 12

// fontsLacking returns a note about characters of a text that no font of this machine has, "" for none. Text in Latin letters
// is in every font.
func (s studio) fontsLacking(ctx context.Context, text string) string {
	if !has("fc-list") {
		return ""
	}
	var lacking []string
	for _, r := range oneOfEach(text) {
		var out bytes.Buffer
		err := s.run(ctx, &out, job{argv: []string{"fc-list", fmt.Sprintf(":charset=%x", r), "family"}})
		if err == nil && strings.TrimSpace(out.String()) == "" {
			lacking = append(lacking, string(r))
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	return fmt.Sprintf("no font on the server has %s and characters like it, so the file shows boxes in their place; tell the operator to install fonts, "+
		"such as fonts-noto-cjk or fonts-noto-color-emoji", strings.Join(lacking, " "))
}

// oneOfEach returns a character of each script in a text, except for Latin. Symbols count by their block of 256.
func oneOfEach(text string) (some []rune) {
	seen := map[string]bool{}
	of := map[rune]string{} // scripts by blocks of 128, which is enough here
	for _, r := range text {
		if r < 0x370 || !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.IsMark(r) {
			continue
		}
		name, known := of[r>>7]
		if !known {
			name = fmt.Sprint("block ", r>>8)
			for script, table := range unicode.Scripts {
				if unicode.Is(table, r) && script != "Common" {
					name = script
				}
			}
			of[r>>7] = name
		}
		if !seen[name] && name != "Latin" && len(some) < maxScripts {
			seen[name] = true
			some = append(some, r)
		}
	}
	return some
}
