package index

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAnalyze(t *testing.T) {
	for _, test := range []struct{ lang, text, want string }{
		{"en", "The cats were running.", "the cat were run"},
		{"en", "readConfig", "readconfig read config"},
		{"en", "read_config_file", "readconfigfil read config file"},
		{"en", "HTTPServer parseURLs getUserID2", "httpserver http server parseurl pars url getuserid2 get user id2"},
		{"en", "e-mail state-of-the-art", "email e mail stateoftheart state of the art"},
		{"en", "don't Anna's o'clock", "dont anna clock"},
		{"en", "internal/index/main.go", "intern index main.go main go"},
		{"en", "v2.6.1 2.6.1 3.14 v2 2026-03-01", "2.6.1 2.6 2 2.6.1 2.6 2 3.14 3 v2 2026-03-01 2026-03 2026"},
		{"en", "C++ and C# or c#d", "c++ and c# or c d"},
		{"en", "naïve Café ﬁne ＦＵＬＬ", "naiv cafe fine full"},
		{"en", "someone@example.com:8080", "someon example.com exampl com 8080"},
		{"en", "  ... \x00\xff\xfe — “”", ""},
		{"de", "Die Häuser des Straßenbaus", "die haus des strassenbaus"},
		{"fr", "l'arrosage des légumes", "arrosag de legum"},
		{"es", "canción cancion canciones", "cancion cancion cancion"},
		{"ru", "ёлка ёлку елки", "елк елк елк"},
		{"en", "крыши and Dächer", "крыш and dacher"},
		{"zh", "北京大学", "北 北京 京 京大 大 大学 学"},
		{"ja", "京都のホテル", "京 京都 都 都の のホ ホテ テル"},
		{"ko", "회식 장소", "회 회식 식 장 장소 소"},
		{"zh", "Go语言1.26版", "go 语 语言 言 1.26 1 版"},
		{"hi", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"ar", "مُحَمَّد", "محمد"},
		{"th", "ภาษาไทย", "ภา าษ ษา าไ ไท ทย"},
	} {
		var got []string
		for _, tok := range Analyze(test.text, test.lang) {
			got = append(got, tok.Term)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q: %q, want %q", test.lang, test.text, strings.Join(got, " "), test.want)
		}
	}
}

func TestAnalysisLimits(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	if tokens := Analyze(long, "en"); len(tokens) != 1 || len(tokens[0].Term) != maxTerm {
		t.Errorf("%d tokens of one long word", len(tokens))
	}
	if tokens := Analyze(strings.Repeat("ab ", 1<<20), "en"); len(tokens) != maxTerms {
		t.Errorf("%d tokens of a long text", len(tokens))
	}
	if tokens := Analyze(strings.Repeat("1.", 1<<19), "en"); len(tokens) > 10 {
		t.Errorf("%d tokens of one number", len(tokens))
	}
}

func TestLanguage(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "en",
		"config":                         "en",
		"The quick brown fox":            "en",
		"Der Keller ist feucht geworden": "de",
		"Les élèves ont besoin d'un cahier, et la réunion est reportée": "fr",
		"Las llaves están en la casa de la vecina":                      "es",
		"La casa al mare è affittata fino alla fine di agosto":          "it",
		"A reunião com os clientes foi adiada para a próxima semana":    "pt",
		"De fiets van de buurman is gestolen bij het station":           "nl",
		"Stugan vid sjön har ingen el på vintern, och den ska målas":    "sv",
		"Ключи лежат у соседей":                                         "ru",
		"Ключі лежать у сусідів, її немає":                              "uk",
		"北京大学": "zh",
		"猫は朝と夜に缶詰を食べます": "ja",
		"회식 장소":         "ko",
		"مرحبا بالعالم": "ar",
		"for (int i = 0; i < n; i++) { a[i] = b.size() - i; }": "en",
		"die hard": "de",
	} {
		if got := Language(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := languageAmong("die hard", map[string]int{"en": 1}); got != "en" {
		t.Errorf("among English documents: %s", got)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, text := range []string{"", "readConfig v1.2", "e-mail's", "北京x", "a\u0301\u0302b", "\xff'a'", "C++", "ﷺ", "กำ", "ſſİı", "'s", "l'", "1.-.2", "\u200da", "\u0731"} {
		for _, lang := range []string{"", "en", "ar", "tr"} {
			f.Add(text, lang)
		}
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		tokens := Analyze(text, lang)
		for _, tok := range tokens {
			if tok.From < 0 || tok.From >= tok.To || tok.To > len(text) {
				t.Fatalf("%q: the token %+v is out of the text", text, tok)
			}
			if tok.Term == "" || len(tok.Term) > maxTerm || !utf8.ValidString(tok.Term) {
				t.Fatalf("%q: the term %q", text, tok.Term)
			}
		}
		if len(tokens) > 3*len(text) {
			t.Fatalf("%d tokens of %d bytes", len(tokens), len(text))
		}
		var at []int
		for _, tok := range tokens {
			at = append(at, tok.From)
		}
		if len(tokens) > 0 && slices.Max(at) > len(text) {
			t.Fatal("beyond the end")
		}
		if snippet := Snippet(text, []string{"a", "read"}, 60); len(snippet) > 120 {
			t.Fatalf("a snippet of %d bytes", len(snippet))
		}
	})
}

// FuzzQuery checks that no text finds a document outside its scopes or one that
// the filter excludes.
func FuzzQuery(f *testing.F) {
	x := opened(f)
	secret := keyOf("theirs")
	apply(f, x, Batch{Put: []Document{
		{ID: "mine", Scope: "mine", Kind: "note", Body: "the word a b c readConfig 1.2 北京 é"},
		{ID: "hidden", Scope: "mine", Kind: "chat", Body: "the word a b c readConfig 1.2 北京 é"},
		{ID: "theirs", Scope: "theirs", Kind: "note", Body: "the word a b c readConfig 1.2 北京 é"},
	}})
	for _, text := range []string{"", "word", "*", "w:*", string(secret[:]) + "aword", "\x00a", "scope:theirs", "kind:chat word", "北", "the"} {
		f.Add(text, "mine")
		f.Add(text, "their")
	}
	f.Fuzz(func(t *testing.T, text, scope string) {
		r, err := x.Search(t.Context(), Query{Text: text, Scopes: []string{scope}, Kinds: []string{"note"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range r.Hits {
			if hit.ID != scope {
				t.Fatalf("%q finds %s in %q", text, hit.ID, scope)
			}
			if !(hit.Score > 0 && hit.Score < r.MaxScore) || len(hit.Terms) == 0 {
				t.Fatalf("%q: %+v of at most %v", text, hit, r.MaxScore)
			}
		}
	})
}
