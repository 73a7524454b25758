package tokens

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestCheckFindsTypos(t *testing.T) {
	good := generate().Reveal()
	if err := Check(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, c := range alphabet + "_- " {
			typo := good[:i] + string(c) + good[i+1:]
			if (Check(typo) == nil) != (typo == good) {
				t.Fatalf("%q is taken for %q", typo, good)
			}
		}
		if i+1 < len(good) {
			swapped := good[:i] + good[i+1:i+2] + good[i:i+1] + good[i+2:]
			if (Check(swapped) == nil) != (swapped == good) {
				t.Fatalf("%q is taken for %q", swapped, good)
			}
		}
		if Check(good[:i]) == nil || Check(good+good[:i+1]) == nil {
			t.Fatal("a token of another length passes")
		}
	}
}

func TestTokensAreRandom(t *testing.T) {
	seen := map[string]bool{}
	count := map[rune]int{}
	const n = 2000
	for range n {
		text := generate().Reveal()
		if seen[text] {
			t.Fatal("the same token twice")
		}
		seen[text] = true
		for _, c := range text[len(prefix) : len(prefix)+bodyLen] {
			count[c]++
		}
	}
	const fair = n * bodyLen / len(alphabet) // about 1387, deviation about 37
	for _, c := range alphabet {
		if count[c] < fair*3/4 || count[c] > fair*5/4 {
			t.Errorf("%q came %d times, want about %d", c, count[c], fair)
		}
	}
}

func TestSecretIsMasked(t *testing.T) {
	secret := generate()
	plain := secret.Reveal()
	type inside struct{ hidden Secret }
	type outside struct{ Shown Secret }
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		for _, value := range []any{secret, &secret, inside{secret}, &inside{secret}, outside{secret},
			[]Secret{secret}, map[string]Secret{"a": secret}} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
	}
	for _, value := range []any{secret, outside{secret}, map[string]any{"a": &secret}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("json", "a", secret, "b", outside{secret}, "c", inside{secret})
	log = slog.New(slog.NewTextHandler(&out, nil))
	log.Info("text", "a", secret, "b", outside{secret}, "c", inside{secret})
	out.WriteString(secret.String() + secret.GoString() + fmt.Sprint(secret))

	shown := out.String()
	for _, bad := range []string{plain, plain[10:30], fmt.Sprintf("%x", plain[10:30]),
		fmt.Sprintf("%X", plain[10:30])} {
		if strings.Contains(shown, bad) {
			t.Fatalf("the token shows in:\n%s", shown)
		}
	}
	if strings.Count(shown, mask) < 40 {
		t.Errorf("the mask is missing in:\n%s", shown)
	}
	if (Secret{}).Reveal() != "" {
		t.Error("the zero Secret is not empty")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(generate().Reveal())
	f.Add("")
	f.Add(prefix)
	f.Add(prefix + strings.Repeat("\xff", plainLen-len(prefix)))
	f.Fuzz(func(t *testing.T, text string) {
		if Check(text) != nil {
			return
		}
		if len(text) != plainLen || strings.Trim(text[len(prefix):], alphabet) != "" || len(idOf(text)) != idLen {
			t.Errorf("%q passes", text)
		}
	})
}
